"""Spots by Fourier optics: the light in the pupil of the objective, with its aberrations, sent to the camera."""

from __future__ import annotations

import functools
import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import csv_text
from flatmetric.errors import InputError
from flatmetric.simulation.psf import OVERSAMPLING, Psf, sampled

_SAMPLES = 432  # along the side of the computed field, several times that of the spot
_HALF_SIDE_NM = 2500.0  # room for the light of a spot at the edge of the layer, 650 nm out of focus
_Z_FIRST, _Z_STEP, _PLANES = -1000.0, 50.0, 41


@dataclass(frozen=True, slots=True)
class Pupil:
    """A scalar pupil. Lengths in nm, aberrations in radians of root-mean-square phase.

    `wavelength`, numerical `aperture` and refractive `index` define the spot, `focus` is where it is sharpest in z, and
    `blur` the standard deviation of what widens it everywhere. `astigmatism`, `coma_x`, `coma_y` and `spherical` are
    Zernike terms. With `helix` n > 0 the pupil has n rings of rising vortex charge, which makes two spots that turn
    with z. `wobble_x` and `wobble_y` are how far the spot lies from its molecule: nm, plus the next number times z in
    um, plus the next times its square. `planes` are shifts of the focus in the channels of the camera, one for each.
    `light` is how many photons reach the camera for each one in the truth.
    """

    wavelength: float = 660.0
    aperture: float = 1.45
    index: float = 1.515
    focus: float = 0.0
    blur: float = 50.0
    astigmatism: float = 0.0
    coma_x: float = 0.0
    coma_y: float = 0.0
    spherical: float = 0.0
    helix: int = 0
    wobble_x: tuple[float, ...] = ()
    wobble_y: tuple[float, ...] = ()
    planes: tuple[float, ...] = (0.0,)
    light: float = 1.0

    def __post_init__(self) -> None:
        if not 100 <= self.wavelength <= 10_000:
            raise InputError(f"wavelength is {self.wavelength}; give a length in nm from 100 to 10 000")
        if not 0.05 <= self.aperture < self.index < 5:
            raise InputError(f"aperture is {self.aperture}; give one from 0.05 and below the index, {self.index}")
        for name in ("focus", "astigmatism", "coma_x", "coma_y", "spherical"):
            if not abs(getattr(self, name)) < 1e4:
                raise InputError(f"{name} is {getattr(self, name)}; give a number between -1e4 and 1e4")
        if not 0 <= self.helix <= 50:
            raise InputError(f"helix is {self.helix}; give a whole number from 0 to 50")
        for name in ("wobble_x", "wobble_y", "planes"):
            values = getattr(self, name)
            if not all(abs(value) < 1e4 for value in values):
                raise InputError(f"{name} is {values}; give numbers between -1e4 and 1e4")
        if len(self.wobble_x) > 3 or len(self.wobble_y) > 3:
            raise InputError("wobble has more than three numbers; give a shift, and factors of z and of its square")
        if not 0 <= self.blur < 1e4:
            raise InputError(f"blur is {self.blur}; give a length in nm from 0")
        if not 0 < self.light <= 100:
            raise InputError(f"light is {self.light}; give a factor above 0, up to 100")
        if not 1 <= len(self.planes) <= 4:
            raise InputError(f"planes has {len(self.planes)} numbers; give 1 to 4, one for each channel")

    @property
    def largest_pixel(self) -> float:
        """Pixels up to this size, nm, are sampled finely enough for all that the pupil lets through."""
        return OVERSAMPLING * self.wavelength / (4 * self.aperture)

    @property
    def is_round(self) -> bool:
        """Whether the spot looks the same above and below focus."""
        uneven = (self.astigmatism, self.coma_x, self.coma_y, self.spherical, self.helix, self.focus)
        return not any(uneven) and self.planes == (0.0,)

    def shift(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far the spot lies from its molecule in x and y at depths z, all nm.

        Examples
        --------
        >>> Pupil(wobble_x=(1.0, 10.0, 4.0)).shift(np.array([500.0]))
        (array([7.]), array([0.]))
        """
        um = z / 1000
        return tuple(  # type: ignore[return-value]
            np.asarray(sum((a * um**power for power, a in enumerate(terms)), start=np.zeros_like(um)))
            for terms in (self.wobble_x, self.wobble_y)
        )


def wobble_csv(pupil: Pupil) -> str:
    """The shifts of a spot by depth as a table that a protocol reads: dx, dy, z in nm.

    Examples
    --------
    >>> wobble_csv(Pupil(wobble_x=(5.0,))).splitlines()[:2]
    ['dx,dy,z', '5.0,0.0,-750.0']
    """
    z = np.arange(-750.0, 751, 10)
    dx, dy = pupil.shift(z)
    return csv_text([["dx", "dy", "z"], *(map(repr, map(float, row)) for row in zip(dx, dy, z, strict=True))])


@functools.lru_cache(maxsize=8)
def sampled_pupil(pupil: Pupil, pixel_size: float, channel: int = 0) -> Psf:
    """The spot of a pupil on a camera with pixels of `pixel_size` nm, in one of its channels.

    Examples
    --------
    >>> psf = sampled_pupil(Pupil(), 100.0)
    >>> zero = np.zeros(1)
    >>> bool(0.9 < psf.boxes(zero, zero, zero, 25).sum() < 1)
    True
    """
    from scipy import fft

    if pixel_size > pupil.largest_pixel:
        raise InputError(f"pixel_size is {pixel_size:g}; give at most {pupil.largest_pixel:.0f} nm for this pupil")
    step = pixel_size / OVERSAMPLING
    half = int(_HALF_SIDE_NM / pixel_size) * OVERSAMPLING
    count = max(_SAMPLES, 4 * half)
    # Light has no frequency beyond twice the edge of the pupil: a coarse grid holds it exactly, and only the spot needs
    # the fine one.
    edge = pupil.aperture / pupil.wavelength
    bins = edge * count * step
    few = min(fft.next_fast_len(4 * math.ceil(bins + 0.5) + 1), count)
    f = np.fft.fftfreq(few, step * count / few)
    fy, fx = np.meshgrid(f, f, indexing="ij")
    rho, angle = np.hypot(fx, fy) / edge, np.arctan2(fy, fx)
    inside = np.clip((1 - rho) * bins + 0.5, 0.0, 1.0)  # the edge falls within a bin
    along = 2 * math.pi * np.sqrt(np.maximum((pupil.index / pupil.wavelength) ** 2 - fx**2 - fy**2, 0.0))
    still = inside * np.exp(1j * (_aberration(pupil, rho, angle) + _vortices(pupil.helix, rho, angle)))
    over_pixel = np.sinc(fx * pixel_size) * np.sinc(fy * pixel_size) * OVERSAMPLING**2
    over_pixel *= pupil.light * np.exp(-2 * (math.pi * pupil.blur) ** 2 * (fx**2 + fy**2))
    energy = inside.sum() / few**2  # of the round pupil; that of its bins is a little less
    cut, half_plane, upper = np.arange(-half, half + 1), few // 2 + 1, (few + 1) // 2

    def samples(z: float) -> FloatArray:
        away = z - pupil.focus - pupil.planes[channel]
        light = np.abs(fft.ifft2(still * np.exp(1j * along * away))) ** 2
        moved_x, moved_y = (float(shift[0]) for shift in pupil.shift(np.array([z])))
        spread = fft.rfft2(light / energy) * over_pixel[:, :half_plane]
        if moved_x or moved_y:
            spread *= np.exp(-2j * math.pi * (fx * moved_x + fy * moved_y)[:, :half_plane])
        fine = np.zeros((count, half_plane), dtype=np.complex128)
        fine[:upper], fine[count - (few - upper) :] = spread[:upper], spread[upper:]
        return np.asarray(fft.irfft(fft.ifft(fine, axis=0)[cut], count, axis=1)[:, cut])

    return sampled(samples, pixel_size, _Z_FIRST, _Z_STEP, _PLANES)


def _aberration(pupil: Pupil, rho: FloatArray, angle: FloatArray) -> FloatArray:
    """Zernike terms in Noll's normalisation: the coefficient is the root mean square over the pupil."""
    coma = math.sqrt(8) * (3 * rho**3 - 2 * rho)
    return np.asarray(
        pupil.astigmatism * math.sqrt(6) * rho**2 * np.cos(2 * angle)
        + pupil.coma_x * coma * np.cos(angle)
        + pupil.coma_y * coma * np.sin(angle)
        + pupil.spherical * math.sqrt(5) * (6 * rho**4 - 6 * rho**2 + 1)
    )


def _vortices(rings: int, rho: FloatArray, angle: FloatArray) -> FloatArray:
    """Rings of equal area; the phase turns 1, 3, 5, ... times around them, from the innermost on."""
    if rings == 0:
        return np.zeros_like(rho)
    ring = np.minimum(np.floor(rho**2 * rings), rings - 1)
    return np.asarray(-(2 * ring + 1) * angle)
