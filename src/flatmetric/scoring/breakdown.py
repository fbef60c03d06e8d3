"""Where a score comes from: frame by frame, molecule by molecule, and in bins of depth, photons, density or time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matcher import neighbours
from flatmetric.metrics.base import Sums, evaluate
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.match_sums import MatchedRows, sum_matches
from flatmetric.options.scoring import BINS, plain
from flatmetric.scoring.row_costs import NO_PARTNER

if TYPE_CHECKING:
    from flatmetric.scoring.score import Score

Quantity = Literal["z", "photons", "density", "neighbour", "frame"]
QUANTITIES: dict[Quantity, str] = {
    "z": "z [nm]",
    "photons": "photons",
    "density": "true molecules in the frame",
    "neighbour": "distance to the nearest other molecule [nm]",
    "frame": "frame",
}
Columns = dict[str, npt.NDArray[Any]]
_MOST_BINS = 1000  # more rows than anyone reads; a typo otherwise


def per_frame(score: Score) -> Columns:
    """Counts, the frame's own Flat Metric, and its shares of the whole (nm, adding up to it and to its parts), for
    every frame with a counted row. A frame without a true molecule has no Flat Metric of its own: NaN.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> frames = per_frame(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125))
    >>> frames["fn"].tolist(), frames["own_flat_metric_nm"].tolist(), frames["flat_metric_share_nm"].tolist()
    ([0, 1], [5.0, 125.0], [2.5, 62.5])
    """
    sums = score.sums.per_frame
    n_truth, n_pred, tp = (column.astype(np.int64) for column in (sums.n_truth, sums.n_pred, sums.tp))
    columns: Columns = {
        "frame": score.sums.frame,
        "n_truth": n_truth,
        "n_pred": n_pred,
        "tp": tp,
        "fp": n_pred - tp,
        "fn": n_truth - tp,
    }
    if score.flat_result is not None:
        columns |= {
            "own_flat_metric_nm": np.where(sums.frames_with_mass > 0, sums.own_flat, np.nan),
            "flat_metric_share_nm": sums.displaced + sums.missed + sums.false,
            "displaced_share_nm": sums.displaced,
            "missed_share_nm": sums.missed,
            "false_share_nm": sums.false,
        }
    return columns


def averaged_frames(score: Score, most: int) -> tuple[IntArray, dict[str, FloatArray], int]:
    """The cost of each frame, in nm summed over its molecules, in three parts; long movies are averaged in groups.

    Returns the first frame of each group, the parts, and the number of frames in a group, chosen to give at most
    `most` groups; no parts where the Flat Metric is undefined.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> frames, parts, together = averaged_frames(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125), 1)
    >>> frames.tolist(), parts["missed"].tolist(), together
    ([1], [62.5], 2)
    """
    table = per_frame(score)
    frames = table["frame"]
    together = max(1, -(-len(frames) // most))
    starts = np.arange(0, len(frames), together)
    counts = np.diff(np.append(starts, len(frames)))
    molecules = len(score.matched.truth_kept)
    parts: dict[str, FloatArray] = {
        part: np.add.reduceat(table[f"{part}_share_nm"], starts) / counts * molecules
        for part in ("displaced", "missed", "false")
        if f"{part}_share_nm" in table
    }
    return frames[starts], parts, together


def per_molecule(score: Score) -> Columns:
    """Every true molecule and every detection: its match, its cost, the part it belongs to, and its potential.

    Rows are numbered from 0 as in the tables; -1 means none. `cost_nm` is what the row costs: the distance it is moved,
    or lam; the sum over all rows, divided by the number of true ones that count, is the Flat Metric (with photons as
    weights, their mean by weight). `part` is
    displaced, missed, false or moved (a detection that a molecule is moved to), or why the row does not count: outside
    (the border or the frame limits) or dont-care.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> rows = per_molecule(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125))
    >>> rows["side"].tolist(), rows["part"].tolist(), rows["cost_nm"].tolist()
    (['truth', 'truth', 'pred'], ['displaced', 'missed', 'moved'], [5.0, 125.0, 0.0])
    """
    matched, costs = score.matched, score.costs
    flat = score.flat_result
    truth_side = _side(
        matched.truth,
        "truth",
        matched.truth_rows,
        matched.truth_kept,
        (matched.matches.truth, matched.matches.pred, matched.matches.distance),
        cost=costs.of_truth(),
        part=np.where(costs.truth_partner >= 0, "displaced", "missed"),
        partner=(costs.truth_partner, costs.truth_distance),
        potential=None if flat is None else flat.truth_potential,
    )
    pred_side = _side(
        matched.pred,
        "pred",
        matched.pred_rows,
        matched.pred_kept,
        (matched.matches.pred, matched.matches.truth, matched.matches.distance),
        cost=costs.of_pred(),
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
        "matched_row": spread(matches[1], matches[0], NO_PARTNER, np.int64),
        "matched_distance_nm": spread(matches[2], matches[0], np.nan, float),
        "plan_row": spread(partner[0], counts, NO_PARTNER, np.int64),
        "plan_distance_nm": spread(partner[1], counts, np.nan, float),
        "potential_nm": missing if potential is None else spread(potential, counts, np.nan, float),
    }


@dataclass(frozen=True, slots=True)
class Bin:
    """The scores of one bin, from `low` to `high` (the last bin includes its end); None where undefined."""

    low: float
    high: float
    n_truth: int
    n_pred: int
    challenge: ChallengeScore
    flat_metric: float | None
    displaced: float | None
    missed: float | None
    false: float | None

    def to_dict(self) -> dict[str, Any]:
        """The bin as plain values, for JSON."""
        return plain(self) | {"challenge": plain(self.challenge)}


def score_in_bins(score: Score, quantity: Quantity, bins: int = BINS) -> list[Bin]:
    """Scores in bins of depth (nm), photons, density (true molecules in the frame), distance to the nearest other
    molecule of the frame (nm), or frame number.

    A molecule goes into the bin of its own value, a matched detection into the bin of its molecule, any other detection
    into the bin of its own value. Depth and frame bins have equal widths; the others hold about equal
    numbers of molecules. Molecules that are alone in their frame go into the last bin of distances.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> s = fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125)
    >>> [(b.n_truth, b.flat_metric) for b in score_in_bins(s, "frame", bins=2)]
    [(1, 5.0), (1, 125.0)]
    """
    if quantity not in get_args(Quantity):
        raise InputError(f"scores can't be binned by {quantity!r}; give {', '.join(get_args(Quantity))}")
    if not 1 <= bins <= _MOST_BINS:
        raise InputError(f"the number of bins is {bins}; give 1 to {_MOST_BINS}")
    matched, matches = score.matched, score.matched.counted
    if len(matched.truth_kept) == 0:
        return []
    of_truth, of_pred = _quantities(score, quantity)
    edges = _edges(of_truth[matched.truth_kept], quantity, bins)
    truth_bin = np.clip(np.searchsorted(edges, of_truth, side="right") - 1, 0, len(edges) - 2)
    pred_bin = np.clip(np.searchsorted(edges, of_pred, side="right") - 1, 0, len(edges) - 2)
    pred_bin[matches.pred] = truth_bin[matches.truth]
    costs, count = score.costs, len(edges) - 1
    order, of_pairs = _by_bin(truth_bin[matches.truth], count)
    pairs = score.sums.rows.select(order)
    order, of_truths = _by_bin(truth_bin[matched.truth_kept], count)
    mass, displaced, missed = (column[order] for column in (costs.truth_mass, costs.displaced, costs.missed))
    order, of_preds = _by_bin(pred_bin[matched.pred_kept], count)
    false = costs.false[order]
    return [
        _bin(
            score,
            pairs.select(of_pairs[k]),
            [column[of_truths[k]] for column in (mass, displaced, missed)],
            false[of_preds[k]],
            (float(edges[k]), float(edges[k + 1])),
        )
        for k in range(count)
    ]


def _by_bin(bins: IntArray, count: int) -> tuple[IntArray, list[slice]]:
    """Rows in the order of their bins, as they are within each, and the slice of each bin."""
    narrow = bins.astype(np.int16)  # which is sorted fastest
    ends = np.concatenate([[0], np.cumsum(np.bincount(narrow, minlength=count))])
    return np.argsort(narrow, kind="stable"), [slice(a, b) for a, b in itertools.pairwise(ends.tolist())]


def _quantities(score: Score, quantity: Quantity) -> tuple[FloatArray, FloatArray]:
    truth, pred = score.matched.truth, score.matched.pred
    if quantity == "frame":
        return truth.frame.astype(np.float64), pred.frame.astype(np.float64)
    if quantity == "density":
        frames, counts = np.unique(truth.frame[score.matched.truth_kept], return_counts=True)
        sides = []
        for table in (truth, pred):
            place = np.clip(np.searchsorted(frames, table.frame), 0, len(frames) - 1)
            sides.append(np.where(frames[place] == table.frame, counts[place], 0).astype(np.float64))
        return sides[0], sides[1]
    if quantity == "neighbour":
        return _neighbours(score)
    for table in (truth, pred):
        if getattr(table, quantity) is None:
            raise InputError(f"{table.provenance.file or 'a table'}: it has no {quantity} to bin by")
    return getattr(truth, quantity), getattr(pred, quantity)


def _neighbours(score: Score) -> tuple[FloatArray, FloatArray]:
    """The distance in nm from each row to the nearest other true row of its frame that counts."""
    matched = score.matched
    kept, dim, threads = matched.kept_truth, matched.dim, matched.threads
    among_kept, _ = neighbours(kept, kept, dim=dim, apart=True, threads=threads)
    if kept is matched.truth:
        distance = among_kept
    else:
        distance, _ = neighbours(kept, matched.truth, dim=dim, threads=threads)
        distance[matched.truth_kept] = among_kept
    of_pred, _ = neighbours(kept, matched.pred, dim=dim, threads=threads)
    finite = distance[np.isfinite(distance)]
    if len(finite) == 0:
        raise InputError("no frame has two molecules, so there is no distance between neighbours to bin by")
    return np.minimum(distance, finite.max()), np.minimum(of_pred, finite.max())


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
    score: Score, pairs: MatchedRows, truth: list[FloatArray], false: FloatArray, limits: tuple[float, float]
) -> Bin:
    """One bin, from its pairs, the mass and costs (displaced, missed) of its molecules, and those of its detections."""
    n_truth, n_pred = len(truth[0]), len(false)
    columns = {"n_truth": n_truth, "n_pred": n_pred, **sum_matches(pairs)}
    challenge, _ = evaluate(ChallengeScore, Sums.from_columns(columns, score.sums.total.settings))
    mass, *parts = (float(column.sum()) for column in (*truth, false))
    flat = [part / mass if mass > 0 else None for part in (sum(parts), *parts)]
    return Bin(*limits, n_truth, n_pred, challenge, *flat)
