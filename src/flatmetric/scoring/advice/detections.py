"""Detections that should not be there: in hot spots, beside a molecule that has one already, or dim.

What removing them gains is exact: a detection without a partner adds lam to the cost of the optimal plan, and the plan
without it stays optimal.
"""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.scoring.advice.evidence import NEARLY, ROUND, SIGMAS, Evidence, Remedy, sigmas

_QUANTILES = 40  # candidate limits: steps of 2.5 % of the rows
_CELL = 100.0  # nm, of the map of false detections
_FEWEST_IN_A_SPOT = 5  # frames: fewer repeats happen by chance
_BY_CHANCE = 1e-8  # probability of a hot spot
_AROUND = [(i, j) for i in range(-3, 4) for j in range(-3, 4) if max(abs(i), abs(j)) > 1]  # the spot itself left out
_TOUCHING = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
_MOSTLY = 0.5  # a threshold helps where more than half of what it removes is false


def hot_spots(evidence: Evidence) -> Remedy | None:
    """Places with false detections in many frames, far from any molecule of these frames."""
    alone = evidence.false & evidence.pred_open & (evidence.to_truth > evidence.lam)
    rows = np.flatnonzero(alone)
    if len(rows) < _FEWEST_IN_A_SPOT or evidence.costs.false[rows].sum() < evidence.least:
        return None
    x, y, frame = evidence.pred.x[rows], evidence.pred.y[rows], evidence.pred.frame[rows]
    extent = evidence.score.matched.truth.extent
    width, height = (max(high - low, _CELL) / _CELL for low, high in (extent["x"], extent["y"]))
    spot = _spots(np.floor(x / _CELL), np.floor(y / _CELL), len(rows) / (width * height))
    # One bad frame is not a place.
    in_spot = spot > 0
    seen = np.unique(np.column_stack([spot, frame])[in_spot], axis=0)[:, 0]
    lasting = np.bincount(seen, minlength=int(np.max(spot, initial=0)) + 1) >= _FEWEST_IN_A_SPOT
    inside = in_spot & lasting[spot]
    if not inside.any():
        return None
    sizes = np.bincount(spot[inside])
    worst, places, n = int(sizes.argmax()), int(np.count_nonzero(sizes)), int(inside.sum())
    middle = float(np.median(x[spot == worst])), float(np.median(y[spot == worst]))
    named = "one place" if places == 1 else f"{places} places, the worst"
    where = f"{named} at x {middle[0]:.0f}, y {middle[1]:.0f} nm"
    spoiled = np.zeros(len(evidence.pred), dtype=bool)
    spoiled[rows[inside]] = True
    gain = float(evidence.costs.false[spoiled].sum())
    if gain < evidence.least:
        return None
    return Remedy(
        "hot_spots",
        f"Remove false hot spots: {n} false detections come from {where}.",
        gain,
        {"places": places, "detections": n, "x_nm": middle[0], "y_nm": middle[1]},
        pred=spoiled,
    )


def _spots(i: FloatArray, j: FloatArray, usual: float) -> IntArray:
    """The spot of each row, from 1, given its cell: hot cells that touch, with the cells around them; 0 for none.

    A cell is hot if it holds far more than `usual`, and than the cells around it.
    """
    cells, at, count = np.unique(i + 1j * j, return_inverse=True, return_counts=True)
    held = {(cell.real, cell.imag): k for k, cell in enumerate(cells.tolist())}

    def beside(cell: tuple[float, float], steps: list[tuple[int, int]]) -> list[int]:
        places = [held.get((cell[0] + di, cell[1] + dj)) for di, dj in steps]
        return [k for k in places if k is not None]

    hot = set()
    for k in np.flatnonzero(_beyond_chance(count, np.full(len(count), usual))).tolist():
        cell = (cells[k].real, cells[k].imag)
        around = count[beside(cell, _AROUND)].sum() / len(_AROUND)
        if count[k] >= _FEWEST_IN_A_SPOT and _beyond_chance(count[[k]], np.array([max(around, usual)]))[0]:
            hot.add(k)
    number, spots = np.zeros(len(cells), dtype=np.int64), 0
    for start in sorted(hot):
        if number[start]:
            continue
        spots += 1
        left = [start]
        while left:
            for k in beside((cells[left[0]].real, cells[left.pop(0)].imag), _TOUCHING):
                if number[k] != spots:
                    number[k] = spots  # a spot may reach into the next cell
                    left += [k] if k in hot else []
    spot: IntArray = number[at.ravel()]
    return spot


def _beyond_chance(count: IntArray, expected: FloatArray) -> BoolArray:
    """Whether counts are too large to be chance, by Chernoff's bound on the tail of Poisson's distribution."""
    logarithm = count - expected + count * np.log(expected / count)
    beyond: BoolArray = (count > expected) & (logarithm < np.log(_BY_CHANCE))
    return beyond


def repeated(evidence: Evidence) -> Remedy | None:
    """False detections next to a molecule that has another detection already."""
    looked = evidence.false & evidence.pred_open
    if evidence.costs.false[looked & (evidence.to_truth < evidence.lam)].sum() < evidence.least:
        return None
    limits = np.array([limit for limit in (10, 20, 30, 40, *ROUND[1:]) if limit <= evidence.lam])
    near, chance = (
        np.array([np.count_nonzero(distance[looked] < limit) for limit in limits])
        for distance in (evidence.to_truth, evidence.to_truth_by_chance)
    )
    excess = np.where(near - chance >= np.maximum(1.0, SIGMAS * np.sqrt(near + chance)), near - chance, 0)
    if not excess.any():
        return None
    limit = float(limits[np.argmax(excess >= NEARLY * excess.max())])
    rows, by_chance = (looked & (distance < limit) for distance in (evidence.to_truth, evidence.to_truth_by_chance))
    gain = float(evidence.costs.false[rows].sum())
    if gain < evidence.least or sigmas(rows.astype(np.float64) - by_chance, evidence.place) < SIGMAS:
        return None
    n = int(np.count_nonzero(rows))
    sentence = f"Remove repeated detections: {n} lie within {limit:g} nm of a molecule that has another one already."
    numbers = {"detections": n, "within_nm": limit}
    return Remedy("repeated", sentence, gain, numbers, pred=rows)


def threshold(evidence: Evidence) -> Remedy | None:
    """Detections with few photons, most of which are false; the gain is what is left after losing the true ones."""
    photons, false = evidence.pred.photons, evidence.false & evidence.pred_open
    if photons is None or evidence.costs.false[false].sum() < evidence.least:
        return None
    limits = _limits(photons, photons[false])
    if len(limits) == 0:
        return None
    # What losing a matched detection costs: its molecule is missed then, unless another one takes it.
    costs = evidence.costs
    kept = costs.pred_mass * (evidence.lam - costs.pred_distance)
    each = costs.false - np.where(costs.pred_partner >= 0, kept, 0.0)
    of_false = evidence.sums_in_bins(photons, limits, false)
    of_open = evidence.sums_in_bins(photons, limits, evidence.pred_open, each)
    (wrong,), (rows, gained) = (np.cumsum(summed, axis=1)[:, :-1] for summed in (of_false, of_open))
    gains = np.where(wrong > _MOSTLY * rows, gained, 0.0)
    if gains.max() < evidence.least:
        return None
    limit = float(limits[np.argmax(gains >= NEARLY * gains.max())])
    inside = evidence.pred_open & (photons < limit)
    gain = float(each[inside].sum())
    if gain < evidence.least or sigmas(each[inside], evidence.place[inside]) < SIGMAS:
        return None
    everything = photons < limit
    n, share = int(everything.sum()), 100 * float(evidence.false[everything].mean())
    sentence = f"Leave out dim detections: {share:.0f} % of the {n} below {limit:g} photons are false."
    numbers = {"below_photons": limit, "detections": n, "false": share}
    return Remedy("threshold", sentence, gain, numbers, pred=inside)


def _limits(photons: FloatArray, of_false: FloatArray) -> FloatArray:
    """Limits to try: above quantiles of the false ones, and rounded where they stay above."""
    known = np.sort(photons)
    limits = set()
    for value in np.quantile(of_false, np.linspace(0, 1, _QUANTILES + 1), method="lower"):
        following = known[np.searchsorted(known, value, side="right") :]
        if len(following) == 0:
            continue  # nothing is brighter
        middle = float(value + following[0]) / 2
        short = [float(f"{middle:.{digits}g}") for digits in (2, 3)]
        limits.add(next((limit for limit in short if limit > value), middle))
    return np.array(sorted(limits))
