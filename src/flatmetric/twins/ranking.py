"""Which program is best on the twins of a movie, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.sentences import listed

if TYPE_CHECKING:
    from flatmetric.scoring.advice import Advice
    from flatmetric.scoring.score import Score

UNLIKE = 0.25
"""Of the Flat Metric: by how much twins and movies differ besides, on the movies of proofs/twins.py that were there for
development; those kept aside are not in it.
"""
WORTH = 0.02
"""Of the Flat Metric: settings that gain less on the twins than this are no better than the defaults on the movie, as
far as the movies for development tell.
"""
_MOST_ADVICE = 3  # more is not read
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Contender:
    """A program with its settings, and what it reached on each twin: the Flat Metric in nm, recall and precision (0 to
    1). `settings` is None for a program of the user's own.
    """

    program: str
    method: str | None
    settings: Mapping[str, float] | None
    values: tuple[float, ...]
    recall: float
    precision: float

    @property
    def expected(self) -> float:
        """The mean over the twins, nm."""
        return float(np.mean(self.values))

    @property
    def interval(self) -> Span | None:
        """Where the Flat Metric of the movie lies in 95 %, nm, as far as twins are like movies; None with one twin."""
        span = _interval(np.array(self.values), another=True)
        if span is None:
            return None
        reach = math.hypot((span[1] - span[0]) / 2, 1.96 * UNLIKE * self.expected)
        return max(0.0, self.expected - reach), self.expected + reach


@dataclass(frozen=True, slots=True)
class Behind:
    """How much worse a program is than the best, in nm: the mean over twins, and its 95 % interval (None: one twin)."""

    program: str
    difference: float
    interval: Span | None

    @property
    def is_tie(self) -> bool:
        """Whether it is not significantly worse than the best."""
        return self.interval is None or self.interval[0] <= 0


@dataclass(frozen=True, slots=True)
class Choice:
    """All candidates, best first, how far the others are behind, and on how many of the twins the best is first."""

    candidates: tuple[Contender, ...]
    behind: tuple[Behind, ...]
    first_on: int

    @property
    def best(self) -> Contender:
        """The candidate with the lowest Flat Metric on average."""
        return self.candidates[0]

    @property
    def ties(self) -> list[str]:
        """Programs that are not significantly worse than the best."""
        return [one.program for one in self.behind if one.is_tie]

    def sentences(self) -> list[str]:
        """The answer: what to expect of the best, and who is behind by how much."""
        best = self.best
        span = "" if best.interval is None else f" ({best.interval[0]:.0f} to {best.interval[1]:.0f})"
        said = [
            f"{best.program}{_changed(best)}: expect a Flat Metric of {best.expected:.0f} nm{span}, recall "
            f"{best.recall:.2f}, precision {best.precision:.2f}; first on {self.first_on} of {len(best.values)} twins."
        ]
        if self.ties:
            said.append(f"On the twins it is not significantly better than {listed(self.ties)}.")
        clear = [one for one in self.behind if not one.is_tie]
        if clear:
            one = clear[0]
            assert one.interval is not None
            low, high = one.interval
            said.append(f"{one.program} is {one.difference:.1f} nm worse ({low:.1f} to {high:.1f}).")
        return said


def choice(candidates: Sequence[Contender]) -> Choice:
    """Rank candidates by their mean, and compare each with the best twin by twin; settings that gain hardly anything
    over the defaults are left out.

    Examples
    --------
    >>> good = Contender("a", "a", {}, (40.0, 42.0, 41.0), 0.8, 0.9)
    >>> bad = Contender("b", "b", {}, (50.0, 52.5, 51.0), 0.7, 0.9)
    >>> chosen = choice([bad, good])
    >>> chosen.best.program, chosen.first_on, chosen.ties
    ('a', 3, [])
    >>> print(chosen.sentences()[1])
    b is 10.2 nm worse (9.4 to 10.9).
    """
    needed = {one.method: (1 - WORTH) * one.expected for one in candidates if one.settings == {}}
    worth = [one for one in candidates if not one.settings or one.expected < needed.get(one.method, math.inf)]
    ranked = tuple(sorted(worth, key=lambda one: (one.expected, one.program)))
    values = np.array([one.values for one in ranked])
    differences = values[1:] - values[0]
    behind = tuple(
        Behind(one.program, float(apart.mean()), _interval(apart, another=False))
        for one, apart in zip(ranked[1:], differences, strict=True)
    )
    return Choice(ranked, behind, int(np.count_nonzero(values.argmin(axis=0) == 0)))


@dataclass(frozen=True, slots=True)
class Weakness:
    """Where a program loses on the twins: the advice on one of them, and what it is worth on all on average, nm."""

    sentence: str
    gain: float


def weaknesses(scores: Sequence[Score]) -> list[Weakness]:
    """What would improve a program's results, by its scores on the twins, the most valuable first; only what helps on
    most of them.
    """
    by_kind: dict[str, list[Advice]] = {}
    for one in scores:
        for advice in one.advice:
            by_kind.setdefault(advice.kind, []).append(advice)
    frequent = [given for given in by_kind.values() if 2 * len(given) > len(scores)]
    found = [Weakness(given[0].sentence, sum(one.gain for one in given) / len(scores)) for given in frequent]
    return sorted(found, key=lambda one: -one.gain)[:_MOST_ADVICE]


def _interval(values: FloatArray, *, another: bool) -> Span | None:
    """The 95 % interval of the mean, or of `another` value of the same law."""
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return None
    reach = float(stdtrit(count - 1, 0.975)) * float(values.std(ddof=1)) * math.sqrt(1 / count + another)
    middle = float(values.mean())
    return middle - reach, middle + reach


def _changed(candidate: Contender) -> str:
    settings = ", ".join(f"{name} {value:g}" for name, value in (candidate.settings or {}).items())
    return f" with {settings}" if settings else ""
