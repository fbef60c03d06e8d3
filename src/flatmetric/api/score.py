"""`score`, `score_in_ranges` and `confidence`: every metric of a result against the truth, checked."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from concurrent.futures import Executor
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatmetric._dataclass import dataclass
from flatmetric.api.inputs import both_tables, table_from, warn
from flatmetric.challenges.submissions import program_name
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.options.base import group, takes
from flatmetric.options.certainty import Certainty
from flatmetric.options.execution import ROWS_AT_A_TIME
from flatmetric.options.scoring import RangeOptions, ScoreOptions
from flatmetric.quality.field import with_field
from flatmetric.quality.findings import Findings, findings_of_files
from flatmetric.scoring.checked import score_and_check
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from flatmetric.api.types import Source
    from flatmetric.scoring.ranges import RangedScore


@takes(ScoreOptions)
def score(truth: Source, pred: Source, *, progress: Progress | None = None, options: ScoreOptions) -> Score:
    """Score a result against the truth: Flat Metric, challenge metrics, RMSMD, GOSPA, OSPA.

    Wherever the result looks wrong as a whole, the score has `findings`, which are also one `FindingWarning`.

    Parameters
    ----------
    truth, pred
        Each a file of any known format, `Localizations`, a pandas, polars or Arrow table, or a dict of arrays; tables
        are read as their files would be.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1, 2], "x": [100.0, 900.0, 500.0], "y": [100.0, 100.0, 500.0]}
    >>> pred = {"frame": [1, 2], "x": [103.0, 500.0], "y": [104.0, 500.0]}
    >>> s = fm.score(truth, pred, lam=120, tolerance=100)
    >>> round(s.flat_metric.value, 3), s.challenge.tp, s.challenge.fn
    (41.667, 2, 1)
    """
    tables = both_tables(truth, pred, options, progress=progress, meanwhile=_import_check)
    scored = score_and_check(*tables, options, name_of(pred))
    warn(scored.findings, scored.name)
    if options.certainty.ci is None:
        return scored
    from flatmetric.statistics.intervals import intervals_of

    return dataclasses.replace(scored, intervals=intervals_of(scored, options.certainty))


def _import_check() -> None:
    """Import the check while the files are being read."""
    import_module("flatmetric.quality.checking")


def name_of(pred: Any) -> str:
    """The name of a result: that of its file."""
    return program_name(Path(pred)) if isinstance(pred, (str, Path)) else "result"


@takes(RangeOptions)
def score_in_ranges(
    truth: Source,
    pred: Source,
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    options: RangeOptions,
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
    from flatmetric.execution.workers import Workers
    from flatmetric.scoring.ranges import score_ranges

    execution = options.execution
    if options.metrics.link is not None:
        raise InputError("link= needs all rows at once; leave rows_at_a_time= out")
    with tempfile.TemporaryDirectory(prefix=".flatmetric-", dir=_scratch(options, pred, executor)) as place:
        folder = Path(place).resolve()
        true = table_from(truth, "truth", options.truth, progress=progress, folder=folder)
        result = table_from(pred, "pred", options.pred, progress=progress, per_file=True, folder=folder)
        rules, of_field = with_field(options.rules, true, result)
        scored, warnings = score_ranges(
            true,
            result,
            options.metrics,
            rules,
            folder,
            rows=ROWS_AT_A_TIME if execution.rows_at_a_time is None else execution.rows_at_a_time,
            workers=Workers(execution.jobs, executor, kind="processes"),
            progress=progress,
        )
        findings = findings_of_files(true, result, warnings, of_field)
        if options.check:
            from flatmetric.quality.checking import check_on_disk

            findings += check_on_disk(true, result, scored.lam, rules, scored.dim)
    scored = dataclasses.replace(scored, findings=Findings(tuple(findings), lam=scored.lam), name=name_of(pred))
    warn(scored.findings, scored.name)
    return scored


def _scratch(options: RangeOptions, pred: Any, executor: Executor | None) -> Path | None:
    named = options.execution.scratch
    if named is not None:
        if not Path(named).is_dir():
            raise InputError(f"{named}: the scratch folder does not exist; create it first")
        return Path(named)
    return Path(pred).resolve().parent if executor is not None and isinstance(pred, (str, os.PathLike)) else None


@dataclass(frozen=True, kw_only=True)
class ConfidenceOptions:
    """The options of `confidence`."""

    certainty: Certainty = group(Certainty, only=("ci", "block"))


@takes(ConfidenceOptions)
def confidence(score: Score, *, options: ConfidenceOptions) -> Intervals:
    """Confidence intervals of a score's metrics, for this structure with new blinking and noise; lengths in nm.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]}
    >>> fm.confidence(fm.score(truth, truth)).intervals["challenge.jaccard"]
    (100.0, 100.0)
    """
    from flatmetric.statistics.intervals import intervals_of

    if not isinstance(score, Score):
        raise InputError(f"score is a {type(score).__name__}; give what fm.score returned")
    return intervals_of(score, options.certainty)
