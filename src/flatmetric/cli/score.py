"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.submissions import program_names
from flatmetric.cli.options import Certainty, Json, ReadingTruth, Report, Result, Scoring, Truth, command, option
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, this_command, write_columns, write_json
from flatmetric.cli.progress import read_both
from flatmetric.errors import InputError


class ScoreFlags(ReadingTruth, Report, Json, Certainty, Scoring):
    """The options of `score`."""

    section: ClassVar[str] = "Output"

    images: bool = option(False, "Also compare rendered images: SNR and FRC.")
    curve: float | None = option(None, "Add the Flat Metric for every lam up to this one.", metavar="LAM_MAX")
    by: str | None = option(None, "Also score in bins of z, photons, density, neighbour or frame.")
    bins: int = option(10, "Number of bins.")
    csv: str | None = option(None, "Write all values as one row of CSV.", metavar="FILE|-")
    per_frame: str | None = option(None, "Write CSV with a row for each frame.", metavar="FILE")
    per_molecule: str | None = option(None, "Write CSV with a row for each molecule.", metavar="FILE")


@command
def score(truth: Truth, result: Result, options: ScoreFlags) -> None:
    """Score RESULT against TRUTH: Flat Metric, the challenge's metrics, RMSMD, GOSPA and OSPA.

    Reading options apply to RESULT, those with --truth- to TRUTH, --pixel-size and --skip-bad-rows to both.
    """
    scoring = options.scoring()
    files = (truth, options.reading_truth()), (result, options.reading())
    outputs = [options.json, options.csv, options.per_frame, options.per_molecule, options.report]
    check_outputs(outputs, [truth, result, *options.rule_files()])
    if STANDARD_OUTPUT in (options.per_frame, options.per_molecule):
        raise InputError("per_frame= and per_molecule= need a file; give its name")
    if options.json == options.csv == STANDARD_OUTPUT:
        raise InputError("json= and csv= can't both go to standard output; give one a file")
    true, pred = read_both(*files, options.threads, _load)
    from flatmetric.cli import text
    from flatmetric.metrics.table import FAMILIES
    from flatmetric.scoring.score import score as score_tables
    from flatmetric.sentences import result_warnings

    scored = score_tables(true, pred, **scoring.keywords(), images=options.images, threads=options.threads)
    warnings = result_warnings(true, pred, scored)
    content: dict[str, Any] = scored.to_dict() | {"warnings": [text.as_flags(warning) for warning in warnings]}
    intervals = binned = None
    if options.by is not None:
        from flatmetric.scoring.breakdown import score_in_bins

        binned = score_in_bins(scored, options.by, options.bins)  # type: ignore[arg-type]
    if options.ci is not None:
        from flatmetric.statistics.intervals import confidence

        intervals = confidence(scored, options.certainty())
        content["ci"] = dataclasses.asdict(intervals)
    if options.curve is not None:
        content["curve"] = scored.curve(options.curve).to_dict()
    if binned is not None:
        content["by"] = {"quantity": options.by, "bins": [each.to_dict() for each in binned]}
    if options.per_frame is not None or options.per_molecule is not None:
        from flatmetric.scoring.breakdown import per_frame, per_molecule

        if options.per_frame is not None:
            write_columns(per_frame(scored), options.per_frame)
        if options.per_molecule is not None:
            write_columns(per_molecule(scored), options.per_molecule)
    if options.report is not None:
        from flatmetric.pages.score_page import Scored, score_page

        page = Scored(program_names([result])[0], scored, intervals, tuple(content["warnings"]))
        write_text(score_page(page, this_command()), options.report)
    for warning in warnings:
        text.print_warning(warning)
    if options.csv is not None:
        write_columns({name: [value] for name, value in text.flat_values(content, FAMILIES).items()}, options.csv)
    if options.json is not None:
        write_json(content, options.json)
    if STANDARD_OUTPUT in (options.json, options.csv):
        return
    print(text.score_text(scored, intervals))
    if binned is not None:
        print("\n" + text.bins_text(options.by, binned))  # type: ignore[arg-type]
    if options.report is not None:
        print(f"\nwritten: {options.report}")


def _load() -> None:
    """Import the scoring modules while the first file is being read."""
    for name in ("scoring.score", "quality.misalignment", "cli.text"):
        import_module(f"flatmetric.{name}")
