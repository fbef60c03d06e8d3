"""What makes one data set unlike another: how many molecules shine, how bright, how long, how close and how deep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.molecules import rows_by_place, with_molecules
from flatmetric.simulation.datasets import Dataset
from flatmetric.simulation.movie import molecules
from flatmetric.simulation.structures import CROWDED_NM

_DEEP_NM = 500.0  # where spots of common optics are hard to see


@dataclass(frozen=True, slots=True, eq=False)
class Shining:
    """A truth as its traits see it: its molecules (from 0), frames and photons, and the area of the field in um2.

    A row belongs to a run: frames of one molecule that follow each other. `nearest` is the distance to the nearest
    other molecule of the frame, nm, infinite where there is none.
    """

    truth: Localizations
    frames: int
    area: float
    molecule: IntArray
    run: IntArray
    nearest: FloatArray

    @property
    def per_frame(self) -> IntArray:
        """Molecules in each frame."""
        return np.asarray(np.bincount(self.truth.frame, minlength=self.frames + 1)[1:])

    @property
    def run_lengths(self) -> IntArray:
        """Frames of each run."""
        return np.asarray(np.bincount(self.run))

    @property
    def dark_frames(self) -> IntArray:
        """Frames between the runs of a molecule."""
        order = np.lexsort((self.truth.frame, self.molecule))
        step, same = np.diff(self.truth.frame[order]), np.diff(self.molecule[order]) == 0
        return np.asarray(step[same & (step > 1)] - 1)

    @property
    def inner_photons(self) -> FloatArray:
        """Photons of the rows that are neither the first nor the last of their run: on for the whole frame, mostly."""
        assert self.truth.photons is not None
        order = np.lexsort((self.truth.frame, self.molecule))
        run = self.run[order]
        inner = np.zeros(len(run), dtype=bool)
        inner[1:-1] = (run[1:-1] == run[:-2]) & (run[1:-1] == run[2:])
        return np.asarray(self.truth.photons[order][inner])


def shining(truth: Localizations, field: tuple[float, float], frames: int | None = None) -> Shining:
    """Sort the rows of a truth by molecule: by its ids, or else by place, which is the same in all rows of a molecule.

    `field` is the width and height of the image in nm; `frames` is the number of frames, by default the last with a
    molecule.

    Examples
    --------
    >>> truth = Localizations(frame=[1, 2, 5], x=[10.0, 10.0, 10.0], y=[20.0, 20.0, 20.0])
    >>> side = shining(truth, (1000.0, 1000.0))
    >>> side.run_lengths.tolist(), side.dark_frames.tolist(), side.per_frame.tolist()
    ([2, 1], [2], [1, 1, 0, 0, 1])
    """
    from scipy.spatial import cKDTree

    if len(truth) == 0:
        raise InputError("the truth has no molecule; give one with some")
    ids = with_molecules(truth).id
    molecule = np.unique(rows_by_place(truth) if ids is None else ids, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((truth.frame, molecule))
    new = np.ones(len(truth), dtype=bool)
    new[1:] = (np.diff(molecule[order]) != 0) | (np.diff(truth.frame[order]) != 1)
    run = np.empty(len(truth), dtype=np.int64)
    run[order] = np.cumsum(new) - 1
    # Frames lie so far apart in the third coordinate that the nearest is in the same one.
    apart = 10 * (np.ptp(truth.x) + np.ptp(truth.y) + CROWDED_NM)
    stacked = np.column_stack([truth.x, truth.y, truth.frame * apart])
    nearest = cKDTree(stacked).query(stacked, k=2)[0][:, 1] if len(truth) > 1 else np.full(1, np.inf)
    last = int(truth.frame.max())
    return Shining(
        truth=truth,
        frames=last if frames is None else max(frames, last),
        area=field[0] * field[1] / 1e6,
        molecule=molecule,
        run=run,
        nearest=np.where(nearest < apart / 2, nearest, np.inf),
    )


def _median(values: FloatArray | IntArray) -> float | None:
    return float(np.median(values)) if len(values) else None


def _photons(share: float) -> Callable[[Shining], float | None]:
    def of(side: Shining) -> float | None:
        if side.truth.photons is None or len(side.inner_photons) == 0:
            return None
        return float(np.quantile(side.inner_photons, share))

    return of


def _depth(measured: Callable[[FloatArray], Any]) -> Callable[[Shining], float | None]:
    def of(side: Shining) -> float | None:
        return None if side.truth.z is None else float(measured(side.truth.z))

    return of


TRAITS: Mapping[str, Callable[[Shining], float | None]] = {
    "molecules in a frame": lambda side: float(side.per_frame.mean()),
    "density [1/um2]": lambda side: float(side.per_frame.mean()) / side.area,
    "empty frames [%]": lambda side: 100 * float(np.mean(side.per_frame == 0)),
    f"with another within {CROWDED_NM:g} nm [%]": lambda side: 100 * float(np.mean(side.nearest < CROWDED_NM)),
    "photons of inner frames, median": _photons(0.5),
    "photons of inner frames, 5 %": _photons(0.05),
    "photons of inner frames, 95 %": _photons(0.95),
    "photons of inner frames, most": _photons(1.0),
    "frames of a molecule": lambda side: len(side.truth) / (int(side.molecule.max()) + 1),
    "runs of a molecule": lambda side: len(side.run_lengths) / (int(side.molecule.max()) + 1),
    "frames of a run": lambda side: float(side.run_lengths.mean()),
    "frames of a run, 99 %": lambda side: float(np.quantile(side.run_lengths, 0.99)),
    "dark frames between runs, median": lambda side: _median(side.dark_frames),
    "dark frames between runs, mean": lambda side: float(side.dark_frames.mean()) if len(side.dark_frames) else None,
    "spread of z [nm]": _depth(np.std),
    "mean of z [nm]": _depth(np.mean),
    "z, 1 % [nm]": _depth(lambda z: np.quantile(z, 0.01)),
    "z, 99 % [nm]": _depth(lambda z: np.quantile(z, 0.99)),
    f"deeper than {_DEEP_NM:g} nm, both ways [%]": _depth(lambda z: 100 * np.mean(np.abs(z) > _DEEP_NM)),
}
"""From a name and its unit to how it is computed; None where the truth does not say."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How a simulated data set compares with a truth: both truths, and their traits by name."""

    dataset: Dataset
    simulated: Shining
    real: Shining

    @property
    def rows(self) -> list[tuple[str, float | None, float | None, float | None]]:
        """Name, simulated, real, and simulated as a multiple of real."""
        table = []
        for name, trait in TRAITS.items():
            simulated, real = trait(self.simulated), trait(self.real)
            ratio = None if simulated is None or not real else simulated / real
            table.append((name, simulated, real, ratio))
        return table


def likeness(dataset: Dataset, truth: Localizations, seed: int) -> Likeness:
    """Simulate the molecules of a data set and hold them against a truth.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> dataset = named("MT0.N1.LD").with_frames(2000)
    >>> name, simulated, real, ratio = likeness(dataset, molecules(dataset, seed=1), seed=2).rows[0]
    >>> name, bool(abs(ratio - 1) < 0.2)
    ('molecules in a frame', True)
    """
    return compared(dataset, molecules(dataset, seed), truth)


def compared(dataset: Dataset, simulated: Localizations, truth: Localizations) -> Likeness:
    """Hold the molecules of a simulated data set against a truth."""
    own = (dataset.width, dataset.height)
    return Likeness(dataset, shining(simulated, own, dataset.frames), shining(truth, truth.provenance.fov or own))
