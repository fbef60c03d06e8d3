"""Movies of a microscope that shares no code with the package: an aberrated pupil, depth, scattered light, cameras with
fixed patterns, uneven light that fades, drift, filaments, clusters.

Nothing here is tuned to what the package estimates; the truth stays out of the movie's file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from flatmetric._arrays import FloatArray

_FINE = 8  # positions lie on a grid of so many steps in a pixel, in the images as in the truth
_HALF = 11  # pixels that a spot reaches
_DEPTHS = np.arange(-400.0, 401.0, 100.0)  # nm, at which spots are computed; molecules lie at one of them
_SHORTEST = 0.01  # of a frame: who is on for less is no molecule of the frame, about as in the challenge
DENSITIES = (0.04, 0.15, 0.5)
"""Molecules per square micrometre and frame."""
PHOTONS = (700.0, 1800.0, 5000.0)
"""Of a molecule in a frame, the median."""
COUNT = 48
"""How many movies there are; the even ones are for development, the odd ones are kept aside."""


@dataclass(frozen=True)
class Scope:
    """What makes a movie: lengths in nm, times in frames, light in photons or electrons."""

    number: int
    camera: str
    pixel: float
    shape: tuple[int, int]
    frames: int
    density: float
    photons: float
    structure: str
    background: float
    unevenness: float
    fading: float
    bleaching: float
    drift: float
    scattered: float
    on_time: float
    aperture: float
    wavelength: float

    @property
    def name(self) -> str:
        """All that is known to a reader of the table."""
        place = f"{self.camera} {self.pixel:g} nm, {self.structure}"
        return f"{self.number}: {place}, {self.density:g} per um2, {self.photons:g} photons"

    @property
    def counts_per_electron(self) -> float:
        """What the data sheet of the camera says."""
        return {"EMCCD": 6.0, "sCMOS": 2.2, "CCD": 1.4}[self.camera]

    @property
    def offset(self) -> float:
        """Counts in the dark."""
        return {"EMCCD": 200.0, "sCMOS": 100.0, "CCD": 400.0}[self.camera]


def scope(number: int) -> Scope:
    """The movie of a number: every combination of camera, density and light occurs, the rest is drawn."""
    random = np.random.default_rng([number // 2, 20_26])
    kind = number // 2
    camera = ("EMCCD", "sCMOS", "EMCCD", "CCD")[kind % 4]
    extra = np.random.default_rng([number, 77])  # the two of a pair differ in all that is drawn
    return Scope(
        number=number,
        camera=camera,
        pixel=float(extra.choice([65.0, 100.0, 110.0, 160.0])),
        shape=((64, 64), (48, 80), (72, 56))[int(extra.integers(3))],
        frames=100,
        density=DENSITIES[(kind + kind // 3) % 3],
        photons=PHOTONS[(kind // 3 + kind) % 3 if kind % 2 else int(random.integers(3))],
        structure=("filaments", "clusters", "uniform")[int(extra.integers(3))],
        background=float(extra.choice([8.0, 25.0, 60.0])),
        unevenness=float(extra.choice([0.0, 1.0, 3.0])),
        fading=float(extra.choice([0.0, 0.0, 0.5])),
        bleaching=float(extra.choice([0.0, 0.0, 1.5])),
        drift=float(extra.choice([0.0, 0.0, 120.0])),
        scattered=float(extra.choice([0.0, 0.1, 0.2])),
        on_time=float(extra.choice([1.0, 2.5, 6.0])),
        aperture=float(extra.choice([1.2, 1.4, 1.45])),
        wavelength=float(extra.choice([580.0, 670.0, 700.0])),
    )


def _spots(made: Scope, random: np.random.Generator) -> FloatArray:
    """Light in the pixels around a molecule: (depth, row step, column step, side, side), each of sum 1 or less."""
    side = 2 * _HALF + 1
    steps = (np.arange(side * _FINE) + 0.5) * made.pixel / _FINE
    steps -= steps.mean()
    k = np.linspace(-1, 1, 45)
    ky, kx = np.meshgrid(k, k, indexing="ij")
    radius, angle = np.hypot(kx, ky), np.arctan2(ky, kx)
    aberration = random.normal(0, 0.25, 4)
    phase = (
        aberration[0] * radius**2 * np.cos(2 * angle)
        + aberration[1] * radius**2 * np.sin(2 * angle)
        + aberration[2] * (3 * radius**3 - 2 * radius) * np.cos(angle)
        + aberration[3] * (6 * radius**4 - 6 * radius**2 + 1)
    )
    inside = radius <= 1
    waves = np.exp(2j * np.pi * np.outer(steps, k) * made.aperture / made.wavelength)
    glass = 1.52 if made.aperture > 1.3 else 1.34
    along = np.sqrt(np.maximum((glass / made.wavelength) ** 2 - (radius * made.aperture / made.wavelength) ** 2, 0))
    halo = np.exp(-(steps[:, None] ** 2 + steps[None] ** 2) / (2 * 450.0**2))
    found = []
    for depth in _DEPTHS:
        field = waves @ (inside * np.exp(1j * (phase + 2 * np.pi * depth * along))) @ waves.T
        light = np.abs(field) ** 2
        light = (1 - made.scattered) * light / light.sum() + made.scattered * halo / halo.sum()
        phases = np.empty((_FINE, _FINE, side, side))
        for down in range(_FINE):
            for across in range(_FINE):
                moved = np.roll(light, (down - _FINE // 2, across - _FINE // 2), axis=(0, 1))
                phases[down, across] = moved.reshape(side, _FINE, side, _FINE).sum(axis=(1, 3))
        found.append(phases)
    return np.array(found)


def _places(made: Scope, count: int, random: np.random.Generator, fixed: np.random.Generator) -> FloatArray:
    """Places (x, y) in nm of molecules on a structure."""
    high, wide = made.shape[0] * made.pixel, made.shape[1] * made.pixel
    field = np.array([wide, high])
    if made.structure == "uniform":
        return np.asarray(random.uniform(0, 1, (count, 2)) * field)
    if made.structure == "clusters":
        middles, size = fixed.uniform(0, 1, (18, 2)) * field, fixed.uniform(60, 350, 18)
        share = fixed.dirichlet(np.full(18, 0.8))
        own = random.choice(18, count, p=share)
        return np.asarray(middles[own] + random.normal(0, 1, (count, 2)) * size[own, None])
    headings = np.cumsum(fixed.normal(0, 0.06, (7, 400)), axis=1) + fixed.uniform(0, 2 * np.pi, (7, 1))
    step = 1.6 * max(wide, high) / 400
    lines = np.cumsum(np.stack([np.cos(headings), np.sin(headings)], axis=2) * step, axis=1)
    lines += (fixed.uniform(0.1, 0.9, (7, 2)) * field)[:, None] - lines[:, 200:201]
    return np.asarray(lines[random.integers(7, size=count), random.integers(400, size=count)]) + random.normal(
        0, 18, (count, 2)
    )


def _rows(made: Scope, random: np.random.Generator, fixed: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Frame (from 0), place in steps of the fine grid, depth and photons of each molecule in each frame."""
    high, wide = made.shape[0] * made.pixel, made.shape[1] * made.pixel
    times = 2.0  # that a molecule is on
    shining = made.density * wide * high / 1e6 * made.frames
    count = int(random.poisson(1.35 * shining / (made.on_time * times)))
    place, depth = _places(made, count, random, fixed), random.integers(0, len(_DEPTHS), count)
    depth = np.where(random.random(count) < 0.7, len(_DEPTHS) // 2 + random.integers(-1, 2, count), depth)
    bright = made.photons * random.lognormal(0, 0.45, count)
    start = random.uniform(-0.1, 1, count)
    if made.bleaching:
        rate = made.bleaching
        start = -np.log(1 - random.random(count) * (1 - np.exp(-rate))) / rate
    columns: list[tuple[int, float, float, int, float, int]] = []
    walk = np.cumsum(fixed.normal(0, 1, (made.frames, 2)), axis=0)
    drift = made.drift * walk / max(1e-9, float(np.abs(walk).max()))
    for molecule in range(count):
        at = float(start[molecule] * made.frames)
        for _ in range(int(random.geometric(1 / times))):
            end = at + float(random.exponential(made.on_time))
            for frame in range(max(0, int(at)), min(made.frames, int(end) + 1)):
                part = min(end, frame + 1) - max(at, frame)
                x, y = place[molecule] + drift[frame]
                if part >= _SHORTEST and 0 < x < wide and 0 < y < high:
                    columns.append((frame, x, y, int(depth[molecule]), float(bright[molecule]) * part, molecule))
            at = end + float(random.exponential(5.0))
    return tuple(np.array(column) for column in zip(*columns, strict=True))


def _darkness(made: Scope, fixed: np.random.Generator) -> FloatArray:
    """The background in photons: a slope, and a cell that glows."""
    rows, columns = made.shape
    y, x = np.mgrid[:rows, :columns] / np.array([rows, columns])[:, None, None]
    middle, size = fixed.uniform(0.25, 0.75, 2), float(fixed.uniform(0.15, 0.35))
    glow = np.exp(-((x - middle[0]) ** 2 + (y - middle[1]) ** 2) / (2 * size**2))
    turned = float(fixed.uniform(0, 2 * np.pi))
    slope = 0.5 + 0.5 * (np.cos(turned) * (x - 0.5) + np.sin(turned) * (y - 0.5))
    return np.asarray(made.background * (made.pixel / 100) ** 2 * (1 + made.unevenness * (0.5 * glow + 0.5 * slope)))


def movie(made: Scope, folder: Path, again: int = 0) -> tuple[Path, dict[str, Any]]:
    """Write a movie and return it with its truth in nm; `again` gives another movie of the same law and structure."""
    fixed = np.random.default_rng([made.number, 5])
    random = np.random.default_rng([made.number, 6, again])
    spots = _spots(made, fixed)
    frame, x, y, depth, photons, molecule = _rows(made, random, fixed)
    rows, columns = made.shape
    fine_x, fine_y = (np.floor(at / made.pixel * _FINE).astype(int) for at in (x, y))
    light = np.zeros((made.frames, rows + 2 * _HALF, columns + 2 * _HALF))
    for k in range(len(frame)):
        row, down = divmod(int(fine_y[k]), _FINE)
        column, across = divmod(int(fine_x[k]), _FINE)
        light[frame[k], row : row + 2 * _HALF + 1, column : column + 2 * _HALF + 1] += (
            photons[k] * spots[depth[k], down, across]
        )
    light = light[:, _HALF:-_HALF, _HALF:-_HALF]
    course = np.exp(-made.fading * np.linspace(0, 2, made.frames))[:, None, None]
    counts = _exposed(made, light + _darkness(made, fixed) * course, random, fixed)
    path = folder / "movie.tif"
    tifffile.imwrite(path, counts, photometric="minisblack")
    # The middle of a spot lies between two steps of the grid.
    truth = {
        "frame": frame.astype(int) + 1,
        "x": fine_x * made.pixel / _FINE,
        "y": fine_y * made.pixel / _FINE,
        "photons": photons,
        "id": molecule.astype(int),
    }
    return path, truth


def _exposed(made: Scope, light: FloatArray, random: np.random.Generator, fixed: np.random.Generator) -> np.ndarray:
    """Counts of the camera: EMCCDs multiply, the pixels of an sCMOS differ in offset, gain and noise."""
    electrons = random.poisson(light).astype(np.float64)
    shape = made.shape
    if made.camera == "EMCCD":
        electrons = random.gamma(np.maximum(electrons, 1e-9)) + random.normal(0, 0.15, light.shape)
        counts = made.offset + made.counts_per_electron * electrons
    elif made.camera == "sCMOS":
        noise = 1.4 * fixed.lognormal(0, 0.35, shape)
        noise[fixed.random(shape) < 0.005] = 12.0
        gain = made.counts_per_electron * fixed.normal(1, 0.03, shape)
        counts = (
            made.offset + fixed.normal(0, 1.5, shape) + gain * (electrons + random.normal(0, 1, light.shape) * noise)
        )
    else:
        counts = made.offset + made.counts_per_electron * (electrons + random.normal(0, 5.0, light.shape))
    return np.clip(np.round(counts), 0, 65535).astype(np.uint16)
