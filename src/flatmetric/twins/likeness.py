"""Is a twin like its movie? By numbers that need no truth and that the twin was not made to fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD
from flatmetric.matching.matcher import neighbours
from flatmetric.twins.seen import Seen

_NEAR = 300.0  # nm: spots that overlap
FAR = 3.5
"""Spreads between a movie and its twins that are too many: one in two thousand by chance."""
_SOME_UNLIKE, _MANY_UNLIKE = 3, 7  # of the statistics: to doubt a twin, and to say nothing by it


def _quantile(share: float) -> Callable[[Seen], float]:
    return lambda seen: float(np.quantile(seen.light, share))


def _after(seen: Seen) -> float:
    """How alike a pixel is to itself in the next frame: a correlation."""
    follows = np.flatnonzero(np.diff(seen.frames) == 1)
    left = seen.light - np.median(seen.light, axis=0)
    return float((left[follows] * left[follows + 1]).mean() / max(float((left**2).mean()), 1e-12))


def _skewness(seen: Seen) -> float:
    left = seen.light - np.median(seen.light, axis=0)
    return float((left**3).mean() / max(float((left**2).mean()), 1e-12) ** 1.5)


def _maxima(times: float) -> Callable[[Seen], float]:
    """Local maxima of a filtered frame that stand out by so many times its noise: the simplest other program."""

    def of(seen: Seen) -> float:
        from scipy import ndimage

        band = ndimage.gaussian_filter(seen.light, (0, 1, 1)) - ndimage.gaussian_filter(seen.light, (0, 2.5, 2.5))
        noise = PER_MAD * float(np.median(np.abs(band - np.median(band))))
        peaks = (band == ndimage.maximum_filter(band, (1, 5, 5))) & (band > times * noise)
        return float(peaks.sum()) / len(seen.frames)

    return of


def _unrest(seen: Seen) -> float:
    return float(seen.counts.var() / max(float(seen.counts.mean()), 1e-9))


def _crowded(seen: Seen) -> float:
    if len(seen.found) < 2:
        return 0.0
    distance, _ = neighbours(seen.found, seen.found, dim=2, within=_NEAR, apart=True)
    return float(np.isfinite(distance).mean())


def _late(seen: Seen) -> float:
    counts = seen.counts
    half = len(counts) // 2
    return float(counts[half:].mean() / max(float(counts.mean()), 1e-9)) if half else 1.0


def _slope(seen: Seen) -> float:
    """How uneven the background is: its range from part to part, over its mean."""
    parts = [block.mean() for band in np.array_split(seen.background, 4) for block in np.array_split(band, 4, axis=1)]
    return float(np.ptp(parts) / max(float(np.mean(parts)), 1e-9))


def _noise(seen: Seen) -> float:
    """The noise of pixels from frame to frame over their light."""
    follows = np.flatnonzero(np.diff(seen.frames) == 1)
    step = PER_MAD * np.median(np.abs(seen.light[follows + 1] - seen.light[follows]), axis=0)
    return float(np.median(step**2 / 2) / max(float(np.median(seen.background)), 1e-9))


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number of a movie; the smallest difference that matters, as a part of it or by itself, and what a larger and a
    smaller one in the movie than in its twins mean.
    """

    of: Callable[[Seen], float]
    part: float
    least: float
    more: str
    less: str


STATISTICS: Mapping[str, Statistic] = {
    "median light": Statistic(_quantile(0.5), 0.05, 0.5, "is brighter", "is darker"),
    "light of the brightest 1 %": Statistic(_quantile(0.99), 0.1, 1.0, "has brighter spots", "has dimmer spots"),
    "light of the brightest 0.1 %": Statistic(
        _quantile(0.999), 0.12, 1.0, "has brighter brightest spots", "has dimmer brightest spots"
    ),
    "skewness of light": Statistic(_skewness, 0.2, 0.1, "has a few very bright pixels", "has more even spots"),
    "neighbouring pixels": Statistic(
        lambda seen: seen.beside(1), 0.1, 0.02, "has wider or more spots", "has narrower or fewer spots"
    ),
    "pixels a frame later": Statistic(
        _after, 0.15, 0.02, "has molecules that stay on longer", "has molecules that are on more briefly"
    ),
    "noise over light": Statistic(_noise, 0.12, 0.02, "is noisier", "is less noisy"),
    "unevenness of the background": Statistic(
        _slope, 0.2, 0.05, "has a more uneven background", "has a flatter background"
    ),
    "maxima above 5 times the noise": Statistic(_maxima(5.0), 0.15, 0.2, "has more dim spots", "has fewer dim spots"),
    "maxima above 12 times the noise": Statistic(
        _maxima(12.0), 0.15, 0.2, "has more bright spots", "has fewer bright spots"
    ),
    "spread of detections over frames": Statistic(
        _unrest, 0.35, 0.2, "has molecules that come together in time", "has molecules that come more evenly"
    ),
    "detections that are crowded": Statistic(_crowded, 0.2, 0.03, "is more crowded", "is less crowded"),
    "detections in the second half": Statistic(_late, 0.12, 0.02, "fades less", "fades more"),
}
"""From a name to how it is computed. A difference below `part` of the value, or `least`, is none."""


@dataclass(frozen=True, slots=True)
class Resemblance:
    """One statistic of a movie and of its twins, and how many spreads lie between; `words` say what differs."""

    name: str
    movie: float
    twins: tuple[float, ...]
    spreads: float
    words: str

    @property
    def is_alike(self) -> bool:
        """Whether the movie is one of its twins by this statistic."""
        return abs(self.spreads) < FAR


def statistics_of(seen: Seen) -> dict[str, float]:
    """All statistics of a movie or a twin, by name."""
    return {name: statistic.of(seen) for name, statistic in STATISTICS.items()}


def likeness(movie: Mapping[str, float], twins: Sequence[Mapping[str, float]]) -> list[Resemblance]:
    """Compare the statistics of a movie with those of its twins; the spread is that among the twins, but has a floor.

    Examples
    --------
    >>> same = dict.fromkeys(STATISTICS, 1.0)
    >>> rows = likeness(same | {"median light": 2.0}, [same, same])
    >>> [row.words for row in rows if not row.is_alike]
    ['the movie is brighter than its twins']
    """
    rows = []
    for name, statistic in STATISTICS.items():
        value, others = movie[name], [twin[name] for twin in twins]
        middle = float(np.mean(others))
        spread = float(np.std(others, ddof=1)) if len(others) > 1 else 0.0
        floor = max(statistic.part * abs(middle), statistic.least) / 2
        apart = (value - middle) / math.hypot(spread * math.sqrt(1 + 1 / len(others)), floor)
        words = (
            "" if abs(apart) < FAR else f"the movie {statistic.more if apart > 0 else statistic.less} than its twins"
        )
        rows.append(Resemblance(name, value, tuple(others), apart, words))
    return rows


def verdict(rows: Sequence[Resemblance]) -> str:
    """Whether a movie and its twins are "alike", "doubtful" or "unlike", by how many statistics differ.

    Examples
    --------
    >>> one = Resemblance("a", 1.0, (1.0,), 9.0, "the movie is brighter than its twins")
    >>> verdict([one]), verdict([one] * 3), verdict([one] * 9)
    ('alike', 'doubtful', 'unlike')
    """
    unlike = sum(not row.is_alike for row in rows)
    return "unlike" if unlike >= _MANY_UNLIKE else "doubtful" if unlike >= _SOME_UNLIKE else "alike"


def unlike_sentence(rows: Sequence[Resemblance]) -> str:
    """How far the twins can be trusted, in words.

    Examples
    --------
    >>> unlike_sentence([Resemblance("a", 1.0, (1.0,), 0.1, "")])
    'The twins are like the movie in all 1 statistics that they were not made to fit.'
    """
    unlike = [row for row in rows if not row.is_alike]
    if not unlike:
        return f"The twins are like the movie in all {len(rows)} statistics that they were not made to fit."
    words = "; ".join(row.words for row in sorted(unlike, key=lambda row: -abs(row.spreads))[:3])
    said = f"The twins differ from the movie in {len(unlike)} of {len(rows)} statistics: {words}."
    more = {"alike": "", "doubtful": " Take the answer with care.", "unlike": " So they say nothing about it."}
    return said + more[verdict(rows)]
