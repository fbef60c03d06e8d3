"""Many programs on many data sets: ranks, their intervals, and correlations between metrics."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.scoring.score import Score
from flatmetric.statistics.bootstrap import Bootstrap, block_length, check_molecules, percentiles, resample_frames
from flatmetric.statistics.comparison import Pair, align_frames, compare_pairs

_FEWEST_FRAMES = 10
_MANY_ENTRIES = 200


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One program on one data set: its metrics (None where undefined) and what each frame costs, nm.

    `costs` are summed over the molecules of a frame, and `truths` is the number of true molecules in it (by photons:
    their share of the photons times the number of all molecules), so that the Flat Metric is the ratio of the two sums.
    """

    dataset: str
    program: str
    metrics: dict[str, float | None]
    block: int
    frames: IntArray
    costs: FloatArray
    truths: FloatArray


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of a program in one data set, or overall: rank, its interval, and the Flat Metric in nm."""

    program: str
    rank: float
    rank_interval: tuple[float, float]
    flat_metric: float


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two metrics agree over all entries: coefficient and interval, None where undefined."""

    a: str
    b: str
    kind: str
    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class Leaderboard:
    """Ranks in each data set, overall ranks of the programs that ran on all of them, and correlations of metrics."""

    datasets: dict[str, tuple[Standing, ...]]
    overall: tuple[Standing, ...]
    correlations: tuple[Correlation, ...]
    level: float = 95.0

    def standing(self, dataset: str, program: str) -> Standing:
        """The place of a program in one data set."""
        return next(standing for standing in self.datasets[dataset] if standing.program == program)


def entry_of(dataset: str, program: str, score: Score) -> Entry:
    """The parts of a score that the leaderboard needs.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> entry_of("d", "p", score(truth, truth)).metrics["jaccard"]
    100.0
    """
    check_molecules(score)
    sums, molecules = score.sums.per_frame, len(score.matched.truth_kept)
    truths = sums.n_truth if score.weights == "uniform" else sums.mass * molecules
    return Entry(
        dataset,
        program,
        {name: score.get(metric.key) for name, metric in LEADERBOARD.items()},
        block_length(score.sums),
        score.sums.frame,
        (sums.displaced + sums.missed + sums.false) * molecules,
        truths,
    )


def rank(entries: Sequence[Entry], bootstrap: Bootstrap | None = None, threads: int | None = None) -> Leaderboard:
    """Rank by Flat Metric: in each data set, and overall by the mean rank of those programs that ran on all of them.

    Rank intervals come from resampled blocks of frames, the same frames for all programs of a data set. With
    fewer than ten frames the interval covers all ranks, which also widens the overall interval.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> entries = [entry_of("d", name, score(truth, dict(truth, x=[d] * 30))) for name, d in (("b", 50.0), ("a", 5.0))]
    >>> [(s.program, s.rank) for s in rank(entries).overall]
    [('a', 1.0), ('b', 2.0)]
    """
    settings = bootstrap or Bootstrap()
    resamples = settings.resamples
    rng = np.random.default_rng(settings.seed)
    drawn: dict[str, dict[str, FloatArray]] = {}
    datasets = {}
    for dataset in sorted({entry.dataset for entry in entries}):
        here = [entry for entry in entries if entry.dataset == dataset]
        frames = _aligned(here, settings)
        totals = frames.resample(resamples, rng, threads)
        values = frames.costs.sum(axis=0) / np.maximum(frames.truths.sum(axis=0), 1)
        ranks = _places(totals).T
        if not _enough_frames(here):
            # Half of the draws are first, half are last: their middle 95 % covers all ranks.
            half = resamples // 2
            ranks = np.tile(np.repeat([1.0, float(len(here))], [half, resamples - half]), (len(here), 1))
        drawn[dataset] = dict(zip((entry.program for entry in here), ranks, strict=True))
        standings = [
            Standing(entry.program, float(place), _interval(row, settings.level), float(value))
            for entry, place, value, row in zip(here, _places(values[None])[0], values, ranks, strict=True)
        ]
        datasets[dataset] = tuple(sorted(standings, key=lambda s: (s.rank, s.program)))
    overall = _overall(entries, drawn, datasets, settings.level)
    return Leaderboard(datasets, overall, tuple(correlations(entries, seed=settings.seed)), settings.level)


def _enough_frames(entries: Sequence[Entry]) -> bool:
    return max(len(entry.frames) for entry in entries) >= _FEWEST_FRAMES


@dataclass(frozen=True, slots=True, eq=False)
class _Aligned:
    """Costs and true molecules of every program, (frames, programs), on the frames of any of them."""

    costs: FloatArray
    truths: FloatArray
    block: int

    def resample(self, resamples: int, rng: np.random.Generator, threads: int | None) -> FloatArray:
        """Flat Metrics over resampled blocks of frames, (resamples, programs) in nm."""
        costs, truths = resample_frames([self.costs, self.truths], self.block, resamples, rng, threads)
        return costs / np.maximum(truths, 1e-9)


def _aligned(entries: Sequence[Entry], bootstrap: Bootstrap) -> _Aligned:
    columns = [(entry.frames, np.column_stack([entry.costs, entry.truths])) for entry in entries]
    frames, tables = align_frames(columns)
    costs, truths = (np.column_stack([table[:, k] for table in tables]) for k in (0, 1))
    block = max(entry.block for entry in entries) if bootstrap.block is None else min(bootstrap.block, len(frames))
    return _Aligned(costs, truths, block)


def compare_entries(
    entries: Sequence[Entry], bootstrap: Bootstrap | None = None, threads: int | None = None
) -> dict[str, tuple[Pair, ...]]:
    """Compare every two programs of each data set on the same frames, as `compare_scores` does; by data set.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> entries = [entry_of("d", name, score(truth, dict(truth, x=[d] * 30))) for name, d in (("a", 5.0), ("b", 50.0))]
    >>> compare_entries(entries)["d"][0].difference
    -45.0
    """
    settings = bootstrap or Bootstrap()
    pairs = {}
    for dataset in sorted({entry.dataset for entry in entries}):
        here = [entry for entry in entries if entry.dataset == dataset]
        frames = _aligned(here, settings)
        drawn = frames.resample(settings.resamples, np.random.default_rng(settings.seed), threads)
        costs = frames.costs / np.maximum(frames.truths.sum(axis=0), 1)
        pairs[dataset] = compare_pairs([entry.program for entry in here], costs, drawn, frames.block, settings)
    return pairs


def _places(values: FloatArray) -> FloatArray:
    """Ranks from 1 in each row; ties get their mean rank."""
    ranks = np.empty(values.shape)
    for row, own in enumerate(values):
        ordered = np.sort(own)
        ranks[row] = (np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right") + 1) / 2
    return ranks


def _interval(values: FloatArray, level: float) -> tuple[float, float]:
    interval = percentiles(values, level)
    assert interval is not None  # resampled ranks are never NaN
    return interval


def _overall(
    entries: Sequence[Entry],
    drawn: Mapping[str, Mapping[str, FloatArray]],
    datasets: Mapping[str, Sequence[Standing]],
    level: float,
) -> tuple[Standing, ...]:
    complete = [p for p in sorted({entry.program for entry in entries}) if all(p in drawn[d] for d in drawn)]
    standings = []
    for program in complete:
        own = [entry for entry in entries if entry.program == program]
        mean = float(np.mean([s.rank for places in datasets.values() for s in places if s.program == program]))
        means = np.mean([drawn[d][program] for d in drawn], axis=0)
        molecules = sum(float(entry.truths.sum()) for entry in own)
        pooled = sum(float(entry.costs.sum()) for entry in own) / max(1.0, molecules)
        standings.append(Standing(program, mean, _interval(means, level), pooled))
    return tuple(sorted(standings, key=lambda s: (s.rank, s.flat_metric, s.program)))


def correlations(entries: Sequence[Entry], *, resamples: int = 500, seed: int = 0) -> list[Correlation]:
    """Pearson, Spearman and Kendall correlations of every two metrics over all entries, with 95 % bootstrap intervals.

    Examples
    --------
    >>> correlations([])
    []
    """
    rng = np.random.default_rng(seed)
    correlated = []
    for a, b in itertools.combinations(LEADERBOARD, 2):
        pairs = [(e.metrics[a], e.metrics[b]) for e in entries]
        values = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        if len(values) < 3:
            continue
        for kind in ("pearson", "spearman", "kendall"):
            # Kendall's looks at all pairs of entries: with many entries a tenth of the draws has to do.
            draw_count = resamples // 10 if kind == "kendall" and len(values) > _MANY_ENTRIES else resamples
            draws = [coefficient(values[rng.integers(0, len(values), len(values))], kind) for _ in range(draw_count)]
            interval = percentiles(np.array(draws, dtype=np.float64), 95.0)  # None becomes NaN
            correlated.append(Correlation(a, b, kind, coefficient(values, kind), interval))
    return correlated


def coefficient(values: FloatArray, kind: str) -> float | None:
    """Correlation of the two columns of (k, 2) values: "pearson", "spearman" or "kendall"; None where one is constant.

    Examples
    --------
    >>> coefficient(np.array([[1.0, 1.0], [2.0, 4.0], [3.0, 9.0]]), "spearman")
    1.0
    """
    x, y = values.T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    if kind == "kendall":
        sign_x, sign_y = np.sign(x[:, None] - x), np.sign(y[:, None] - y)
        return float((sign_x * sign_y).sum() / math.sqrt((sign_x**2).sum() * (sign_y**2).sum()))
    if kind == "spearman":
        x, y = _places(x[None])[0], _places(y[None])[0]
    return float(np.corrcoef(x, y)[0, 1])
