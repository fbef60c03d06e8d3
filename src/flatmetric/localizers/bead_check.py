"""Whether a movie's spots look like the beads that are given for it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizers.base import PER_MAD
from flatmetric.localizers.baseline import find_maxima
from flatmetric.localizers.shapes import KnownShape
from flatmetric.stacks import Stack

_FRAMES, _SPOTS = 60, 60  # looked at: the brightest spots of frames spread over the stack
_FEWEST = 5  # spots, for a median to mean something
_WIDTH = 1.3  # pixels: of the filter that finds spots
_BRIGHT = 6.0  # times the noise of the filtered image
_DEPTHS, _SHIFTS = 31, 5  # templates: depths, and places along x and along y within a pixel


_OTHER = 0.35  # beads of the same optics leave at most 0.18 of a spot, a double helix and a plain spot over 0.49


def check_beads(stack: Stack, shape: KnownShape, offset: float, beads: Path) -> None:
    """Raise if a movie's bright spots are none of these beads, at whatever depth. Dim spots can't tell."""
    left = misfit(stack, shape, offset)
    if left is not None and left > _OTHER:
        raise InputError(
            f"{beads}: its beads don't look like the spots of {stack.path}, of which they leave {100 * left:.0f} % "
            "unexplained; give the bead stack of the same microscope and optics"
        )


def misfit(stack: Stack, shape: KnownShape, offset: float) -> float | None:
    """The part of a usual bright spot's squared light, beyond noise, that no bead at any depth explains; None where the
    movie has too few bright spots that lie alone. `offset` is in counts.
    """
    half = min(shape.widest_half, 7)
    templates = _templates(shape, half)
    boxes = _bright_spots(stack, half, _off_middle(templates, half), offset)
    if len(boxes) < _FEWEST:
        return None
    parts = [_unexplained(box, noise, templates) for box, noise in boxes]
    return float(np.median(parts))


def _templates(shape: KnownShape, half: int) -> FloatArray:
    """Beads at all depths and places within a pixel: (k, pixels), without their mean and of length 1."""
    shifts = np.linspace(-0.5, 0.5, _SHIFTS)
    depths = np.linspace(shape.least, shape.most, _DEPTHS)
    z, y, x = (axis.ravel() for axis in np.meshgrid(depths, shifts, shifts, indexing="ij"))
    light = shape.light(np.column_stack([x, y, np.ones_like(x), z]), half)
    light = light - light.mean(axis=1, keepdims=True)
    return np.asarray(light / np.linalg.norm(light, axis=1, keepdims=True))


def _off_middle(templates: FloatArray, half: int) -> int:
    """How far, in pixels, the brightest place of a bead may lie from its middle: 4 in a double helix, else 0 or 1."""
    row, column = np.divmod(templates.argmax(axis=1), 2 * half + 1)
    return int(np.maximum(np.abs(row - half), np.abs(column - half)).max())


def _bright_spots(stack: Stack, half: int, off: int, offset: float) -> list[tuple[FloatArray, FloatArray]]:
    """The light around the brightest spots that lie alone, in boxes that reach `off` pixels further, and the variance
    of its noise.
    """
    frames = np.unique(np.linspace(1, stack.frames, min(_FRAMES, stack.frames)).astype(np.int64))
    reach = half + off
    found: list[tuple[float, FloatArray, FloatArray]] = []
    for _, image in stack.images(frames.tolist()):
        light = image.astype(np.float64) - offset
        step = np.diff(light, axis=1)
        level = max(float(np.median(light)), 1e-9)
        per_light = (PER_MAD * float(np.median(np.abs(step - np.median(step))))) ** 2 / 2 / level
        _, row, column = find_maxima(light[None], _WIDTH, _BRIGHT, reach)
        for r, c in zip(row, column, strict=True):
            away = np.maximum(np.abs(row - r), np.abs(column - c))
            beside = away <= half  # parts of the same spot, of which the brightest counts
            if light[r, c] < light[row[beside], column[beside]].max() or (~beside & (away <= 2 * half)).any():
                continue
            box = light[r - reach : r + reach + 1, c - reach : c + reach + 1]
            found.append((float((box - level).sum()), box, per_light * np.maximum(box, level)))
    found.sort(key=lambda one: -one[0])
    return [(box, noise) for _, box, noise in found[:_SPOTS]]


def _unexplained(light: FloatArray, noise: FloatArray, templates: FloatArray) -> float:
    """The part of the squared light that the best bead at the best place leaves, noise taken off."""
    side = math.isqrt(templates.shape[1])
    boxes, noises = (sliding_window_view(image, (side, side)).reshape(-1, side * side) for image in (light, noise))
    boxes = boxes - boxes.mean(axis=1, keepdims=True)
    squared, expected = (boxes**2).sum(axis=1), noises.sum(axis=1)
    left = squared - (boxes @ templates.T).max(axis=1) ** 2 - expected
    return float(np.min(np.maximum(left, 0.0) / np.maximum(squared - expected, 1e-12)))
