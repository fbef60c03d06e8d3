"""A leaderboard that participants may see while the challenge goes on: ranks and rounded numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flatmetric.challenges.suspects import Suspects
from flatmetric.statistics.comparison import Pair
from flatmetric.statistics.correlations import Correlation
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import Standing

if TYPE_CHECKING:
    from flatmetric.challenges.leaderboard import Leaderboard

_DIGITS = 2  # of each number: enough to compare programs, too few to search for single molecules by resubmission
_STEPS = (5.0, 2.0, 1.0)  # of a decade: what people round to
_MOLECULES = 2.0  # a step covers what so many molecules add that turn from found to missed


def redacted(board: Leaderboard) -> Leaderboard:
    """The same ranks with every number rounded to two digits or to what its interval supports, whichever is coarser,
    and without anything that says where molecules are: no rows, frames, advice or sentences on single results, and no
    files to score again.
    """
    ranking = board.ranking
    steps = {}
    for entry in board.entries:
        standing = ranking.standing(entry.dataset, entry.program)
        interval = None if standing is None else standing.flat_metric_interval
        value, molecules = entry.metrics["flat_metric"] or 0.0, float(entry.truths.sum())
        steps[entry.dataset, entry.program] = step_of(value, interval, molecules, float(board.settings["lam"]))
    told = replace(
        ranking,
        datasets={
            name: tuple(_standing(one, steps[name, one.program]) for one in places)
            for name, places in ranking.datasets.items()
        },
        overall=tuple(replace(one, flat_metric=rounded(one.flat_metric)) for one in ranking.overall),
        pairs={name: tuple(map(_pair, pairs)) for name, pairs in ranking.pairs.items()},
        kinds={},
        correlations=tuple(map(_correlation, ranking.correlations)),
    )
    return replace(
        board,
        ranking=told,
        entries=tuple(_entry(entry, steps[entry.dataset, entry.program]) for entry in board.entries),
        failures=dict.fromkeys(board.failures, "the organisers know why"),
        ignored={},
        submissions=(),
        options=None,
        suspects=Suspects(),  # nobody is accused in public
        left_out=dict.fromkeys(board.left_out, "left out"),
        is_redacted=True,
    )


def rounded(value: float) -> float:
    """A number with two digits.

    Examples
    --------
    >>> rounded(84.37), rounded(0.01234)
    (84.0, 0.012)
    """
    return float(f"{value:.{_DIGITS}g}")


def step_of(value: float, interval: tuple[float, float] | None, molecules: float, lam: float) -> float:
    """The step, nm, to which a Flat Metric may be shown: two digits, but no finer than half the width of its interval,
    nor than what two molecules change when they turn from found to missed.

    Examples
    --------
    >>> step_of(84.37, (83.1, 85.6), 30_000, 125.0), step_of(84.37, (60.0, 108.0), 30_000, 125.0)
    (1.0, 20.0)
    """
    digits = 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1) if value else 0.0
    half = 0.0 if interval is None else (interval[1] - interval[0]) / 2
    return _simple(max(digits, half, _MOLECULES * 2 * lam / max(molecules, 1.0)))


def _simple(length: float) -> float:
    """The largest of 1, 2 or 5 times a power of ten up to a positive length."""
    power = 10.0 ** math.floor(math.log10(length) + 1e-9)
    return next(step * power for step in _STEPS if step * power <= length * (1 + 1e-9))


def to_step(value: float, step: float) -> float:
    """The multiple of a step nearest to a number.

    Examples
    --------
    >>> to_step(84.37, 1.0), to_step(84.37, 20.0)
    (84.0, 80.0)
    """
    return float(f"{round(value / step) * step:.12g}")


def rounded_metrics(metrics: Mapping[str, float | None], step: float) -> dict[str, float | None]:
    """The metrics of a result, each as coarse, relative to itself, as the Flat Metric is in steps of `step` nm.

    Examples
    --------
    >>> rounded_metrics({"flat_metric": 84.37, "jaccard": 61.24}, 5.0)
    {'flat_metric': 85.0, 'jaccard': 62.0}
    """
    value = metrics["flat_metric"]
    share = step / value if value else 10.0**-_DIGITS
    shown: dict[str, float | None] = {}
    for name, one in metrics.items():
        if name == "flat_metric" or not one:
            shown[name] = None if one is None else to_step(one, step)
        else:
            shown[name] = to_step(one, _simple(abs(one) * max(share, 10.0**-_DIGITS)))
    return shown


def _standing(one: Standing, step: float) -> Standing:
    own = one.flat_metric_interval
    interval = None if own is None else (to_step(own[0], step), to_step(own[1], step))
    return replace(one, flat_metric=to_step(one.flat_metric, step), flat_metric_interval=interval)


def _span(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (rounded(interval[0]), rounded(interval[1]))


def _correlation(one: Correlation) -> Correlation:
    return replace(one, value=None if one.value is None else rounded(one.value), interval=_span(one.interval))


def _pair(one: Pair) -> Pair:
    return replace(one, difference=rounded(one.difference), ci=_span(one.ci), ci_all=_span(one.ci_all))


def _entry(one: Entry, step: float) -> Entry:
    parts = None if one.parts is None else tuple(to_step(part, step) for part in one.parts)
    return Entry(
        one.dataset,
        one.program,
        rounded_metrics(one.metrics, step),
        1,
        np.array([1]),
        np.array([rounded(float(one.costs.sum()))]),
        np.array([rounded(float(one.truths.sum()))]),
        parts=parts,  # type: ignore[arg-type]
        dim=one.dim,
        ids=one.ids,
    )
