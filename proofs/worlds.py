"""Worlds in which programs are equal, close or apart by a known amount, to see whether verdicts are right and sharp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import flatmetric as fm
from flatmetric._arrays import FloatArray
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.comparison import compare_entries
from flatmetric.statistics.entries import Entry, entry_of
from flatmetric.statistics.intervals import quantile
from flatmetric.statistics.ranking import rank
from proofs.movies import measured
from tests.statistics.worlds import blinking, entries_of

STEPS = 8
_DRAWS = 1000
_SHIFTS = {200: 24.0, 500: 12.0, 2000: 6.0}  # nm: the largest difference in error that is tried


@dataclass(frozen=True)
class Family:
    """Programs of which the first `equal` are equal and the others get worse; on frames that remember, or on blinking
    molecules.
    """

    programs: int
    equal: int
    frames: int
    memory: float = 0.0
    molecules: bool = False
    trials: int = 400


FAMILIES = {
    "34 equal, independent frames": Family(34, 34, 1000),
    "17 of 34 equal, independent frames": Family(34, 17, 1000),
    "34 equal, frames with a correlation of 0.9": Family(34, 34, 3000, 0.9),
    "17 of 34 equal, frames with a correlation of 0.9": Family(34, 17, 3000, 0.9),
    "10 equal, blinking molecules, 150 frames": Family(10, 10, 150, molecules=True, trials=220),
    "5 of 10 equal, blinking molecules, 150 frames": Family(10, 5, 150, molecules=True, trials=220),
    "10 equal, blinking molecules, 2000 frames": Family(10, 10, 2000, molecules=True, trials=220),
}


def any_equal_told(work: tuple[str, int]) -> bool:
    """Whether any two equal programs are told apart."""
    name, seed = work
    family = FAMILIES[name]
    worse = np.maximum(np.arange(family.programs) - family.equal + 1, 0)
    entries: list[Entry] = []
    if family.molecules:
        truth, results = blinking(seed, family.frames, programs=family.programs, errors=20.0 + 2.0 * worse, per_frame=3)
        entries = [
            entry_of("d", f"p{k}", fm.score(truth, one, threads=1, check=False)) for k, one in enumerate(results)
        ]
    else:
        rng = np.random.default_rng(seed)
        costs = _remembering(rng, family.frames, family.programs, family.memory)
        common = _remembering(rng, family.frames, 1, family.memory)
        entries = entries_of(50.0 + 3 * costs + 6 * common + 0.3 * worse)
    pairs = compare_entries(entries, Certainty(resamples=_DRAWS))["d"]
    return any(pair.significant for pair in pairs if max(int(pair.a[1:]), int(pair.b[1:])) < family.equal)


def _remembering(rng: np.random.Generator, frames: int, columns: int, memory: float) -> FloatArray:
    """Series of unit variance whose correlation falls by `memory` from frame to frame."""
    from scipy.signal import lfilter

    noise = rng.normal(size=(frames + 200, columns))
    return np.asarray(lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], noise, axis=0)[200:])


def long_trial(seed: int) -> tuple[FloatArray, FloatArray]:
    """Two programs on many blinking molecules, without images, so that blocks are the units."""
    truth, results = blinking(seed, 10_000, programs=2, errors=(20.0, 22.0), per_frame=3)
    return measured([fm.score(truth, one, threads=1, check=False) for one in results])


def ranks_hold(seed: int) -> bool:
    """Whether the sets of ranks of close programs hold all true ranks."""
    true = 50 + 0.5 * np.arange(10)
    rng = np.random.default_rng(seed)
    costs = true + rng.normal(0, 0.35 * np.sqrt(400), (400, 10))  # a difference has a standard error of 0.5 nm
    board = rank(entries_of(costs), Certainty(resamples=_DRAWS))
    return all(s.rank_interval[0] <= int(s.program[1:]) + 1 <= s.rank_interval[1] for s in board.overall)


def replicate_coverage(values: FloatArray, count: int, draws: int) -> float:
    """How often the interval from `count` of many structures covers the mean over all structures of their kind."""
    rng, true, covered = np.random.default_rng(0), values.mean(), 0
    # The mean over many is nearer to its parts than the mean over all.
    nearer = np.sqrt(1 - count / len(values))
    for _ in range(draws):
        drawn = rng.choice(values, count, replace=False)
        half = quantile(0.05, count - 1) * drawn.std(ddof=1) / np.sqrt(count)
        covered += abs(drawn.mean() - true) <= half * nearer
    return covered / draws


def told_apart(work: tuple[int, int, int]) -> tuple[float, bool]:
    """The difference of two programs, nm, whose errors differ by a step, and whether they are told apart."""
    frames, step, seed = work
    worse = _SHIFTS[frames] * (step + 1) / STEPS
    truth, results = blinking(seed, frames, programs=2, errors=(20.0, 20.0 + worse))
    entries = [entry_of("d", str(k), fm.score(truth, one, threads=1, check=False)) for k, one in enumerate(results)]
    pair = compare_entries(entries, Certainty(resamples=_DRAWS))["d"][0]
    return pair.difference, pair.significant


def half_told(frames: int, told: list[tuple[float, bool]]) -> float:
    """The smallest difference, nm, that is significant in half of the cases, between the steps that were tried."""
    each = len(told) // STEPS
    sizes = [-float(np.mean([d for d, _ in told[k * each : (k + 1) * each]])) for k in range(STEPS)]
    shares = np.maximum.accumulate([np.mean([t for _, t in told[k * each : (k + 1) * each]]) for k in range(STEPS)])
    if shares[-1] < 0.5:
        raise ValueError(f"no difference that was tried is significant in half of the cases of {frames} frames")
    return float(np.interp(0.5, [0.0, *shares], [0.0, *sizes]))
