"""Offset and gain of a camera from the noise of its images: where more light falls, the noise grows in proportion."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD
from flatmetric.stacks import Stack

_PAIRS = 100  # pairs of frames that are read, spread over the stack: 400 000 pixels of a small movie
_BINS = 24  # of brightness, with equally many pixels but for the brightest ones, which get a quarter of the bins
_TAIL = 0.05  # of the pixels are the brightest ones: spots, which reach furthest
_HELD, _PART = 0.8, 0.4377  # the smaller squares, and their mean in units of the variance, for Gaussian noise
_FEWEST = 50  # pixels in a bin, for a variance to 20 %
_RESAMPLED = 0.1  # agreement of neighbours: at most 0.06 in movies as cameras write them, 0.12 and more if interpolated
_SURE = 0.2  # relative standard error of the slope, beyond which there is no answer


@dataclass(frozen=True, slots=True)
class PhotonTransfer:
    """How noise grows with light: `slope`, counts for each photon of Poisson noise, with its relative standard error,
    and `offset`, the counts at which the noise would be 0.

    On a camera with electron multiplication, whose noise is twice that of its photons, `slope` is twice the counts of a
    photon. What the readout adds to the noise makes `offset` lower than the counts in the dark, as if it were light.
    """

    slope: float
    error: float
    offset: float


def photon_transfer(stack: Stack, offset: float | None = None) -> PhotonTransfer | None:
    """Measure how noise grows with light, from differences of successive frames; None where they don't determine it, as
    after smoothing or interpolation, whose noise is no longer that of photons.

    Only pixels whose neighbours stay as bright as they were are used: what appears or vanishes is no noise. `offset`
    fixes the counts in the dark where they are known.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from flatmetric.stacks import open_stack, write_stack
    >>> random, path = np.random.default_rng(0), Path(tempfile.mkdtemp()) / "stack.ome.tif"
    >>> light = np.linspace(10, 90, 64) * np.ones((64, 64))
    >>> counts = [(100 + 5 * random.poisson(light)).astype(np.uint16) for _ in range(40)]
    >>> write_stack(path, counts, frames=40, pixels=64, pixel_size=100.0)
    >>> measured = photon_transfer(open_stack(path))
    >>> round(measured.slope, 1), round(measured.offset / 10) * 10
    (5.0, 100)
    """
    around, level, noise, agreement = _kept_pixels(stack)
    if len(level) < 2 * _FEWEST or agreement > _RESAMPLED:
        return None
    levels, variances, counts = _binned(around, level, noise)
    if len(levels) < 2:
        return None
    return _fitted(levels, variances, counts, offset)


def _kept_pixels(stack: Stack) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Of pixels in pairs of frames between which nothing changed around them: the mean around a pixel, its own mean,
    and half its squared difference. Last, how far neighbours in dark places change together, from 0 to 1.

    A pixel's noise is independent of what lies around it, so that choosing and sorting by that leaves it as it is.
    """
    from scipy import ndimage

    pairs = max(0, min(_PAIRS, stack.frames // 2))
    firsts = np.unique(np.linspace(1, max(1, stack.frames - 1), pairs).astype(np.int64)) if pairs else np.empty(0, int)
    around = np.ones((3, 3)) / 8
    around[1, 1] = 0
    parts = [np.empty((3, 0))]
    agreeing: list[FloatArray] = [np.empty(0)]
    for first in firsts.tolist():
        (_, before), (_, after) = stack.images([first, first + 1])
        a, b = before.astype(np.float64), after.astype(np.float64)
        difference = b - a
        spread = PER_MAD * float(np.median(np.abs(difference - np.median(difference))))
        beside = ndimage.correlate(difference, around, mode="nearest")
        still = np.abs(beside) <= spread / math.sqrt(8)
        still &= (a > a.min()) & (b > b.min()) & (a < a.max()) & (b < b.max())  # not clipped
        mean = (a + b) / 2
        surrounding = ndimage.correlate(mean, around, mode="nearest")
        dark = surrounding <= np.median(surrounding)
        signs = np.sign(difference - np.median(difference))
        for turned, there in ((signs, dark), (signs.T, dark.T)):
            agreeing.append((turned[1:] * turned[:-1])[there[1:] & there[:-1]])
        parts.append(np.stack([surrounding[still], mean[still], difference[still] ** 2 / 2]))
    surroundings, means, squares = np.concatenate(parts, axis=1)
    both = np.concatenate(agreeing)
    return surroundings, means, squares, float(both.mean()) if len(both) else 0.0


def _binned(around: FloatArray, level: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean level, variance of the noise and number of pixels, in bins by the brightness around them."""
    body = np.linspace(0, 1 - _TAIL, _BINS * 3 // 4 + 1)
    tail = 1 - np.geomspace(_TAIL, min(_TAIL, _FEWEST / len(around)), _BINS // 4 + 1)[1:]
    edges = np.quantile(around, [*body, *tail])
    place = np.searchsorted(edges, around, side="right")
    order = np.argsort(place, kind="stable")
    every = np.split(order, np.searchsorted(place[order], np.arange(1, len(edges) + 1)))
    parts = [part for part in every if len(part) >= _FEWEST]
    levels = np.array([level[part].mean() for part in parts])
    # Without the largest, among which is what did change in a bright bin.
    variances = np.array([np.sort(noise[part])[: int(_HELD * len(part))].mean() for part in parts]) / _PART
    counts = np.array([float(len(part)) for part in parts])
    return levels, variances, counts


def _fitted(
    levels: FloatArray, variances: FloatArray, counts: FloatArray, offset: float | None
) -> PhotonTransfer | None:
    """A line through the bins, each with the error of its variance; by a second round that of the line there."""
    expected = variances
    for _ in range(3):
        weights = counts / np.maximum(expected, 1e-12) ** 2 / 2
        if offset is None:
            middle = float(weights @ levels / weights.sum())
            away = levels - middle
            slope = float(weights @ (away * variances) / (weights @ away**2))
            dark = middle - float(weights @ variances / weights.sum()) / slope if slope > 0 else math.nan
        else:
            away, dark = levels - offset, offset
            slope = float(weights @ (away * variances) / (weights @ away**2))
        if not slope > 0:
            return None
        expected = np.maximum(slope * (levels - dark), 0.1 * float(variances.min()))
    residual = variances - slope * (levels - dark)
    spread = max(1.0, float(weights @ residual**2) / max(1, len(levels) - 2))
    error = math.sqrt(spread / float(weights @ away**2)) / slope
    return PhotonTransfer(slope, error, dark) if error <= _SURE else None
