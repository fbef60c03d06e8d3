"""scikit-image: blobs by the Laplacian or the difference of Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizers.base import PER_MAD, Setting, Settings, Spots, image_by_image

SETTINGS = {
    "threshold": Setting(2.0, 0.0, 1e6, tuned=(0.7, 10.0), meaning="least response, where the noise of the image is 1"),
    "min_sigma": Setting(1.0, 0.3, 20.0, tuned=(0.7, 2.0), meaning="least width of a spot, pixels"),
    "max_sigma": Setting(2.5, 0.3, 20.0, tuned=(2.0, 4.0), meaning="largest width of a spot, pixels"),
    "overlap": Setting(0.5, 0.0, 1.0, tuned=(0.1, 0.95), meaning="how far two spots may overlap, 0 to 1"),
}


def localize_log(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with `blob_log`; places are whole pixels."""
    from skimage.feature import blob_log

    return _localize(images, settings, lambda image, **widths: blob_log(image, num_sigma=5, **widths))


def localize_dog(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with `blob_dog`; places are whole pixels."""
    from skimage.feature import blob_dog

    return _localize(images, settings, lambda image, **widths: blob_dog(image, sigma_ratio=1.4, **widths))


def _localize(images: FloatArray, settings: Settings, blobs: Any) -> Spots:
    if settings["min_sigma"] > settings["max_sigma"]:
        sigmas = f"min_sigma {settings['min_sigma']:g} is above max_sigma {settings['max_sigma']:g}"
        raise InputError(f"{sigmas}; exchange them")

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        light = image - np.median(image)
        noise = PER_MAD * np.median(np.abs(light))
        if noise == 0:
            return np.empty(0), np.empty(0), np.empty(0)
        rows = blobs(
            light / noise,
            min_sigma=settings["min_sigma"],
            max_sigma=settings["max_sigma"],
            threshold=settings["threshold"],
            overlap=settings["overlap"],
        )
        y, x, sigma = rows[:, 0], rows[:, 1], rows[:, 2]
        # The total light of a Gaussian of this peak and width.
        return x, y, light[y.astype(int), x.astype(int)] * 2 * np.pi * sigma**2

    return image_by_image(images, find)
