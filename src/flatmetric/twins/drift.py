"""Drift of a movie, from its detections alone: how far the picture of one part of the frames lies from the others'."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizations import Localizations

_PARTS, _FEWEST = 5, 200  # parts of the movie, and detections that each must have
_BIN = 0.25  # pixels
_SMOOTH = 1.5  # bins
_FURTHEST = 4.0  # pixels that a part may lie from the others
_CLEAR = 6.0  # standard deviations of the correlation, that a peak stands out by


def drift_of(found: Localizations, pixel_size: float) -> float | None:
    """How far the furthest parts of a movie lie apart, nm; None where its structure does not show it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> places, frame = rng.uniform(0, 6400, (60, 2)), np.arange(1, 3001)
    >>> x, y = places[rng.integers(60, size=3000)].T + rng.normal(0, 15, (2, 3000))
    >>> table = Localizations(frame=frame, x=x + 0.1 * frame, y=y)
    >>> 200 < drift_of(table, 100.0) < 300
    True
    """
    order = np.argsort(found.frame, kind="stable")
    parts = [part for part in np.array_split(order, _PARTS) if len(part) >= _FEWEST]
    if len(parts) < _PARTS or found.frame[order[0]] == found.frame[order[-1]]:
        return None
    step = _BIN * pixel_size
    shape = tuple(int(np.ceil((float(axis.max()) + 1) / step)) + 1 for axis in (found.y, found.x))
    images = [_rendered(found, part, step, shape) for part in parts]
    total = np.sum(images, axis=0)
    shifts = []
    for image in images:
        shift = _shift(total - image, image)
        if shift is None:
            return None
        shifts.append(shift * step)
    moved = np.array(shifts)
    # The picture of the others lies in their middle, so that a part is seen too near by its share in all.
    apart = np.hypot(*(moved[:, None] - moved[None]).T).max()
    return float(apart * (len(parts) - 1) / len(parts))


def _rendered(found: Localizations, rows: np.ndarray, step: float, shape: tuple[int, ...]) -> FloatArray:
    from scipy.ndimage import gaussian_filter

    image = np.zeros(shape)
    row, column = (
        np.clip(axis[rows] / step, 0, size - 1).astype(int)
        for axis, size in zip((found.y, found.x), shape, strict=True)
    )
    np.add.at(image, (row, column), 1.0)
    smooth = gaussian_filter(np.minimum(image, 5.0), _SMOOTH)  # a molecule that stays on is no structure
    return np.asarray(smooth - gaussian_filter(smooth, 8 * _SMOOTH))


def _shift(one: FloatArray, other: FloatArray) -> FloatArray | None:
    """How far `other` lies from `one`, in bins (x, y), by the peak of their correlation; None without a clear peak."""
    correlation = np.fft.fftshift(np.fft.irfft2(np.conj(np.fft.rfft2(one)) * np.fft.rfft2(other), one.shape))
    middle = [size // 2 for size in one.shape]
    reach = [min(int(_FURTHEST / _BIN), at - 1) for at in middle]
    near = correlation[middle[0] - reach[0] : middle[0] + reach[0] + 1, middle[1] - reach[1] : middle[1] + reach[1] + 1]
    row, column = np.unravel_index(int(near.argmax()), near.shape)
    if near[row, column] < _CLEAR * float(correlation.std()):
        return None
    top = slice(max(0, row - 2), row + 3), slice(max(0, column - 2), column + 3)
    weight = np.maximum(near[top] - near[row, column] / 2, 0.0)
    rows, columns = np.mgrid[top]
    return np.array(
        [(weight * columns).sum() / weight.sum() - reach[1], (weight * rows).sum() / weight.sum() - reach[0]]
    )
