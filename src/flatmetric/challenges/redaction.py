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
from flatmetric.statistics.ranking import Standing, rank

if TYPE_CHECKING:
    from flatmetric.challenges.leaderboard import Leaderboard

_DIGITS = 2  # of each number: enough to compare programs, too few to search for single molecules by resubmission
_STEPS = (5.0, 2.0, 1.0)  # of a decade: what people round to
_MOLECULES = 2.0  # a step covers what so many molecules add that turn from found to missed
_PAIRS = 4.0  # and what so many matched pairs change that are as far apart as they may be


def redacted(board: Leaderboard) -> Leaderboard:
    """The same ranks with every number rounded to two digits or to what its interval supports, whichever is coarser,
    and without anything that says where molecules are: no rows, frames, advice or sentences on single results, and no
    files to score again.
    """
    ranking, tolerance = board.ranking, float(board.settings["protocol"]["tolerance"])
    steps = shown_steps(board)
    coarsest = {name: max(step for (_, other), step in steps.items() if other == name) for _, name in steps}
    told = replace(
        ranking,
        datasets={
            name: tuple(_standing(one, steps[name, one.program]) for one in places)
            for name, places in ranking.datasets.items()
        },
        overall=tuple(
            replace(one, flat_metric=to_step(one.flat_metric, coarsest[one.program])) for one in ranking.overall
        ),
        pairs={
            name: tuple(_pair(one, max(steps[name, one.a], steps[name, one.b])) for one in pairs)
            for name, pairs in ranking.pairs.items()
        },
        kinds={},
        correlations=tuple(map(_correlation, ranking.correlations)),
    )
    return replace(
        board,
        ranking=told,
        entries=tuple(_entry(entry, steps[entry.dataset, entry.program], tolerance) for entry in board.entries),
        failures=dict.fromkeys(board.failures, "the organisers know why"),
        ignored={},
        submissions=(),
        options=None,
        suspects=Suspects(),  # nobody is accused in public
        left_out=dict.fromkeys(board.left_out, "left out"),
        is_redacted=True,
    )


def shown_steps(board: Leaderboard) -> dict[tuple[str, str], float]:
    """The step, nm, in which the Flat Metric of each result is shown, by data set and program."""
    steps = {}
    for entry in board.entries:
        standing = board.ranking.standing(entry.dataset, entry.program)
        if standing is None:  # left out of the ranks
            standing = rank([entry]).standing(entry.dataset, entry.program)
        interval = None if standing is None else standing.flat_metric_interval
        value, molecules = entry.metrics["flat_metric"] or 0.0, float(entry.truths.sum())
        steps[entry.dataset, entry.program] = step_of(value, interval, molecules, float(board.settings["lam"]))
    return steps


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
    half = 0.0 if interval is None else (interval[1] - interval[0]) / 2
    return _simple(max(_two_digits(value), half, _MOLECULES * 2 * lam / max(molecules, 1.0)))


def _two_digits(value: float) -> float:
    return 10.0 ** (math.floor(math.log10(abs(value))) - _DIGITS + 1) if value else 0.0


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


def rounded_metrics(
    metrics: Mapping[str, float | None], step: float, molecules: float, tolerance: float
) -> dict[str, float | None]:
    """The metrics of a result so coarse that no single molecule shows; `step` is that of the Flat Metric, nm.

    Shares are rounded to what a few molecules change, or as coarsely as the Flat Metric, and so is an RMSE to what a
    few matched pairs change that are up to `tolerance` (nm) apart. Those that one pair can change without limit are
    left out.

    Examples
    --------
    >>> known = {"flat_metric": 84.37, "jaccard": 61.24, "rmse_xy": 31.3, "recall": 0.612, "rmsmd": 80.0}
    >>> rounded_metrics(known, 5.0, 30_000, 250.0)
    {'flat_metric': 85.0, 'jaccard': 62.0, 'rmse_xy': 31.0, 'recall': 0.62, 'rmsmd': None}
    >>> rounded_metrics(known, 5.0, 12, 250.0)["rmse_xy"] is None
    True
    """
    value, recall, error = metrics["flat_metric"], metrics.get("recall"), metrics.get("rmse_xy")
    share = step / value if value else 0.0
    one = _MOLECULES / max(molecules, 1.0)
    pairs = max((recall or 0.0) * molecules, 1.0)
    moved = 0.0 if error is None else math.hypot(error, tolerance * math.sqrt(_PAIRS / pairs)) - error
    steps = {"jaccard": 100 * one, "recall": one, "precision": one, "rmse_xy": moved, "efficiency": moved + 100 * one}
    shown: dict[str, float | None] = dict.fromkeys(metrics)
    shown["flat_metric"] = None if value is None else to_step(value, step)
    for name, least_step in steps.items():
        number = metrics.get(name)
        if number is not None and name in shown:
            own = _simple(max(_two_digits(number), abs(number) * share, least_step))
            shown[name] = to_step(number, own) if own <= max(abs(number), 100 * one) else None
    return shown


def _standing(one: Standing, step: float) -> Standing:
    interval = _span(one.flat_metric_interval, step)
    return replace(one, flat_metric=to_step(one.flat_metric, step), flat_metric_interval=interval)


def _correlation(one: Correlation) -> Correlation:
    interval = None if one.interval is None else (rounded(one.interval[0]), rounded(one.interval[1]))
    return replace(one, value=None if one.value is None else rounded(one.value), interval=interval)


def _pair(one: Pair, step: float) -> Pair:
    return replace(
        one,
        difference=to_step(one.difference, step),
        ci=_span(one.ci, step),
        ci_all=_span(one.ci_all, step),
        contributors=None,
        p=_one_digit(one.p),
        p_holm=_one_digit(one.p_holm),
        p_adjusted=_one_digit(one.p_adjusted),
    )


def _span(interval: tuple[float, float] | None, step: float) -> tuple[float, float] | None:
    return None if interval is None else (to_step(interval[0], step), to_step(interval[1], step))


def _one_digit(value: float) -> float:
    return float(f"{value:.0e}")


def _entry(one: Entry, step: float, tolerance: float) -> Entry:
    parts = None if one.parts is None else tuple(to_step(part, step) for part in one.parts)
    return Entry(
        one.dataset,
        one.program,
        rounded_metrics(one.metrics, step, float(one.truths.sum()), tolerance),
        1,
        np.array([1]),
        np.array([rounded(float(one.costs.sum()))]),
        np.array([rounded(float(one.truths.sum()))]),
        parts=parts,  # type: ignore[arg-type]
        dim=one.dim,
        ids=one.ids,
    )
