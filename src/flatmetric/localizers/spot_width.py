"""How wide the spots of a movie are, and how much wider along x than along y, from its bright spots that lie alone."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD

_STARTS = (0.7, 1.1, 1.7, 2.6, 4.0)  # pixels: half an octave or so apart, for pixels of 40 to 220 nm
_ROUNDS = 4  # of measuring with a window as wide as the spot: each divides the error by three or more
_NARROWEST = 0.75  # pixels: a narrower window has too few of them
_BRIGHT = 8.0  # times the noise of the filtered image: fainter spots are as wide as their noise
_SPOTS = 200  # at most, the brightest
_FEWEST = 10  # for a median within 5 %
_ALONE = 6.0  # widths to the next maximum
USUAL = 1.2  # pixels: a good objective with pixels of about 100 nm, where the movie doesn't tell


@dataclass(frozen=True, slots=True)
class SpotWidth:
    """The width of a spot in pixels, the geometric mean of that along x and along y, and x over y to the power 1/2.

    `spread` is that of the logarithms of the widths of single spots, out of focus or noisy, as a standard deviation.
    """

    sigma: float = USUAL
    aspect: float = 1.0
    spread: float = 0.0


def spot_width(images: FloatArray) -> SpotWidth:
    """Measure the spots of images (k, height, width); where there are too few bright ones it is the usual width.

    Examples
    --------
    >>> from flatmetric.simulation.optics import Gaussian, spots
    >>> rng = np.random.default_rng(0)
    >>> frames = []
    >>> for _ in range(20):
    ...     at = np.column_stack([rng.uniform(600, 5800, (3, 2)), np.zeros(3)])
    ...     light = 20 + spots(at, np.full(3, 4000.0), Gaussian(170.0), pixels=64, pixel_size=100.0)
    ...     frames.append(rng.poisson(light))
    >>> measured = spot_width(np.array(frames, dtype=float))
    >>> abs(measured.sigma - 1.7) < 0.1, abs(measured.aspect - 1) < 0.05
    (True, True)
    """
    best: tuple[float, SpotWidth] | None = None
    for start in _STARTS:
        boxes, strength = _bright_boxes(images, start)
        if len(boxes) < _FEWEST:
            continue
        measured = _measured(boxes, start)
        # The filter that fits the spots makes them stand out most.
        if measured is not None and (best is None or strength > best[0]):
            best = strength, measured
    return SpotWidth() if best is None else best[1]


def _bright_boxes(images: FloatArray, width: float) -> tuple[FloatArray, float]:
    """The light around the brightest spots that lie alone, (n, side, side), and how far they stand out."""
    from scipy import ndimage

    half = math.ceil(4 * width) + 1
    if min(images.shape[1:]) <= 2 * half:
        return np.empty((0, 1, 1)), 0.0
    narrow = ndimage.gaussian_filter(images, (0, width, width), mode="nearest")
    band = narrow - ndimage.gaussian_filter(images, (0, 2 * width, 2 * width), mode="nearest")
    level = np.median(band, axis=(1, 2), keepdims=True)
    noise = PER_MAD * np.median(np.abs(band - level), axis=(1, 2), keepdims=True) + 1e-12
    standing = (band - level) / noise
    side = 2 * math.ceil(_ALONE * width / 2) + 1
    peaks = (standing == ndimage.maximum_filter(standing, (1, side, side), mode="nearest")) & (standing > _BRIGHT)
    peaks[:, :half], peaks[:, -half:], peaks[:, :, :half], peaks[:, :, -half:] = False, False, False, False
    image, row, column = np.nonzero(peaks)
    order = np.argsort(-standing[image, row, column], kind="stable")[:_SPOTS]
    image, row, column = image[order], row[order], column[order]
    reach = np.arange(-half, half + 1)
    boxes = images[image[:, None, None], row[:, None, None] + reach[:, None], column[:, None, None] + reach]
    rim = np.concatenate([boxes[:, 0], boxes[:, -1], boxes[:, :, 0], boxes[:, :, -1]], axis=1)
    return boxes - np.median(rim, axis=1)[:, None, None], float(
        np.median(standing[image, row, column]) if len(row) else 0
    )


def _measured(boxes: FloatArray, start: float) -> SpotWidth | None:
    """Widths by second moments under a Gaussian window as wide as the spot, whose own width is taken off again."""
    half = boxes.shape[1] // 2
    at = np.arange(-half, half + 1.0)
    x, y = np.zeros(len(boxes)), np.zeros(len(boxes))
    wide, high = np.full(len(boxes), start), np.full(len(boxes), start)
    for _ in range(_ROUNDS):
        wide, high = np.maximum(wide, _NARROWEST), np.maximum(high, _NARROWEST)
        window_x = np.exp(-((at - x[:, None]) ** 2) / (2 * wide[:, None] ** 2))
        window_y = np.exp(-((at - y[:, None]) ** 2) / (2 * high[:, None] ** 2))
        weighted = boxes * window_y[:, :, None] * window_x[:, None, :]
        total = weighted.sum(axis=(1, 2))
        good = total > 0
        boxes, x, y, wide, high, weighted, total = (one[good] for one in (boxes, x, y, wide, high, weighted, total))
        if len(boxes) < _FEWEST:
            return None
        along_x, along_y = weighted.sum(axis=1), weighted.sum(axis=2)
        off_x, off_y = (along_x @ at) / total - x, (along_y @ at) / total - y
        square_x, square_y = (
            (along_x @ at**2) / total - (x + off_x) ** 2,
            (along_y @ at**2) / total - (y + off_y) ** 2,
        )
        # Two Gaussians of one width multiply to one of half its square; here of the window's and the spot's.
        wide, high = (
            np.clip(np.sqrt(1 / np.maximum(1 / np.maximum(square, 0.05) - 1 / window**2, 0.02)), 0.3, 2 * start)
            for square, window in ((square_x, wide), (square_y, high))
        )
        x, y = np.clip(x + 2 * off_x, -1.5, 1.5), np.clip(y + 2 * off_y, -1.5, 1.5)
    # A pixel gathers the light of its whole area, which the fit takes into account by itself.
    across, down = (np.sqrt(max(float(np.median(one)) ** 2 - 1 / 12, 0.05)) for one in (wide, high))
    each = np.log(wide * high) / 2
    spread = PER_MAD * float(np.median(np.abs(each - np.median(each))))
    return SpotWidth(float(np.sqrt(across * down)), float(np.sqrt(across / down)), spread)
