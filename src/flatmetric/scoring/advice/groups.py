"""Molecules that are missed more often than others: near the edge, in a crowd, or dim.

What finding them would gain follows from the plan: a detection added at a missed molecule takes lam off, less its own
error, since the plan with it is optimal again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.scoring.advice.evidence import NEARLY, ROUND, SIGMAS, Evidence, Remedy, sigmas

_FEWEST_OTHERS = 30  # rows to compare a group with
_QUANTILES = 40  # candidate limits: steps of 2.5 % of the molecules


def edge(evidence: Evidence) -> Remedy | None:
    """Molecules near the edge of the field that are missed more often than others."""
    distance = evidence.to_edge
    reach = float(np.max(distance, initial=0.0)) / 2
    group = _missed_below(evidence, distance, [width for width in ROUND if width <= reach], largest=0.6)
    if group is None:
        return None
    share = f"{group.share:.0f} % of the {group.count} within {group.limit:g} nm of it are missed"
    sentence = f"Find molecules near the edge: {share}, {group.others:.0f} % of the others."
    return group.remedy("edge", sentence, "within_nm")


def crowded(evidence: Evidence) -> Remedy | None:
    """Molecules with a near neighbour that are missed more often than others; they may be nearly all."""
    group = _missed_below(evidence, evidence.neighbour, ROUND, largest=0.98)
    if group is None:
        return None
    share = f"{group.share:.0f} % of the {group.count} with a neighbour closer than {group.limit:g} nm are missed"
    sentence = f"Tell crowded molecules apart: {share}, {group.others:.0f} % of the others."
    return group.remedy("crowded", sentence, "closer_than_nm")


def dim(evidence: Evidence) -> Remedy | None:
    """Molecules with few photons that are missed more often than others."""
    photons = evidence.truth.photons
    if photons is None or len(photons) == 0:
        return None
    limits = np.quantile(np.sort(photons), np.linspace(0, 1, _QUANTILES + 1)[1:-1])
    rounded = sorted({float(f"{limit:.2g}") for limit in limits.tolist() if limit > 0})
    group = _missed_below(evidence, photons, rounded, largest=0.6)
    if group is None:
        return None
    share = f"{group.share:.0f} % of the {group.count} below {group.limit:g} photons are missed"
    sentence = f"Find dim molecules: {share}, {group.others:.0f} % of the brighter ones."
    return group.remedy("dim", sentence, "below_photons")


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Molecules below a limit of some quantity that are missed too often: shares of rows in percent, the gain in nm."""

    limit: float
    count: int
    share: float
    others: float
    gain: float
    rows: BoolArray

    def remedy(self, kind: str, sentence: str, limit: str) -> Remedy:
        numbers = {limit: self.limit, "molecules": self.count, "missed": self.share, "missed_elsewhere": self.others}
        return Remedy(kind, sentence, self.gain, numbers, truth=self.rows)


def _missed_below(evidence: Evidence, values: FloatArray, limits: Sequence[float], *, largest: float) -> _Group | None:
    """The molecules below the limit at which finding them as often as the others gains most.

    Limits, gain and standard error are of the rows that nothing explains yet; the shares, which the sentence gives, are
    of all rows.
    """
    if len(limits) == 0 or len(values) == 0:
        return None
    opened, costs = evidence.truth_open, evidence.costs
    summed = evidence.sums_in_bins(
        values, np.array(limits, dtype=np.float64), opened, costs.truth_mass, evidence.missed_mass, costs.displaced
    )
    rows_below, mass, missed, displaced = np.cumsum(summed, axis=1)[:, :-1]
    all_rows, all_mass, all_missed, all_displaced = summed.sum(axis=1)
    rest, rest_missed = all_mass - mass, all_missed - missed
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.maximum(rest_missed / rest, 0.0)
        usual = np.maximum(all_displaced - displaced, 0.0) / (rest - rest_missed)
        gain = (missed - rate * mass) * (evidence.lam - usual)
    allowed = (mass <= largest * all_mass) & (all_rows - rows_below >= _FEWEST_OTHERS)
    gain = np.nan_to_num(np.where(allowed, gain, -np.inf), nan=-np.inf, neginf=-np.inf)
    best = int(np.argmax(gain >= NEARLY * gain.max()))
    if gain[best] < evidence.least:
        return None
    inside = values < limits[best]
    if _standard_errors(evidence, opened & inside, opened & ~inside, float(rate[best])) < SIGMAS:
        return None
    share, others = (100 * float(evidence.missed[rows].mean()) for rows in (inside, ~inside))
    if share <= others:
        return None  # only among what is left; as a sentence it would be untrue
    return _Group(float(limits[best]), int(inside.sum()), share, others, float(gain[best]), opened & inside)


def _standard_errors(evidence: Evidence, group: BoolArray, rest: BoolArray, rate: float) -> float:
    """By how many standard errors a group is missed more often, the uncertainty of the rest included."""
    mass, missed = evidence.costs.truth_mass, evidence.missed_mass
    excess = missed - rate * mass
    excess = np.where(group, excess, np.where(rest, -excess * mass[group].sum() / mass[rest].sum(), 0.0))
    either = group | rest
    return sigmas(excess[either], evidence.molecule[either], evidence.tile[either])
