"""Movies of one structure with new blinking and noise, localized and scored, to see whether intervals cover."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatmetric as fm
from flatmetric._arrays import FloatArray
from flatmetric.localizers.baseline import DEFAULTS, localize
from flatmetric.options.certainty import Certainty
from flatmetric.simulation.blinking import Photophysics
from flatmetric.simulation.datasets import Dataset, named
from flatmetric.simulation.movie import molecules, structure
from flatmetric.simulation.optics import Gaussian, spots
from flatmetric.simulation.structures import Tubes
from flatmetric.statistics.comparison import pairs_of
from flatmetric.statistics.entries import entry_of, vary_together
from flatmetric.statistics.intervals import intervals_of

METRICS = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")
STRUCTURE_SEED = 777
_STRICT = 900.0  # photons: the second program keeps only brighter spots
_AT_ONCE = 50  # frames
_QUICK = {
    **DEFAULTS,
    "fitted": 0.0,
    "sigma": 1.2,
    "aspect": 1.0,
    "widest": 3.5,
}  # what is proved does not depend on how good the program is


@dataclass(frozen=True)
class Scenario:
    """A kind of movie, and the bar of its coverage."""

    title: str
    dataset: Dataset
    low: float = 0.93
    high: float = 0.97


def _dataset(name: str, frames: int, density: float, on_time: float = 2.0) -> Dataset:
    """A structure of the challenge with more molecules, which blink longer: harder for intervals."""
    photons, background = (1000.0, 20.0) if name.startswith("ER") else (2500.0, 60.0)
    return dataclasses.replace(
        named(name).with_frames(frames),
        density=density,
        photons=photons,
        background=background,
        photons_spread=0.3,
        beam=0.0,
        photophysics=Photophysics(on_time=on_time, dark_time=20.0, blinks=3.0),
        optics=Gaussian(),
    )


SCENARIOS = {
    "low-500": Scenario("low density, 500 frames", _dataset("MT3.N2.LD", 500, 0.2)),
    "high-300": Scenario("high density, 300 frames", _dataset("MT4.N2.HD", 300, 2.0)),
    "long-500": Scenario("on for 20 frames, 500 frames", _dataset("MT3.N2.LD", 500, 0.2, on_time=20.0)),
    "low-100": Scenario("low density, 100 frames", _dataset("MT3.N2.LD", 100, 0.2), 0.90, 1.0),
    "high-100": Scenario("high density, 100 frames", _dataset("MT4.N2.HD", 100, 2.0), 0.90, 1.0),
    "reticulum-300": Scenario("another structure, dim, 300 frames", _dataset("ER1.N3.LD", 300, 0.2)),
}
MARATHON = {
    "sparse-1000": Scenario("density 0.03, 1000 frames", _dataset("MT3.N2.LD", 1000, 0.03)),
    "low-2000": Scenario("low density, 2000 frames", _dataset("MT3.N2.LD", 2000, 0.2)),
}


def movie(
    dataset: Dataset, seed: int, structure_seed: int | None = None
) -> tuple[fm.Localizations, list[dict[str, Any]]]:
    """The truth of a movie and what two programs find in its images: all fitted spots, and the bright ones of them.

    Noise has the mean and the variance of the camera; normal numbers are quicker to draw than its own.
    """
    tubes = None if structure_seed is None else _tubes(dataset, structure_seed)
    truth = molecules(dataset, seed, tubes)
    assert truth.z is not None and truth.photons is not None
    order = np.argsort(truth.frame, kind="stable")
    xyz, photons = truth.points(3)[order], truth.photons[order]
    starts = np.searchsorted(truth.frame[order], np.arange(1, dataset.frames + 2))
    rng, camera = np.random.default_rng([seed, 9]), dataset.camera
    columns = []
    for first in range(0, dataset.frames, _AT_ONCE):
        frames = range(first, min(first + _AT_ONCE, dataset.frames))
        light = np.stack(
            [_light(xyz[starts[f] : starts[f + 1]], photons[starts[f] : starts[f + 1]], dataset) for f in frames]
        )
        counts = camera.mean(light) + np.sqrt(camera.variance(light)) * rng.standard_normal(light.shape)
        found = localize((counts - camera.offset) * camera.photons_per_count, _QUICK)
        columns.append((found.image + first + 1, found.x, found.y, found.photons))
    frame, x, y, bright = (np.concatenate(column) for column in zip(*columns, strict=True))
    both = [np.ones(len(frame), dtype=bool), bright > _STRICT]
    size = dataset.pixel_size
    return truth, [{"frame": frame[k], "x": (x[k] + 0.5) * size, "y": (y[k] + 0.5) * size} for k in both]


def _tubes(dataset: Dataset, seed: int) -> Tubes:
    """Two structures in one: as many tubes as the movies were set up with."""
    both = [structure(dataset, each) for each in (seed, seed + 1)]
    return Tubes(both[0].lines + both[1].lines, both[0].radius)


def _light(xyz: FloatArray, photons: FloatArray, dataset: Dataset) -> FloatArray:
    return dataset.background + spots(
        xyz, photons, dataset.optics, pixels=dataset.pixels, pixel_size=dataset.pixel_size
    )


@dataclass(frozen=True)
class Trial:
    """Values of the first program and the difference of the two, with their intervals; NaN ends where there is none."""

    values: FloatArray
    spans: FloatArray
    blocks: int
    unit: str


def trial(work: tuple[str, int]) -> Trial:
    """One movie of a scenario."""
    name, seed = work
    scenario = (SCENARIOS | MARATHON)[name]
    truth, results = movie(scenario.dataset, seed, STRUCTURE_SEED)
    protocol = fm.Protocol(dim=2)
    scores = [fm.score(truth, result, protocol=protocol, threads=1, check=False) for result in results]
    intervals = intervals_of(scores[0])
    values, ends = measured(scores)
    return Trial(values, ends, intervals.blocks, intervals.unit)


def measured(scores: Sequence[fm.Score]) -> tuple[FloatArray, FloatArray]:
    """The metrics of the first of two scores and the difference of their Flat Metrics, and (5, 2) ends of intervals."""
    intervals, settings = intervals_of(scores[0]), Certainty(resamples=200)
    joint = vary_together([entry_of("", str(k), score) for k, score in enumerate(scores)], settings)
    pair = pairs_of(["0", "1"], joint, settings)[0][0]
    values = [*(scores[0].get(key) for key in METRICS), pair.difference]
    spans = [*(intervals.intervals[key] for key in METRICS), pair.ci]
    ends = [(np.nan, np.nan) if span is None else span for span in spans]
    return np.array(values, dtype=np.float64), np.array(ends)


def structure_trial(seed: int) -> float:
    """The Flat Metric on a structure of its own."""
    truth, results = movie(_dataset("MT4.N2.HD", 60, 2.0), seed)
    value = fm.score(truth, results[0], protocol=fm.Protocol(dim=2), threads=1, check=False).flat_metric.value
    assert value is not None
    return value
