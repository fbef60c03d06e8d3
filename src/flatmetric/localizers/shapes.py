"""How spots may look to the baseline: Gaussians of free width, or a known spot at a free depth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.simulation.psf import Psf

_HELD = 0.95  # of the light that a box must hold
_LARGEST_HALF = 12  # pixels
_DEEPEST = 750.0  # nm
_TEMPLATES = 7  # widths between the least and the most: a spot between two of them still fits one well


class Shape(Protocol):
    """A family of spots with one parameter, `form`, besides place and photons; lengths in pixels.

    A spot is looked at in boxes, one in each channel, of 2 half + 1 pixels along a side.
    """

    channels: int
    smooth: float
    """How smooth the background is: what a shape leaves around a spot is part of it."""
    least: float
    most: float
    """Limits of the form: a spot that ends at one is not believed, unless `least_is_real`."""
    least_is_real: bool
    forms: list[float]
    """Forms that new spots are looked for with."""
    apart: int
    """Side of the square, odd, in which one spot at most is looked for at a time."""
    widest_half: int
    """Half the side of the square that holds all of a spot; 0 if the boxes do."""

    def halves(self, form: FloatArray) -> IntArray:
        """Half the side of the boxes that spots need."""

    def light(self, at: FloatArray, half: int) -> FloatArray:
        """The light (n, channels (2 half + 1)^2) of spots (x, y, photons, form) from the middle of their boxes."""

    def slopes(self, at: FloatArray, half: int) -> FloatArray:
        """Its derivatives (n, pixels, 4) by x, y, photons and form."""


class GaussianShape:
    """Gaussians integrated over pixels; the form is the width, times `aspect` along x and over it along y."""

    channels = 1
    smooth = 8.0
    least_is_real = False
    apart = 3
    widest_half = 0
    _HALVES = ((1.6, 4), (2.4, 7), (np.inf, 10))  # up to these widths

    def __init__(self, sigma: float, widest: float, aspect: float = 1.0) -> None:
        self.least, self.most = 0.5 * sigma, widest
        self.forms = [sigma]
        self._aspects = (aspect, 1 / aspect)

    def halves(self, form: FloatArray) -> IntArray:
        """Half the side of the boxes."""
        limits, halves = zip(*self._HALVES, strict=True)
        return np.asarray(halves)[np.searchsorted(limits, form)]

    def light(self, at: FloatArray, half: int) -> FloatArray:
        """The light of spots in their boxes."""
        x, y = (
            axis_shares(at[:, axis], aspect * at[:, 3], 2 * half + 1)[0] for axis, aspect in enumerate(self._aspects)
        )
        return _product(y, x) * at[:, 2, None]

    def slopes(self, at: FloatArray, half: int) -> FloatArray:
        """Its derivatives."""
        (x, slope_x, wider_x), (y, slope_y, wider_y) = (
            axis_shares(at[:, axis], aspect * at[:, 3], 2 * half + 1) for axis, aspect in enumerate(self._aspects)
        )
        photons = at[:, 2, None]
        wider = self._aspects[0] * _product(y, wider_x) + self._aspects[1] * _product(wider_y, x)
        columns = (photons * _product(y, slope_x), photons * _product(slope_y, x), _product(y, x), photons * wider)
        return np.stack(columns, axis=2)


def _product(down: FloatArray, across: FloatArray) -> FloatArray:
    return np.asarray((down[:, :, None] * across[:, None, :]).reshape(len(down), -1))


def axis_shares(centre: FloatArray, sigma: FloatArray, side: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The fraction of a Gaussian in each pixel along an axis, and its derivatives by centre and by width.

    Examples
    --------
    >>> axis_shares(np.zeros(1), np.ones(1), 3)[0].round(3).tolist()
    [[0.242, 0.383, 0.242]]
    """
    from scipy.special import ndtr

    edges = np.arange(side + 1) - side / 2
    away = (edges - centre[:, None]) / sigma[:, None]
    density = np.exp(-(away**2) / 2) / (np.sqrt(2 * np.pi) * sigma[:, None])
    return np.diff(ndtr(away)), -np.diff(density), -np.diff(away * density)


class KnownShape:
    """A spot known from optics or beads, in one channel or more; the form is its depth, in pixels.

    `round_spot` is for one that looks the same above and below focus: its depth is then never negative.
    """

    smooth = 20.0

    def __init__(self, psfs: Sequence[Psf], *, round_spot: bool) -> None:
        self.psfs, self.channels, self.least_is_real = psfs, len(psfs), round_spot
        self.pixel_size = psfs[0].pixel_size
        low = max(-_DEEPEST, max(psf.z_first for psf in psfs))
        high = min(_DEEPEST, min(psf.z_last for psf in psfs))
        self.least, self.most = (0.0 if round_spot else low) / self.pixel_size, high / self.pixel_size
        self.forms = np.linspace(self.least, self.most, _TEMPLATES + 2)[1:-1].tolist()
        self.widest_half = min(_LARGEST_HALF, psfs[0].side // 2 - 1)
        self.apart = self._apart()
        self._planes = np.linspace(self.least, self.most, 25)
        self._half_of_plane = np.array([self._half(depth) for depth in self._planes])

    def _apart(self) -> int:
        """As wide as the spot, since parts of a wide one look like spots."""
        half = self.widest_half
        light = self.light(np.array([[0.0, 0.0, 1.0, (self.least + self.most) / 2]]), half)[0]
        reach = np.arange(-half, half + 1)
        squared = np.tile((reach[:, None] ** 2 + reach**2).ravel(), self.channels)
        return 2 * round(math.sqrt((light**2 @ squared) / (light**2).sum())) + 1

    def _half(self, depth: float) -> int:
        """The smallest box that holds most of what the largest one holds."""
        at = np.array([[0.0, 0.0, 1.0, depth]])
        limit = self.widest_half
        most = self.light(at, limit).sum()
        return next(half for half in range(3, limit + 1) if self.light(at, half).sum() >= _HELD * most or half == limit)

    def halves(self, form: FloatArray) -> IntArray:
        """Half the side of the boxes."""
        return np.asarray(self._half_of_plane[np.abs(form[:, None] - self._planes).argmin(axis=1)])

    def light(self, at: FloatArray, half: int) -> FloatArray:
        """The light of spots in their boxes."""
        x, y, z = at[:, (0, 1, 3)].T * self.pixel_size
        boxes = [psf.boxes(x, y, z, 2 * half + 1).reshape(len(at), -1) for psf in self.psfs]
        return np.concatenate(boxes, axis=1) * (at[:, 2, None] / self.channels)

    def slopes(self, at: FloatArray, half: int) -> FloatArray:
        """Its derivatives."""
        x, y, z = at[:, (0, 1, 3)].T * self.pixel_size
        parts = []
        for psf in self.psfs:
            share, by_x, by_y, by_z = psf.boxes_and_slopes(x, y, z, 2 * half + 1)
            scale = at[:, 2, None, None] * self.pixel_size
            columns = (scale * by_x, scale * by_y, share, scale * by_z)
            parts.append(np.stack([column.reshape(len(at), -1) for column in columns], axis=2) / self.channels)
        return np.concatenate(parts, axis=1)
