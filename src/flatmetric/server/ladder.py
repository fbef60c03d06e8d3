"""The ladder of Blum and Hardt: a team sees a new best only where it is better by more than chance.

Without it, many tries on the same truth find what fits its noise, and many scores together find single molecules. A
score is shown rounded to what its interval supports, and a new one only where it is significantly better than the best
so far, by at least that rounding: near-copies differ significantly by almost nothing.
"""

from __future__ import annotations

from dataclasses import replace

from flatmetric.challenges.redaction import step_of
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.comparison import compare_entries
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import rank

_EVERY = Certainty(resamples=100)  # the interval of one pair needs no random draws


def shown_step(entry: Entry, lam: float) -> float:
    """The step, nm, in which the Flat Metric of a result is shown."""
    ((standing,),) = rank([entry], _EVERY).datasets.values()
    value, molecules = entry.metrics["flat_metric"] or 0.0, float(entry.truths.sum())
    return step_of(value, standing.flat_metric_interval, molecules, lam)


def is_new_best(entry: Entry, best: Entry | None, lam: float) -> bool:
    """Whether a result is shown in place of a team's best so far.

    Examples
    --------
    >>> import numpy as np
    >>> from flatmetric.metrics.table import LEADERBOARD
    >>> def result(nm):
    ...     costs = np.tile([nm - 1, nm + 1], 20)
    ...     metrics = dict.fromkeys(LEADERBOARD) | {"flat_metric": nm}
    ...     return Entry("d", f"{nm}", metrics, 1, np.arange(40), costs, np.ones(40))
    >>> is_new_best(result(80.0), None, 0.25), is_new_best(result(79.9), result(80.0), 0.25)
    (True, False)
    >>> is_new_best(result(70.0), result(80.0), 0.25)
    True
    """
    if best is None:
        return True
    pair_of = [replace(best, dataset="", program="best"), replace(entry, dataset="", program="new")]
    ((pair,),) = compare_entries(pair_of, _EVERY).values()
    gain, interval = pair.difference, pair.ci  # of the best minus the new: positive where the new one is better
    significant = interval is not None and interval[0] > 0
    return significant and gain >= shown_step(best, lam)
