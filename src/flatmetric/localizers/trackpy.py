"""trackpy: band-pass, local maxima and iterated centroids."""

from __future__ import annotations

import warnings

from flatmetric.localizers.found import Found, Settings, image_by_image
from flatmetric.result import FloatArray

DEFAULTS = {"diameter": 5.0, "minmass": 150.0, "separation": 4.0}
"""Size of a spot and least distance of two in pixels, and the least mass in photons."""


def localize(images: FloatArray, settings: Settings) -> Found:
    """Find spots in images (k, height, width) of photons with `trackpy.locate`."""
    import trackpy

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
