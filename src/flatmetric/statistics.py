"""How sure a score is, and whether one program is better than another: resampling over frames, no solve repeated."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flatmetric import _core
from flatmetric.arguments import RESAMPLES, thread_count
from flatmetric.comparison import counted_matches, rows_of
from flatmetric.curve import crossings
from flatmetric.errors import InputError
from flatmetric.explanations import per_frame
from flatmetric.metrics.challenge import errors_of
from flatmetric.metrics.gospa import frame_values
from flatmetric.result import FloatArray, IntArray
from flatmetric.scoring import Score

_CHUNK = 100  # resamples drawn at a time, to bound the memory
# Beyond this the autocorrelation of the frames' costs is noise.
_LONGEST_BLOCK_SHARE = 0.1

_ADDED = (
    *("n_truth", "n_pred", "tp", "mass", "displaced", "missed", "false", "own", "with_truth"),
    *("dx", "dy", "dz", "abs_x", "abs_y", "abs_z", "xx", "yy", "zz"),
    *("p_true", "p_found", "p_true2", "p_found2", "p_both"),
    *("near_truth", "near_pred", "with_near_truth", "with_near_pred"),
    *("pairs", "moved", "gospa", "ospa", "occupied"),
)


@dataclass(frozen=True, slots=True, eq=False)
class FrameSums:
    """What each frame adds to a score: (frames, quantities), from which every metric of any set of frames follows."""

    frame: IntArray
    table: FloatArray
    dim: int
    alpha: tuple[float, float]
    gospa: tuple[float, float]  # order and cutoff (nm)

    def column(self, name: str) -> FloatArray:
        """One quantity for every frame."""
        return self.table[:, _ADDED.index(name)]


def frame_sums(score: Score) -> FrameSums:
    """The sums of each frame of a score.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> frame_sums(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})).column("tp").tolist()
    [1.0, 0.0]
    """
    frames = per_frame(score)
    compared = score.compared
    number = frames["frame"]
    columns: dict[str, FloatArray] = {name: frames[name].astype(np.float64) for name in ("n_truth", "n_pred", "tp")}
    flat = score.flat_result
    if flat is None:
        raise InputError("no true molecule is left to compare with, so there is nothing to resample")
    # Contributions to the value times the number of true molecules (or, by photons, the share of their frames): costs.
    columns["mass"] = columns["n_truth"] / len(compared.truth_counts)
    if score.weights == "photons":
        photons = compared.truth.photons
        assert photons is not None
        kept = photons[compared.truth_counts]
        place = np.searchsorted(number, compared.truth.frame[compared.truth_counts])
        columns["mass"] = np.bincount(place, kept, minlength=len(number)) / kept.sum()
    columns |= {part: frames[part] for part in ("displaced", "missed", "false")}
    heavy = columns["mass"] > 0
    columns["with_truth"] = heavy.astype(np.float64)
    columns["own"] = np.divide(frames["flat_metric"], columns["mass"], out=np.zeros(len(number)), where=heavy)
    matches = counted_matches(compared)
    place = np.searchsorted(number, compared.truth.frame[matches.truth])

    def added(values: FloatArray) -> FloatArray:
        return np.bincount(place, values, minlength=len(number)).astype(np.float64)

    errors = errors_of(compared.truth, compared.pred, matches.truth, matches.pred)
    for axis, name in enumerate("xyz"):
        columns[f"d{name}"] = added(errors[:, axis])
        columns[f"abs_{name}"] = added(np.abs(errors[:, axis]))
        columns[2 * name] = added(errors[:, axis] ** 2)
    true, found = compared.truth.photons, compared.pred.photons
    if true is not None and found is not None and len(matches):
        # Centred, so that the sums of squares keep their digits.
        a, b = true[matches.truth], found[matches.pred]
        a, b = a - a.mean(), b - b.mean()
        names = ("p_true", "p_found", "p_true2", "p_found2", "p_both")
        columns |= dict(zip(names, map(added, (a, b, a * a, b * b, a * b)), strict=True))
    columns |= _nearest_sums(score, number)
    pairs, order = score.gospa_pairs, (score.gospa.p, score.gospa.c)
    own = frame_values(pairs, p=order[0], c=order[1])
    columns |= {"pairs": pairs.pairs.astype(np.float64), "moved": pairs.moved, "gospa": own[0], "ospa": own[1]}
    columns["occupied"] = np.ones(len(number))
    zeros = np.zeros(len(number))
    table = np.column_stack([columns.get(n, zeros) for n in _ADDED])
    return FrameSums(number, table, score.dim, score.alpha, order)


def _nearest_sums(score: Score, number: IntArray) -> dict[str, FloatArray]:
    """Squared distances to the nearest of the other side, and how many points have one, for each frame."""
    compared = score.compared
    truth, pred = rows_of(compared.truth, compared.truth_counts), rows_of(compared.pred, compared.pred_counts)
    frames, *columns = _core.nearest(
        truth.points(score.dim), pred.points(score.dim), truth.frame, pred.frame, thread_count(None)
    )
    found = np.zeros((4, len(number)))
    found[:, np.searchsorted(number, frames)] = columns
    return dict(zip(("with_near_truth", "with_near_pred", "near_truth", "near_pred"), found, strict=True))


def metrics_of(sums: FloatArray, frames: FrameSums) -> dict[str, FloatArray]:
    """Every metric from (resamples, quantities) sums of frames like `frames`, by its path in the JSON; NaN where
    undefined.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> sums = frame_sums(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> metrics_of(sums.table.sum(axis=0)[None], sums)["challenge.jaccard"].tolist()
    [50.0]
    """
    s = dict(zip(_ADDED, sums.T, strict=True))
    alpha, (p, c) = frames.alpha, frames.gospa
    with np.errstate(divide="ignore", invalid="ignore"):
        tp, n, m = s["tp"], s["n_truth"], s["n_pred"]
        found: dict[str, FloatArray] = {
            "flat_metric.value": (s["displaced"] + s["missed"] + s["false"]) / s["mass"],
            "flat_metric.displaced": s["displaced"] / s["mass"],
            "flat_metric.missed": s["missed"] / s["mass"],
            "flat_metric.false": s["false"] / s["mass"],
            "flat_metric.frame_mean": s["own"] / s["with_truth"],
            "challenge.precision": tp / m,
            "challenge.recall": tp / n,
            "challenge.f1": np.where(tp > 0, 2 * tp / (n + m), np.nan),
            "challenge.jaccard": 100 * tp / (n + m - tp),
            "challenge.rmse_xy": np.sqrt((s["xx"] + s["yy"]) / tp),
            "challenge.mad_xy": (s["abs_x"] + s["abs_y"]) / tp,
            "challenge.bias_x": s["dx"] / tp,
            "challenge.bias_y": s["dy"] / tp,
        }
        miss = 100 - found["challenge.jaccard"]
        lateral = 100 - np.hypot(miss, alpha[0] * found["challenge.rmse_xy"])
        found["challenge.efficiency_xy"] = found["challenge.efficiency"] = lateral
        if frames.dim == 3:
            found["challenge.rmse_z"] = np.sqrt(s["zz"] / tp)
            found["challenge.rmse_xyz"] = np.sqrt((s["xx"] + s["yy"] + s["zz"]) / tp)
            found["challenge.mad_z"] = s["abs_z"] / tp
            found["challenge.mad_xyz"] = (s["abs_x"] + s["abs_y"] + s["abs_z"]) / tp
            found["challenge.bias_z"] = s["dz"] / tp
            axial = 100 - np.hypot(miss, alpha[1] * found["challenge.rmse_z"])
            found["challenge.efficiency_z"] = axial
            found["challenge.efficiency"] = (lateral + axial) / 2
        true = s["p_true2"] - s["p_true"] ** 2 / tp
        seen = s["p_found2"] - s["p_found"] ** 2 / tp
        near, points = s["near_truth"] + s["near_pred"], s["with_near_truth"] + s["with_near_pred"]
        found["rmsmd.per_frame"] = np.sqrt(near / points)
        found["rmsmd.per_frame_truth_to_pred"] = np.sqrt(s["near_truth"] / s["with_near_truth"])
        found["rmsmd.per_frame_pred_to_truth"] = np.sqrt(s["near_pred"] / s["with_near_pred"])
        larger = np.maximum(n, m)
        found["gospa.value"] = (s["moved"] + c**p / 2 * (n + m - 2 * s["pairs"])) ** (1 / p)
        found["gospa.frame_mean"] = s["gospa"] / s["occupied"]
        found["ospa.value"] = ((s["moved"] + c**p * (larger - s["pairs"])) / larger) ** (1 / p)
        found["ospa.frame_mean"] = s["ospa"] / s["occupied"]
        found["challenge.photon_correlation"] = (s["p_both"] - s["p_true"] * s["p_found"] / tp) / np.sqrt(true * seen)
    return found


def block_length(sums: FrameSums) -> int:
    """How many frames in a row belong together: about the time over which the frames' costs stay correlated.

    One plus twice the sum of the autocorrelations up to the first that is not significant, at most a tenth of the
    frames.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> block_length(frame_sums(score(truth, truth)))
    1
    """
    longest = 1
    for name in ("n_truth", "own"):
        series = sums.column(name) - sums.column(name).mean()
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


def resampled(tables: Sequence[FloatArray], block: int, resamples: int, rng: np.random.Generator) -> list[FloatArray]:
    """Sums over resampled frames, the same frames for every table: (resamples, quantities) each.

    Blocks of `block` frames in a row are drawn with replacement, the last frame followed by the first.

    Examples
    --------
    >>> table = np.ones((10, 1))
    >>> resampled([table], 1, 3, np.random.default_rng(0))[0].tolist()
    [[10.0], [10.0], [10.0]]
    """
    frames = len(tables[0])
    blocks = math.ceil(frames / block)
    joined = np.hstack(tables)
    # Sums of the block that begins at each frame, scaled so that a resample has as many frames as there are.
    around = np.vstack((np.zeros((1, joined.shape[1])), np.cumsum(np.vstack((joined, joined[: block - 1])), axis=0)))
    sums = (around[block:] - around[:-block]) * (frames / (blocks * block))
    used = np.flatnonzero(sums.any(axis=0))  # without depths or photons a third of the columns is empty
    totals = np.zeros((resamples, joined.shape[1]))
    starts = range(0, resamples, _CHUNK)

    def draw(first: int, own: np.random.Generator) -> None:
        rows = min(_CHUNK, resamples - first)
        drawn = own.integers(0, frames, (rows, blocks), dtype=np.int32)
        counts = np.empty((rows, frames))
        for row in range(rows):
            counts[row] = np.bincount(drawn[row], minlength=frames)
        totals[first : first + rows, used] = counts @ sums[:, used]

    # Every chunk has a generator of its own, so that threads change no bit.
    with ThreadPoolExecutor(thread_count(None)) as pool:
        list(pool.map(draw, starts, rng.spawn(len(starts))))
    widths = np.cumsum([table.shape[1] for table in tables])[:-1]
    return np.split(totals, widths, axis=1)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Confidence intervals of a score's metrics, by their path in the JSON; None where too few resamples define one."""

    level: float
    resamples: int
    seed: int
    block: int
    intervals: dict[str, tuple[float, float] | None]


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


def refuse_resampling(level: float, resamples: int, seed: int, block: int | None = None) -> None:
    """Refuse settings of a bootstrap that make no sense: level in percent, `block` in frames.

    Examples
    --------
    >>> refuse_resampling(95.0, 2000, -1)
    Traceback (most recent call last):
    flatmetric.errors.InputError: the seed is -1; give a whole number from 0
    """
    if seed < 0:
        raise InputError(f"the seed is {seed}; give a whole number from 0")
    if not 1 <= level < 100:
        raise InputError(f"the confidence level is {level:g}; give a percentage from 1 to below 100, as 95")
    if resamples < 100:
        raise InputError(f"the number of resamples is {resamples}; give at least 100")
    if block is not None and block < 1:
        raise InputError(f"the block is {block} frames; give at least 1")


def confidence(
    score: Score, *, level: float = 95.0, resamples: int = RESAMPLES, seed: int = 0, block: int | None = None
) -> Intervals:
    """Intervals of every metric that adds over frames, by a bootstrap of blocks of frames (percentiles).

    `block` is the number of frames in a row that are drawn together, because molecules stay on; chosen from the data
    by default. Same seed, same bits.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]}
    >>> confidence(score(truth, truth)).intervals["challenge.jaccard"]
    (100.0, 100.0)
    """
    refuse_resampling(level, resamples, seed, block)
    sums = frame_sums(score)
    length = block_length(sums) if block is None else min(block, len(sums.frame))
    (totals,) = resampled([sums.table], length, resamples, np.random.default_rng(seed))
    found = metrics_of(totals, sums)
    return Intervals(level, resamples, seed, length, {name: percentiles(v, level) for name, v in found.items()})


@dataclass(frozen=True, slots=True)
class Pair:
    """The Flat Metric of `a` minus that of `b` on the same frames, nm: negative where `a` is better.

    `p` is the share of sign changes of blocks of frames that make the difference as large; `p_holm` is corrected for
    the number of pairs.
    """

    a: str
    b: str
    difference: float
    ci: tuple[float, float]
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Programs on one truth, best first, with intervals, and every pair of them."""

    names: tuple[str, ...]
    scores: tuple[Score, ...]
    intervals: tuple[Intervals, ...]
    pairs: tuple[Pair, ...]


def compare(
    scores: Sequence[tuple[str, Score]],
    *,
    level: float = 95.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
    block: int | None = None,
) -> Comparison:
    """Rank programs scored on the same truth by Flat Metric, and compare each pair on the same frames.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> near, far = (dict(truth, x=[d] * 30) for d in (5.0, 50.0))
    >>> c = compare([("far", score(truth, far)), ("near", score(truth, near))])
    >>> c.names, c.pairs[0].difference, c.pairs[0].p < 0.01
    (('near', 'far'), -45.0, True)
    """
    refuse_resampling(level, resamples, seed, block)
    if len({name for name, _ in scores}) < len(scores):
        raise InputError("two programs have the same name; give each its own")
    truths = [score.compared.truth_counts for _, score in scores]
    if any(not np.array_equal(truths[0], other) for other in truths[1:]):
        raise InputError("the programs were not scored on the same true molecules; score them by the same rules")
    ranked = sorted(
        scores, key=lambda entry: (entry[1].flat_result.value if entry[1].flat_result else math.inf, entry[0])
    )
    sums = [frame_sums(score) for _, score in ranked]
    frames, tables = _aligned(sums)
    length = max(map(block_length, sums)) if block is None else min(block, len(frames))
    totals = resampled(tables, length, resamples, np.random.default_rng(seed))
    metrics = [metrics_of(total, s) for total, s in zip(totals, sums, strict=True)]
    intervals = tuple(
        Intervals(level, resamples, seed, length, {name: percentiles(values, level) for name, values in found.items()})
        for found in metrics
    )
    names = tuple(name for name, _ in ranked)
    pairs = []
    for i in range(len(ranked)):
        for j in range(i + 1, len(ranked)):
            ci = percentiles(metrics[i]["flat_metric.value"] - metrics[j]["flat_metric.value"], level)
            costs = [_cost(tables[k]) for k in (i, j)]
            difference = costs[0] - costs[1]
            p = sign_flip_p(difference, length, resamples, np.random.default_rng(seed + 1))
            pairs.append(Pair(names[i], names[j], float(difference.sum()), ci or (math.nan, math.nan), p, p))
    corrected = holm([pair.p for pair in pairs])
    told = tuple(dataclasses.replace(pair, p_holm=p) for pair, p in zip(pairs, corrected, strict=True))
    return Comparison(names, tuple(score for _, score in ranked), intervals, told)


def _cost(table: FloatArray) -> FloatArray:
    return sum((table[:, _ADDED.index(part)] for part in ("displaced", "missed", "false")), np.zeros(len(table)))


def _aligned(sums: Sequence[FrameSums]) -> tuple[IntArray, list[FloatArray]]:
    """All tables on the frames of any of them; a frame that a program has not adds nothing."""
    frames = np.unique(np.concatenate([s.frame for s in sums]))
    tables = []
    for s in sums:
        table = np.zeros((len(frames), len(_ADDED)))
        table[np.searchsorted(frames, s.frame)] = s.table
        tables.append(table)
    return frames, tables


def sign_flip_p(difference: npt.ArrayLike, block: int, permutations: int, rng: np.random.Generator) -> float:
    """Two-sided p-value of the hypothesis that the frames' differences are as likely of either sign.

    The signs of blocks of `block` frames in a row are changed at random.

    Examples
    --------
    >>> sign_flip_p(np.zeros(50), 1, 1000, np.random.default_rng(0))
    1.0
    """
    costs = np.asarray(difference, dtype=np.float64)[:, None]
    return float(sign_flip_ps(np.hstack([costs, np.zeros_like(costs)]), block, permutations, rng)[0, 1])


def sign_flip_ps(costs: FloatArray, block: int, permutations: int, rng: np.random.Generator) -> FloatArray:
    """The same for every two columns of (frames, programs) costs, under the same changes of sign: (programs, programs).

    Examples
    --------
    >>> sign_flip_ps(np.column_stack([np.ones(50), np.zeros(50)]), 1, 999, np.random.default_rng(0))[0, 1]
    np.float64(0.001)
    """
    sums = np.zeros((1, costs.shape[1]))
    if len(costs):
        sums = np.add.reduceat(costs, np.arange(0, len(costs), block), axis=0)
    flipped = np.empty((permutations, costs.shape[1]))
    for first in range(0, permutations, _CHUNK):
        signs = 2.0 * rng.integers(0, 2, (min(_CHUNK, permutations - first), len(sums))) - 1
        flipped[first : first + len(signs)] = signs @ sums
    as_large = np.empty((costs.shape[1], costs.shape[1]))
    for k in range(costs.shape[1]):
        between = sums - sums[:, k : k + 1]
        # A sum of the same numbers in another order must not count as larger.
        enough = np.abs(between.sum(axis=0)) - 1e-12 * np.abs(between).sum(axis=0)
        as_large[k] = (np.abs(flipped - flipped[:, k : k + 1]) >= enough).sum(axis=0)
    return np.asarray((1 + as_large) / (1 + permutations))


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


@dataclass(frozen=True, slots=True)
class Lead:
    """For which lam between `low` and `high` (nm) which program has the lowest Flat Metric: the `share` of the range
    for each, and for each pair the lam at which their curves cross.
    """

    low: float
    high: float
    share: dict[str, float]
    crossings: dict[tuple[str, str], tuple[float, ...]]


def lead_over(comparison: Comparison, low: float, high: float) -> Lead:
    """Who leads for which lam, from the exact curves.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> precise, complete = {"frame": [1], "x": [1.0], "y": [0.0]}, dict(truth, x=[40.0, 40.0])
    >>> c = compare([("precise", score(truth, precise)), ("complete", score(truth, complete))])
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
