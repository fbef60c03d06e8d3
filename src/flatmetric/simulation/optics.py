"""How a molecule looks: a Gaussian spot, one by Fourier optics, or a measured one, integrated over each pixel."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.simulation.psf import Psf, measured
from flatmetric.simulation.pupil import Pupil, sampled_pupil

HALO_WIDTH = 2.5
"""Of a Gaussian's halo, in widths of the spot: about where an objective has its first rings."""


@dataclass(frozen=True, slots=True)
class Gaussian:
    """The quick choice: a spot whose width grows like a Gaussian beam's. Lengths in nm.

    `sigma` is the width in focus, `focal_depth` the distance from focus at which it is sqrt(2) times that. With
    `astigmatism` a the spot is sharpest in x at z = a and in y at z = -a; 0 is a round spot. `aspect` is the width
    along x over that along y, at any depth. A part `halo` of the light lies in a
    Gaussian 2.5 times as wide: the rings and the scattered light of real spots.
    """

    sigma: float = 110.0
    focal_depth: float = 400.0
    astigmatism: float = 0.0
    aspect: float = 1.0
    halo: float = 0.0

    def __post_init__(self) -> None:
        if not 0.1 <= self.aspect <= 10:
            raise InputError(f"aspect is {self.aspect}; give a ratio from 0.1 to 10")
        if not 0 <= self.halo < 1:
            raise InputError(f"halo is {self.halo}; give a part from 0 to below 1")
        for name in ("sigma", "focal_depth"):
            if not 0 < getattr(self, name) < 1e5:
                raise InputError(f"{name} is {getattr(self, name)}; give a length in nm above 0 and below 1e5")
        if not abs(self.astigmatism) < 1e5:
            raise InputError(f"astigmatism is {self.astigmatism}; give a length in nm between -1e5 and 1e5")

    def widths(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Widths of the spot in x and y at depths `z`, all in nm.

        Examples
        --------
        >>> [w.round(9).tolist() for w in Gaussian(sigma=100, focal_depth=300).widths(np.array([0.0, 400.0]))]
        [[100.0, 166.666666667], [100.0, 166.666666667]]
        """
        return (
            self.sigma * np.hypot(1.0, (z - self.astigmatism) / self.focal_depth) * np.sqrt(self.aspect),
            self.sigma * np.hypot(1.0, (z + self.astigmatism) / self.focal_depth) / np.sqrt(self.aspect),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """A spot from a bead stack: a TIFF `file` of beads that was focused through in steps of `z_step` nm."""

    file: str
    z_step: float

    def __post_init__(self) -> None:
        if not 0.1 <= self.z_step <= 1000:
            raise InputError(f"z_step is {self.z_step}; give a length in nm from 0.1 to 1000")


Optics = Gaussian | Pupil | Measured
KINDS: Mapping[str, type[Optics]] = {"gaussian": Gaussian, "pupil": Pupil, "measured": Measured}
"""The kinds of optics by their names in files."""


def channels_of(optics: Optics) -> int:
    """How many images of the field the camera gets, side by side.

    Examples
    --------
    >>> channels_of(Pupil(planes=(-250.0, 250.0)))
    2
    """
    return len(optics.planes) if isinstance(optics, Pupil) else 1


def psf_of(optics: Pupil | Measured, pixel_size: float, channel: int = 0) -> Psf:
    """The samples of a spot for pixels of `pixel_size` nm."""
    if isinstance(optics, Pupil):
        return sampled_pupil(optics, pixel_size, channel)
    return _from_beads(optics.file, pixel_size, optics.z_step)


@functools.lru_cache(maxsize=2)
def _from_beads(file: str, pixel_size: float, z_step: float) -> Psf:
    from flatmetric.stacks import open_stack

    return measured(open_stack(Path(file)), pixel_size, z_step)


def spots(
    xyz: FloatArray, photons: FloatArray, optics: Optics, *, pixels: int, pixel_size: float, rows: int | None = None
) -> FloatArray:
    """The image of molecules at (k, 3) nm, rows along y: expected photons in each pixel.

    It is (rows, pixels), by default square, or as many of them side by side as there are channels, which share the
    photons.

    Examples
    --------
    >>> image = spots(np.array([[3200.0, 3200.0, 0.0]]), np.array([500.0]), Gaussian(), pixels=64, pixel_size=100.0)
    >>> round(float(image.sum()), 6)
    500.0
    """
    if isinstance(optics, Gaussian):
        edges = np.arange(max(pixels, rows or 0) + 1, dtype=np.float64) * pixel_size
        width_x, width_y = optics.widths(xyz[:, 2])
        parts = [(1 - optics.halo, 1.0), *([(optics.halo, HALO_WIDTH)] if optics.halo else [])]
        light = np.zeros((rows or pixels, pixels))
        for share, wider in parts:
            across = _shares(edges[: pixels + 1], xyz[:, 0], wider * width_x)
            down = _shares(edges[: (rows or pixels) + 1], xyz[:, 1], wider * width_y)
            # A Gaussian is a product of its axes, so the sum over molecules is a product of matrices.
            light += down.T @ (across * (share * photons)[:, None])
        return light
    channels = channels_of(optics)
    image = np.zeros((rows or pixels, channels * pixels))
    for channel in range(channels):
        part = image[:, channel * pixels : (channel + 1) * pixels]
        psf_of(optics, pixel_size, channel).add_spots(part, xyz, photons / channels)
    return np.maximum(image, 0.0)  # between samples a spot may fall below 0 by a trifle


def _shares(edges: FloatArray, centre: FloatArray, width: FloatArray) -> FloatArray:
    """The fraction of a Gaussian between neighbouring edges, for each centre and width: (k, pixels)."""
    from scipy.special import ndtr

    return np.asarray(np.diff(ndtr((edges - centre[:, None]) / width[:, None]), axis=1))
