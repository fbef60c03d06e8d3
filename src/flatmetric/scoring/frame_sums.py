"""What each frame adds to a score: the single source of every metric that is a sum over frames."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._core import nearest, neighbours
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.matching.matched import Matched
from flatmetric.matching.matcher import assign_frames
from flatmetric.metrics.base import SUMMED, FormulaSettings, Sums
from flatmetric.metrics.bound import precision_bound
from flatmetric.metrics.gospa import FramePairs, frame_pairs, frame_values
from flatmetric.metrics.match_sums import MatchedRows, match_quantities, sum_matches
from flatmetric.options.scoring import Imaging, MetricOptions
from flatmetric.scoring.masses import left_over, masses
from flatmetric.transport.result import FlatResult


@dataclass(frozen=True, eq=False)
class FrameSums:
    """The frames of a score, in order, and what each of them adds.

    `total` is the sum over all frames, taken over matched rows rather than over per-frame sums, to reduce
    rounding; `per_frame` has one number for each frame. `rows` are the counted pairs.
    """

    frame: IntArray
    total: Sums
    matched: Matched
    rows: MatchedRows
    by_frame: dict[str, npt.NDArray[Any]]

    @cached_property
    def per_frame(self) -> Sums:
        """What each frame adds: columns in the order of `frame`."""
        place = np.searchsorted(self.frame, self.matched.truth.frame[self.matched.counted.truth])
        columns: dict[str, npt.NDArray[Any]] = dict(self.by_frame)
        columns["tp"] = np.bincount(place, minlength=len(self.frame))
        for name, factors in match_quantities(self.rows):
            columns[name] = np.bincount(place, np.prod(factors, axis=0), minlength=len(self.frame))
        nothing = np.zeros(len(self.frame))
        return Sums.from_columns(
            {name: np.asarray(columns.get(name, nothing), dtype=np.float64) for name in SUMMED}, self.total.settings
        )

    @cached_property
    def table(self) -> FloatArray:
        """`per_frame` as one (frames, quantities) array, for resampling; `Sums.from_table` is the inverse."""
        return np.column_stack([getattr(self.per_frame, name) for name in SUMMED])


def frame_sums(matched: Matched, flat: FlatResult | None, settings: FormulaSettings) -> FrameSums:
    """Sum up what every frame adds, from the matched rows and the Flat Metric of the rows that count.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> sums = fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}).sums
    >>> sums.per_frame.tp.tolist(), float(sums.total.square_y)
    ([1.0, 0.0], 16.0)
    """
    truth, pred, options = matched.kept_truth, matched.kept_pred, settings.options
    frame, n_truth, n_pred = _frames(matched, flat)
    by_frame: dict[str, npt.NDArray[Any]] = {"n_truth": n_truth, "n_pred": n_pred, "frames": np.ones(len(frame))}
    by_frame["frames_without_truth"] = n_truth == 0
    total: dict[str, Any] = {"n_truth": len(truth), "n_pred": len(pred)}
    if flat is not None and flat.frames is not None:
        mass = n_truth / len(truth)
        if options.weights == "photons":
            assert truth.photons is not None
            place = np.searchsorted(frame, truth.frame)
            mass = np.bincount(place, truth.photons, minlength=len(frame)) / truth.photons.sum()
        heavy = mass > 0
        own = np.divide(flat.frames.value, mass, out=np.zeros(len(frame)), where=heavy)
        by_frame |= {"mass": mass, "own_flat": own, "frames_with_mass": heavy}
        total |= {"mass": 1.0, "own_flat": own[heavy].sum()}
        by_frame |= _merged_and_split(matched, flat, frame, options)
        for part in ("displaced", "missed", "false", "lower_bound"):
            by_frame[part], total[part] = getattr(flat.frames, part), getattr(flat, part)
    by_frame |= _nearest(matched)
    pairs = _pairs(matched, flat, (frame, n_truth, n_pred), options)
    own_gospa, own_ospa = frame_values(pairs, p=options.gospa_p, c=options.cutoff)
    by_frame |= {"pairs": pairs.pairs, "moved": pairs.moved, "larger": np.maximum(n_truth, n_pred)}
    by_frame |= {"own_gospa": own_gospa, "own_ospa": own_ospa}
    rows = _matched_rows(matched, options.bound)
    total |= sum_matches(rows)
    summed = {name: column.sum() for name, column in by_frame.items() if name not in total}
    return FrameSums(frame, Sums.from_columns(total | summed, settings), matched, rows, by_frame)


def _merged_and_split(
    matched: Matched, flat: FlatResult, frame: IntArray, options: MetricOptions
) -> dict[str, FloatArray]:
    """The parts of missed and false of each frame that lie within 2 lam of the other side: its points there must have
    another partner, or the plan would pair them.
    """
    sides, threads = (matched.kept_truth, matched.kept_pred), matched.threads
    given, each = masses(*sides, options.weights), 1 / len(sides[0])
    points = [side.points(matched.dim, threads) for side in sides]
    if options.axis_scale is not None:
        points = [np.ascontiguousarray(one * np.asarray(options.axis_scale)) for one in points]
    parts = {name: np.zeros(len(frame)) for name in ("merged", "split")}
    for at, (name, rows) in enumerate((("merged", flat.pairs.truth), ("split", flat.pairs.pred))):
        mass = given.get("pred_weights" if at else "truth_weights")
        if mass is None:
            alone = np.ones(len(sides[at]), dtype=bool)
            alone[rows] = False
            left = each * alone
        else:
            left = left_over(mass, np.bincount(rows, flat.pairs.mass, minlength=len(mass)).astype(np.float64))
        some = np.flatnonzero(left)
        if len(some):
            numbers = sides[at].frame[some]
            near = _near(points[at][some], points[1 - at], numbers, sides[1 - at].frame, flat.lam, threads)
            parts[name] += np.bincount(
                np.searchsorted(frame, numbers), flat.lam * left[some] * near, minlength=len(frame)
            )
    return parts


def split_without_mass(matched: Matched, options: MetricOptions) -> float:
    """`split` where all true molecules have no mass, times the mass of the whole truth: the detections next to one.

    Examples
    --------
    >>> import flatmetric as fm
    >>> dark = {"frame": [1], "x": [0.0], "y": [0.0], "photons": [0.0]}
    >>> split_without_mass(fm.score(dark, dict(dark, photons=[300.0])).matched, MetricOptions())
    37500.0
    """
    truth, pred = matched.kept_truth, matched.kept_pred
    if len(truth) == 0 or len(pred) == 0 or pred.photons is None:
        return 0.0
    lam, scale = options.lam, 1.0 if options.axis_scale is None else np.asarray(options.axis_scale)
    here, there = (np.ascontiguousarray(side.points(matched.dim, matched.threads) * scale) for side in (pred, truth))
    return float(lam * pred.photons[_near(here, there, pred.frame, truth.frame, lam, matched.threads)].sum())


def _near(
    points: FloatArray, others: FloatArray, frame: IntArray, other_frame: IntArray, lam: float, threads: int
) -> npt.NDArray[np.bool_]:
    """Which points have another within 2 lam in their frame."""
    reach = float(np.nextafter(2 * lam, np.inf))  # the end belongs to it
    return neighbours(points, others, frame, other_frame, reach, False, threads).row >= 0


def _matched_rows(matched: Matched, imaging: Imaging | None) -> MatchedRows:
    """The counted pairs, with the columns that the metrics need."""
    pairs = matched.counted
    of_truth, of_pred = (matched.truth.photons,), (matched.pred.photons, matched.pred.uncertainty)
    columns = [(column, pairs.truth) for column in of_truth] + [(column, pairs.pred) for column in of_pred]
    photons, pred_photons, claims = (None if column is None else column[rows] for column, rows in columns)
    bounds = None if imaging is None else _bounds(matched, imaging)
    return MatchedRows(matched.errors, photons, pred_photons, claims, bounds)


def _bounds(matched: Matched, imaging: Imaging) -> FloatArray:
    """The least lateral mean square error of each counted pair, nm^2."""
    truth, rows = matched.truth, matched.counted.truth
    if truth.photons is None:
        raise InputError(f"{truth.provenance.file or 'truth'}: it has no photons, so there is no precision bound")
    sigma: FloatArray | float = imaging.sigma
    if truth.sigma is not None:
        sigma = np.where(truth.sigma[rows] > 0, truth.sigma[rows], imaging.sigma)
    elif imaging.focal_depth is not None and truth.z is not None:
        sigma = imaging.sigma * np.hypot(1.0, truth.z[rows] / imaging.focal_depth)
    background: FloatArray | float = imaging.background
    if truth.background is not None:
        background = np.where(truth.background[rows] >= 0, truth.background[rows], imaging.background)
    return 2 * precision_bound(truth.photons[rows], imaging, sigma=sigma, background=background)


def _frames(matched: Matched, flat: FlatResult | None) -> tuple[IntArray, IntArray, IntArray]:
    """The frames with a row that counts, and how many molecules and detections each has."""
    if flat is not None and flat.frames is not None:
        return flat.frames.frame, flat.frames.n_truth, flat.frames.n_pred
    sides = matched.kept_truth.frame, matched.kept_pred.frame
    frame = np.unique(np.concatenate(sides))
    n_truth, n_pred = (np.bincount(np.searchsorted(frame, side), minlength=len(frame)) for side in sides)
    return frame, n_truth, n_pred


def _nearest(matched: Matched) -> dict[str, FloatArray]:
    truth, pred, threads = matched.kept_truth, matched.kept_pred, matched.threads
    points = truth.points(matched.dim, threads), pred.points(matched.dim, threads)
    sums = nearest(*points, truth.frame, pred.frame, threads)
    columns = {
        "nearest_truth": sums.truth,
        "nearest_pred": sums.pred,
        "with_nearest_truth": sums.truth_count,
        "with_nearest_pred": sums.pred_count,
    }
    return {name: column.astype(np.float64, copy=False) for name, column in columns.items()}


def _pairs(
    matched: Matched,
    flat: FlatResult | None,
    frames: tuple[IntArray, IntArray, IntArray],
    options: MetricOptions,
) -> FramePairs:
    """The pairs of GOSPA's and OSPA's assignment."""
    frame, n_truth, n_pred = frames
    p, c, truth = options.gospa_p, options.cutoff, matched.kept_truth
    plain = options.axis_scale is None and options.weights == "uniform" and p == 1
    if plain and flat is not None and flat.frames is not None and c == 2 * flat.lam:
        # This is the Flat Metric's own plan, in which each true molecule weighs 1 / len(truth).
        left = np.rint(flat.frames.missed * len(truth) / flat.lam).astype(np.int64)
        return FramePairs(n_truth, n_pred, n_truth - left, flat.frames.displaced * len(truth))
    pairs = assign_frames(truth, matched.kept_pred, dim=matched.dim, p=p, c=c, threads=matched.threads)
    return frame_pairs(n_truth, n_pred, np.searchsorted(frame, truth.frame[pairs.truth]), pairs.distance, p=p)
