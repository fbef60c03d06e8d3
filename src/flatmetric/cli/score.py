"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric.api.score import score as score_files
from flatmetric.api.score import score_in_ranges
from flatmetric.cli import text
from flatmetric.cli.cluster import Cluster, cluster
from flatmetric.cli.options import Json, Keywords, ReportOnImages, Result, Strict, Truth, arguments_for, command
from flatmetric.cli.output import (
    STANDARD_OUTPUT,
    check_outputs,
    check_stack,
    print_assumption,
    print_finding,
    rule_files,
    write_columns,
    write_json,
)
from flatmetric.cli.progress import progress_bar
from flatmetric.errors import InputError
from flatmetric.options.base import option
from flatmetric.options.scoring import BINS

_NEED_ROWS = ("ci", "images", "by", "curve", "per_frame", "per_molecule", "report", "stack")


@dataclass(frozen=True, kw_only=True)
class ScoreFlags(ReportOnImages, Json, Cluster, Strict):
    """The flags of `score` besides those of `fm.score` and `fm.score_in_ranges`."""

    by: str | None = option(
        None, "Also score in bins of z, photons, density, neighbour or frame.", section="Output", metavar="QUANTITY"
    )
    bins: int | None = option(None, f"Number of bins of --by; default: {BINS}.", section="Output", metavar="N")
    curve: float | None = option(
        None, "Also give the Flat Metric for every lam up to this one, nm.", section="Output", metavar="NM"
    )
    csv: str | None = option(None, "Write all values as one row of CSV.", section="Output", metavar="FILE|-")
    per_frame: str | None = option(None, "Write CSV with a row for each frame.", section="Output", metavar="FILE")
    per_molecule: str | None = option(
        None, "Write CSV with a row for each molecule and detection.", section="Output", metavar="FILE"
    )


@command(
    score_files,
    score_in_ranges,
    often=(
        "lam",
        "protocol",
        "dim",
        "ci",
        "by",
        "report",
        "stack",
        "json",
        "unit",
        "pixel_size",
        "frame_base",
        "columns",
    ),
)
def score(truth: Truth, result: Result, keywords: Keywords, flags: ScoreFlags) -> None:
    """Score RESULT against TRUTH: one number in nm, where it comes from, and every usual metric.

    flatmetric score truth.csv mine.csv
    flatmetric score truth.csv mine.csv --protocol challenge2016 --ci 95
    flatmetric score truth.csv mine.csv --report page.html --by photons
    flatmetric score truth.csv mine.csv --rows-at-a-time 5000000
    """
    outputs = [flags.json, flags.csv, flags.per_frame, flags.per_molecule, flags.report]
    check_outputs(outputs, [truth, result, *rule_files(keywords)])
    check_stack(flags)
    if flags.bins is not None and flags.by is None:
        raise InputError("bins= needs by=; give the quantity too")
    if STANDARD_OUTPUT in (flags.per_frame, flags.per_molecule):
        raise InputError("per_frame= and per_molecule= need a file; give its name")
    if flags.json == flags.csv == STANDARD_OUTPUT:
        raise InputError("json= and csv= can't both go to standard output; give one a file")
    if keywords["rows_at_a_time"] is not None:
        for name in _NEED_ROWS:
            if keywords.get(name) or getattr(flags, name, None):
                raise InputError(f"{name}= needs all rows at once; leave it or rows_at_a_time= out")
        folders = [] if keywords["scratch"] is None else [keywords["scratch"]]
        with cluster(flags.scheduler, folders or [result.resolve().parent]) as executor, progress_bar() as progress:
            given = arguments_for(score_in_ranges, keywords)
            _print(score_in_ranges(truth, result, progress=progress, executor=executor, **given), flags, {}, [])
        return
    with progress_bar() as progress:
        scored = score_files(truth, result, progress=progress, **arguments_for(score_files, keywords))
    more: dict[str, Any] = {}
    lines = []
    if flags.by is not None:
        binned = scored.in_bins(flags.by, BINS if flags.bins is None else flags.bins)
        more["by"] = {"quantity": flags.by, "bins": [each.to_dict() for each in binned]}
        lines.append(text.bins_text(flags.by, binned))
    if scored.intervals is not None:
        more["ci"] = dataclasses.asdict(scored.intervals)
    if flags.curve is not None:
        more["curve"] = scored.curve(flags.curve).to_dict()
    if flags.per_frame is not None:
        write_columns(scored.per_frame(), flags.per_frame)
    if flags.per_molecule is not None:
        write_columns(scored.per_molecule(), flags.per_molecule)
    if flags.report is not None:
        scored.report(flags.report, stack=flags.stack)
        lines.append(f"written: {flags.report}")
    _print(scored, flags, more, lines)


def _print(scored: Any, flags: ScoreFlags, more: dict[str, Any], lines: list[str]) -> None:
    """Write and print a score, with more content for the JSON and more paragraphs for the text."""
    content = scored.to_dict() | more
    content["warnings"] = [text.as_flags(warning) for warning in content["warnings"]]
    for finding in scored.findings:
        if finding.severity != "note":
            print_finding(str(finding), finding.severity)
    if flags.csv is not None:
        write_columns({name: [value] for name, value in text.flat_values(content).items()}, flags.csv)
    if flags.json is not None:
        write_json(content, flags.json)
    if STANDARD_OUTPUT not in (flags.json, flags.csv):
        print("\n\n".join([text.score_text(scored, scored.intervals), *lines]))
    for finding in scored.findings:
        if finding.severity == "note":
            print_finding(str(finding), "note")
    for assumption in scored.assumptions():
        print_assumption(assumption)
    if flags.strict and any(finding.is_fault for finding in scored.findings):
        sys.exit(1)
