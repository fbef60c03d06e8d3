"""`score_in_ranges`: every metric of a result that is too large for memory."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from flatmetric._progress import Progress
from flatmetric._work import Workers
from flatmetric.api.inputs import file_findings, reading, reading_truth, table_from, warn
from flatmetric.api.options import ROWS_AT_A_TIME, Checked, Ranges, ReadBoth, Scoring, keywords
from flatmetric.api.rules import rules_from, with_field
from flatmetric.api.score import name_of, score_options
from flatmetric.errors import InputError
from flatmetric.quality.findings import Finding, Findings
from flatmetric.scoring.ranges import RangedScore, score_ranges

if TYPE_CHECKING:
    from flatmetric.api.options import Source


class RangeArguments(Scoring, Checked, ReadBoth, Ranges, total=False):
    """The options of `score_in_ranges`."""


@keywords(RangeArguments)
def score_in_ranges(
    truth: Source,
    pred: Source,
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **given: Unpack[RangeArguments],
) -> RangedScore:
    """Score a result that is too large for memory: text or Parquet files of any length, in any order of frames.

    Counts are those of `score` to the bit, all other values to 1e-12. Files are read once into the scratch folder,
    where a number takes up to 24 bytes; only what is scored at a time is in memory. The check looks at a sample.

    Parameters
    ----------
    truth, pred
        Files or tables, as for `score`.
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Does the work, instead of processes of this machine; its workers must see the scratch folder.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1, 2], "x": [100.0, 900.0, 500.0], "y": [100.0, 100.0, 500.0]}
    >>> pred = {"frame": [1, 2], "x": [103.0, 500.0], "y": [104.0, 500.0]}
    >>> s = fm.score_in_ranges(truth, pred, lam=120, rows_at_a_time=3)
    >>> round(s.flat_metric.value, 3), s.challenge.tp, s.challenge.fn
    (41.667, 2, 1)
    """
    rows, jobs = given.get("rows_at_a_time"), given.get("jobs")
    rows = ROWS_AT_A_TIME if rows is None else rows
    if given.get("link") is not None:
        raise InputError("link= needs all rows at once; leave rows_at_a_time= out")
    with tempfile.TemporaryDirectory(prefix=".flatmetric-", dir=_scratch(given, pred, executor)) as place:
        folder = Path(place).resolve()
        true = table_from(truth, "truth", reading_truth(given), progress=progress, folder=folder)
        found = table_from(pred, "pred", reading(given), progress=progress, per_file=True, folder=folder)
        protocol, of_field = with_field(rules_from(given), given, true, found)
        options, workers = score_options(given, protocol), Workers(jobs, executor, kind="processes")
        scored, warnings = score_ranges(true, found, options, folder, rows=rows, workers=workers, progress=progress)
        findings = [*file_findings(true, "truth"), *file_findings(found, "pred")]
        findings += [Finding("file", text, None, None, 1.0) for text in warnings]
        findings += [] if of_field is None else [of_field]
        if given.get("check", True):
            from flatmetric.quality.checking import check_on_disk

            findings += check_on_disk(true, found, lam=scored.lam, protocol=protocol, dim=scored.dim)
    scored = dataclasses.replace(scored, findings=Findings(tuple(findings), lam=scored.lam), name=name_of(pred))
    warn(scored.findings, scored.name)
    return scored


def _scratch(given: RangeArguments, pred: Any, executor: Executor | None) -> Path | None:
    named = given.get("scratch")
    if named is not None:
        if not Path(named).is_dir():
            raise InputError(f"{named}: the folder for what is too large for memory does not exist; make it first")
        return Path(named)
    return Path(pred).resolve().parent if executor is not None and isinstance(pred, (str, os.PathLike)) else None
