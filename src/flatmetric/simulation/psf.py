"""A spot of any shape, known at samples in space, and looked up between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.stacks import Stack

OVERSAMPLING = 4  # samples along a pixel
_VALUES_AT_ONCE = 2_000_000  # it bounds the memory
_BEAD_NM = 2000.0  # half the side of the square around a bead
_FEWEST_PLANES = 9


@dataclass(frozen=True, slots=True, eq=False)
class Psf:
    """The share of a molecule's photons that falls into a pixel, by the place of the pixel relative to the molecule.

    `coefficients` are those of a cubic spline through samples (planes, rows, columns) that lie `z_step` apart in z,
    from `z_first`, and a fraction `OVERSAMPLING` of `pixel_size` apart in y and x, around the molecule. Lengths in nm.
    """

    coefficients: FloatArray
    pixel_size: float
    z_first: float
    z_step: float

    @property
    def z_last(self) -> float:
        """The last depth that is known, nm."""
        return self.z_first + (int(self.coefficients.shape[0]) - 1) * self.z_step

    @property
    def side(self) -> int:
        """Pixels along the largest square that is known for molecules within half a pixel of its middle, odd."""
        return 2 * ((int(self.coefficients.shape[1]) // 2 - 4) // OVERSAMPLING) + 1

    def add_spots(self, image: FloatArray, xyz: FloatArray, photons: FloatArray) -> None:
        """Add molecules at (k, 3) nm to an image of expected photons, rows along y, as far as it shows them.

        Examples
        --------
        >>> psf = sampled(lambda z: np.ones((41, 41)) / 81, 100.0, -100.0, 50.0, 5)
        >>> image = np.zeros((20, 20))
        >>> psf.add_spots(image, np.array([[950.0, 1050.0, 0.0]]), np.array([100.0]))
        >>> round(float(image.sum()), 6)
        100.0
        """
        side, half = self.side, self.side // 2
        step, reach = self.pixel_size / OVERSAMPLING, (self.side - 1) * OVERSAMPLING
        planes, rows, columns = self.coefficients.shape
        column, row = np.floor(xyz[:, 0] / self.pixel_size), np.floor(xyz[:, 1] / self.pixel_size)
        z0, weight_z, _ = _taps((xyz[:, 2] - self.z_first) / self.z_step, planes)
        off_x, off_y = xyz[:, 0] - (column + 0.5) * self.pixel_size, xyz[:, 1] - (row + 0.5) * self.pixel_size
        y0, weight_y, _ = _taps((rows - 1 - reach) / 2 - off_y / step, rows - reach)
        x0, weight_x, _ = _taps((columns - 1 - reach) / 2 - off_x / step, columns - reach)
        flat = self.coefficients.reshape(planes, -1)
        for n in range(len(xyz)):
            # Axis after axis: the planes around z, then the rows, then the columns.
            plane = (weight_z[n] @ flat[z0[n] : z0[n] + 4]).reshape(rows, columns)
            lines = [plane[y0[n] + j : y0[n] + j + reach + 1 : OVERSAMPLING] for j in range(4)]
            line = sum(weight * part for weight, part in zip(weight_y[n], lines, strict=True))
            dots = [line[:, x0[n] + k : x0[n] + k + reach + 1 : OVERSAMPLING] for k in range(4)]
            spot = sum(weight * part for weight, part in zip(photons[n] * weight_x[n], dots, strict=True))
            top, left = int(row[n]) - half, int(column[n]) - half
            rows_seen = slice(max(0, -top), max(0, min(side, image.shape[0] - top)))
            columns_seen = slice(max(0, -left), max(0, min(side, image.shape[1] - left)))
            image[
                top + rows_seen.start : top + rows_seen.stop, left + columns_seen.start : left + columns_seen.stop
            ] += spot[rows_seen, columns_seen]

    def boxes(self, x: FloatArray, y: FloatArray, z: FloatArray, side: int) -> FloatArray:
        """Shares (k, side, side) in squares of pixels, for molecules at x, y from the middle of the square and z, nm.

        Examples
        --------
        >>> psf = sampled(lambda z: np.ones((41, 41)) / 1600, 100.0, -100.0, 50.0, 5)
        >>> zero = np.zeros(1)
        >>> psf.boxes(zero, zero, zero, 3).round(6).tolist()[0][0]
        [0.000625, 0.000625, 0.000625]
        """
        return np.concatenate([values[0] for values in self._looked_up(x, y, z, side, slopes=False)])

    def boxes_and_slopes(
        self, x: FloatArray, y: FloatArray, z: FloatArray, side: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The same, and its derivatives by x, y and z, per nm."""
        parts = list(self._looked_up(x, y, z, side, slopes=True))
        share, by_x, by_y, by_z = (np.concatenate([part[i] for part in parts]) for i in range(4))
        return share, by_x, by_y, by_z

    def _looked_up(
        self, x: FloatArray, y: FloatArray, z: FloatArray, side: int, *, slopes: bool
    ) -> Iterator[list[FloatArray]]:
        size = max(1, _VALUES_AT_ONCE // side**2)
        for first in range(0, max(1, len(x)), size):
            part = slice(first, first + size)
            yield self._look_up(x[part], y[part], z[part], side, slopes)

    def _look_up(self, x: FloatArray, y: FloatArray, z: FloatArray, side: int, slopes: bool) -> list[FloatArray]:
        planes, rows, columns = self.coefficients.shape
        step = self.pixel_size / OVERSAMPLING
        reach = (side - 1) * OVERSAMPLING
        z0, weight_z, slope_z = _taps((z - self.z_first) / self.z_step, planes)
        y0, weight_y, slope_y = _taps((rows - 1 - reach) / 2 - y / step, rows - reach)
        x0, weight_x, slope_x = _taps((columns - 1 - reach) / 2 - x / step, columns - reach)
        pixels = np.arange(side, dtype=np.int64) * OVERSAMPLING
        in_plane = (pixels[:, None] * columns + pixels).ravel()
        corner = (z0 * rows + y0) * columns + x0
        flat = self.coefficients.ravel()
        sums = [np.zeros((len(x), side * side)) for _ in range(4 if slopes else 1)]
        for i in range(4):
            for j in range(4):
                row = corner + (i * rows + j) * columns
                along = np.zeros((len(x), side * side))
                along_slope = np.zeros_like(along) if slopes else along
                for k in range(4):
                    value = flat[(row + k)[:, None] + in_plane]
                    along += weight_x[:, k, None] * value
                    if slopes:
                        along_slope += slope_x[:, k, None] * value
                sums[0] += (weight_z[:, i] * weight_y[:, j])[:, None] * along
                if slopes:
                    sums[1] -= (weight_z[:, i] * weight_y[:, j] / step)[:, None] * along_slope
                    sums[2] -= (weight_z[:, i] * slope_y[:, j] / step)[:, None] * along
                    sums[3] += (slope_z[:, i] * weight_y[:, j] / self.z_step)[:, None] * along
        return [total.reshape(-1, side, side) for total in sums]


def _taps(at: FloatArray, count: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """The first of four coefficients around each place, and their weights and slopes; places outside go to the edge."""
    at = np.clip(at, 1.0, count - 2.0 - 1e-9)
    first = np.floor(at).astype(np.int64)
    t = at - first
    s = 1 - t
    weights = np.stack([s**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * s**2 + 3 * s**3, t**3], axis=1) / 6
    slopes = np.stack([-(s**2), (3 * t - 4) * t, (4 - 3 * s) * s, t**2], axis=1) / 2
    return first - 1, weights, slopes


def sampled(
    samples: Callable[[float], FloatArray], pixel_size: float, z_first: float, z_step: float, planes: int
) -> Psf:
    """A spot from a function of z (nm) that gives its samples, an odd number in y and x around the molecule.

    Examples
    --------
    >>> psf = sampled(lambda z: np.full((41, 41), 0.5), 100.0, -100.0, 50.0, 5)
    >>> psf.side, psf.z_last
    (9, 100.0)
    """
    from scipy.ndimage import spline_filter

    values = np.stack([samples(z_first + k * z_step) for k in range(planes)])
    return Psf(np.ascontiguousarray(spline_filter(values, 3, mode="mirror")), pixel_size, z_first, z_step)


def measured(beads: Stack, pixel_size: float, z_step: float) -> Psf:
    """A spot from the images of beads, all at one depth, that was focused through in steps of `z_step` nm.

    The middle image is z = 0. The beads are found in the mean of all images, put on top of each other and averaged;
    they must lie apart from each other and from the edge.
    """
    from scipy.ndimage import shift, zoom

    images = np.concatenate([block for _, block in beads.blocks(beads.frames)]).astype(np.float64)
    if len(images) < _FEWEST_PLANES:
        raise InputError(f"{beads.path}: has {len(images)} images; give a bead stack of at least {_FEWEST_PLANES}")
    half = int(_BEAD_NM / pixel_size)
    places = _beads(images.mean(axis=0), half)
    if len(places) == 0:
        raise InputError(f"{beads.path}: has no bead that lies {_BEAD_NM:g} nm from others and from the edge")
    spots = []
    for row, column in places:
        cut = images[:, row - half : row + half + 1, column - half : column + half + 1]
        rim = np.concatenate([cut[:, 0], cut[:, -1], cut[:, :, 0], cut[:, :, -1]], axis=1)
        spot = cut - np.median(rim)
        offset = np.arange(-half, half + 1)
        middle = spot[len(spot) // 3 : -(len(spot) // 3)].mean(axis=0)
        light = np.clip(middle, 0.1 * middle.max(), None) - 0.1 * middle.max()
        at = light.sum(axis=1) @ offset / light.sum(), light.sum(axis=0) @ offset / light.sum()
        spots.append(shift(spot, (0.0, -at[0], -at[1]), order=3, mode="nearest") / spot.sum(axis=(1, 2)).mean())
    mean = np.clip(np.mean(spots, axis=0), 0.0, None)
    mean /= mean.sum(axis=(1, 2), keepdims=True)
    side = 2 * half * OVERSAMPLING + 1
    fine = zoom(mean, (1, side / mean.shape[1], side / mean.shape[2]), order=3, mode="nearest")
    first = -(len(images) // 2) * z_step
    return sampled(lambda z: fine[round((z - first) / z_step)], pixel_size, first, z_step, len(images))


def _beads(image: FloatArray, half: int) -> list[tuple[int, int]]:
    """Rows and columns of beads that lie alone."""
    from scipy.ndimage import gaussian_filter, maximum_filter

    smooth = gaussian_filter(image, half / 4)
    level, most = np.median(smooth), smooth.max()
    peaks = np.argwhere((maximum_filter(smooth, 2 * half + 1) == smooth) & (smooth > level + 0.3 * (most - level)))
    height, width = image.shape
    return [
        (int(row), int(column))
        for row, column in peaks
        if half <= row < height - half and half <= column < width - half
    ]
