"""Many programs on many data sets: ranks, how sure they are, and which metrics agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flatmetric.arguments import RESAMPLES
from flatmetric.result import FloatArray, IntArray
from flatmetric.scoring import Score
from flatmetric.statistics import (
    Pair,
    block_length,
    frame_sums,
    holm,
    percentiles,
    refuse_resampling,
    resampled,
    sign_flip_ps,
)

_FEWEST_FRAMES = 10
_MANY_ENTRIES = 200
METRICS = {
    "flat_metric": "flat_metric.value",
    "jaccard": "challenge.jaccard",
    "rmse_xy": "challenge.rmse_xy",
    "efficiency": "challenge.efficiency",
    "rmsmd": "rmsmd.per_frame",
    "rmsmd_whole_set": "rmsmd.whole_set",
    "recall": "challenge.recall",
    "precision": "challenge.precision",
}


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One program on one data set: its metrics (None where undefined) and what each frame costs, nm.

    `costs` over all frames add up to the Flat Metric times the number of true molecules, and `truths` is that number in
    each frame.
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
    """Ranks in each data set, overall over those programs that have all of them, and correlations of metrics."""

    datasets: dict[str, tuple[Standing, ...]]
    overall: tuple[Standing, ...]
    correlations: tuple[Correlation, ...]


def entry_of(dataset: str, program: str, score: Score) -> Entry:
    """What the leaderboard needs of a score.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> entry_of("d", "p", score(truth, truth)).metrics["jaccard"]
    100.0
    """
    content = score.to_dict()
    metrics = {}
    for name, path in METRICS.items():
        part, field = path.split(".")
        metrics[name] = content[part][field]
    sums = frame_sums(score)
    costs = sums.column("displaced") + sums.column("missed") + sums.column("false")
    molecules = len(score.compared.truth_counts)
    return Entry(
        dataset, program, metrics, block_length(sums), sums.frame, costs * molecules, sums.column("n_truth").copy()
    )


def rank(entries: Sequence[Entry], *, level: float = 95.0, resamples: int = RESAMPLES, seed: int = 0) -> Leaderboard:
    """Rank by Flat Metric: in each data set, and overall by the mean rank of those programs that ran on all of them.

    Intervals are those of ranks over resampled blocks of frames, the same frames for all programs of a data set. Fewer
    than ten frames say nothing: the interval is then all ranks, and overall what all ranks there would make of it.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> entries = [entry_of("d", name, score(truth, dict(truth, x=[d] * 30))) for name, d in (("b", 50.0), ("a", 5.0))]
    >>> [(s.program, s.rank) for s in rank(entries).overall]
    [('a', 1.0), ('b', 2.0)]
    """
    refuse_resampling(level, resamples, seed)
    rng = np.random.default_rng(seed)
    drawn: dict[str, dict[str, FloatArray]] = {}
    datasets = {}
    for dataset in sorted({entry.dataset for entry in entries}):
        here = [entry for entry in entries if entry.dataset == dataset]
        totals, values = _resampled_metrics(here, resamples, rng)
        ranks = _places(totals).T
        if not _enough_frames(here):
            # Half of the draws first, half of them last: their middle 95 % are all ranks.
            half = resamples // 2
            ranks = np.tile(np.repeat([1.0, float(len(here))], [half, resamples - half]), (len(here), 1))
        drawn[dataset] = dict(zip((entry.program for entry in here), ranks, strict=True))
        standings = [
            Standing(entry.program, float(place), _interval(row, level), float(value))
            for entry, place, value, row in zip(here, _places(values[None])[0], values, ranks, strict=True)
        ]
        datasets[dataset] = tuple(sorted(standings, key=lambda s: (s.rank, s.program)))
    return Leaderboard(datasets, _overall(entries, drawn, datasets, level), tuple(correlations(entries, seed=seed)))


def _enough_frames(entries: Sequence[Entry]) -> bool:
    return max(len(entry.frames) for entry in entries) >= _FEWEST_FRAMES


def _resampled_metrics(
    entries: Sequence[Entry], resamples: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Flat Metrics over resampled blocks of frames, (resamples, programs) in nm, and as they are."""
    costs, truths = _on_all_frames(entries)
    block = max(entry.block for entry in entries)
    sums = resampled([costs, truths], block, resamples, rng)
    return sums[0] / np.maximum(sums[1], 1e-9), costs.sum(axis=0) / np.maximum(truths.sum(axis=0), 1)


def _on_all_frames(entries: Sequence[Entry]) -> tuple[FloatArray, FloatArray]:
    """Costs and true molecules of every program, (frames, programs), on the frames of any of them."""
    frames = np.unique(np.concatenate([entry.frames for entry in entries]))
    costs, truths = np.zeros((2, len(frames), len(entries)))
    for k, entry in enumerate(entries):
        rows = np.searchsorted(frames, entry.frames)
        costs[rows, k], truths[rows, k] = entry.costs, entry.truths
    return costs, truths


def differences(
    entries: Sequence[Entry], *, level: float = 95.0, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, tuple[Pair, ...]]:
    """Every two programs of each data set on the same frames, as `statistics.compare` does it, by data set.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> entries = [entry_of("d", name, score(truth, dict(truth, x=[d] * 30))) for name, d in (("a", 5.0), ("b", 50.0))]
    >>> differences(entries)["d"][0].difference
    -45.0
    """
    refuse_resampling(level, resamples, seed)
    rng = np.random.default_rng(seed)
    found = {}
    for dataset in sorted({entry.dataset for entry in entries}):
        here = [entry for entry in entries if entry.dataset == dataset]
        totals, values = _resampled_metrics(here, resamples, rng)
        p = sign_flip_ps(_on_all_frames(here)[0], max(entry.block for entry in here), resamples, rng)
        pairs = list(itertools.combinations(range(len(here)), 2))
        corrected = holm([float(p[pair]) for pair in pairs])
        found[dataset] = tuple(
            Pair(
                here[i].program,
                here[j].program,
                float(values[i] - values[j]),
                _interval(totals[:, i] - totals[:, j], level),
                float(p[i, j]),
                p_holm,
            )
            for (i, j), p_holm in zip(pairs, corrected, strict=True)
        )
    return found


def _places(values: FloatArray) -> FloatArray:
    """Ranks from 1 in each row; equals share the mean of theirs."""
    ranks = np.empty(values.shape)
    for row, own in enumerate(values):
        ordered = np.sort(own)
        ranks[row] = (np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right") + 1) / 2
    return ranks


def _interval(values: FloatArray, level: float) -> tuple[float, float]:
    found = percentiles(values, level)
    assert found is not None  # ranks and Flat Metrics of resamples are numbers
    return found


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
    """Pearson, Spearman and Kendall correlations of every two metrics over all entries, 95 % by resampled entries.

    Examples
    --------
    >>> correlations([])
    []
    """
    rng = np.random.default_rng(seed)
    found = []
    for a, b in itertools.combinations(METRICS, 2):
        pairs = [(e.metrics[a], e.metrics[b]) for e in entries]
        values = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        if len(values) < 3:
            continue
        for kind in ("pearson", "spearman", "kendall"):
            # Kendall's takes all pairs of entries: of many entries a tenth of the draws will do.
            draw_count = resamples // 10 if kind == "kendall" and len(values) > _MANY_ENTRIES else resamples
            draws = [coefficient(values[rng.integers(0, len(values), len(values))], kind) for _ in range(draw_count)]
            interval = percentiles(np.array(draws, dtype=np.float64), 95.0)  # None becomes NaN
            found.append(Correlation(a, b, kind, coefficient(values, kind), interval))
    return found


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
