// Scores every result in results/ against truth.csv and compares them all: nextflow run main.nf
params.truth = 'truth.csv'
params.results = 'results/*.csv'

process score {
    publishDir 'scores', mode: 'copy'

    input:
    path truth
    path result

    output:
    path "${result.baseName}.json"

    script:
    """
    flatmetric score ${truth} ${result} --ci 95 --json ${result.baseName}.json
    """
}

process compare {
    publishDir '.', mode: 'copy'

    input:
    path truth
    path results

    output:
    path 'comparison.json'
    path 'comparison.html'

    script:
    """
    flatmetric compare ${truth} ${results} --json comparison.json --report comparison.html
    """
}

workflow {
    truth = file(params.truth)
    results = channel.fromPath(params.results)
    score(truth, results)
    compare(truth, results.collect())
}
