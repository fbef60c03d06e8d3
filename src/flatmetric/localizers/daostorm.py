"""sdt-python: its port of 3D-DAOSTORM, which fits overlapping Gaussians: of a fixed width, a free one, or of two."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizers.base import Setting, Settings, Spots, inside
from flatmetric.localizers.beads import bead_images, sharp_planes

if TYPE_CHECKING:
    from flatmetric.localizers.shapes import KnownShape

SETTINGS = {
    "threshold": Setting(
        60.0, 0.1, 1e9, tuned=(10.0, 500.0), meaning="least height of a spot over its surroundings, photons"
    ),
    "radius": Setting(1.2, 0.3, 20.0, tuned=(0.9, 2.2), meaning="expected width of a spot, pixels"),
}
SETTINGS_3D = {
    **SETTINGS,
    "radius": Setting(1.6, 0.3, 20.0, tuned=(1.2, 2.5), meaning="expected width of a spot, pixels"),
}

_LEAST_LIGHT = 0.1  # photons: the program takes logarithms
_SMALLEST_SIDE = 16  # pixels
_TERMS = 4  # of the polynomial of widths by depth, above the square
_NM = 1000.0  # in its unit of depth, um: its resolution is a thousandth


def localize_2d(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons, each of a width of its own."""
    return _localize(images, settings, "2d")


def localize_2d_fixed(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons, all of the expected width."""
    return _localize(images, settings, "2dfixed")


def localize_3d(images: FloatArray, settings: Settings, shape: KnownShape | None = None) -> Spots:
    """Find spots and their depths by their widths along x and y, calibrated with simulated beads."""
    return _localize(images, settings, "3d", _depths(shape, settings["radius"]))


def _localize(images: FloatArray, settings: Settings, model: str, depths: Any = None) -> Spots:
    import pandas as pd

    large = min(images.shape[1:]) >= _SMALLEST_SIDE
    tables = [_fit(image, model, settings["radius"], settings["threshold"]) for image in images] if large else []
    if not any(map(len, tables)):
        none = np.empty(0)
        return Spots(np.empty(0, dtype=np.int64), none, none, none, None if depths is None else none)
    table = pd.concat(tables, ignore_index=True)
    image = np.repeat(np.arange(len(tables)), [len(one) for one in tables])
    if depths is not None:
        depths.fit(table)
    x, y, photons = (table[name].to_numpy(dtype=np.float64) for name in ("x", "y", "mass"))
    z = None if depths is None else table["z"].to_numpy(dtype=np.float64) * _NM
    kept = inside(images, x, y) & (photons > 0)
    return Spots(image[kept], x[kept], y[kept], photons[kept], None if z is None else z[kept])


def _fit(image: FloatArray, model: str, radius: float, threshold: float) -> Any:
    from sdt.loc import daostorm_3d

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about spots that were dropped
        return daostorm_3d.locate(np.maximum(image, _LEAST_LIGHT), radius, model, threshold)


@functools.lru_cache(maxsize=8)
def _depths(shape: KnownShape | None, radius: float) -> Any:
    """The program's own fitter of depths."""
    import pandas as pd
    from sdt.loc import z_fit

    depths, images = bead_images(shape, "daostorm-3d")
    widths = np.full((2, len(images)), np.nan)
    for at, image in enumerate(images):
        fitted = _fit(image, "3d", radius, 0.3 * float(image.max()))
        if len(fitted) == 1:
            widths[:, at] = fitted["size_x"].iloc[0], fitted["size_y"].iloc[0]
    good = sharp_planes(widths[0], widths[1], "daostorm-3d") & np.isfinite(widths).all(axis=0)
    beads = pd.DataFrame({"z": depths[good] / _NM, "size_x": widths[0, good], "size_y": widths[1, good]})
    limits = (float(beads["z"].min()), float(beads["z"].max()))
    guess = z_fit.Parameters.Tuple(1.0, 0.0, 1.0, np.ones(_TERMS))
    try:
        return z_fit.Fitter(z_fit.Parameters.calibrate(beads, guess, limits))
    except RuntimeError as error:
        raise InputError("daostorm-3d can't fit widths by depth with this radius; give another one") from error
