"""Movies of a simulator that shares nothing with the package: a Moffat spot, other cameras, a background from side to
side, molecules on random arcs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

_SIDE = 64  # pixels
_FINE = 5  # samples of a pixel along each axis
_POWER = 3.0  # of the Moffat profile: it has a core like a Gaussian, and tails


@dataclass(frozen=True)
class Microscope:
    """Pixel size in nm, counts per electron, offset in counts, electron multiplication, read noise in electrons, the
    ratio of the background from left to right, and how much wider a spot is along x than along y.
    """

    pixel: float
    gain: float
    offset: float
    multiplied: bool
    readout: float
    slope: float = 2.5
    aspect: float = 1.0
    fwhm: float = 290.0  # nm

    @property
    def photons_per_count(self) -> float:
        """What the camera's data sheet says."""
        return 1 / self.gain


MICROSCOPES = {
    "EMCCD, 65 nm": Microscope(65.0, 6.0, 200.0, True, 0.1),
    "EMCCD, 110 nm": Microscope(110.0, 6.0, 200.0, True, 0.1),
    "EMCCD, 160 nm": Microscope(160.0, 6.0, 200.0, True, 0.1),
    "sCMOS, 110 nm": Microscope(110.0, 2.0, 100.0, False, 1.6),
}


def _spot(scope: Microscope, x: float, y: float) -> np.ndarray:
    """The share of light in each pixel of a spot at x, y (nm)."""
    fine = (np.arange(_SIDE * _FINE) + 0.5) * scope.pixel / _FINE
    radius = scope.fwhm / 2 / np.sqrt(2 ** (1 / _POWER) - 1)
    across, down = ((fine - x) / radius / scope.aspect) ** 2, ((fine - y) / radius * scope.aspect) ** 2
    light = (1 + down[:, None] + across[None]) ** -_POWER
    light = light.reshape(_SIDE, _FINE, _SIDE, _FINE).sum(axis=(1, 3))
    return np.asarray(light * (_POWER - 1) / np.pi * (scope.pixel / _FINE / radius) ** 2)


def foreign_movie(
    folder: Path, scope: Microscope, *, frames: int = 60, density: float = 0.12, photons: float = 1500.0, seed: int = 0
) -> tuple[Path, dict[str, Any]]:
    """A movie and its truth; `density` is of molecules that shine, for each square micrometre and frame."""
    random, field = np.random.default_rng([seed, 31]), _SIDE * scope.pixel
    background = np.linspace(1, scope.slope, _SIDE) * 25 * (scope.pixel / 110) ** 2 * np.ones((_SIDE, 1))
    light, rows = np.tile(background, (frames, 1, 1)), []
    radii, centres = random.uniform(0.2, 0.9, 8) * field, random.uniform(0, field, (8, 2))
    for molecule in range(int(density * (field / 1000) ** 2 * frames / 2)):
        arc, angle = random.integers(8), random.uniform(0, 2 * np.pi)
        x, y = centres[arc] + radii[arc] * np.array([np.cos(angle), np.sin(angle)]) + random.normal(0, 15, 2)
        if not (0 < x < field and 0 < y < field):
            x, y = random.uniform(0, field, 2)
        spot, first, bright = _spot(scope, x, y), int(random.integers(frames)), photons * random.lognormal(0, 0.4)
        for frame in range(first, min(frames, first + int(random.geometric(0.5)))):
            light[frame] += bright * spot
            rows.append((frame + 1, x, y, molecule))
    electrons = random.poisson(light).astype(np.float64)
    if scope.multiplied:
        electrons = random.gamma(np.maximum(electrons, 1e-9))
    counts = scope.offset + scope.gain * (electrons + random.normal(0, scope.readout, light.shape))
    path = folder / "movie.tif"
    tifffile.imwrite(path, np.clip(np.round(counts), 0, 65535).astype(np.uint16), photometric="minisblack")
    frame, x, y, molecule = np.array(rows).T
    return path, {"frame": frame.astype(int), "x": x, "y": y, "id": molecule.astype(int)}
