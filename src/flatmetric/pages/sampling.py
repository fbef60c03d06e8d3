"""The part of a large result that fits into a page: frames, positions, errors and curves, sampled or binned."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.localizations import Localizations
from flatmetric.scoring.breakdown import averaged_frames, per_frame
from flatmetric.scoring.score import Score

ROWS = 36_000
"""At most this many molecules and detections in all frame browsers of a page together."""

_MOST_SERIES = 600
_MOST_POINTS = 4000
_FIELD_BINS = 160
_ERROR_BINS = 61
_CURVE_POINTS = 300


def chosen_frames(cost: FloatArray, rows: IntArray, budget: int) -> IntArray:
    """Indices of the frames to show: all if their `rows` fit, else the worst and an even sample of the rest.

    Examples
    --------
    >>> chosen_frames(np.array([5.0, 1.0, 9.0, 2.0]), np.array([10, 10, 10, 10]), budget=20).tolist()
    [0, 2]
    >>> chosen_frames(np.array([5.0, 1.0]), np.array([10, 10]), budget=20).tolist()
    [0, 1]
    """
    if rows.sum() <= budget:
        return np.arange(len(rows))
    worst = np.argsort(-cost, kind="stable")
    others = _fitting(worst[1:], rows, budget // 2 - int(rows[worst[0]]))
    kept = np.array([worst[0], *others], dtype=np.int64)  # the worst of all in any case
    rest = np.setdiff1d(np.arange(len(rows)), kept)
    left = budget - int(rows[kept].sum())
    every = max(1, int(np.ceil(rows[rest].sum() / max(1, left))))
    spread = rest[::every]
    return np.sort(np.concatenate([kept, np.array(_fitting(spread, rows, left), dtype=np.int64)]))


def _fitting(frames: IntArray, rows: IntArray, budget: int) -> list[int]:
    """Those of the frames, in their order, whose rows still fit."""
    fitting, left = [], budget
    for frame in frames.tolist():
        if rows[frame] <= left:
            fitting.append(frame)
            left -= int(rows[frame])
    return fitting


def frames_content(score: Score, budget: int) -> dict[str, Any]:
    """The frames of the browser: each with its molecules and detections, what they cost (nm) and their partners."""
    table = per_frame(score)
    if "flat_metric_nm" not in table:
        return {"total": len(table["frame"]), "shown": []}
    matched, costs = score.matched, score.costs
    cost = np.asarray(table["flat_metric_nm"] * len(matched.truth_kept), dtype=np.float64)
    chosen = chosen_frames(cost, table["n_truth"] + table["n_pred"], budget)
    truth = _Side(matched.truth, matched.truth_kept, costs.truth_partner, costs.of_truth())
    pred = _Side(matched.pred, matched.pred_kept, costs.pred_partner, costs.of_pred())
    shown = []
    for at in chosen:
        frame = int(table["frame"][at])
        shown.append(
            {
                "frame": frame,
                "cost": round(float(cost[at]), 2),
                "tp": int(table["tp"][at]),
                "fp": int(table["fp"][at]),
                "fn": int(table["fn"][at]),
                "truth": truth.rows(frame, pred),
                "pred": pred.rows(frame, truth),
            }
        )
    return {"total": len(cost), "shown": shown}


class _Side:
    """One table of a score, to be read frame by frame."""

    def __init__(self, table: Localizations, kept: IntArray, partner: IntArray, cost: FloatArray) -> None:
        self._table, self._partner, self._cost = table, partner, cost
        order = np.argsort(table.frame[kept], kind="stable")
        self._order, self._kept = order, kept[order]
        self._frames = table.frame[self._kept]

    def kept(self, frame: int) -> IntArray:
        """Rows of the table that count in a frame."""
        return self._kept[slice(*np.searchsorted(self._frames, [frame, frame + 1]))]

    def rows(self, frame: int, other: _Side) -> dict[str, Any]:
        """Columns of one frame; a partner is an index into the other side's columns, -1 for none."""
        part = slice(*np.searchsorted(self._frames, [frame, frame + 1]))
        rows, at = self._kept[part], self._order[part]
        theirs = other.kept(frame)
        sorting = np.argsort(theirs, kind="stable")
        partner = self._partner[at]
        local = np.full(len(rows), -1)
        paired = partner >= 0
        local[paired] = sorting[np.searchsorted(theirs, partner[paired], sorter=sorting)]
        columns: dict[str, Any] = {
            "row": rows.tolist(),
            "x": _rounded(self._table.x[rows], 1),
            "y": _rounded(self._table.y[rows], 1),
            "cost": _rounded(self._cost[at], 2),
            "partner": local.tolist(),
        }
        if self._table.z is not None:
            columns["z"] = _rounded(self._table.z[rows], 1)
        if self._table.photons is not None:
            columns["photons"] = _rounded(self._table.photons[rows], 0)
        return columns


def series_content(score: Score) -> dict[str, Any]:
    """What each frame costs, nm, in three parts; neighbours of a long movie are averaged."""
    frames, parts, together = averaged_frames(score, _MOST_SERIES)
    if not parts:
        return {"frame": [], "together": 1, "displaced": [], "missed": [], "false": []}
    rounded = {part: _rounded(values, 2) for part, values in parts.items()}
    return {"frame": frames.tolist(), "together": together, **rounded}


def field_content(score: Score) -> dict[str, Any]:
    """The whole field in four layers: single places where they are few, else counts in square bins."""
    truth, pred, costs = score.matched.kept_truth, score.matched.kept_pred, score.costs
    layers: dict[str, tuple[Localizations, BoolArray]] = {
        "truth": (truth, np.ones(len(truth), dtype=bool)),
        "found": (pred, np.ones(len(pred), dtype=bool)),
        "missed": (truth, costs.truth_partner < 0),
        "false": (pred, costs.pred_partner < 0),
    }
    x, y = np.concatenate([truth.x, pred.x]), np.concatenate([truth.y, pred.y])
    if len(x) == 0:
        return {"kind": "points", "layers": {name: {"x": [], "y": []} for name in layers}}
    if len(x) <= _MOST_POINTS:
        points = {
            name: {"x": _rounded(table.x[kept], 1), "y": _rounded(table.y[kept], 1)}
            for name, (table, kept) in layers.items()
        }
        return {"kind": "points", "layers": points}
    low = (float(x.min()), float(y.min()))
    size = max(float(np.ptp(x)), float(np.ptp(y)), 1.0)
    limits = [[low[1], low[1] + size], [low[0], low[0] + size]]
    counted = {
        name: np.histogram2d(table.y[kept], table.x[kept], bins=_FIELD_BINS, range=limits)[0].astype(int).tolist()
        for name, (table, kept) in layers.items()
    }
    step = size / _FIELD_BINS
    return {"kind": "counts", "x": round(low[0] + step / 2, 2), "y": round(low[1] + step / 2, 2), "step": step} | {
        "layers": counted
    }


def errors_content(score: Score) -> dict[str, Any]:
    """Distributions of the errors of matched molecules along each axis, and of dx against dy, nm."""
    errors = score.matched.errors
    content: dict[str, Any] = {"matched": len(errors), "axes": []}
    if len(errors) == 0:
        return content
    for axis in range(score.dim):
        values = errors[:, axis]
        reach = max(1.0, float(np.percentile(np.abs(values), 99.5)))
        counts, edges = np.histogram(np.clip(values, -reach, reach), bins=_ERROR_BINS, range=(-reach, reach))
        content["axes"].append(
            {
                "name": f"d{'xyz'[axis]}",
                "middle": _rounded((edges[1:] + edges[:-1]) / 2, 3),
                "count": counts.tolist(),
                "bias": round(float(values.mean()), 3),
                "rmse": round(float(np.sqrt(np.mean(values**2))), 3),
            }
        )
    reach = max(1.0, float(np.percentile(np.abs(errors[:, :2]), 99.5)))
    limits = [[-reach, reach]] * 2
    plane, edges, _ = np.histogram2d(
        np.clip(errors[:, 1], -reach, reach), np.clip(errors[:, 0], -reach, reach), bins=_ERROR_BINS, range=limits
    )
    middle = _rounded((edges[1:] + edges[:-1]) / 2, 3)
    return content | {"plane": {"middle": middle, "count": plane.astype(int).tolist()}}


def curve_content(score: Score, lam_max: float) -> dict[str, Any]:
    """The Flat Metric against lam, nm: its breakpoints, or about 300 of them spread evenly; exact at each."""
    if len(score.matched.truth_kept) == 0:
        return {"lam": [], "value": [], "breakpoints": 0}
    curve = score.curve(lam_max)
    chosen = np.unique(np.searchsorted(curve.lam, np.linspace(0.0, curve.lam[-1], _CURVE_POINTS)))
    lam = curve.lam if len(curve.lam) <= _CURVE_POINTS else curve.lam[chosen]
    return {"lam": _rounded(lam, 4), "value": _rounded(curve(lam), 5), "breakpoints": len(curve.lam)}


def _rounded(values: npt.NDArray[Any], digits: int) -> list[Any]:
    """Rounded numbers for JSON, None for NaN and infinity."""
    short = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0
    whole = digits == 0
    return [None if not np.isfinite(v) else int(v) if whole or v == int(v) else v for v in short.tolist()]
