"""`compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from flatmetric._progress import Progress
from flatmetric.api.inputs import reading, reading_truth, table_from, warn
from flatmetric.api.options import Checked, ReadBoth, Scoring, Sure, Threads, keywords
from flatmetric.api.score import certainty, scored_with_findings
from flatmetric.challenge.submissions import program_names
from flatmetric.errors import InputError
from flatmetric.statistics.comparison import Comparison, compare_scores

if TYPE_CHECKING:
    from flatmetric.api.options import Source


class CompareArguments(Scoring, Sure, Checked, ReadBoth, Threads, total=False):
    """The options of `compare`."""


@keywords(CompareArguments)
def compare(
    truth: Source,
    results: Mapping[str, Source] | Sequence[str | os.PathLike[str]],
    *,
    progress: Progress | None = None,
    **given: Unpack[CompareArguments],
) -> Comparison:
    """Rank two or more results on one truth by Flat Metric, with intervals and paired differences over frames.

    Parameters
    ----------
    truth
        The true molecules: a file, or a table in nm with frames from 1.
    results
        Results by name, each a file or a table; or a list of files, which are named by themselves.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> near, far = dict(truth, x=[5.0] * 30), dict(truth, x=[9.0] * 30)
    >>> c = fm.compare(truth, {"far": far, "near": near})
    >>> c.names, c.pairs[0].difference
    (('near', 'far'), -4.0)
    """
    named = _named(results)
    threads = given.get("threads")
    true = table_from(truth, "truth", reading_truth(given), threads=threads, progress=progress)
    own, scores = reading(given), {}
    values: dict[str, Any] = {**given, "ci": None}
    for name, result in named.items():
        table = table_from(result, f"results[{name!r}]", own, threads=threads, progress=progress, per_file=True)
        scores[name] = scored_with_findings(true, table, values, name)
    for name, score in scores.items():
        warn(score.findings, name)
    return compare_scores(scores, certainty(given))


def _named(results: Any) -> dict[str, Any]:
    if isinstance(results, Mapping) and not {"frame", "x", "y"} <= set(results):
        named = {str(name): result for name, result in results.items()}
    elif isinstance(results, Sequence) and not isinstance(results, str):
        if not all(isinstance(path, (str, os.PathLike)) for path in results):
            raise InputError("results is a list of tables; give a dict of tables by name")
        paths = [Path(path) for path in results]
        named = dict(zip(program_names(paths), paths, strict=True))
    else:
        raise InputError(f"results is a {type(results).__name__}; give a dict of results by name, or a list of files")
    if len(named) < 2:
        raise InputError("one result can't be compared; give two or more")
    return named
