"""Is a twin like its movie? By numbers that need no truth, most of which the twin was not made to fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD
from flatmetric.matching.matcher import neighbours
from flatmetric.twins.seen import Seen

_NEAR = 300.0  # nm: spots that overlap
FAR = 4.0
"""Spreads between a movie and its twins that are too many: two of twenty right twins have such a difference."""
_MANY_UNLIKE = 7  # of the statistics: to say nothing by a twin
_MOST_SPREADS = 2.0  # times the least: the spread of few twins may be large by chance
_TILE = 1000.0  # nm


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


def _uneven(seen: Seen) -> float:
    """How unevenly detections lie over squares of the field: their variance over their mean."""
    edges = [np.arange(0.0, pixels * seen.pixel_size + _TILE, _TILE) for pixels in seen.light.shape[1:]]
    counts = np.histogram2d(seen.found.y, seen.found.x, edges)[0]
    return float(counts.var() / max(float(counts.mean()), 1e-9))


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
    """A number of a movie; its spread at least, as a part of it and by itself; what a larger and a smaller one in the
    movie than in its twins mean; and whether the twins were made to fit it.
    """

    of: Callable[[Seen], float]
    part: float
    least: float
    more: str
    less: str
    fitted: bool = False


STATISTICS: Mapping[str, Statistic] = {
    "median light": Statistic(_quantile(0.5), 0.016, 0.16, "is brighter", "is darker"),
    "light of the brightest 1 %": Statistic(_quantile(0.99), 0.1, 1.0, "has brighter spots", "has dimmer spots"),
    "light of the brightest 0.1 %": Statistic(
        _quantile(0.999), 0.11, 1.0, "has brighter brightest spots", "has dimmer brightest spots"
    ),
    "skewness of light": Statistic(_skewness, 0.22, 0.11, "has a few very bright pixels", "has more even spots"),
    "neighbouring pixels": Statistic(
        lambda seen: seen.beside(1), 0.1, 0.02, "has wider or more spots", "has narrower or fewer spots"
    ),
    "pixels a frame later": Statistic(
        _after, 0.18, 0.024, "has molecules that stay on longer", "has molecules that are on more briefly"
    ),
    "noise over light": Statistic(_noise, 0.1, 0.016, "is noisier", "is less noisy"),
    "unevenness of the background": Statistic(
        _slope, 0.05, 0.012, "has a more uneven background", "has a flatter background"
    ),
    "maxima above 5 times the noise": Statistic(_maxima(5.0), 0.14, 0.18, "has more dim spots", "has fewer dim spots"),
    "maxima above 12 times the noise": Statistic(
        _maxima(12.0), 0.11, 0.15, "has more bright spots", "has fewer bright spots"
    ),
    "spread of detections over frames": Statistic(
        _unrest, 0.7, 0.4, "has molecules that come together in time", "has molecules that come more evenly"
    ),
    "detections that are crowded": Statistic(_crowded, 0.16, 0.025, "is more crowded", "is less crowded"),
    "detections in the second half": Statistic(_late, 0.1, 0.017, "fades less", "fades more"),
    "unevenness of detections over the field": Statistic(
        _uneven, 0.19, 0.13, "has molecules that lie less evenly", "has molecules that lie more evenly"
    ),
    "detections in a frame": Statistic(
        lambda seen: seen.per_frame, 0.038, 0.05, "has more detections", "has fewer detections", fitted=True
    ),
    "photons of detections": Statistic(
        lambda seen: seen.photons, 0.04, 0.4, "has brighter detections", "has dimmer detections", fitted=True
    ),
    "spread of the photons": Statistic(
        lambda seen: seen.spread, 0.076, 0.025, "has a wider range of photons", "has a narrower range", fitted=True
    ),
    "detections that last": Statistic(
        lambda seen: seen.lasting,
        0.04,
        0.006,
        "has detections that last",
        "has detections that don't last",
        fitted=True,
    ),
    "width of bright spots": Statistic(
        lambda seen: seen.width.sigma, 0.018, 0.009, "has wider spots", "has narrower spots", fitted=True
    ),
}
"""From a name to how it is computed. Differences are counted in spreads of at least `part` of the value, or `least`:
half of what nine of ten movies of proofs/twins.py that were there for development differ from their twins.
"""


@dataclass(frozen=True, slots=True)
class Resemblance:
    """One statistic of a movie and of its twins, and how many spreads lie between; `words` say what differs."""

    name: str
    movie: float
    twins: tuple[float, ...]
    spreads: float
    words: str
    was_fitted: bool = False

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
        least = max(statistic.part * abs(middle), statistic.least)
        spread = min(spread, _MOST_SPREADS * least)
        apart = (value - middle) / math.hypot(spread * math.sqrt(1 + 1 / len(others)), least)
        words = (
            "" if abs(apart) < FAR else f"the movie {statistic.more if apart > 0 else statistic.less} than its twins"
        )
        rows.append(Resemblance(name, value, tuple(others), apart, words, statistic.fitted))
    return rows


def verdict(rows: Sequence[Resemblance]) -> str:
    """Whether a movie and its twins are "alike", "doubtful" (something differs) or "unlike" (much does).

    Examples
    --------
    >>> one = Resemblance("a", 1.0, (1.0,), 9.0, "the movie is brighter than its twins")
    >>> verdict([]), verdict([one]), verdict([one] * 9)
    ('alike', 'doubtful', 'unlike')
    """
    unlike = sum(not row.is_alike for row in rows)
    return "unlike" if unlike >= _MANY_UNLIKE else "doubtful" if unlike else "alike"


def unlike_sentence(rows: Sequence[Resemblance]) -> str:
    """How far the twins can be trusted, in words.

    Examples
    --------
    >>> unlike_sentence([Resemblance("a", 1.0, (1.0,), 0.1, "")])
    'The twins are like the movie in all 1 statistics that they were not made to fit.'
    """
    unlike = [row for row in rows if not row.is_alike]
    if not unlike:
        free = sum(not row.was_fitted for row in rows)
        return f"The twins are like the movie in all {free} statistics that they were not made to fit."
    words = "; ".join(row.words for row in sorted(unlike, key=lambda row: -abs(row.spreads))[:3])
    said = f"The twins differ from the movie in {len(unlike)} of {len(rows)} statistics: {words}."
    more = {"doubtful": " Take the answer with care.", "unlike": " So they say nothing about it."}
    return said + more[verdict(rows)]
