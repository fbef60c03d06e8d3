"""The built-in localizer: many spots fitted together by maximum likelihood, or quick centres of mass."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.localizers.base import PER_MAD, Setting, Settings, Spots, usual
from flatmetric.localizers.multi_emitter import Acceptance, fit_images
from flatmetric.localizers.shapes import GaussianShape, KnownShape
from flatmetric.localizers.spot_width import SpotWidth, spot_width

SETTINGS = {
    "threshold": Setting(
        4.0, 0.0, 1e6, tuned=(2.5, 8.0), meaning="least brightness, in units of the noise of the filtered image"
    ),
    "likelihood": Setting(
        25.0,
        0.0,
        1e6,
        tuned=(10.0, 120.0),
        meaning="twice the logarithm of how much likelier the image is with the spot, at least",
    ),
    "halo": Setting(
        0.12, 0.0, 1.0, meaning="a spot with less than this share of the photons of one close to it is not believed"
    ),
    "rounds": Setting(3.0, 1.0, 10.0, meaning="rounds of looking for more spots in what the last fit left"),
    "sigma": Setting(0.0, 0.0, 20.0, meaning="expected width of a spot, pixels; 0: as wide as the spots of the movie"),
    "aspect": Setting(0.0, 0.0, 5.0, meaning="root of the width along x over that along y; 0: as measured"),
    "widest": Setting(0.0, 0.0, 60.0, meaning="largest width of a spot, pixels; 0: three times the expected one"),
    "box": Setting(7.0, 3.0, 63.0, odd=True, meaning="side of the square for centres of mass, pixels"),
    "fitted": Setting(1.0, 0.0, 1.0, meaning="1 for a fit, 0 for the centre of mass"),
}
DEFAULTS = usual(SETTINGS)
_WIDEST = 3.0  # times the expected width


def prepared(images: FloatArray, settings: Settings) -> Settings:
    """The settings with the width and the aspect of spots as they are in some images, where these are left open.

    Examples
    --------
    >>> prepared(np.zeros((2, 32, 32)), DEFAULTS)["sigma"]
    1.2
    """
    measured = SpotWidth(settings["sigma"]) if settings["sigma"] else spot_width(images)
    widest = settings["widest"] or max(_WIDEST * measured.sigma, 1.5)
    return {**settings, "sigma": measured.sigma, "aspect": settings["aspect"] or measured.aspect, "widest": widest}


def localize(images: FloatArray, settings: Settings, shape: KnownShape | None = None) -> Spots:
    """Find spots in images (k, height, width) of photons; with a known shape also their depths, nm.

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
    settings = prepared(images, settings)
    if not settings["fitted"]:
        return _centres(images, settings)
    halo = settings["halo"] if shape is None else 0.0
    limits = Acceptance(settings["threshold"], settings["likelihood"], halo)
    if shape is None:
        family = GaussianShape(settings["sigma"], settings["widest"], settings["aspect"])
        fitted = fit_images(images[:, None], family, limits, int(settings["rounds"]))
    else:
        count, height, width = images.shape
        apart = images.reshape(count, height, shape.channels, width // shape.channels).transpose(0, 2, 1, 3)
        fitted = fit_images(apart, shape, limits, int(settings["rounds"]))
    x, y, photons, form = fitted.values.T
    depth = None if shape is None or shape.least_is_real else form * shape.pixel_size  # of a round spot |z| alone
    return Spots(fitted.image, x, y, photons, depth)


def _centres(images: FloatArray, settings: Settings) -> Spots:
    half = int(settings["box"]) // 2
    image, row, column = find_maxima(images, settings["sigma"], settings["threshold"], half)
    reach = np.arange(-half, half + 1)
    boxes = images[image[:, None, None], row[:, None, None] + reach[:, None], column[:, None, None] + reach]
    rim = np.concatenate([boxes[:, 0], boxes[:, -1], boxes[:, 1:-1, 0], boxes[:, 1:-1, -1]], axis=1)
    light = np.clip(boxes - np.median(rim, axis=1)[:, None, None], 0, None)
    photons = light.sum(axis=(1, 2))
    total = np.where(photons > 0, photons, 1.0)
    x, y = column + (light.sum(axis=1) @ reach) / total, row + (light.sum(axis=2) @ reach) / total
    good = photons > 0
    return Spots(image[good], x[good], y[good], photons[good])


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
    noise = PER_MAD * np.median(np.abs(band - level), axis=(1, 2), keepdims=True)
    highest = ndimage.maximum_filter(band, (1, 3, 3), mode="nearest")
    peaks = (band == highest) & (band > level + threshold * noise)
    inner = np.zeros(images.shape[1:], dtype=bool)
    inner[margin : images.shape[1] - margin, margin : images.shape[2] - margin] = True
    image, row, column = np.nonzero(peaks & inner)
    return image, row, column
