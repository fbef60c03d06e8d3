"""What could be done better, one function each: which rows it concerns, and what it would gain.

Why gains are exact: a detection without a partner adds lam to the cost of the optimal plan, and the plan without it
stays optimal. A detection added at a missed molecule takes lam off, less its own error, by the same argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.scoring.evidence import Evidence
from flatmetric.scoring.masses import masses
from flatmetric.transport.flat_metric import flat_metric

_SIGMAS = 4.5  # of an excess, to be told: many thresholds are tried
_NEARLY = 0.9  # of the largest gain is reached by the smallest group that is named
_LARGEST_GROUP = 0.6  # of all molecules: a larger one is not a special case
_TIMES = 1.25  # as much as elsewhere a molecule must cost where a program fails
_ROUND = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000)  # nm
_QUANTILES = 40
_STRETCHES = 40
_LAYERS = 24
_CELL = 100.0  # nm, of the map of false detections
_MOST_CELLS = 4_000_000
_FEWEST_IN_A_SPOT = 5
_BY_CHANCE = 1e-8  # probability of a hot spot
_BETWEEN = (0.2, 0.8)  # of the way from one molecule to the other lies a detection of both
_ASIDE = 0.35


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """Something to do: a sentence, what it takes off the Flat Metric (nm), and the rows it explains."""

    kind: str
    sentence: str
    gain: float
    numbers: dict[str, float]
    truth: BoolArray | None = None
    pred: BoolArray | None = None


def edge(evidence: Evidence) -> Remedy | None:
    """Molecules near the edge of the field that are missed more often than others."""
    distance = evidence.to_edge
    reach = float(np.max(distance, initial=0.0)) / 2
    group = _missed_below(evidence, distance, [width for width in _ROUND if width <= reach])
    if group is None:
        return None
    found = f"of {group.count} within {group.limit:g} nm of it {group.share:.0f} % are missed"
    sentence = f"Find molecules near the edge: {found}, {group.others:.0f} % elsewhere."
    return group.remedy("edge", sentence, "within_nm")


def crowded(evidence: Evidence) -> Remedy | None:
    """Molecules with a near neighbour that are missed more often than others."""
    group = _missed_below(evidence, evidence.neighbour, _ROUND)
    if group is None:
        return None
    found = f"of {group.count} with a neighbour closer than {group.limit:g} nm {group.share:.0f} % are missed"
    sentence = f"Tell crowded molecules apart: {found}, {group.others:.0f} % of the others."
    return group.remedy("crowded", sentence, "closer_than_nm")


def dim(evidence: Evidence) -> Remedy | None:
    """Molecules with few photons that are missed more often than others."""
    photons = evidence.truth.photons
    if photons is None or len(photons) == 0:
        return None
    limits = np.quantile(photons, np.linspace(0, 1, _QUANTILES + 1)[1:-1])
    group = _missed_below(evidence, photons, sorted({_two_digits(limit) for limit in limits.tolist() if limit > 0}))
    if group is None:
        return None
    found = f"of {group.count} below {group.limit:g} photons {group.share:.0f} % are missed"
    sentence = f"Find dim molecules: {found}, {group.others:.0f} % of the brighter ones."
    return group.remedy("dim", sentence, "below_photons")


def depth(evidence: Evidence) -> Remedy | None:
    """Depths in which a molecule costs more than elsewhere."""
    z = evidence.truth.z
    if z is None or len(z) == 0:
        return None
    low, high = (float(np.quantile(z, share)) for share in (0.001, 0.999))
    if not low < high:
        return None
    edges = np.unique(np.round(np.linspace(low, high, _LAYERS + 1), -1))[1:-1]
    stretch = _costly(evidence, np.searchsorted(edges, z, side="right"), None, len(edges) + 1, around=True)
    if stretch is None:
        return None
    first, last = stretch.first, stretch.last
    bounds = [None if at in (0, len(edges) + 1) else float(edges[at - 1]) for at in (first, last)]
    match bounds:
        case [None, below] if below is not None:
            where, numbers = f"below {below:.0f} nm", {"below_nm": below}
        case [above, None] if above is not None:
            where, numbers = f"above {above:.0f} nm", {"above_nm": above}
        case [above, below] if above is not None and below is not None and first < last:
            where, numbers = f"from {above:.0f} to {below:.0f} nm", {"above_nm": above, "below_nm": below}
        case [above, below] if above is not None and below is not None:
            where, numbers = f"below {below:.0f} and above {above:.0f} nm", {"below_nm": below, "above_nm": above}
        case _:
            return None
    return stretch.remedy("depth", f"Look at depths {where}: {stretch.words}.", numbers)


def frames(evidence: Evidence) -> Remedy | None:
    """A stretch of frames in which a molecule costs more than in others."""
    frame, pred_frame = evidence.truth.frame, evidence.pred.frame
    low, high = int(frame.min()), int(frame.max())
    low, high = int(pred_frame.min(initial=low)), int(pred_frame.max(initial=high))
    edges = np.unique(np.round(np.linspace(low, high + 1, _STRETCHES + 1)))[1:-1]
    if len(edges) < 3:
        return None
    at = [np.searchsorted(edges, side, side="right") for side in (frame, pred_frame)]
    stretch = _costly(evidence, at[0], at[1], len(edges) + 1, around=False)
    if stretch is None:
        return None
    starts = [low, *edges.astype(int).tolist(), high + 1]
    first, last = starts[stretch.first], starts[stretch.last] - 1
    sentence = f"Look at frames {first} to {last}: {stretch.words}."
    return stretch.remedy("frames", sentence, {"first_frame": first, "last_frame": last})


def hot_spots(evidence: Evidence) -> Remedy | None:
    """Places with false detections in many frames, far from any molecule of these frames."""
    alone = evidence.false & evidence.pred_open & (evidence.to_truth > evidence.lam)
    rows = np.flatnonzero(alone)
    if len(rows) < _FEWEST_IN_A_SPOT:
        return None
    x, y, frame = evidence.pred.x[rows], evidence.pred.y[rows], evidence.pred.frame[rows]
    area = max(float(np.ptp(x)) * float(np.ptp(y)), 1.0)
    cell = max(_CELL, float(np.sqrt(area / _MOST_CELLS)))
    i, j = ((values - values.min()) // cell for values in (x, y))
    i, j = i.astype(np.int64), j.astype(np.int64)
    count = np.zeros((int(i.max()) + 1, int(j.max()) + 1))
    np.add.at(count, (i, j), 1.0)
    around = (_block_sums(count, 3) - _block_sums(count, 1)) / 40  # in the 7 x 7 cells without the inner 3 x 3
    expected = np.maximum(around, len(rows) / count.size)
    spot = _spots((count >= _FEWEST_IN_A_SPOT) & _beyond_chance(count, expected), i, j)
    for number in np.unique(spot[spot > 0]):  # one bad frame is not a place
        if len(np.unique(frame[spot == number])) < _FEWEST_IN_A_SPOT:
            spot[spot == number] = 0
    inside = spot > 0
    if not inside.any():
        return None
    sizes = np.bincount(spot[inside])
    worst, places, n = int(sizes.argmax()), int(np.count_nonzero(sizes)), int(inside.sum())
    middle = float(np.median(x[spot == worst])), float(np.median(y[spot == worst]))
    named = "one place" if places == 1 else f"{places} places, the worst"
    where = f"{named} at x {middle[0]:.0f}, y {middle[1]:.0f} nm"
    spoiled = np.zeros(len(evidence.pred), dtype=bool)
    spoiled[rows[inside]] = True
    return Remedy(
        "hot_spots",
        f"Remove false hot spots: {n} false detections come from {where}.",
        float(evidence.costs.false[spoiled].sum()),
        {"places": places, "detections": n, "x_nm": middle[0], "y_nm": middle[1]},
        pred=spoiled,
    )


def _block_sums(count: FloatArray, reach: int) -> FloatArray:
    """For each cell the sum over the cells up to `reach` away."""
    wide = 2 * reach + 1
    sums = np.pad(count, reach)
    for axis in (0, 1):
        sums = np.lib.stride_tricks.sliding_window_view(sums, wide, axis=axis).sum(axis=-1)
    return sums


def _beyond_chance(count: FloatArray, expected: FloatArray) -> BoolArray:
    """Whether counts are too large to be chance, by Chernoff's bound on the tail of Poisson's distribution."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithm = count - expected + count * np.log(expected / count)
    beyond: BoolArray = (count > expected) & (logarithm < np.log(_BY_CHANCE))
    return beyond


def _spots(hot: BoolArray, i: IntArray, j: IntArray) -> IntArray:
    """The spot of each row, from 1, given its cell: hot cells that touch, with the cells around them; 0 for none."""
    number = np.zeros(hot.shape, dtype=np.int64)
    spots = 0
    for start in zip(*np.nonzero(hot), strict=True):
        if number[start]:
            continue
        spots += 1
        left = [start]
        while left:
            at = left.pop()
            around = tuple(slice(max(0, k - 1), k + 2) for k in at)
            fresh = hot[around] & (number[around] != spots)
            number[around] = spots  # a spot may reach into the next cell
            left += [
                (at_i + around[0].start, at_j + around[1].start) for at_i, at_j in zip(*np.nonzero(fresh), strict=True)
            ]
    return number[i, j]


def repeated(evidence: Evidence) -> Remedy | None:
    """False detections next to a molecule that has another detection already."""
    looked = evidence.false & evidence.pred_open
    if not (evidence.to_truth[looked] < evidence.lam).any():
        return None
    limits = np.array([limit for limit in (10, 20, 30, 40, *_ROUND[1:]) if limit <= evidence.lam])
    near, chance = (
        np.array([np.count_nonzero(looked & (distance < limit)) for limit in limits])
        for distance in (evidence.to_truth, evidence.to_truth_by_chance)
    )
    excess = np.where(near - chance >= np.maximum(1.0, _SIGMAS * np.sqrt(near + chance)), near - chance, 0)
    if not excess.any():
        return None
    limit = float(limits[np.argmax(excess >= _NEARLY * excess.max())])
    rows = looked & (evidence.to_truth < limit)
    n = int(np.count_nonzero(rows))
    sentence = f"Remove repeated detections: {n} lie within {limit:g} nm of a molecule that has another one already."
    numbers = {"detections": n, "within_nm": limit}
    return Remedy("repeated", sentence, float(evidence.costs.false[rows].sum()), numbers, pred=rows)


def threshold(evidence: Evidence) -> Remedy | None:
    """Detections with few photons, most of which are false; the gain is what is left after losing the true ones."""
    photons, costs = evidence.pred.photons, evidence.costs
    false = evidence.false & evidence.pred_open
    if photons is None or not false.any():
        return None
    limits = np.unique([_two_digits(limit) for limit in np.quantile(photons[false], np.linspace(0, 1, _QUANTILES + 1))])
    limits = limits[limits > 0]
    if len(limits) == 0:
        return None
    pairs = evidence.score.flat_result.pairs  # type: ignore[union-attr]
    lost = np.bincount(pairs.pred, pairs.mass * (evidence.lam - pairs.distance), minlength=len(photons))
    each = np.where(evidence.pred_open, costs.false - lost, 0.0)
    gains = np.cumsum(np.bincount(np.searchsorted(limits, photons, side="right"), each, minlength=len(limits) + 1))[:-1]
    if not gains.max() > 0:
        return None
    limit = float(limits[np.argmax(gains >= _NEARLY * gains.max())])
    below = evidence.pred_open & (photons < limit)
    n, wrong = int(below.sum()), int(np.count_nonzero(below & false))
    if evidence.sigmas(each[below], np.arange(n)) < _SIGMAS:
        return None
    sentence = f"Leave out dim detections: of {n} below {limit:g} photons {100 * wrong / n:.0f} % are false."
    numbers = {"below_photons": limit, "detections": n, "false": 100 * wrong / n}
    return Remedy("threshold", sentence, float(each[below].sum()), numbers, pred=below)


def merged(evidence: Evidence) -> Remedy | None:
    """Detections that lie between two molecules, of which one is missed."""
    partner = evidence.costs.truth_partner
    rows = np.flatnonzero(evidence.missed & evidence.truth_open & (evidence.neighbour_row >= 0))
    other = evidence.neighbour_row[rows]
    shared = (partner[other] >= 0) & evidence.truth_open[other] & (evidence.neighbour[rows] < 2 * evidence.lam)
    rows, other = rows[shared], other[shared]
    if len(rows) == 0:
        return None
    matched = evidence.score.matched
    points = evidence.truth.points(matched.dim)
    way = points[rows] - points[other]
    off = matched.pred.points(matched.dim)[partner[other]] - points[other]
    length = np.sqrt(np.sum(way**2, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.sum(off * way, axis=1) / length**2
        aside = np.sqrt(np.maximum(np.sum(off**2, axis=1) / length**2 - along**2, 0.0))
    between = (along > _BETWEEN[0]) & (along < _BETWEEN[1]) & (aside < _ASIDE)
    opposite = (-along > _BETWEEN[0]) & (-along < _BETWEEN[1]) & (aside < _ASIDE)
    near, chance = int(between.sum()), int(opposite.sum())
    if near - chance < max(1.0, _SIGMAS * np.sqrt(near + chance)):
        return None
    both = np.zeros(len(evidence.truth), dtype=bool)
    both[rows[between]] = both[other[between]] = True
    costs = evidence.costs
    usual = _usual_error(evidence, ~both & evidence.truth_open)
    lost = (costs.missed + costs.displaced)[both].sum() - usual * costs.truth_mass[both].sum()
    low, high = np.quantile(length[between], [0.05, 0.95])
    found = f"{near} detections lie between two molecules that are {low:.0f} to {high:.0f} nm apart"
    numbers = {"detections": near, "from_nm": float(low), "to_nm": float(high)}
    return Remedy("merged", f"Split merged pairs: {found}.", float(lost) * (1 - chance / near), numbers, truth=both)


def bias(evidence: Evidence) -> Remedy | None:
    """A mean error of what was matched; its gain is that of the Flat Metric computed again without it."""
    score, matched = evidence.score, evidence.score.matched
    errors = matched.errors[:, : score.dim]
    flat = score.flat_result
    if len(errors) < 2 or flat is None or any(finding.kind == "shift" for finding in score.findings):
        return None
    molecule = evidence.molecule[matched.counted_in_kept]
    mean = errors.mean(axis=0)
    for axis in range(score.dim):
        sure = evidence.sigmas(np.sign(mean[axis]) * errors[:, axis], molecule) >= _SIGMAS
        mean[axis] = mean[axis] if sure else 0.0
    if not mean.any():
        return None
    threads = matched.threads
    true, found = evidence.truth.points(score.dim, threads), evidence.pred.points(score.dim, threads)
    scale = np.ones(score.dim) if score.axis_scale is None else np.asarray(score.axis_scale)
    pairs = flat.pairs
    moved = found[pairs.pred] - true[pairs.truth]
    without = np.sqrt(np.sum((scale * (moved - mean)) ** 2, axis=1))
    if float(np.sum(pairs.mass * (pairs.distance - without))) <= 0:
        return None  # already by the plan as it is, which a new one can only lower
    again = flat_metric(
        true,
        found - mean,
        lam=score.lam,
        truth_frames=evidence.truth.frame,
        pred_frames=evidence.pred.frame,
        axis_scale=score.axis_scale,
        threads=threads,
        **masses(evidence.truth, evidence.pred, score.weights),
    )
    numbers = {axis: float(size) for axis, size in zip("xyz", mean, strict=False) if size}
    shown = ", ".join(f"{axis} {size:+.1f}" for axis, size in numbers.items())
    return Remedy("bias", f"Subtract the bias of {shown} nm.", flat.value - again.value, numbers)


REMEDIES: tuple[Callable[[Evidence], Remedy | None], ...] = (
    edge,
    crowded,
    dim,
    depth,
    frames,
    hot_spots,
    repeated,
    threshold,
    merged,
    bias,
)
"""All that is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Molecules below a limit of some quantity that are missed too often: shares in percent, the gain in nm."""

    limit: float
    count: int
    share: float
    others: float
    gain: float
    rows: BoolArray

    def remedy(self, kind: str, sentence: str, limit: str) -> Remedy:
        numbers = {limit: self.limit, "molecules": self.count, "missed": self.share, "missed_elsewhere": self.others}
        return Remedy(kind, sentence, self.gain, numbers, truth=self.rows)


def _missed_below(evidence: Evidence, values: FloatArray, limits: list[float] | tuple[int, ...]) -> _Group | None:
    """The molecules below the limit at which finding them as often as the others gains most."""
    if len(limits) == 0 or len(values) == 0:
        return None
    opened, costs = evidence.truth_open, evidence.costs
    at = np.searchsorted(np.asarray(limits, dtype=np.float64), values, side="right")[opened]

    def below(column: FloatArray) -> tuple[FloatArray, float]:
        counted = np.bincount(at, column[opened], minlength=len(limits) + 1).astype(np.float64, copy=False)
        return np.cumsum(counted)[:-1], float(counted.sum())

    (mass, all_mass), (missed, all_missed) = below(costs.truth_mass), below(evidence.missed_mass)
    displaced, all_displaced = below(costs.displaced)
    rest, rest_missed = all_mass - mass, all_missed - missed
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = rest_missed / rest
        usual = (all_displaced - displaced) / (rest - rest_missed)
        gain = np.where(mass <= _LARGEST_GROUP * all_mass, (missed - rate * mass) * (evidence.lam - usual), -np.inf)
    gain = np.nan_to_num(gain, nan=-np.inf)
    if not gain.max() > 0:
        return None
    best = int(np.argmax(gain >= _NEARLY * gain.max()))
    rows = opened & (values < limits[best])
    excess = evidence.missed_mass[rows] - rate[best] * costs.truth_mass[rows]
    if evidence.sigmas(excess, evidence.molecule[rows]) < _SIGMAS:
        return None
    share, others = (100 * float(part) for part in (missed[best] / mass[best], rate[best]))
    return _Group(float(limits[best]), int(rows.sum()), share, others, float(gain[best]), rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Neighbouring bins, from `first` to before `last` (or all but these, if last <= first), that cost too much."""

    first: int
    last: int
    words: str
    gain: float
    truth: BoolArray
    pred: BoolArray | None

    def remedy(self, kind: str, sentence: str, numbers: dict[str, float]) -> Remedy:
        return Remedy(kind, sentence, self.gain, numbers, truth=self.truth, pred=self.pred)


def _costly(
    evidence: Evidence, truth_at: IntArray, pred_at: IntArray | None, bins: int, *, around: bool
) -> _Stretch | None:
    """The neighbouring bins whose cost exceeds that of the others by most; `around` joins the last to the first."""
    costs, opened, looked = evidence.costs, evidence.truth_open, evidence.pred_open
    own = costs.displaced + costs.missed
    cost = np.bincount(truth_at[opened], own[opened], minlength=bins)
    if pred_at is not None:
        cost = cost + np.bincount(pred_at[looked], costs.false[looked], minlength=bins)
    mass = np.bincount(truth_at[opened], costs.truth_mass[opened], minlength=bins)
    turns = 2 if around else 1
    cost_to, mass_to = (np.concatenate(([0.0], np.cumsum(np.tile(one, turns)))) for one in (cost, mass))
    first, last = (side.ravel() for side in np.meshgrid(np.arange(bins), np.arange(bins * turns + 1), indexing="ij"))
    inside = (last > first) & (last - first < bins)
    first, last = first[inside], last[inside]
    cost_in, mass_in = cost_to[last] - cost_to[first], mass_to[last] - mass_to[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (cost.sum() - cost_in) / (mass.sum() - mass_in)
    special = (mass_in <= _LARGEST_GROUP * mass.sum()) & (cost_in >= _TIMES * rate * mass_in)
    gain = np.where(special, cost_in - rate * mass_in, -np.inf)
    gain = np.nan_to_num(gain, nan=-np.inf, neginf=-np.inf)
    if not gain.max(initial=-np.inf) > 0:
        return None
    # The clearest, not the largest: a long stretch takes in what only by chance costs more.
    best = int(np.argmax(gain / np.sqrt(np.maximum(mass_in, mass.mean()))))
    start, end = int(first[best]), int(last[best]) % bins if last[best] > bins else int(last[best])
    chosen = np.zeros(bins, dtype=bool)
    chosen[np.arange(first[best], last[best]) % bins] = True
    truth = opened & chosen[truth_at]
    excess, molecule = own[truth] - rate[best] * costs.truth_mass[truth], evidence.molecule[truth]
    pred = None
    if pred_at is not None:
        pred = looked & chosen[pred_at]
        false = pred & evidence.false
        excess = np.concatenate([excess, costs.false[false]])
        alone = evidence.molecule.max(initial=-1) + 1 + np.arange(np.count_nonzero(false))
        molecule = np.concatenate([molecule, alone])
    if evidence.sigmas(excess, molecule) < _SIGMAS:
        return None
    words = "there are false detections and no molecules"
    if mass_in[best] > 0:
        words = f"a molecule costs {cost_in[best] / mass_in[best]:.0f} nm there, {rate[best]:.0f} nm elsewhere"
    return _Stretch(start, end, words, float(gain[best]), truth, pred)


def _usual_error(evidence: Evidence, rows: BoolArray) -> float:
    """By how much found molecules are displaced on average, nm."""
    costs = evidence.costs
    found = float((costs.truth_mass[rows] - evidence.missed_mass[rows]).sum())
    return float(costs.displaced[rows].sum()) / found if found > 0 else 0.0


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")
