"""A camera, with electron multiplication or without: from expected photons to 16-bit counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError

_LARGEST = 65535  # of 16 bits


@dataclass(frozen=True, slots=True)
class Camera:
    """An EMCCD: `gain` multiplies electrons; `electrons_per_count` and `offset` (counts) turn them into numbers.

    `spurious` is the mean clock-induced charge and `readout` the noise, both in electrons. A camera that does not
    multiply (`multiplies` false: CCD, sCMOS) has no noise from that; its gain is 1.
    """

    quantum_efficiency: float = 0.9
    spurious: float = 0.002
    gain: float = 300.0
    readout: float = 74.4
    electrons_per_count: float = 45.0
    offset: float = 100.0
    multiplies: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.quantum_efficiency <= 1:
            raise InputError(f"quantum_efficiency is {self.quantum_efficiency}; give a number above 0, up to 1")
        for name in ("gain", "electrons_per_count"):
            if not 1e-3 <= getattr(self, name) < 1e6:
                raise InputError(f"{name} is {getattr(self, name)}; give a number from 0.001 to below 1e6")
        for name in ("spurious", "readout", "offset"):
            if not 0 <= getattr(self, name) < 1e6:
                raise InputError(f"{name} is {getattr(self, name)}; give a number from 0 and below 1e6")

    @property
    def photons_per_count(self) -> float:
        """Photons per count."""
        return self.electrons_per_count / (self.gain * self.quantum_efficiency)

    def mean(self, photons: FloatArray) -> FloatArray:
        """Expected counts for expected photons.

        Examples
        --------
        >>> Camera(spurious=0).mean(np.array([0.0, 10.0])).tolist()
        [100.0, 160.0]
        """
        return np.asarray(self.offset + (self.quantum_efficiency * photons + self.spurious) * self._amplification)

    def variance(self, photons: FloatArray) -> FloatArray:
        """Variance of the counts: that of photons, twice if electrons are multiplied, of the readout and of rounding.

        Examples
        --------
        >>> round(float(Camera(spurious=0, readout=0).variance(np.array(10.0))), 3)
        800.083
        """
        electrons = self.quantum_efficiency * photons + self.spurious
        readout = (self.readout / self.electrons_per_count) ** 2
        return np.asarray((1 + self.multiplies) * electrons * self._amplification**2 + readout + 1 / 12)

    @property
    def _amplification(self) -> float:
        return self.gain / self.electrons_per_count

    def expose(
        self, photons: FloatArray, rng: np.random.Generator, readout: FloatArray | None = None
    ) -> npt.NDArray[np.uint16]:
        """Counts for expected photons of any shape; full wells stop at 65535.

        Electrons are Poisson; multiplying n of them gives a gamma variable of shape n. `readout` is the noise of each
        pixel in electrons, by default that of the camera.

        Examples
        --------
        >>> counts = Camera().expose(np.full((2, 3), 50.0), np.random.default_rng(0))
        >>> counts.shape, counts.dtype.name
        ((2, 3), 'uint16')
        """
        electrons = rng.poisson(self.quantum_efficiency * photons + self.spurious)
        multiplied = (rng.standard_gamma(electrons) if self.multiplies else 1.0 * electrons) * self.gain
        multiplied += rng.normal(0.0, self.readout if readout is None else readout, photons.shape)
        counts = np.rint(multiplied / self.electrons_per_count + self.offset)
        return np.clip(counts, 0, _LARGEST).astype(np.uint16)
