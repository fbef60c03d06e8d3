"""The built-in localizer: band-pass, local maxima, and a Gaussian fit by maximum likelihood, many spots at a time."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.localizers.base import Setting, Settings, Spots, usual

SETTINGS = {
    "threshold": Setting(4.0, 0.0, 1e6),  # in units of the noise of the filtered image
    "box": Setting(7.0, 3.0, 63.0, odd=True),  # side of the fitted square, pixels
    "sigma": Setting(1.2, 0.3, 20.0),  # expected width of a spot, pixels
    "widest": Setting(2.6, 0.3, 60.0),  # largest width that is accepted, pixels
    "fitted": Setting(1.0, 0.0, 1.0),  # 0: the centre of mass instead of a fit
}
DEFAULTS = usual(SETTINGS)

_STEPS = 30
_SPOTS_AT_ONCE = 4000
_LARGEST_STEP = 0.5  # pixels, of place and width
_CONVERGED = 1e-3  # pixels, of place and width
_NARROWEST = 0.5  # of the expected width
_PER_MAD = 1.4826  # from the median absolute deviation to the standard deviation


def localize(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons.

    Examples
    --------
    >>> from flatmetric.simulation.optics import Gaussian, spots
    >>> molecule = np.array([[3210.0, 3190.0, 0.0]])
    >>> image = 10 + spots(molecule, np.array([4000.0]), Gaussian(), pixels=64, pixel_size=100.0)
    >>> noisy = np.random.default_rng(0).poisson(image)[None].astype(float)
    >>> spots = localize(noisy, DEFAULTS)
    >>> len(spots.x), bool(abs(spots.x[0] - 31.6) < 0.1), bool(abs(spots.photons[0] - 4000) < 300)
    (1, True, True)
    """
    half = int(settings["box"]) // 2
    image, row, column = find_maxima(images, settings["sigma"], settings["threshold"], half)
    boxes = _cut(images, image, row, column, half)
    if settings["fitted"]:
        x, y, photons, good = fit_gaussians(boxes, settings["sigma"], settings["widest"])
    else:
        x, y, photons = _centres_of_mass(boxes)
        good = photons > 0
    return Spots(image[good], (column + x)[good], (row + y)[good], photons[good])


def find_maxima(images: FloatArray, sigma: float, threshold: float, margin: int) -> tuple[IntArray, IntArray, IntArray]:
    """Image, row and column of maxima of the band-passed images above `threshold` times their noise.

    `sigma` is the expected width of a spot in pixels; `margin` pixels at each edge are left out.

    Examples
    --------
    >>> image = np.random.default_rng(0).normal(0, 1, (1, 32, 32))
    >>> image[0, 10, 12] += 100
    >>> [int(at[0]) for at in find_maxima(image, 1.0, 8.0, 3)]
    [0, 10, 12]
    """
    from scipy import ndimage

    narrow = ndimage.gaussian_filter(images, (0, sigma, sigma), mode="nearest")
    wide = ndimage.gaussian_filter(images, (0, 2 * sigma, 2 * sigma), mode="nearest")
    band = narrow - wide
    level = np.median(band, axis=(1, 2), keepdims=True)
    noise = _PER_MAD * np.median(np.abs(band - level), axis=(1, 2), keepdims=True)
    highest = ndimage.maximum_filter(band, (1, 3, 3), mode="nearest")
    peaks = (band == highest) & (band > level + threshold * noise)
    inner = np.zeros(images.shape[1:], dtype=bool)
    inner[margin : images.shape[1] - margin, margin : images.shape[2] - margin] = True
    image, row, column = np.nonzero(peaks & inner)
    return image, row, column


def _cut(images: FloatArray, image: IntArray, row: IntArray, column: IntArray, half: int) -> FloatArray:
    """Squares (spots, side, side) around pixels."""
    reach = np.arange(-half, half + 1)
    return np.asarray(images[image[:, None, None], row[:, None, None] + reach[:, None], column[:, None, None] + reach])


def _centres_of_mass(boxes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    half = boxes.shape[1] // 2
    reach = np.arange(-half, half + 1)
    light = np.clip(boxes - _edge_level(boxes)[:, None, None], 0, None)
    photons = light.sum(axis=(1, 2))
    total = np.where(photons > 0, photons, 1.0)
    return (light.sum(axis=1) @ reach) / total, (light.sum(axis=2) @ reach) / total, photons


def _edge_level(boxes: FloatArray) -> FloatArray:
    """The background: the median of the outermost pixels."""
    rim = np.concatenate([boxes[:, 0], boxes[:, -1], boxes[:, 1:-1, 0], boxes[:, 1:-1, -1]], axis=1)
    return np.asarray(np.median(rim, axis=1))


def fit_gaussians(
    boxes: FloatArray, sigma: float, widest: float
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Maximum-likelihood fit of a pixel-integrated round Gaussian and a flat background to squares of photons.

    Returns x and y relative to the middle of the square (pixels), photons, and whether the fit is accepted: it
    converged within the square and its width lies between half of `sigma` and `widest` (pixels).

    Examples
    --------
    >>> from flatmetric.simulation.optics import Gaussian, spots
    >>> optics = Gaussian(sigma=120.0)
    >>> box = 5 + spots(np.array([[370.0, 340.0, 0.0]]), np.array([2000.0]), optics, pixels=7, pixel_size=100.0)
    >>> x, y, photons, good = fit_gaussians(box[None], 1.0, 3.0)
    >>> round(float(x[0]), 3), round(float(y[0]), 3), round(float(photons[0])), bool(good[0])
    (0.2, -0.1, 2000, True)
    """
    parts = [_fit(boxes[at : at + _SPOTS_AT_ONCE], sigma, widest) for at in range(0, len(boxes), _SPOTS_AT_ONCE)] or [
        (np.empty((0, 5)), np.empty(0, dtype=bool))
    ]
    values = np.concatenate([part for part, _ in parts])
    return values[:, 0], values[:, 1], values[:, 2], np.concatenate([good for _, good in parts])


def _fit(boxes: FloatArray, sigma: float, widest: float) -> tuple[FloatArray, BoolArray]:
    """Fisher scoring: Newton's method with the expected curvature, which is positive whatever the noise."""
    side = boxes.shape[1]
    data = np.maximum(boxes, 0.0).reshape(len(boxes), -1)
    x, y, photons = _centres_of_mass(boxes)
    values = np.stack([x, y, np.maximum(photons, 1.0), np.maximum(_edge_level(boxes), 0.01), np.full_like(x, sigma)], 1)
    moved = np.full(len(boxes), np.inf)
    active = np.arange(len(boxes))
    for _ in range(_STEPS):
        step = _scoring_step(data[active], values[active], side)
        step[:, (0, 1, 4)] = np.clip(step[:, (0, 1, 4)], -_LARGEST_STEP, _LARGEST_STEP)
        new = values[active] + step
        # Photons, background and width stay positive: at most halved in a step.
        new[:, 2:] = np.maximum(new[:, 2:], values[active, 2:] / 2)
        values[active] = new
        moved[active] = np.abs(step[:, (0, 1, 4)]).max(axis=1)
        active = active[(moved[active] > _CONVERGED) & (np.abs(new[:, :2]).max(axis=1) < side)]
        if len(active) == 0:
            break
    good = moved <= _CONVERGED
    good &= (np.abs(values[:, :2]) <= side / 4).all(axis=1)
    good &= (values[:, 4] >= _NARROWEST * sigma) & (values[:, 4] <= widest)
    return values, good


def _scoring_step(data: FloatArray, values: FloatArray, side: int) -> FloatArray:
    """One step of the five values x, y, photons, background, width for each spot."""
    model, slopes = _model(values, side)
    model = np.maximum(model, 1e-3)
    gradient = np.einsum("kpi,kp->ki", slopes, data / model - 1)
    curvature = np.matmul(slopes.transpose(0, 2, 1), slopes / model[:, :, None])
    # A parameter that the data do not constrain stays where it is.
    diagonal = np.einsum("kii->ki", curvature)
    curvature += (1e-6 * diagonal + 1e-12 * diagonal.max(axis=1, keepdims=True))[:, :, None] * np.eye(5)
    return np.asarray(np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0])


def _model(values: FloatArray, side: int) -> tuple[FloatArray, FloatArray]:
    """Expected photons (spots, pixels) and their slopes (spots, pixels, 5)."""
    x, y, photons, background, sigma = values.T
    share_x, slope_x, widening_x = _axis(x, sigma, side)
    share_y, slope_y, widening_y = _axis(y, sigma, side)

    def product(down: FloatArray, across: FloatArray) -> FloatArray:
        return np.asarray((down[:, :, None] * across[:, None, :]).reshape(len(x), -1))

    spot = product(share_y, share_x)
    scale = photons[:, None]
    widening = product(share_y, widening_x) + product(widening_y, share_x)
    slopes = np.stack(
        [
            scale * product(share_y, slope_x),
            scale * product(slope_y, share_x),
            spot,
            np.ones_like(spot),
            scale * widening,
        ],
        axis=2,
    )
    return scale * spot + background[:, None], slopes


def _axis(centre: FloatArray, sigma: FloatArray, side: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The fraction of a Gaussian in each pixel along an axis, and its derivatives by centre and by width."""
    from scipy.special import ndtr

    edges = np.arange(side + 1) - side / 2
    away = (edges - centre[:, None]) / sigma[:, None]
    density = np.exp(-(away**2) / 2) / (np.sqrt(2 * np.pi) * sigma[:, None])
    return np.diff(ndtr(away)), -np.diff(density), -np.diff(away * density)
