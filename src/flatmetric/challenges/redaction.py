"""A leaderboard that participants may see while the challenge goes on: ranks and rounded numbers."""

from __future__ import annotations

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


def redacted(board: Leaderboard) -> Leaderboard:
    """The same ranks with every number rounded to two digits, and without anything that says where molecules are: no
    rows, frames, advice or sentences on single results, and no files to score again.
    """
    ranking = board.ranking
    told = replace(
        ranking,
        datasets={name: tuple(map(_standing, places)) for name, places in ranking.datasets.items()},
        overall=tuple(map(_standing, ranking.overall)),
        pairs={name: tuple(map(_pair, pairs)) for name, pairs in ranking.pairs.items()},
        kinds={},
        correlations=tuple(map(_correlation, ranking.correlations)),
    )
    return replace(
        board,
        ranking=told,
        entries=tuple(map(_entry, board.entries)),
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


def _span(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (rounded(interval[0]), rounded(interval[1]))


def _standing(one: Standing) -> Standing:
    return replace(one, flat_metric=rounded(one.flat_metric), flat_metric_interval=_span(one.flat_metric_interval))


def _correlation(one: Correlation) -> Correlation:
    return replace(one, value=None if one.value is None else rounded(one.value), interval=_span(one.interval))


def _pair(one: Pair) -> Pair:
    return replace(one, difference=rounded(one.difference), ci=_span(one.ci), ci_all=_span(one.ci_all))


def _entry(one: Entry) -> Entry:
    metrics: Mapping[str, float | None] = one.metrics
    parts = None if one.parts is None else tuple(map(rounded, one.parts))
    return Entry(
        one.dataset,
        one.program,
        {name: None if value is None else rounded(value) for name, value in metrics.items()},
        1,
        np.array([1]),
        np.array([rounded(float(one.costs.sum()))]),
        np.array([rounded(float(one.truths.sum()))]),
        parts=parts,  # type: ignore[arg-type]
    )
