"""`compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.api.inputs import table_from, warn, warn_of_frames
from flatmetric.challenges.submissions import program_names
from flatmetric.errors import FindingWarning, InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.formats.read import read_once
from flatmetric.localizations import Localizations
from flatmetric.options.base import group, takes
from flatmetric.options.certainty import Certainty
from flatmetric.options.scoring import MetricOptions, ScoreOptions
from flatmetric.quality.remarks import remarks_on
from flatmetric.scoring.checked import score_and_check
from flatmetric.scoring.score import Score
from flatmetric.statistics.comparison import Comparison, compare_scores

if TYPE_CHECKING:
    from flatmetric.api.types import Source


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ScoreOptions):
    """The options of `compare`."""

    metrics: MetricOptions = group(MetricOptions, without=("images",))
    certainty: Certainty = group(Certainty)


@takes(CompareOptions)
def compare(
    truth: Source,
    results: Mapping[str, Source] | Sequence[Source] | Source,
    *more: Source,
    progress: Progress | None = None,
    executor: Executor | None = None,
    options: CompareOptions,
) -> Comparison:
    """Rank two or more results on one truth by Flat Metric, with intervals and paired differences over frames.

    Parameters
    ----------
    truth
        The true molecules: a file, or a table.
    results, more
        Results by name, each a file or a table; or one after the other, or in a list, where files have their own names
        and tables are numbered.
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Reads and scores the results, instead of threads of this machine; its workers must see the files.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> near, far = dict(truth, x=[5.0] * 30), dict(truth, x=[9.0] * 30)
    >>> c = fm.compare(truth, {"far": far, "near": near})
    >>> c.names, c.pairs[0].difference
    (('near', 'far'), -4.0)
    >>> c.best, c["far"].value
    ('near', 9.0)
    >>> fm.compare(truth, far, near).best
    'result 2'
    """
    named, workers = _named([results, *more] if more else results), Workers(options.execution.threads, executor)
    # Where there are more results than threads, each thread has its own.
    threads = 1 if workers.elsewhere or workers.jobs <= len(named) else workers.jobs
    if threads > 1:
        workers = Workers(1)
    for_one, true = options.for_one(threads), truth
    if not (workers.elsewhere and isinstance(truth, (str, os.PathLike))):
        true = table_from(truth, "truth", options.truth, threads=options.execution.threads, progress=progress)
    here = Path.cwd() if workers.elsewhere else Path()
    tasks = [(here, true, name, result, for_one) for name, result in named.items()]
    scores = {}
    outcomes = workers.run(_score_one, tasks, what="scoring", progress=progress)
    for name, outcome in zip(named, outcomes, strict=True):
        if isinstance(outcome, Failed):
            raise InputError(f"{name}: could not be scored, {outcome.reason}")
        warn_of_frames(outcome.basis.truth.provenance, outcome.basis.pred.provenance, name)
        scores[name] = outcome
    compared = compare_scores(scores, options.certainty)
    remarks = remarks_on({name: [f for f in score.findings if not f.is_limit] for name, score in scores.items()})
    for text in remarks.shared:
        warnings.warn(text, FindingWarning, stacklevel=3)
    for name, findings in remarks.own.items():
        warn(findings, name)
    return compared


def _score_one(here: Path, truth: Any, name: str, result: Any, options: ScoreOptions) -> Score:
    """The score of one result; `here` is the folder from which files are named."""
    if isinstance(truth, (str, os.PathLike)):
        truth = _named_as(read_once(here / truth, options.truth), truth)
    source = here / result if isinstance(result, (str, os.PathLike)) else result
    threads = options.execution.threads
    table = table_from(source, f"results[{name!r}]", options.pred, threads=threads, per_file=True)
    return score_and_check(truth, table if source is result else _named_as(table, result), options, name)


def _named_as(table: Localizations, path: str | os.PathLike[str]) -> Localizations:
    """A table under the name by which the user knows its file."""
    return dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, file=str(path)))


def _is_result(value: Any) -> bool:
    """Whether a value is a file or a table, and not a column of one."""
    if isinstance(value, np.ndarray):
        return value.ndim == 2 or value.dtype.names is not None
    has_names = hasattr(value, "columns") or hasattr(value, "column_names")
    return has_names or isinstance(value, (str, os.PathLike, Mapping, Localizations))


def _named(results: Any) -> dict[str, Any]:
    if isinstance(results, Mapping) and all(map(_is_result, results.values())):
        named = {str(name): result for name, result in results.items()}
    elif isinstance(results, Sequence) and not isinstance(results, str):
        files = [Path(one) for one in results if isinstance(one, (str, os.PathLike))]
        names = iter(program_names(files))
        named = {}
        for number, one in enumerate(results, start=1):
            is_file = isinstance(one, (str, os.PathLike))
            named[next(names) if is_file else f"result {number}"] = Path(one) if is_file else one
    elif _is_result(results):
        named = {"result": results}
    else:
        raise InputError(f"results is a {type(results).__name__}; give results by name in a dict, or one by one")
    if len(named) < 2:
        raise InputError("one result can't be compared; give two or more")
    return named
