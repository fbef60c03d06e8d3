"""Results as sentences, the same on the terminal and on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatmetric.scoring.intervals import Intervals
    from flatmetric.statistics.comparison import Pair


def budget_sentence(value: float, displaced: float, missed: float, false: float, unit: str = "molecule") -> str:
    """The Flat Metric (nm) and the largest of its parts.

    Examples
    --------
    >>> budget_sentence(65.0, 2.5, 62.5, 0.0)
    'On average 65.0 nm per molecule; 96 % of it from missed molecules.'
    """
    if value == 0:
        return "Every molecule was found where it is."
    parts = {"displaced molecules": displaced, "missed molecules": missed, "false detections": false}
    largest = max(parts, key=lambda name: parts[name])
    return f"On average {value:.1f} nm per {unit}; {100 * parts[largest] / value:.0f} % of it from {largest}."


def pair_sentence(pair: Pair) -> str:
    """Which of two is better, in plain words.

    Examples
    --------
    >>> from flatmetric.statistics.comparison import Pair
    >>> pair_sentence(Pair("A", "B", -4.1, (-5.2, -2.9), 0.001, 0.003, 0.002, False, (-5.4, -2.7), True))
    'A is better than B by 4.1 nm (2.7 to 5.4), p 0.002'
    """
    p = f"p {'<= ' if pair.p_smallest else ''}{pair.p_adjusted:.2g}"
    if not pair.told:
        span = "" if pair.ci_all is None else f" ({_short(pair.ci_all[0])} to {_short(pair.ci_all[1])})"
        return f"{pair.a} and {pair.b} can't be told apart: {_short(pair.difference, '+')} nm{span}, {p}"
    better, worse = (pair.a, pair.b) if pair.difference < 0 else (pair.b, pair.a)
    low, high = sorted(map(abs, pair.ci_all or (pair.difference, pair.difference)))
    by = f"{abs(pair.difference):.1f} nm ({low:.1f} to {high:.1f})"
    return f"{better} is better than {worse} by {by}, {p}"


def _short(length: float, sign: str = "") -> str:
    """A length in nm with two digits, and never an exponent."""
    return f"{length:{sign}.0f}" if abs(length) >= 10 else f"{length:{sign}.2g}"


def intervals_title(intervals: Intervals) -> str:
    """What intervals are for, and what they rest on.

    Examples
    --------
    >>> from flatmetric.scoring.intervals import Intervals
    >>> intervals_title(Intervals(95.0, 10000, 0, 120, 25, "blocks", None, {}))
    '95 % intervals for this structure, from 25 independent blocks of 120 frames'
    """
    count = intervals.blocks
    blocks = f"from {count} independent block{'' if count == 1 else 's'} of {intervals.block} frames"
    units = "by molecules" if intervals.unit == "molecules" else blocks
    return f"{intervals.level:g} % intervals for this structure, {units}"
