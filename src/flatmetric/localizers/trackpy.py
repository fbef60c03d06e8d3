"""trackpy: band-pass, local maxima and iterated centroids."""

from __future__ import annotations

import warnings

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import Setting, Settings, Spots, image_by_image, usual

SETTINGS = {
    "diameter": Setting(5.0, 3.0, 63.0, odd=True, tuned=(3.0, 9.0), meaning="size of a spot, pixels"),
    "minmass": Setting(150.0, 0.0, 1e9, tuned=(20.0, 3000.0), meaning="least mass of a spot, photons"),
    "separation": Setting(4.0, 0.5, 100.0, tuned=(2.0, 6.0), meaning="least distance of two spots, pixels"),
}
DEFAULTS = usual(SETTINGS)


def localize(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons with `trackpy.locate`."""
    import trackpy

    if min(images.shape[1:]) <= settings["diameter"]:
        return image_by_image(images, lambda image: (np.empty(0), np.empty(0), np.empty(0)))

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about images in which nothing is found
            table = trackpy.locate(
                image,
                int(settings["diameter"]),
                minmass=settings["minmass"],
                separation=settings["separation"],
                engine="python",
            )
        return table["x"].to_numpy(), table["y"].to_numpy(), table["mass"].to_numpy()

    trackpy.quiet()
    return image_by_image(images, find)
