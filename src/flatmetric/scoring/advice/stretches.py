"""Ranges in which a program fails: of depths, or of frames."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.scoring.advice.evidence import SIGMAS, Evidence, Remedy, sigmas

_LARGEST_PART = 0.6  # of all molecules: a larger range is not a special case
_TIMES = 1.25  # as much as elsewhere it must cost
_LAYERS = 24  # candidate limits of depth: about 50 nm apart in a usual range of 1200 nm
_STRETCHES = 40  # candidate limits: steps of 2.5 % of the frames
_TINY = float(np.finfo(float).tiny)


def depth(evidence: Evidence) -> Remedy | None:
    """Depths in which a molecule costs more than elsewhere."""
    z = evidence.truth.z
    if z is None or len(z) == 0:
        return None
    low, high = np.quantile(z, [0.001, 0.999]).tolist()
    if not low < high:
        return None
    edges = np.unique(np.round(np.linspace(low, high, _LAYERS + 1), -1))[1:-1].astype(np.float64)
    bins = len(edges) + 1
    own = _Counted.molecules(evidence, z, edges)
    stretch = _worst(own.cost, own.exposure, around=True)
    if stretch is None or stretch.gain < evidence.least:
        return None
    if sigmas(own.excess(stretch), evidence.molecule, evidence.tile) < SIGMAS:
        return None
    bounds = [None if at in (0, bins) else float(edges[at - 1]) for at in (stretch.first, stretch.last)]
    match bounds:
        case [None, float(below)]:
            where, numbers = f"below {below:.0f} nm", {"below_nm": below}
        case [float(above), None]:
            where, numbers = f"above {above:.0f} nm", {"above_nm": above}
        case [float(above), float(below)] if stretch.first < stretch.last:
            where, numbers = f"from {above:.0f} to {below:.0f} nm", {"above_nm": above, "below_nm": below}
        case [float(above), float(below)]:
            where, numbers = f"below {below:.0f} and above {above:.0f} nm", {"below_nm": below, "above_nm": above}
        case _:
            return None
    there, elsewhere = own.means(stretch)
    sentence = f"Look at depths {where}: a molecule costs {there:.0f} nm there, {elsewhere:.0f} nm elsewhere."
    return Remedy("depth", sentence, stretch.gain, numbers, truth=own.rows_in(stretch))


def frames(evidence: Evidence) -> Remedy | None:
    """A stretch of frames in which molecules cost more than in others, or in which more detections are false.

    Molecules are compared by what one costs, false detections by their number in a frame: that there are fewer
    molecules in a stretch makes it no worse.
    """
    frame, pred_frame = evidence.truth.frame, evidence.pred.frame
    low, high = int(frame.min()), int(frame.max())
    low, high = int(pred_frame.min(initial=low)), int(pred_frame.max(initial=high))
    edges = np.unique(np.round(np.linspace(low, high + 1, _STRETCHES + 1)))[1:-1]
    if len(edges) < 3:
        return None
    starts = np.array([low, *edges.astype(np.int64).tolist(), high + 1])
    own = _Counted.molecules(evidence, frame.astype(np.float64), edges)
    false = _Counted.false(evidence, pred_frame.astype(np.float64), edges, np.diff(starts))
    # Of both together, each against its own exposure: one cost with one rate.
    rates = [part.cost.sum() / max(part.exposure.sum(), _TINY) for part in (own, false)]
    expected = rates[0] * own.exposure + rates[1] * false.exposure
    stretch = _worst(own.cost + false.cost, expected, around=False)
    if stretch is None or stretch.gain < evidence.least:
        return None
    excess = np.concatenate([own.excess(stretch), false.excess(stretch)])
    units = np.concatenate([evidence.molecule, evidence.molecule.max() + 1 + evidence.place])
    moments = np.unique(np.concatenate([frame, pred_frame]), return_inverse=True)[1].ravel()
    if sigmas(excess, units, moments) < SIGMAS:
        return None
    first, last = int(starts[stretch.first]), int(starts[stretch.last] - 1)
    reasons = []
    there, elsewhere = own.means(stretch)
    if there > elsewhere:
        reasons.append(f"a molecule costs {there:.0f} nm there, {elsewhere:.0f} nm elsewhere")
    there, elsewhere = (false.in_a_frame(bins, evidence) for bins in (stretch.inside, ~stretch.inside))
    if there > elsewhere:
        reasons.append(f"{there:.2g} false detections in a frame, {elsewhere:.2g} elsewhere")
    return Remedy(
        "frames",
        f"Look at frames {first} to {last}: {'; '.join(reasons)}.",
        stretch.gain,
        {"first_frame": first, "last_frame": last},
        truth=own.rows_in(stretch),
        pred=false.rows_in(stretch),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Stretch:
    """Neighbouring bins that cost too much, from `first` to before `last`; around the ends if last is not larger."""

    first: int
    last: int
    inside: BoolArray
    gain: float


@dataclass(frozen=True, eq=False)
class _Counted:
    """What rows cost in bins, and what the cost is to be compared with: their weight, or a number of frames.

    `each` is what every row costs and `mass` its part of the exposure, where it is `opened`.
    """

    values: FloatArray
    edges: FloatArray
    opened: BoolArray
    each: FloatArray
    mass: FloatArray | None
    cost: FloatArray
    exposure: FloatArray

    @classmethod
    def molecules(cls, evidence: Evidence, values: FloatArray, edges: FloatArray) -> _Counted:
        costs, opened = evidence.costs, evidence.truth_open
        each, mass = costs.displaced + costs.missed, costs.truth_mass
        _, cost, exposure = evidence.sums_in_bins(values, edges, opened, each, mass)
        return cls(values, edges, opened, each, mass, cost, exposure)

    @classmethod
    def false(cls, evidence: Evidence, values: FloatArray, edges: FloatArray, frames: IntArray) -> _Counted:
        opened, each = evidence.pred_open, evidence.costs.false
        _, cost = evidence.sums_in_bins(values, edges, opened, each)
        return cls(values, edges, opened, each, None, cost, frames.astype(np.float64))

    @cached_property
    def at(self) -> IntArray:
        """The bin of every row."""
        return np.searchsorted(self.edges, self.values, side="right")

    def rows_in(self, stretch: _Stretch) -> BoolArray:
        """The rows of a stretch that nothing explains yet."""
        return stretch.inside[self.at] & self.opened

    def excess(self, stretch: _Stretch) -> FloatArray:
        """By how much each row exceeds what the rest lets expect, the uncertainty of the rest included."""
        inside, rest = stretch.inside, ~stretch.inside
        exposed = max(float(self.exposure[rest].sum()), _TINY)
        each = np.where(self.opened, self.each, 0.0)
        if self.mass is not None:
            each -= np.where(self.opened, self.mass, 0.0) * float(self.cost[rest].sum()) / exposed
        within: FloatArray = np.where(inside[self.at], each, -each * float(self.exposure[inside].sum()) / exposed)
        return within

    def means(self, stretch: _Stretch) -> tuple[float, float]:
        """Cost for each unit of exposure inside and elsewhere."""
        sides = (stretch.inside, ~stretch.inside)
        inside, rest = (float(self.cost[side].sum() / max(self.exposure[side].sum(), _TINY)) for side in sides)
        return inside, rest

    def in_a_frame(self, bins: BoolArray, evidence: Evidence) -> float:
        """False detections in a frame of some bins, on average."""
        rows = np.count_nonzero(bins[self.at] & evidence.false & self.opened)
        return float(rows / max(self.exposure[bins].sum(), 1.0))


def _worst(cost: FloatArray, exposure: FloatArray, *, around: bool) -> _Stretch | None:
    """The neighbouring bins that exceed the others most clearly; `around` joins the last to the first."""
    bins, turns = len(cost), 2 if around else 1
    cost_to, exposed_to = (np.concatenate(([0.0], np.cumsum(np.tile(one, turns)))) for one in (cost, exposure))
    first, last = (side.ravel() for side in np.meshgrid(np.arange(bins), np.arange(bins * turns + 1), indexing="ij"))
    proper = (last > first) & (last - first < bins)
    first, last = first[proper], last[proper]
    inside, exposed = cost_to[last] - cost_to[first], exposed_to[last] - exposed_to[first]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = (cost.sum() - inside) / (exposure.sum() - exposed)
    special = (exposed <= _LARGEST_PART * exposure.sum()) & (inside >= _TIMES * rate * exposed)
    gain = np.nan_to_num(np.where(special, inside - rate * exposed, -np.inf), nan=-np.inf, neginf=-np.inf)
    if not gain.max(initial=-np.inf) > 0:
        return None
    # The clearest, not the largest: a long stretch takes in what only by chance costs more.
    best = int(np.argmax(gain / np.sqrt(np.maximum(exposed, exposure.mean()))))
    chosen = np.zeros(bins, dtype=bool)
    chosen[np.arange(first[best], last[best]) % bins] = True
    end = int(last[best]) if last[best] <= bins else int(last[best]) % bins
    return _Stretch(int(first[best]), end, chosen, float(gain[best]))
