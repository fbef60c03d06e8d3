"""Whether a movie's spots look like the beads that are given for it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError
from flatmetric.localizers.base import PER_MAD
from flatmetric.localizers.baseline import find_maxima
from flatmetric.localizers.shapes import KnownShape
from flatmetric.stacks import Stack

_FRAMES, _SPOTS = 60, 60  # looked at: the brightest spots of frames spread over the stack
_FEWEST = 5  # spots, for a median to mean something
_WIDTH = 1.3  # pixels: of the filter that finds spots
_BRIGHT = 6.0  # times the noise of the filtered image
_PAIRED, _RANGE, _PAIRS_APART = 0.5, 3, (6, 14)  # of the maxima, pixels; 0.85 sparse and 0.55 dense on a double helix,
# 0.15 and 0.4 on single spots
_DEPTHS, _SHIFTS = 31, 5  # templates: depths, and places along x and along y within a pixel


_OTHER = 0.35  # beads of the same optics leave at most 0.18 of a spot, a double helix and a plain spot over 0.49


def check_beads(stack: Stack, shape: KnownShape, offset: float, beads: Path) -> None:
    """Raise if a movie's bright spots are none of these beads, at whatever depth. Dim spots can't tell."""
    difference = _difference(stack, shape, offset)
    if difference is not None:
        raise InputError(
            f"{beads}: its beads don't look like the spots of {stack.path}, {difference}; give the bead stack of the "
            "same microscope and optics"
        )


def _difference(stack: Stack, shape: KnownShape, offset: float) -> str | None:
    """In which way spots are none of the beads; None if they may be."""
    half = min(shape.widest_half, 7)
    templates = _templates(shape, half)
    away = _off_middle(templates, half)
    pairs = _in_pairs(stack)
    if away.min() <= 1 and pairs > _PAIRED:  # at some depth a single spot
        return f"{100 * pairs:.0f} % of which have another at the same distance, as those of a double helix"
    boxes = _bright_spots(stack, half, int(away.max()), offset)
    if len(boxes) < _FEWEST:
        return None
    left = float(np.median([_unexplained(box, noise, templates) for box, noise in boxes]))
    if left > _OTHER:
        return f"of which they leave {100 * left:.0f} % unexplained"
    return None


def _in_pairs(stack: Stack) -> float:
    """The largest part of a movie's bright maxima whose nearest neighbours lie in one range of distances."""
    nearest: list[FloatArray] = []
    for _, image in stack.images(_looked_at(stack)):
        _, row, column = find_maxima(image[None].astype(np.float64), _WIDTH, _BRIGHT, 2)
        places = np.column_stack([row, column]).astype(np.float64)
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        np.fill_diagonal(apart, np.inf)
        nearest.append(apart.min(axis=1) if len(places) > 1 else np.full(len(places), np.inf))
    every = np.concatenate(nearest) if nearest else np.empty(0)
    if len(every) < 4 * _FEWEST:
        return 0.0
    return max(float(((every >= least) & (every < least + _RANGE)).mean()) for least in range(*_PAIRS_APART))


def _looked_at(stack: Stack) -> list[int]:
    return [int(frame) for frame in np.unique(np.linspace(1, stack.frames, min(_FRAMES, stack.frames)).astype(int))]


def _templates(shape: KnownShape, half: int) -> FloatArray:
    """Beads at all depths and places within a pixel: (k, pixels), without their mean and of length 1."""
    shifts = np.linspace(-0.5, 0.5, _SHIFTS)
    depths = np.linspace(shape.least, shape.most, _DEPTHS)
    z, y, x = (axis.ravel() for axis in np.meshgrid(depths, shifts, shifts, indexing="ij"))
    light = shape.light(np.column_stack([x, y, np.ones_like(x), z]), half)
    light = light - light.mean(axis=1, keepdims=True)
    return np.asarray(light / np.linalg.norm(light, axis=1, keepdims=True))


def _off_middle(templates: FloatArray, half: int) -> IntArray:
    """How far, in pixels, the brightest place of each template lies from its middle: 4 or so in a double helix, else 0
    or 1 in focus.
    """
    row, column = np.divmod(templates.argmax(axis=1), 2 * half + 1)
    return np.asarray(np.maximum(np.abs(row - half), np.abs(column - half)))


def _bright_spots(stack: Stack, half: int, off: int, offset: float) -> list[tuple[FloatArray, FloatArray]]:
    """The light around the brightest spots that lie alone, in boxes that reach `off` pixels further, and the variance
    of its noise.
    """
    reach = half + off
    found: list[tuple[float, FloatArray, FloatArray]] = []
    for _, image in stack.images(_looked_at(stack)):
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
