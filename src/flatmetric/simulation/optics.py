"""How a molecule looks: a Gaussian spot, widening out of focus, integrated over each pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError


@dataclass(frozen=True, slots=True)
class Optics:
    """A spot whose width grows like a Gaussian beam's. Lengths in nm.

    `sigma` is the width in focus, `focal_depth` the distance from focus at which it is sqrt(2) times that. With
    `astigmatism` a the spot is sharpest in x at z = a and in y at z = -a; 0 is a round spot.
    """

    sigma: float = 110.0
    focal_depth: float = 400.0
    astigmatism: float = 0.0

    def __post_init__(self) -> None:
        for name in ("sigma", "focal_depth"):
            if not 0 < getattr(self, name) < 1e5:
                raise InputError(f"{name} is {getattr(self, name)}; give a length in nm above 0 and below 1e5")
        if not abs(self.astigmatism) < 1e5:
            raise InputError(f"astigmatism is {self.astigmatism}; give a length in nm between -1e5 and 1e5")

    def widths(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Widths of the spot in x and y at depths `z`, all in nm.

        Examples
        --------
        >>> [w.tolist() for w in Optics(sigma=100, focal_depth=300).widths(np.array([0.0, 400.0]))]
        [[100.0, 166.66666666666669], [100.0, 166.66666666666669]]
        """
        return (
            self.sigma * np.hypot(1.0, (z - self.astigmatism) / self.focal_depth),
            self.sigma * np.hypot(1.0, (z + self.astigmatism) / self.focal_depth),
        )


def spots(xyz: FloatArray, photons: FloatArray, optics: Optics, *, pixels: int, pixel_size: float) -> FloatArray:
    """The image (pixels, pixels), rows along y, of molecules at (k, 3) nm: expected photons in each pixel.

    Examples
    --------
    >>> image = spots(np.array([[3200.0, 3200.0, 0.0]]), np.array([500.0]), Optics(), pixels=64, pixel_size=100.0)
    >>> round(float(image.sum()), 6)
    500.0
    """
    edges = np.arange(pixels + 1, dtype=np.float64) * pixel_size
    width_x, width_y = optics.widths(xyz[:, 2])
    across = _shares(edges, xyz[:, 0], width_x)
    down = _shares(edges, xyz[:, 1], width_y)
    # A Gaussian is a product of its axes, so the sum over molecules is a product of matrices.
    return np.asarray(down.T @ (across * photons[:, None]))


def _shares(edges: FloatArray, centre: FloatArray, width: FloatArray) -> FloatArray:
    """The fraction of a Gaussian between neighbouring edges, for each centre and width: (k, pixels)."""
    from scipy.special import ndtr

    return np.asarray(np.diff(ndtr((edges - centre[:, None]) / width[:, None]), axis=1))
