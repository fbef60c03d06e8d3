"""What every molecule and every detection adds to the Flat Metric."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.matching.matched import Matched
from flatmetric.options.scoring import Weights
from flatmetric.scoring.masses import left_over, masses
from flatmetric.transport.result import FlatResult

NO_PARTNER = -1  # row number of no row


@dataclass(frozen=True, slots=True, eq=False)
class RowCosts:
    """What each row that counts adds to the Flat Metric, nm: true rows by being displaced or missed, detections by
    being false (NaN where the Flat Metric is undefined).

    `truth_mass` and `pred_mass` are the weights of the rows; the true ones add up to 1. `truth_partner` and
    `pred_partner` are the rows of the whole other table that exchange the most mass with each row, with the distance;
    -1 and NaN for none.
    """

    displaced: FloatArray
    missed: FloatArray
    false: FloatArray
    truth_mass: FloatArray
    pred_mass: FloatArray
    truth_partner: IntArray
    truth_distance: FloatArray
    pred_partner: IntArray
    pred_distance: FloatArray

    def of_truth(self) -> FloatArray:
        """What each true row costs per unit of its mass, nm: the distance it is moved, or lam."""
        return _per_mass(self.displaced + self.missed, self.truth_mass)

    def of_pred(self) -> FloatArray:
        """What each detection costs per unit of its mass, nm: 0 where a molecule is moved to it, or lam."""
        return _per_mass(self.false, self.pred_mass)


def _per_mass(cost: FloatArray, mass: FloatArray) -> FloatArray:
    each: FloatArray = np.divide(cost, mass, out=np.zeros(len(cost)), where=mass > 0)
    return each


def row_costs(matched: Matched, flat: FlatResult | None, weights: Weights) -> RowCosts:
    """The Flat Metric row by row, in the order of `matched.truth_kept` and `matched.pred_kept`.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> costs = fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125).costs
    >>> costs.displaced.tolist(), costs.missed.tolist(), costs.false.tolist()
    ([2.5, 0.0], [0.0, 62.5], [0.0])
    """
    n, m = len(matched.truth_kept), len(matched.pred_kept)
    if flat is None:
        empty, nobody, nan = np.zeros(0), np.full(m, NO_PARTNER), np.full(m, np.nan)
        return RowCosts(empty, empty, nan, empty, nan, np.zeros(0, dtype=np.int64), empty, nobody, nan)
    given = masses(matched.kept_truth, matched.kept_pred, weights)
    truth_mass, pred_mass = given.get("truth_weights", np.full(n, 1 / n)), given.get("pred_weights", np.full(m, 1 / n))
    pairs = flat.pairs
    moved, arrived = _summed(pairs.truth, pairs.mass, n), _summed(pairs.pred, pairs.mass, m)
    truth_partner, truth_distance = _partners(pairs.truth, pairs.pred, pairs.mass, pairs.distance, n)
    pred_partner, pred_distance = _partners(pairs.pred, pairs.truth, pairs.mass, pairs.distance, m)
    return RowCosts(
        displaced=_summed(pairs.truth, pairs.mass * pairs.distance, n),
        missed=flat.lam * left_over(truth_mass, moved),
        false=flat.lam * left_over(pred_mass, arrived),
        truth_mass=truth_mass,
        pred_mass=pred_mass,
        truth_partner=_whole_rows(truth_partner, matched.pred_kept, len(matched.pred)),
        truth_distance=truth_distance,
        pred_partner=_whole_rows(pred_partner, matched.truth_kept, len(matched.truth)),
        pred_distance=pred_distance,
    )


def _summed(rows: IntArray, values: FloatArray, count: int) -> FloatArray:
    return np.bincount(rows, values, minlength=count).astype(np.float64, copy=False)


def _partners(
    mine: IntArray, other: IntArray, mass: FloatArray, distance: FloatArray, count: int
) -> tuple[IntArray, FloatArray]:
    partner, far = np.full(count, NO_PARTNER, dtype=np.int64), np.full(count, np.nan)
    if len(mass) and (mass != mass[0]).any():
        order = np.argsort(mass, kind="stable")  # the heaviest is written last and stays
        mine, other, distance = mine[order], other[order], distance[order]
    partner[mine] = other
    far[mine] = distance
    return partner, far


def _whole_rows(partner: IntArray, rows: IntArray, count: int) -> IntArray:
    """Partners as rows of a whole table, of whose `count` rows some are kept."""
    if len(rows) in (0, count):
        return partner
    there = rows[partner]
    there[partner == NO_PARTNER] = NO_PARTNER
    return there
