"""Simulated beads, by which a program that reads depth from the widths of spots is calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.localizers.shapes import KnownShape

PER_PLANE = 5  # beads at each depth
_STEP_NM = 25.0  # between planes: a fraction of the depth of field, about 500 nm
_SIDE = 65  # pixels
_SHARP, _WIDEST = 0.25, 2.5  # wider spots than so many times this quantile of widths are not fitted well
_FEWEST = 9  # planes
_PHOTONS, _BACKGROUND = 30_000.0, 10.0


def bead_images(shape: KnownShape | None, program: str) -> tuple[FloatArray, FloatArray]:
    """Depths in nm, from high to low, and an image in photons of a bead at each: near the middle, `PER_PLANE` a depth.

    `program` is named in the error if the widths of spots don't determine their depths.
    """
    if shape is None:
        raise InputError(
            f"{program} reads depths from how spots look, which is not known here; give beads= and bead_step="
        )
    if shape.channels > 1 or shape.least_is_real:
        raise InputError(f"{program} reads depths from one astigmatic image; use images with astigmatism (AS)")
    random = np.random.default_rng(0)
    half_range = min(-shape.least, shape.most) * shape.pixel_size
    planes = int(half_range / _STEP_NM)
    depths = np.repeat(np.arange(planes, -planes - 1, -1) * _STEP_NM, PER_PLANE)
    at = np.column_stack(
        [
            *random.uniform(-0.5, 0.5, (2, len(depths))),
            np.full(len(depths), _PHOTONS),
            depths / shape.pixel_size,
        ]
    )
    half = min(_SIDE // 2, shape.psfs[0].side // 2 - 1)
    light = np.maximum(shape.light(at, half), 0.0).reshape(len(depths), 2 * half + 1, 2 * half + 1)
    rim = _SIDE // 2 - half
    expected = _BACKGROUND + np.pad(light, ((0, 0), (rim, rim), (rim, rim)))
    return depths, random.poisson(expected).astype(np.float64)


def sharp_planes(width_x: FloatArray, width_y: FloatArray, program: str) -> BoolArray:
    """Which beads lie at depths, next to each other, where spots are narrow enough for a program to fit them.

    The widths are those that the program measured, of all beads in their order.

    Examples
    --------
    >>> wide = np.repeat([9.0, *([1.5, 1.0, 1.2] * 4), np.nan, 1.0], PER_PLANE)
    >>> kept = sharp_planes(wide, np.ones_like(wide), "any")[::PER_PLANE]
    >>> kept.sum(), bool(kept[1]), bool(kept[-1])
    (np.int64(12), True, False)
    """
    across = np.stack([np.median(width.reshape(-1, PER_PLANE), axis=1) for width in (width_x, width_y)])
    usual = np.nanquantile(np.where(across > 0, across, np.nan), _SHARP) if (across > 0).any() else 0.0
    good = ((across > 0) & (across < _WIDEST * usual)).all(axis=0)
    run = np.cumsum(~good) * good + np.where(good, 0, -1)  # the same number within a run, -1 between them
    longest = np.bincount(run[good]).argmax() if good.any() else 0
    if (run == longest).sum() < _FEWEST:
        raise InputError(f"{program} can't fit beads at enough depths with these settings; give a larger box or radius")
    return np.repeat(run == longest, PER_PLANE)
