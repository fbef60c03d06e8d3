"""The settings of a localizer that do best on a training data set: by the Flat Metric, by successive halving.

Half of the settings that are tried lie anywhere in their ranges, the other half near the best of the first. All are
tried on a few frames, the best third on more, and the best of those on all. The defaults stay until the end, so that
what is chosen is no worse than they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import csv_text
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.localizers.base import Setting, Settings
from flatmetric.localizers.registry import METHODS, StackCamera, localize_stack, participant
from flatmetric.options.reading import ReadOptions
from flatmetric.simulation.folder import STACK, TRUTH, simulated_optics
from flatmetric.simulation.pupil import Pupil
from flatmetric.stacks import open_stack
from flatmetric.transport.flat_metric import flat_metric

_STRIDES = (9, 3, 1)  # of every how many frames one is used, from the first choice to the last
_KEPT = 3  # one of so many goes on to more frames
_NEAR = 0.1  # standard deviation of the steps from the best, in parts of the range
_BASES = (2, 3, 5, 7, 11, 13)  # primes of the Halton sequence, one for each setting


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings, the number of frames they were tried on, and the Flat Metric there, nm."""

    settings: Settings
    frames: int
    value: float


@dataclass(frozen=True)
class Tuned:
    """What tuning a method came to: every trial in its order, and what was chosen.

    Examples
    --------
    >>> made = Tuned("dog", "MT0", {"threshold": 0.1}, (Trial({"threshold": 0.1}, 9, 50.0),))
    >>> made.best.value, made.usual.value
    (50.0, 50.0)
    """

    method: str
    dataset: str
    defaults: Settings
    trials: tuple[Trial, ...]

    @property
    def settings(self) -> Settings:
        """The best settings found."""
        return self.best.settings

    @cached_property
    def best(self) -> Trial:
        """The best trial on all frames."""
        return min(self._on_all, key=lambda trial: trial.value)

    @cached_property
    def usual(self) -> Trial:
        """The defaults on all frames."""
        return next(trial for trial in self._on_all if trial.settings == self.defaults)

    @property
    def _on_all(self) -> list[Trial]:
        most = max(trial.frames for trial in self.trials)
        return [trial for trial in self.trials if trial.frames == most]

    def to_csv(self) -> str:
        """One row for each trial: frames, settings, Flat Metric in nm, and whether it was chosen."""
        names = list(self.defaults)
        rows = [
            [trial.frames, *(trial.settings[name] for name in names), trial.value, int(trial is self.best)]
            for trial in self.trials
        ]
        return csv_text([["frames", *names, "flat_metric", "chosen"], *rows])


def training_files(folder: Path) -> tuple[Path, Path]:
    """The stack and the truth of a training set.

    Examples
    --------
    >>> training_files(Path("docs"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: docs: has no stack.ome.tif; give a folder with stack.ome.tif and activations.csv
    """
    for name in (STACK, TRUTH):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: has no {name}; give a folder with {STACK} and {TRUTH}")
    return folder / STACK, folder / TRUTH


def tune_folder(
    folder: Path,
    method: str,
    *,
    budget: int,
    lam: float,
    camera: StackCamera,
    seed: int = 0,
    progress: Progress | None = None,
) -> Tuned:
    """Try `budget` settings of a method on the stack in a folder against the truth beside it."""
    if not 1 <= budget <= 10_000:
        raise InputError(f"budget is {budget}; give a whole number from 1 to 10000")
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    course = _Course(folder, method, lam, camera)
    ranges = {name: setting for name, setting in METHODS[method].settings.items() if setting.tuned is not None}
    search = _Search(course, budget, progress)
    anywhere = even_settings(method, 1 + (budget - 1) // 2)
    defaults = anywhere[0]
    best = search.halved(anywhere[:budget])
    random = np.random.default_rng(seed)
    start = np.array([setting.place(best[name]) for name, setting in ranges.items()])
    near = start + _NEAR * random.standard_normal((budget - len(anywhere[:budget]), len(ranges)))
    search.halved([defaults, best, *(_settings(ranges, best, place) for place in near)])
    return Tuned(method, folder.resolve().name, defaults, tuple(search.trials.values()))


def even_settings(method: str, count: int) -> list[dict[str, float]]:
    """The defaults of a method, and further settings at even distances in their ranges.

    Examples
    --------
    >>> [round(one["threshold"], 3) for one in even_settings("baseline", 2)][0]
    4.0
    """
    defaults = dict(participant(method).settings)
    ranges = {name: setting for name, setting in METHODS[method].settings.items() if setting.tuned is not None}
    return [defaults, *(_settings(ranges, defaults, place) for place in _scattered(len(ranges), count - 1))]


def _settings(ranges: dict[str, Setting], others: Settings, places: FloatArray) -> dict[str, float]:
    """Settings at places in their ranges, from 0 to 1, and the other ones as they are."""
    return {**others, **{name: ranges[name].at(float(place)) for name, place in zip(ranges, places, strict=True)}}


def _scattered(dimensions: int, count: int) -> FloatArray:
    """Points (count, dimensions) in the unit cube, evenly: Halton's sequence."""
    points = np.zeros((count, dimensions))
    for axis in range(dimensions):
        base = _BASES[axis]
        for row in range(count):
            left, share = row + 1, 1.0 / base
            while left:
                points[row, axis] += share * (left % base)
                left, share = left // base, share / base
    return points


class _Course:
    """A training data set: how good settings are on some of its frames."""

    def __init__(self, folder: Path, method: str, lam: float, camera: StackCamera) -> None:
        stack, truth = training_files(folder)
        self._stack, self._method, self._lam, self._camera = open_stack(stack), method, lam, camera
        self._truth = _as_seen(read_file(truth, ReadOptions()), simulated_optics(stack))
        if len(self._truth) == 0:
            raise InputError(f"{truth}: has no molecule; give a training set with some")

    def frames(self, stride: int) -> list[int]:
        """The frames of a round, at even distances."""
        return list(range(1 + stride // 2, self._stack.frames + 1, stride)) or [1]

    def value(self, settings: Settings, frames: Sequence[int]) -> float:
        """The Flat Metric of a method on some frames, nm; in 3D where it finds depths.

        Settings that it refuses are as bad as finding nothing.
        """
        chosen = participant(self._method, dict(settings))
        try:
            pred = localize_stack(self._stack, chosen, self._camera, frames=frames)
        except InputError:
            if settings == participant(self._method).settings:
                raise
            return self._lam
        truth = self._truth.select(np.isin(self._truth.frame, frames))
        if len(truth) == 0:
            return self._lam * (1.0 if len(pred) else 0.0)
        dim = 2 if pred.z is None or truth.z is None else 3
        return flat_metric(
            truth.points(dim), pred.points(dim), lam=self._lam, truth_frames=truth.frame, pred_frames=pred.frame
        ).value


def _as_seen(truth: Localizations, optics: object) -> Localizations:
    """The truth where its spots are seen, if the optics are known to move them sideways with depth."""
    if not isinstance(optics, Pupil) or truth.z is None:
        return truth
    x, y = optics.shift(truth.z)
    return dataclasses.replace(truth, x=truth.x + x, y=truth.y + y)


class _Search:
    """Trials, each made once, and how many of the budget are done."""

    def __init__(self, course: _Course, budget: int, progress: Progress | None) -> None:
        self.trials: dict[tuple[tuple[float, ...], int], Trial] = {}
        self._course, self._budget, self._progress = course, budget, progress
        self._tried: set[tuple[float, ...]] = set()

    def halved(self, candidates: Sequence[Settings]) -> Settings:
        """The best candidate; the first one, the defaults, is never dropped."""
        for stride in _STRIDES:
            ranked = sorted(candidates, key=partial(self._value, stride))
            if stride == _STRIDES[-1]:
                return ranked[0]
            kept = ranked[: max(1, round(len(ranked) / _KEPT))]
            candidates = [candidates[0], *(one for one in kept if one != candidates[0])]
        raise AssertionError("the last round returns")

    def _value(self, stride: int, settings: Settings) -> float:
        values = tuple(settings.values())
        if (values, stride) not in self.trials:
            frames = self._course.frames(stride)
            self.trials[values, stride] = Trial(dict(settings), len(frames), self._course.value(settings, frames))
            self._tried.add(values)
            if self._progress is not None:
                self._progress("tuning", min(len(self._tried), self._budget), self._budget)
        return self.trials[values, stride].value
