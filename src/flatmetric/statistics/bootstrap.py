"""Confidence intervals of a score: a bootstrap over blocks of frames, without solving anything again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.metrics.base import NO_TRUTH, Sums, evaluate_many
from flatmetric.metrics.table import METRICS
from flatmetric.scoring.frame_sums import FrameSums
from flatmetric.scoring.score import Score

RESAMPLES = 2000
_CHUNK = 100  # resamples drawn at a time, to bound the memory
_LONGEST_BLOCK_SHARE = 0.1  # of the frames: at longer lags the autocorrelation of their costs is noise


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How to resample: confidence `level` in percent, number of `resamples`, `seed`, and `block`, the number of
    consecutive frames drawn together because molecules stay on for several frames (None: from the data).

    Examples
    --------
    >>> Bootstrap(seed=-1)
    Traceback (most recent call last):
    flatmetric.errors.InputError: the seed is -1; give a whole number from 0
    """

    level: float = 95.0
    resamples: int = RESAMPLES
    seed: int = 0
    block: int | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"the seed is {self.seed}; give a whole number from 0")
        if not 1 <= self.level < 100:
            raise InputError(f"the confidence level is {self.level:g}; give a percentage from 1 to below 100, e.g. 95")
        if self.resamples < 100:
            raise InputError(f"the number of resamples is {self.resamples}; give at least 100")
        if self.block is not None and self.block < 1:
            raise InputError(f"the block is {self.block} frames; give at least 1")


@dataclass(frozen=True, slots=True)
class Intervals:
    """Confidence intervals of a score's metrics, by their key in the JSON; None where too few resamples define one."""

    level: float
    resamples: int
    seed: int
    block: int
    intervals: dict[str, tuple[float, float] | None]


def confidence(score: Score, bootstrap: Bootstrap | None = None) -> Intervals:
    """Percentile intervals of every metric that is a sum over frames, by a bootstrap of blocks of frames.

    The same seed gives bit-identical intervals.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]}
    >>> confidence(score(truth, truth)).intervals["challenge.jaccard"]
    (100.0, 100.0)
    """
    settings = bootstrap or Bootstrap()
    check_molecules(score)
    length = block_length(score.sums) if settings.block is None else min(settings.block, len(score.sums.frame))
    rng = np.random.default_rng(settings.seed)
    (totals,) = resample_frames([score.sums.table], length, settings.resamples, rng, score.matched.threads)
    return intervals_of(resampled_metrics(totals, score.sums), settings, length)


def check_molecules(score: Score) -> None:
    """Raise an error if there are no true molecules to resample."""
    if score.flat_result is None:
        raise InputError(f"{NO_TRUTH.text}, so there is nothing to resample")


def resampled_metrics(totals: FloatArray, sums: FrameSums) -> dict[str, FloatArray]:
    """Metrics by key from (resamples, quantities) totals of resampled frames; NaN where undefined.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> sums = score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}).sums
    >>> resampled_metrics(sums.table.sum(axis=0)[None], sums)["challenge.jaccard"].tolist()
    [50.0]
    """
    return evaluate_many(METRICS, Sums.from_table(totals, sums.total.settings))


def intervals_of(drawn: Mapping[str, FloatArray], bootstrap: Bootstrap, block: int) -> Intervals:
    """Percentile intervals of resampled metrics."""
    intervals = {key: percentiles(values, bootstrap.level) for key, values in drawn.items()}
    return Intervals(bootstrap.level, bootstrap.resamples, bootstrap.seed, block, intervals)


def block_length(sums: FrameSums) -> int:
    """Number of consecutive frames to draw together: about as long as frame costs stay correlated.

    One plus twice the sum of the autocorrelations up to the first that is not significant, at most a tenth of the
    frames.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> block_length(score(truth, truth).sums)
    1
    """
    longest = 1
    for column in (sums.per_frame.n_truth, sums.per_frame.own_flat):
        series = column - column.mean()
        count = len(series)
        power = float(np.dot(series, series))
        if power == 0 or count < 20:
            continue
        total = 1.0
        for lag in range(1, int(_LONGEST_BLOCK_SHARE * count)):
            correlation = float(np.dot(series[:-lag], series[lag:])) / power
            if correlation < 2 / math.sqrt(count):
                break
            total += 2 * correlation
        longest = max(longest, math.ceil(total))
    return min(longest, max(1, int(_LONGEST_BLOCK_SHARE * len(sums.frame))))


def resample_frames(
    tables: Sequence[FloatArray], block: int, resamples: int, rng: np.random.Generator, threads: int | None = None
) -> list[FloatArray]:
    """Sums over resampled frames, the same frames for every table: (resamples, quantities) each.

    Blocks of `block` frames in a row are drawn with replacement; the first frame follows the last.

    Examples
    --------
    >>> table = np.ones((10, 1))
    >>> resample_frames([table], 1, 3, np.random.default_rng(0))[0].tolist()
    [[10.0], [10.0], [10.0]]
    """
    frames = len(tables[0])
    blocks = math.ceil(frames / block)
    joined = np.hstack(tables)
    # Sums of the block that begins at each frame, scaled so that a resample has as many frames as there are.
    around = np.vstack((np.zeros((1, joined.shape[1])), np.cumsum(np.vstack((joined, joined[: block - 1])), axis=0)))
    sums = (around[block:] - around[:-block]) * (frames / (blocks * block))
    used = np.flatnonzero(sums.any(axis=0))  # without depths or photons a third of the columns are empty
    totals = np.zeros((resamples, joined.shape[1]))
    starts = range(0, resamples, _CHUNK)

    def draw(first: int, own: np.random.Generator) -> None:
        rows = min(_CHUNK, resamples - first)
        drawn = own.integers(0, frames, (rows, blocks), dtype=np.int32)
        counts = np.empty((rows, frames))
        for row in range(rows):
            counts[row] = np.bincount(drawn[row], minlength=frames)
        totals[first : first + rows, used] = counts @ sums[:, used]

    # Every chunk has its own generator: the bits don't depend on the number of threads.
    with ThreadPoolExecutor(thread_count(threads)) as pool:
        list(pool.map(draw, starts, rng.spawn(len(starts))))
    widths = np.cumsum([table.shape[1] for table in tables])[:-1]
    return np.split(totals, widths, axis=1)


def percentiles(values: FloatArray, level: float) -> tuple[float, float] | None:
    """The middle `level` percent of resampled values; None where fewer than half of them are defined (not NaN).

    Examples
    --------
    >>> percentiles(np.arange(101.0), 90.0)
    (5.0, 95.0)
    """
    defined = values[np.isfinite(values)]
    if 2 * len(defined) < len(values):
        return None
    low, high = np.percentile(defined, [50 - level / 2, 50 + level / 2])
    return float(low), float(high)
