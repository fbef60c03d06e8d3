"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from flatmetric.api.options import Option, Ranges, only
from flatmetric.api.rules import rule_files
from flatmetric.api.score import ScoreArguments
from flatmetric.cli.options import Json, ReportOnImages, Result, Truth, command
from flatmetric.cli.output import (
    STANDARD_OUTPUT,
    check_outputs,
    check_stack,
    print_assumption,
    print_finding,
    this_command,
    write_columns,
    write_json,
)
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.work import Cluster, cluster
from flatmetric.errors import FindingWarning, InputError

if TYPE_CHECKING:
    from flatmetric.scoring.ranges import RangedScore
    from flatmetric.scoring.scored import Scored


_NEED_ROWS = ("ci", "images", "by", "curve", "per_frame", "per_molecule", "report", "stack")


class ScoreFlags(ScoreArguments, ReportOnImages, Json, Ranges, Cluster, total=False):
    """The options of `score`."""

    by: Annotated[
        str | None,
        Option("Also score in bins of z, photons, density, neighbour or frame.", section="Output", metavar="QUANTITY"),
    ]
    bins: Annotated[int, Option("Number of bins.", 10, section="Output", metavar="N")]
    curve: Annotated[
        float | None,
        Option("Also give the Flat Metric for every lam up to this one, nm.", section="Output", metavar="NM"),
    ]
    csv: Annotated[str | None, Option("Write all values as one row of CSV.", section="Output", metavar="FILE|-")]
    per_frame: Annotated[str | None, Option("Write CSV with a row for each frame.", section="Output", metavar="FILE")]
    per_molecule: Annotated[
        str | None,
        Option("Write CSV with a row for each molecule and detection.", section="Output", metavar="FILE"),
    ]


@command
def score(truth: Truth, result: Result, options: ScoreFlags) -> None:
    """How far is RESULT from TRUTH? One number in nm, where it comes from, and every customary metric.

    flatmetric score truth.csv mine.csv
    flatmetric score truth.csv mine.csv --protocol challenge2016 --ci 95
    flatmetric score truth.csv mine.csv --report page.html --by photons
    flatmetric score truth.csv mine.csv --rows-at-a-time 5000000
    """
    outputs = [options["json"], options["csv"], options["per_frame"], options["per_molecule"], options["report"]]
    check_outputs(outputs, [truth, result, *rule_files(options)])
    check_stack(options)
    if STANDARD_OUTPUT in (options["per_frame"], options["per_molecule"]):
        raise InputError("per_frame= and per_molecule= need a file; give its name")
    if options["json"] == options["csv"] == STANDARD_OUTPUT:
        raise InputError("json= and csv= can't both go to standard output; give one a file")
    if options["rows_at_a_time"] is not None:
        _say(_in_ranges(truth, result, options), options, {}, [])
        return
    from flatmetric.api.inputs import both_tables
    from flatmetric.api.score import scored_with_findings
    from flatmetric.challenge.submissions import program_names

    with progress_bar() as progress:
        tables = both_tables(truth, result, options, progress=progress, meanwhile=_load)
    from flatmetric.cli import text

    scored = scored_with_findings(*tables, options, program_names([result])[0])
    more: dict[str, Any] = {}
    lines = []
    if options["by"] is not None:
        from flatmetric.scoring.breakdown import score_in_bins

        binned = score_in_bins(scored, options["by"], options["bins"])  # type: ignore[arg-type]
        more["by"] = {"quantity": options["by"], "bins": [each.to_dict() for each in binned]}
        lines.append(text.bins_text(options["by"], binned))  # type: ignore[arg-type]
    if scored.intervals is not None:
        more["ci"] = dataclasses.asdict(scored.intervals)
    if options["curve"] is not None:
        more["curve"] = scored.curve(options["curve"]).to_dict()
    if options["per_frame"] is not None:
        write_columns(scored.per_frame(), options["per_frame"])
    if options["per_molecule"] is not None:
        write_columns(scored.per_molecule(), options["per_molecule"])
    if options["report"] is not None:
        from flatmetric._shown import look_of

        look_of(scored).report(scored, options["report"], this_command(), text.as_flags, options["stack"])
        lines.append(f"written: {options['report']}")
    _say(scored, options, more, lines)


def _in_ranges(truth: Path, result: Path, options: ScoreFlags) -> RangedScore:
    """The score of files that are too large for memory."""
    from flatmetric.api.ranges import RangeArguments, score_in_ranges

    needing_rows = [name for name in _NEED_ROWS if options[name]]  # type: ignore[literal-required]
    if needing_rows:
        raise InputError(f"{needing_rows[0]}= needs all rows at once; leave it or rows_at_a_time= out")
    folders = [Path(options["scratch"] or result.resolve().parent)]
    with cluster(options["scheduler"], folders) as executor, progress_bar() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", FindingWarning)  # findings are printed
        given = only(options, RangeArguments)
        return score_in_ranges(truth, result, progress=progress, executor=executor, **given)


def _say(scored: Scored, options: ScoreFlags, more: dict[str, Any], lines: list[str]) -> None:
    """Write and print a score, with more content for the JSON and more paragraphs for the text."""
    from flatmetric.cli import text
    from flatmetric.metrics.table import FAMILIES

    content = scored.to_dict() | more
    content["warnings"] = [text.as_flags(warning) for warning in content["warnings"]]
    for finding in scored.findings:
        print_finding(str(finding))
    if options["csv"] is not None:
        write_columns({name: [value] for name, value in text.flat_values(content, FAMILIES).items()}, options["csv"])
    if options["json"] is not None:
        write_json(content, options["json"])
    if STANDARD_OUTPUT not in (options["json"], options["csv"]):
        print("\n\n".join([text.score_text(scored, scored.intervals), *lines]))
    for assumption in scored.assumptions():
        print_assumption(assumption)


def _load() -> None:
    """Import the scoring modules while the first file is being read."""
    for name in ("scoring.score", "quality.checking", "cli.text"):
        import_module(f"flatmetric.{name}")
