"""Where a score comes from: frame by frame, molecule by molecule, and in bins of depth, photons, density or time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from flatmetric.comparison import counted_matches, rows_of
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.metrics.challenge import ChallengeScore, Counts, challenge_score, errors_of
from flatmetric.metrics.value import Undefined, Value
from flatmetric.result import FloatArray, IntArray
from flatmetric.scoring import Score, masses

Quantity = Literal["z", "photons", "density", "frame"]
QUANTITIES: dict[Quantity, str] = {
    "z": "z [nm]",
    "photons": "photons",
    "density": "true molecules in the frame",
    "frame": "frame",
}
Columns = dict[str, npt.NDArray[Any]]
_NOBODY = -1
_MOST_BINS = 1000
# Of a mass, what the rounding of a plan may leave behind.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RowCosts:
    """What each row that counts adds to the Flat Metric, nm: true rows by being displaced or missed, found ones by
    being false (NaN where the Flat Metric is undefined).

    `truth_partner` and `pred_partner` are the rows of the whole other table that most of the mass goes to, with the
    distance; -1 and NaN where it goes to nobody.
    """

    displaced: FloatArray
    missed: FloatArray
    false: FloatArray
    truth_partner: IntArray
    truth_distance: FloatArray
    pred_partner: IntArray
    pred_distance: FloatArray


def row_costs(score: Score) -> RowCosts:
    """The Flat Metric row by row, in the order of `score.compared.truth_counts` and `pred_counts`.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> costs = row_costs(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125))
    >>> costs.displaced.tolist(), costs.missed.tolist(), costs.false.tolist()
    ([2.5, 0.0], [0.0, 62.5], [0.0])
    """
    compared, flat = score.compared, score.flat_result
    n, m = len(compared.truth_counts), len(compared.pred_counts)
    if flat is None:
        nothing, nan = np.zeros(0), np.full(m, np.nan)
        nobody = np.full(m, _NOBODY)
        return RowCosts(nothing, nothing, nan, np.zeros(0, dtype=np.int64), nothing, nobody, nan)
    pairs = flat.pairs
    truth_mass, pred_mass = row_masses(score)
    moved, arrived = _summed(pairs.truth, pairs.mass, n), _summed(pairs.pred, pairs.mass, m)
    truth_partner, truth_distance = _partners(pairs.truth, pairs.pred, pairs.mass, pairs.distance, n)
    pred_partner, pred_distance = _partners(pairs.pred, pairs.truth, pairs.mass, pairs.distance, m)
    return RowCosts(
        displaced=_summed(pairs.truth, pairs.mass * pairs.distance, n),
        missed=score.lam * _left(truth_mass, moved),
        false=score.lam * _left(pred_mass, arrived),
        truth_partner=_whole_rows(truth_partner, compared.pred_counts),
        truth_distance=truth_distance,
        pred_partner=_whole_rows(pred_partner, compared.truth_counts),
        pred_distance=pred_distance,
    )


def row_masses(score: Score) -> tuple[FloatArray, FloatArray]:
    """The weight of every true and every found row that counts; the true ones add up to 1.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> row_masses(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))[1]
    array([0.5])
    """
    compared = score.compared
    n, m = len(compared.truth_counts), len(compared.pred_counts)
    if n == 0:
        return np.empty(0), np.full(m, np.nan)
    sides = rows_of(compared.truth, compared.truth_counts), rows_of(compared.pred, compared.pred_counts)
    given = masses(*sides, score.weights)
    return given.get("truth_weights", np.full(n, 1 / n)), given.get("pred_weights", np.full(m, 1 / n))


def _summed(rows: IntArray, values: FloatArray, count: int) -> FloatArray:
    return np.bincount(rows, values, minlength=count).astype(np.float64, copy=False)


def _left(mass: FloatArray, gone: FloatArray) -> FloatArray:
    left = mass - gone
    return np.where(left > _ROUNDING * mass, left, 0.0)


def _partners(
    mine: IntArray, other: IntArray, mass: FloatArray, distance: FloatArray, count: int
) -> tuple[IntArray, FloatArray]:
    partner, far = np.full(count, _NOBODY, dtype=np.int64), np.full(count, np.nan)
    order = np.argsort(mass, kind="stable")  # the heaviest is written last and stays
    partner[mine[order]] = other[order]
    far[mine[order]] = distance[order]
    return partner, far


def _whole_rows(partner: IntArray, rows: IntArray) -> IntArray:
    return np.where(partner >= 0, rows[np.clip(partner, 0, None)] if len(rows) else _NOBODY, _NOBODY)


def per_frame(score: Score) -> Columns:
    """Counts and the parts of the Flat Metric (nm, adding up to it) for every frame that has a row that counts.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> frames = per_frame(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125))
    >>> frames["frame"].tolist(), frames["fn"].tolist(), frames["flat_metric"].tolist()
    ([1, 2], [0, 1], [2.5, 62.5])
    """
    compared = score.compared
    true, found = compared.truth.frame[compared.truth_counts], compared.pred.frame[compared.pred_counts]
    frames = np.unique(np.concatenate((true, found)))
    n_truth = np.bincount(np.searchsorted(frames, true), minlength=len(frames))
    n_pred = np.bincount(np.searchsorted(frames, found), minlength=len(frames))
    matched = compared.truth.frame[counted_matches(compared).truth]
    tp = np.bincount(np.searchsorted(frames, matched), minlength=len(frames))
    columns: Columns = {
        "frame": frames,
        "n_truth": n_truth,
        "n_pred": n_pred,
        "tp": tp,
        "fp": n_pred - tp,
        "fn": n_truth - tp,
    }
    flat = score.flat_result
    if flat is not None and flat.frames is not None:
        parts = flat.frames
        columns |= {
            "flat_metric": parts.value,
            "displaced": parts.displaced,
            "missed": parts.missed,
            "false": parts.false,
        }
    return columns


def averaged_frames(score: Score, most: int) -> tuple[IntArray, dict[str, FloatArray], int]:
    """What a frame costs, nm summed over its molecules, in its three parts; of a long movie the means of neighbours.

    Returns the first frame of each group, the parts, and how many frames are in a group, so that there are at most
    `most` groups; no parts where the Flat Metric is undefined.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> frames, parts, together = averaged_frames(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125), 1)
    >>> frames.tolist(), parts["missed"].tolist(), together
    ([1], [62.5], 2)
    """
    table = per_frame(score)
    frames = table["frame"]
    together = max(1, -(-len(frames) // most))
    starts = np.arange(0, len(frames), together)
    counts = np.diff(np.append(starts, len(frames)))
    molecules = len(score.compared.truth_counts)
    parts: dict[str, FloatArray] = {
        part: np.add.reduceat(table[part], starts) / counts * molecules
        for part in ("displaced", "missed", "false")
        if part in table
    }
    return frames[starts], parts, together


def per_molecule(score: Score) -> Columns:
    """Every true molecule and every detection: whom it was matched with, what it costs, which part, its potential.

    Rows are numbered from 0 as in the tables, -1 is nobody. `cost_nm` is what the row adds to the Flat Metric; over all
    rows it adds up to it. `part` is displaced, missed, false or moved (a detection that a molecule was carried to),
    or why the row does not count: outside (of the border or the frame limits), dont-care.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> rows = per_molecule(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125))
    >>> rows["side"].tolist(), rows["part"].tolist(), rows["cost_nm"].tolist()
    (['truth', 'truth', 'pred'], ['displaced', 'missed', 'moved'], [2.5, 62.5, 0.0])
    """
    compared = score.compared
    costs = row_costs(score)
    flat = score.flat_result
    truth_side = _side(
        compared.truth,
        "truth",
        compared.truth_rows,
        compared.truth_counts,
        (compared.matches.truth, compared.matches.pred, compared.matches.distance),
        cost=costs.displaced + costs.missed,
        part=np.where(costs.truth_partner >= 0, "displaced", "missed"),
        partner=(costs.truth_partner, costs.truth_distance),
        potential=None if flat is None else flat.truth_potential,
    )
    pred_side = _side(
        compared.pred,
        "pred",
        compared.pred_rows,
        compared.pred_counts,
        (compared.matches.pred, compared.matches.truth, compared.matches.distance),
        cost=costs.false,
        part=np.where(costs.pred_partner >= 0, "moved", "false"),
        partner=(costs.pred_partner, costs.pred_distance),
        potential=None if flat is None else flat.pred_potential,
    )
    return {name: np.concatenate((truth_side[name], pred_side[name])) for name in truth_side}


def _side(
    table: Localizations,
    side: str,
    rows: IntArray,
    counts: IntArray,
    matches: tuple[IntArray, IntArray, FloatArray],
    *,
    cost: FloatArray,
    part: npt.NDArray[np.str_],
    partner: tuple[IntArray, FloatArray],
    potential: FloatArray | None,
) -> Columns:
    n = len(table)

    def spread(values: Any, at: IntArray, empty: Any, kind: Any) -> npt.NDArray[Any]:
        column = np.full(n, empty, dtype=kind)
        column[at] = values
        return column

    status = spread("dont-care", rows, "outside", "U9")
    status[counts] = part
    missing = np.full(n, np.nan)
    return {
        "side": np.full(n, side),
        "row": np.arange(n),
        "frame": table.frame,
        "x_nm": table.x,
        "y_nm": table.y,
        "z_nm": missing if table.z is None else table.z,
        "photons": missing if table.photons is None else table.photons,
        "part": status,
        "cost_nm": spread(cost, counts, np.nan, float),
        "matched_row": spread(matches[1], matches[0], _NOBODY, np.int64),
        "matched_distance_nm": spread(matches[2], matches[0], np.nan, float),
        "plan_row": spread(partner[0], counts, _NOBODY, np.int64),
        "plan_distance_nm": spread(partner[1], counts, np.nan, float),
        "potential_nm": missing if potential is None else spread(potential, counts, np.nan, float),
    }


def matched_errors(score: Score) -> FloatArray:
    """Found minus true of every matched molecule that counts, (k, 3) in nm.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    >>> matched_errors(score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    array([[3., 4., 0.]])
    """
    matches = counted_matches(score.compared)
    return errors_of(score.compared.truth, score.compared.pred, matches.truth, matches.pred)


@dataclass(frozen=True, slots=True)
class Bin:
    """Every score of the molecules in one bin, from `low` to `high` (the last bin includes its end)."""

    low: float
    high: float
    n_truth: int
    n_pred: int
    challenge: ChallengeScore
    flat_metric: Value
    displaced: Value
    missed: Value
    false: Value


def by(score: Score, quantity: Quantity, bins: int = 10) -> list[Bin]:
    """Scores in bins of depth (nm), photons, density (true molecules in the frame) or frame number.

    A molecule belongs to the bin of its own value, a matched detection to that of its molecule, another detection to
    that of its own value. Depth and frames have bins of equal width, photons and density of about equally many
    molecules.

    Examples
    --------
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> s = score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125)
    >>> [(b.n_truth, b.flat_metric) for b in by(s, "frame", bins=2)]
    [(1, 5.0), (1, 125.0)]
    """
    if quantity not in get_args(Quantity):
        raise InputError(f"scores can't be binned by {quantity!r}; give {', '.join(get_args(Quantity))}")
    if not 1 <= bins <= _MOST_BINS:
        raise InputError(f"the number of bins is {bins}; give 1 to {_MOST_BINS}")
    compared = score.compared
    matches = counted_matches(compared)
    if len(compared.truth_counts) == 0:
        return []
    true, found = _quantities(score, quantity)
    edges = _edges(true[compared.truth_counts], quantity, bins)
    truth_bin = np.clip(np.searchsorted(edges, true, side="right") - 1, 0, len(edges) - 2)
    pred_bin = np.clip(np.searchsorted(edges, found, side="right") - 1, 0, len(edges) - 2)
    pred_bin[matches.pred] = truth_bin[matches.truth]
    costs = row_costs(score)
    masses = row_masses(score)[0]
    return [
        _bin(score, costs, masses, truth_bin, pred_bin, k, (float(edges[k]), float(edges[k + 1])))
        for k in range(len(edges) - 1)
    ]


def _quantities(score: Score, quantity: Quantity) -> tuple[FloatArray, FloatArray]:
    truth, pred = score.compared.truth, score.compared.pred
    if quantity == "frame":
        return truth.frame.astype(np.float64), pred.frame.astype(np.float64)
    if quantity == "density":
        frames, counts = np.unique(truth.frame[score.compared.truth_counts], return_counts=True)
        sides = []
        for table in (truth, pred):
            place = np.clip(np.searchsorted(frames, table.frame), 0, len(frames) - 1)
            sides.append(np.where(frames[place] == table.frame, counts[place], 0).astype(np.float64))
        return sides[0], sides[1]
    true, found = getattr(truth, quantity), getattr(pred, quantity)
    if true is None or found is None:
        lacking = truth if true is None else pred
        raise InputError(f"{lacking.provenance.file or 'a table'}: it has no {quantity} to bin by")
    return true, found


def _edges(values: FloatArray, quantity: Quantity, bins: int) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low, high])
    if quantity == "z":
        return np.linspace(low, high, bins + 1)
    if quantity == "frame":
        return np.unique(np.round(np.linspace(low, high + 1, bins + 1)))
    edges = np.unique(np.quantile(values, np.linspace(0, 1, bins + 1)))
    return edges if len(edges) > 1 else np.array([low, high])


def _bin(
    score: Score,
    costs: RowCosts,
    masses: FloatArray,
    truth_bin: IntArray,
    pred_bin: IntArray,
    k: int,
    limits: tuple[float, float],
) -> Bin:
    compared = score.compared
    true, found = truth_bin[compared.truth_counts] == k, pred_bin[compared.pred_counts] == k
    matches = counted_matches(compared)
    here = truth_bin[matches.truth] == k
    rows = matches.truth[here], matches.pred[here]
    tp = len(rows[0])
    true_photons, found_photons = compared.truth.photons, compared.pred.photons
    challenge = challenge_score(
        Counts(tp, int(found.sum()) - tp, int(true.sum()) - tp),
        errors_of(compared.truth, compared.pred, *rows),
        (
            None if true_photons is None else true_photons[rows[0]],
            None if found_photons is None else found_photons[rows[1]],
        ),
        dim=score.dim,
        alpha_xy=score.alpha[0],
        alpha_z=score.alpha[1],
    )
    mass = float(masses[true].sum())
    parts = [float(costs.displaced[true].sum()), float(costs.missed[true].sum()), float(costs.false[found].sum())]
    values: list[Value] = [part / mass if mass > 0 else Undefined("no true molecule in this bin") for part in parts]
    whole: Value = sum(parts) / mass if mass > 0 else values[0]
    return Bin(*limits, int(true.sum()), int(found.sum()), challenge, whole, *values)
