"""What to expect of a result whose program is not known: by how far it lies from the best program's on the same movie.

On the twins that distance is known for every program, and so is its distance from the truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.twins.ranking import UNLIKE, Contender, Span

_FEWEST = 6  # programs times twins: a line and its error
TOO_FEW = (
    f"your result can't be judged, as that takes {_FEWEST} results on twins in all; let more programs take part, or "
    "give more twins"
)
"""The remark where too few programs tell what to expect of a result."""


@dataclass(frozen=True, slots=True)
class OwnResult:
    """A result of the movie: its distance from that of the best program, nm per detection of that, what Flat Metric to
    expect of it with a 95 % interval, nm, and whether no program lies as far from the best on the twins.

    The interval reaches down to what the triangle inequality leaves: whether a result lies on the near or on the far
    side of the best program's, nobody can tell without the truth.
    """

    distance: float
    expected: float
    interval: Span
    outside: bool

    def sentence(self) -> str:
        """What to expect.

        Examples
        --------
        >>> OwnResult(20.0, 55.0, (50.0, 60.0), False).sentence()
        'Your result lies 20.0 nm from that of the best program: expect a Flat Metric of 55 nm (50 to 60).'
        """
        low, high = self.interval
        said = (
            f"Your result lies {self.distance:.1f} nm from that of the best program: expect a Flat Metric of "
            f"{self.expected:.0f} nm ({low:.0f} to {high:.0f})."
        )
        far = " No program lies as far from the best on the twins, so this is uncertain." if self.outside else ""
        return said + far


def own_result(
    distance: float, best: Contender, others: Sequence[Contender], distances: Mapping[str, Sequence[float]]
) -> OwnResult | None:
    """What to expect of a result at a `distance` from that of the best program; None where too few programs tell.

    `distances` are those of the results of the other programs from the best one's, by program, one for each twin.

    Examples
    --------
    >>> best = Contender("a", "a", {}, (40.0, 42.0), 0.8, 0.9)
    >>> others = [Contender(name, name, {}, (40 + far, 42 + far), 0.8, 0.9) for name, far in zip("bcd", (9, 18, 27))]
    >>> expected = own_result(20.0, best, others, {"b": (10, 10), "c": (20, 20), "d": (30, 30)})
    >>> round(expected.expected), expected.outside
    (59, False)
    """
    points = [(0.0, value) for value in best.values]
    for other in others:
        points += zip(distances[other.program], other.values, strict=True)
    if len(points) < _FEWEST:
        return None
    from scipy.special import stdtrit

    x, y = np.array(points, dtype=np.float64).T
    middle, spread = float(x.mean()), float(((x - x.mean()) ** 2).sum())
    if spread == 0:
        return None
    slope = float(((x - middle) * y).sum() / spread)
    expected = float(y.mean()) + slope * (distance - middle)
    left = y - y.mean() - slope * (x - middle)
    free = len(points) - 2
    error = math.sqrt(float(left @ left) / free * (1 + 1 / len(points) + (distance - middle) ** 2 / spread))
    # The Flat Metric is a metric: how far the best may be from the truth bounds how far this may be.
    near, far = best.interval or (best.expected, best.expected)
    least, most = max(0.0, near - distance, distance - far), far + distance
    expected = min(max(expected, least), most)
    reach = math.hypot(float(stdtrit(free, 0.975)) * error, 1.96 * UNLIKE * expected)
    return OwnResult(distance, expected, (least, min(expected + reach, most)), distance > 1.1 * float(x.max()))
