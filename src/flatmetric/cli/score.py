"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.submissions import program_names
from flatmetric.cli import options, text
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, this_command, write_columns, write_json
from flatmetric.cli.progress import read_both
from flatmetric.errors import InputError


@dataclass(frozen=True)
class ScoreOutput(options.Group):
    """What `score` writes besides its text."""

    section: ClassVar[str] = "Output"

    images: bool = options.option(False, "Also compare rendered images: SNR and FRC.")
    curve: float | None = options.option(None, "Add the Flat Metric for every lam up to this one.", metavar="LAM_MAX")
    by: str | None = options.option(None, "Also score in bins of z, photons, density or frame.")
    bins: int = options.option(10, "Number of bins.")
    csv: str | None = options.option(None, "Write all values as one row of CSV.", metavar="FILE|-")
    per_frame: str | None = options.option(None, "Write CSV with a row for each frame.", metavar="FILE")
    per_molecule: str | None = options.option(None, "Write CSV with a row for each molecule.", metavar="FILE")


@options.command
def score(
    truth: options.Truth,
    result: options.Result,
    metrics: options.MetricOptions,
    rules: options.ProtocolOptions,
    certainty: options.BootstrapOptions,
    output: ScoreOutput,
    json: options.JsonOptions,
    report: options.ReportOptions,
    threads: options.ThreadOptions,
    reading: options.ReadOptionsForAll,
    result_file: options.ResultFileOptions,
    truth_file: options.TruthFileOptions,
) -> None:
    """Score RESULT, what a program found, against TRUTH, the true molecules.

    Prints the Flat Metric, the challenge's metrics, RMSMD, GOSPA and OSPA.
    """
    scoring = metrics.with_protocol(rules.apply())
    inputs = [(truth, reading.for_file(truth_file)), (result, reading.for_file(result_file))]
    files = [json.json, output.csv, output.per_frame, output.per_molecule, report.report]
    check_outputs(files, [truth, result, *rules.files()])
    if STANDARD_OUTPUT in (output.per_frame, output.per_molecule):
        raise InputError("per_frame= and per_molecule= need a file; give its name")
    if json.json == output.csv == STANDARD_OUTPUT:
        raise InputError("json= and csv= can't both go to standard output; give one a file")
    true, pred = read_both(inputs[0], inputs[1], threads.threads, _load)
    from flatmetric.metrics.table import FAMILIES
    from flatmetric.quality.misalignment import check_window
    from flatmetric.scoring.score import score as score_tables
    from flatmetric.sentences import finding_sentence

    scored = score_tables(true, pred, **scoring.keywords(), images=output.images, threads=threads.threads)
    findings = check_window(true, pred, lam=metrics.lam, threads=threads.threads)
    warnings = [
        *text.file_warnings(true, pred),
        *scored.warnings,
        *(
            f"the result may be wrong as a whole: {finding_sentence(finding)}; see flatmetric check"
            for finding in findings
        ),
    ]
    content: dict[str, Any] = scored.to_dict() | {"warnings": [text.as_flags(warning) for warning in warnings]}
    intervals = binned = None
    if output.by is not None:
        from flatmetric.scoring.breakdown import score_in_bins

        binned = score_in_bins(scored, output.by, output.bins)  # type: ignore[arg-type]
    if certainty.ci is not None:
        from flatmetric.statistics.bootstrap import confidence

        intervals = confidence(scored, certainty.apply())
        content["ci"] = dataclasses.asdict(intervals)
    if output.curve is not None:
        content["curve"] = scored.curve(output.curve).to_dict()
    if binned is not None:
        content["by"] = {"quantity": output.by, "bins": [each.to_dict() for each in binned]}
    if output.per_frame is not None or output.per_molecule is not None:
        from flatmetric.scoring.breakdown import per_frame, per_molecule

        if output.per_frame is not None:
            write_columns(per_frame(scored), output.per_frame)
        if output.per_molecule is not None:
            write_columns(per_molecule(scored), output.per_molecule)
    if report.report is not None:
        from flatmetric.pages.score_page import Scored, score_page

        page = Scored(program_names([result])[0], scored, intervals, tuple(content["warnings"]))
        write_text(score_page(page, this_command()), report.report)
    for warning in warnings:
        text.print_warning(warning)
    if output.csv is not None:
        write_columns({name: [value] for name, value in text.flat_values(content, FAMILIES).items()}, output.csv)
    if json.json is not None:
        write_json(content, json.json)
    if STANDARD_OUTPUT in (json.json, output.csv):
        return
    print(text.score_text(scored, intervals))
    if binned is not None:
        print("\n" + text.bins_text(output.by, binned))  # type: ignore[arg-type]
    if report.report is not None:
        print(f"\nwritten: {report.report}")


def _load() -> None:
    """Load what scores while the first file is being read."""
    for name in ("scoring.score", "quality.misalignment"):
        import_module(f"flatmetric.{name}")
