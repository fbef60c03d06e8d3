"""sdt-python: its port of 3D-DAOSTORM, which fits overlapping Gaussians, of free width or of a fixed one."""

from __future__ import annotations

import warnings

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import Setting, Settings, Spots, image_by_image, inside

SETTINGS = {
    "threshold": Setting(60.0, 0.1, 1e9),  # least height of a spot over its surroundings, photons
    "radius": Setting(1.2, 0.3, 20.0),  # expected width of a spot, pixels
}

_LEAST_LIGHT = 0.1  # photons: the program takes logarithms
_SMALLEST_SIDE = 16  # pixels


def localize_2d(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons, each of a width of its own."""
    return _localize(images, settings, "2d")


def localize_2d_fixed(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons, all of the expected width."""
    return _localize(images, settings, "2dfixed")


def _localize(images: FloatArray, settings: Settings, model: str) -> Spots:
    if min(images.shape[1:]) < _SMALLEST_SIDE:
        return image_by_image(images, lambda image: (np.empty(0), np.empty(0), np.empty(0)))
    from sdt.loc import daostorm_3d

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about spots that were dropped
            table = daostorm_3d.locate(
                np.maximum(image, _LEAST_LIGHT), settings["radius"], model, settings["threshold"]
            )
        x, y, photons = (np.asarray(table[name], dtype=np.float64) for name in ("x", "y", "mass"))
        kept = inside(image, x, y) & (photons > 0)
        return x[kept], y[kept], photons[kept]

    return image_by_image(images, find)
