"""A spot of any shape, known at samples in space, and looked up between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flatmetric import _core
from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.stacks import Stack

OVERSAMPLING = 4  # samples along a pixel
_SPOTS_AT_ONCE = 500  # it bounds the memory
_BEAD_NM = 2000.0  # half the side of the square around a bead
_FEWEST_PLANES = 9  # to interpolate a spot through the depth of field


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
        half = self.side // 2
        column, row = (np.floor(xyz[:, axis] / self.pixel_size) for axis in (0, 1))
        off_x, off_y = (xyz[:, axis] - (at + 0.5) * self.pixel_size for axis, at in ((0, column), (1, row)))
        height, width = image.shape
        for first in range(0, len(xyz), _SPOTS_AT_ONCE):
            part = slice(first, first + _SPOTS_AT_ONCE)
            boxes = self.boxes(off_x[part], off_y[part], xyz[part, 2], self.side)
            boxes *= photons[part, None, None]
            for box, i, j in zip(boxes, row[part].astype(int) - half, column[part].astype(int) - half, strict=True):
                rows, columns = (slice(max(0, -at), size - at) for at, size in ((i, height), (j, width)))
                visible = box[rows, columns]
                image[max(0, i) : max(0, i) + visible.shape[0], max(0, j) : max(0, j) + visible.shape[1]] += visible

    def boxes(self, x: FloatArray, y: FloatArray, z: FloatArray, side: int) -> FloatArray:
        """Shares (k, side, side) in squares of pixels, for molecules at x, y from the middle of the square and z, nm.

        Examples
        --------
        >>> psf = sampled(lambda z: np.ones((41, 41)) / 1600, 100.0, -100.0, 50.0, 5)
        >>> zero = np.zeros(1)
        >>> psf.boxes(zero, zero, zero, 3).round(6).tolist()[0][0]
        [0.000625, 0.000625, 0.000625]
        """
        return np.asarray(self._look_up(x, y, z, side, slopes=False)[0])

    def boxes_and_slopes(
        self, x: FloatArray, y: FloatArray, z: FloatArray, side: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The same, and its derivatives by x, y and z, per nm."""
        share, by_z, by_y, by_x = self._look_up(x, y, z, side, slopes=True)
        step = self.pixel_size / OVERSAMPLING
        return share, by_x / -step, by_y / -step, by_z / self.z_step

    def _look_up(self, x: FloatArray, y: FloatArray, z: FloatArray, side: int, *, slopes: bool) -> FloatArray:
        """Values (terms, k, side, side), the derivatives by samples."""
        _, rows, columns = self.coefficients.shape
        step, reach = self.pixel_size / OVERSAMPLING, (side - 1) * OVERSAMPLING
        first = [
            (z - self.z_first) / self.z_step,
            (rows - 1 - reach) / 2 - y / step,
            (columns - 1 - reach) / 2 - x / step,
        ]
        flat = _core.spot_boxes(self.coefficients, OVERSAMPLING, np.column_stack(first), side, slopes)
        return np.moveaxis(flat.reshape(len(x), -1, side, side), 1, 0)


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
