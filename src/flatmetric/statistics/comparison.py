"""Which program is better: paired differences on the same frames, p-values, and which program leads at which lam."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError
from flatmetric.metrics.base import SUMMED
from flatmetric.scoring.score import Score, plain_values
from flatmetric.statistics.bootstrap import (
    Bootstrap,
    Intervals,
    block_length,
    check_molecules,
    intervals_of,
    percentiles,
    resample_frames,
    resampled_metrics,
)
from flatmetric.transport.curve import crossings
from flatmetric.version import __version__

LEAD_FROM, LEAD_TO = 10.0, 250.0  # nm: the range of lam over which shares of the lead are computed
_CHUNK = 100  # sign flips drawn at a time, to bound the memory


@dataclass(frozen=True, slots=True)
class Pair:
    """The Flat Metric of `a` minus that of `b` on the same frames, nm: negative where `a` is better.

    `p` is the fraction of random sign flips of frame blocks that give at least as large a difference; `p_holm` is
    corrected for the number of pairs.
    """

    a: str
    b: str
    difference: float
    ci: tuple[float, float]
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Lead:
    """Which program has the lowest Flat Metric for lam from `low` to `high` (nm): the `share` of that range for each
    program, and for each pair the lam at which their curves cross.
    """

    low: float
    high: float
    share: dict[str, float]
    crossings: dict[tuple[str, str], tuple[float, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        pairs = [{"a": a, "b": b, "crossings_nm": list(lam)} for (a, b), lam in self.crossings.items()]
        return {"from_nm": self.low, "to_nm": self.high, "share": self.share, "pairs": pairs}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Programs on one truth, best first, with intervals, and every pair of them."""

    names: tuple[str, ...]
    scores: tuple[Score, ...]
    intervals: tuple[Intervals, ...]
    pairs: tuple[Pair, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the JSON of `flatmetric compare`."""
        entries = []
        for name, score, intervals in zip(self.names, self.scores, self.intervals, strict=True):
            parts = {part: plain_values(getattr(score, part)) for part in ("challenge", "rmsmd", "gospa", "ospa")}
            flat = plain_values(score.flat_metric) | {"ci": intervals.intervals["flat_metric.value"]}
            entries.append({"name": name, "flat_metric": flat, **parts, "ci": intervals.intervals})
        score, used = self.scores[0], self.intervals[0]
        return {
            "version": __version__,
            "lam_nm": score.lam,
            "dim": score.dim,
            "protocol": score.protocol.to_dict(),
            "level": used.level,
            "resamples": used.resamples,
            "seed": used.seed,
            "block": used.block,
            "entries": entries,
            "pairs": [plain_values(pair) | {"ci": list(pair.ci)} for pair in self.pairs],
        }


def compare_scores(scores: Mapping[str, Score], bootstrap: Bootstrap | None = None) -> Comparison:
    """Rank programs scored on the same truth by Flat Metric, and compare each pair on the same frames.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> near, far = (dict(truth, x=[d] * 30) for d in (5.0, 50.0))
    >>> c = compare_scores({"far": score(truth, far), "near": score(truth, near)})
    >>> c.names, c.pairs[0].difference, c.pairs[0].p < 0.01
    (('near', 'far'), -45.0, True)
    """
    settings = bootstrap or Bootstrap()
    if len({score.dim for score in scores.values()}) > 1:
        raise InputError("some results have depths and some have none; give dim=2 to compare them all in 2D")
    first, *others = (score.matched.truth_kept for score in scores.values())
    if any(not np.array_equal(first, other) for other in others):
        raise InputError("the programs were not scored on the same true molecules; score them by the same rules")
    for score in scores.values():
        check_molecules(score)
    names = tuple(sorted(scores, key=lambda name: (scores[name].flat_metric.value, name)))
    ranked = tuple(scores[name] for name in names)
    sums = [score.sums for score in ranked]
    frames, tables = align_frames([(one.frame, one.table) for one in sums])
    length = max(map(block_length, sums)) if settings.block is None else min(settings.block, len(frames))
    rng = np.random.default_rng(settings.seed)
    totals = resample_frames(tables, length, settings.resamples, rng, ranked[0].matched.threads)
    drawn = [resampled_metrics(total, one) for total, one in zip(totals, sums, strict=True)]
    parts = [SUMMED.index(part) for part in ("displaced", "missed", "false")]
    costs = np.column_stack([table[:, parts].sum(axis=1) for table in tables])
    flat = np.column_stack([one["flat_metric.value"] for one in drawn])
    intervals = tuple(intervals_of(one, settings, length) for one in drawn)
    return Comparison(names, ranked, intervals, compare_pairs(names, costs, flat, length, settings))


def align_frames(tables: Sequence[tuple[IntArray, FloatArray]]) -> tuple[IntArray, list[FloatArray]]:
    """Per-frame tables aligned on the union of their frames; a program without rows in a frame gets zeros there.

    Examples
    --------
    >>> align_frames([(np.array([1, 2]), np.ones((2, 1))), (np.array([2, 3]), np.ones((2, 1)))])[1][1].tolist()
    [[0.0], [1.0], [1.0]]
    """
    frames = np.unique(np.concatenate([frame for frame, _ in tables]))
    aligned = []
    for frame, table in tables:
        full = np.zeros((len(frames), table.shape[1]))
        full[np.searchsorted(frames, frame)] = table
        aligned.append(full)
    return frames, aligned


def compare_pairs(
    names: Sequence[str], costs: FloatArray, drawn: FloatArray, block: int, bootstrap: Bootstrap
) -> tuple[Pair, ...]:
    """Every two programs on the same frames.

    `costs` are (frames, programs) contributions to each program's Flat Metric in nm; `drawn` are (resamples, programs)
    Flat Metrics of resampled frames.

    Examples
    --------
    >>> costs = np.column_stack([np.full(50, 0.1), np.full(50, 1.0)])
    >>> pair, = compare_pairs(["a", "b"], costs, costs.sum(axis=0)[None].repeat(100, axis=0), 1, Bootstrap())
    >>> round(pair.difference, 9), pair.p
    (-45.0, 0.0004997501249375312)
    """
    p = sign_flip_p(costs, block, bootstrap.resamples, np.random.default_rng(bootstrap.seed + 1))
    pairs = list(itertools.combinations(range(len(names)), 2))
    corrected = holm([float(p[pair]) for pair in pairs])
    return tuple(
        Pair(
            names[i],
            names[j],
            float((costs[:, i] - costs[:, j]).sum()),
            percentiles(drawn[:, i] - drawn[:, j], bootstrap.level) or (math.nan, math.nan),
            float(p[i, j]),
            p_holm,
        )
        for (i, j), p_holm in zip(pairs, corrected, strict=True)
    )


def sign_flip_p(costs: FloatArray, block: int, flips: int, rng: np.random.Generator) -> FloatArray:
    """Two-sided p-values for the difference of every two columns of (frames, programs) costs: (programs, programs).

    The null hypothesis is that both signs of a difference are equally likely. The signs of blocks of `block`
    consecutive frames are flipped at random, in the same way for all pairs.

    Examples
    --------
    >>> sign_flip_p(np.column_stack([np.ones(50), np.zeros(50)]), 1, 999, np.random.default_rng(0))[0, 1]
    np.float64(0.001)
    """
    sums = np.zeros((1, costs.shape[1]))
    if len(costs):
        sums = np.add.reduceat(costs, np.arange(0, len(costs), block), axis=0)
    flipped = np.empty((flips, costs.shape[1]))
    for first in range(0, flips, _CHUNK):
        signs = 2.0 * rng.integers(0, 2, (min(_CHUNK, flips - first), len(sums))) - 1
        flipped[first : first + len(signs)] = signs @ sums
    as_large = np.empty((costs.shape[1], costs.shape[1]))
    for k in range(costs.shape[1]):
        between = sums - sums[:, k : k + 1]
        # A sum of the same numbers in another order must not count as larger.
        enough = np.abs(between.sum(axis=0)) - 1e-12 * np.abs(between).sum(axis=0)
        as_large[k] = (np.abs(flipped - flipped[:, k : k + 1]) >= enough).sum(axis=0)
    return np.asarray((1 + as_large) / (1 + flips))


def holm(p: Sequence[float]) -> list[float]:
    """P-values corrected for their number, by Holm's method.

    Examples
    --------
    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    corrected = [0.0] * len(p)
    largest = 0.0
    for rank, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        largest = max(largest, min(1.0, p[k] * (len(p) - rank)))
        corrected[k] = largest
    return corrected


def lead_over(comparison: Comparison, low: float, high: float) -> Lead:
    """Which program leads at which lam, from the exact curves.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> precise, complete = {"frame": [1], "x": [1.0], "y": [0.0]}, dict(truth, x=[40.0, 40.0])
    >>> c = compare_scores({"precise": score(truth, precise), "complete": score(truth, complete)})
    >>> lead = lead_over(c, 10, 250)
    >>> round(lead.share["complete"], 4), [round(lam, 6) for lam in lead.crossings["complete", "precise"]]
    (0.7125, [79.0])
    """
    curves = [score.curve(high) for score in comparison.scores]
    places = {
        (comparison.names[i], comparison.names[j]): tuple(crossings(curves[i], curves[j]))
        for i, j in itertools.combinations(range(len(curves)), 2)
    }
    inside = {lam for crossed in places.values() for lam in crossed if low < lam < high}
    edges = np.array(sorted({low, high} | inside))
    best = np.argmin([curve((edges[1:] + edges[:-1]) / 2) for curve in curves], axis=0)
    widths = np.diff(edges)
    share = {name: float(widths[best == k].sum() / (high - low)) for k, name in enumerate(comparison.names)}
    return Lead(low, high, share, places)
