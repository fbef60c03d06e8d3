"""`flatmetric compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._shown import look_of
from flatmetric.api.compare import CompareArguments
from flatmetric.api.compare import compare as compare_results
from flatmetric.api.options import Option, only
from flatmetric.api.rules import rule_files
from flatmetric.challenge.submissions import program_names
from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, ReportOnImages, Truth, command
from flatmetric.cli.output import (
    STANDARD_OUTPUT,
    check_outputs,
    check_stack,
    print_assumption,
    print_finding,
    this_command,
    write_json,
)
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.work import Cluster, cluster


class CompareFlags(CompareArguments, ReportOnImages, Json, Cluster, total=False):
    """The options of `compare`."""

    curve: Annotated[bool, Option("Also say for which lam which result is better.", False, section="Output")]


@command
def compare(
    truth: Truth,
    results: Annotated[tuple[Path, ...], Argument("RESULT", "Two or more results.", many=True)],
    options: CompareFlags,
) -> None:
    """Which of two or more RESULTs is better on one TRUTH, by how much, and how sure that is.

    flatmetric compare truth.csv mine.csv other.csv
    flatmetric compare truth.csv mine.csv other.csv --curve --report page.html

    Reading options that only one file needs go into a submissions.toml beside it: ["mine.csv"], and below it
    unit = "px".
    """
    program_names(list(results))  # raises for a file given twice
    check_outputs([options["json"], options["report"]], [truth, *results, *rule_files(options)])
    check_stack(options)
    with cluster(options["scheduler"], [truth, *results]) as executor, progress_bar() as progress:
        given = only(options, CompareArguments)
        comparison = compare_results(truth, list(results), progress=progress, executor=executor, **given)
    content, lead = comparison.to_dict(), None
    if options["curve"]:
        lead = comparison.lead()
        content["lead"] = lead.to_dict()
    if options["report"] is not None:
        look_of(comparison).report(comparison, options["report"], this_command(), text.as_flags, options["stack"])
    ranked = list(zip(comparison.names, comparison.scores, strict=True))
    for name, score in ranked:
        for finding in score.findings:
            print_finding(f"{name}: {finding.for_one_file()}")
    if options["json"] is not None:
        write_json(content, options["json"])
    if options["json"] != STANDARD_OUTPUT:
        print(text.comparison_text(comparison))
        if lead is not None:
            print("\n" + text.lead_text(lead))
        if options["report"] is not None:
            print(f"\nwritten: {options['report']}")
    for assumption in dict.fromkeys(said for _, score in ranked for said in score.assumptions()):
        print_assumption(assumption)
