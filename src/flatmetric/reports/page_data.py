"""The part of a large result that fits into a page: frames, errors, curves and bins, sampled or counted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.localizations import Localizations
from flatmetric.scoring.breakdown import averaged_frames, per_frame
from flatmetric.scoring.field import field_map
from flatmetric.scoring.row_costs import NO_PARTNER
from flatmetric.scoring.score import Score

ROWS = 36_000
"""At most this many molecules and detections in all frame browsers of a page together."""

_MOST_SERIES = 600  # points of a chart: one for each pixel of its width
_ERROR_BINS = 61  # odd, so that one bin is centred on 0
_CURVE_POINTS = 300  # more than a chart can resolve
_CORE = 90.0  # percent of the molecules in the inner plot of errors
_TAILS = 99.5  # percentile: single far errors must not shrink the rest


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


def frames_content(scores: Sequence[Score], budget: int = ROWS) -> dict[str, Any]:
    """The frames of the browser, the same for all programs: their molecules, and what each program made of them.

    `partner` is an index into the molecules of the frame, -1 for none; costs are in nm, those of a frame summed over
    its rows.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> content = frames_content([fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}, lam=125)])
    >>> content["shown"][0]["programs"][0]["partner"], content["shown"][0]["programs"][0]["cost"]
    ([0], 130.0)
    """
    tables = [per_frame(score) for score in scores]
    if any("flat_metric_share_nm" not in table for table in tables):
        return {"total": 0, "shown": []}
    numbers = np.unique(np.concatenate([table["frame"] for table in tables]))
    costs, rows = np.zeros((len(scores), len(numbers))), np.zeros(len(numbers), dtype=np.int64)
    for k, (score, table) in enumerate(zip(scores, tables, strict=True)):
        at = np.searchsorted(numbers, table["frame"])
        costs[k, at] = table["flat_metric_share_nm"] * len(score.matched.truth_kept)
        rows[at] += table["n_pred"]
    rows[np.searchsorted(numbers, tables[0]["frame"])] += tables[0]["n_truth"]
    chosen = chosen_frames(costs.max(axis=0), rows, budget)
    frames = numbers[chosen]
    truth = _Side(scores[0].matched.truth, scores[0].matched.truth_kept, frames)
    molecules = truth.by_frame(truth.columns())
    programs = []
    for score, cost in zip(scores, costs[:, chosen], strict=True):
        pred = _Side(score.matched.pred, score.matched.pred_kept, frames)
        detections = pred.by_frame(pred.columns() | _plan(score, truth, pred))
        paid = truth.by_frame({"truth_cost": rounded(score.costs.of_truth()[truth.at], 2)})
        totals = [{"cost": round(total, 2)} for total in cost.tolist()]
        programs.append([f | p | total for f, p, total in zip(detections, paid, totals, strict=True)])
    shown = [
        {"frame": frame, "truth": true, "programs": list(made)}
        for frame, true, *made in zip(frames.tolist(), molecules, *programs, strict=True)
    ]
    return {"total": len(numbers), "shown": shown, "molecules": len(scores[0].matched.truth_kept)}


class _Side:
    """The rows of one table that count in the frames to show, sorted by frame: `rows` of the table, their places `at`
    among all that count, and `starts` and `ends` of the frames among them.
    """

    def __init__(self, table: Localizations, kept: IntArray, frames: IntArray) -> None:
        self._table = table
        inside = np.flatnonzero(np.isin(table.frame[kept], frames))
        self.at = inside[np.argsort(table.frame[kept[inside]], kind="stable")]
        self.rows = kept[self.at]
        self.starts, self.ends = (np.searchsorted(table.frame[self.rows], frames, side) for side in ("left", "right"))

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the table of rows."""
        rows, table = self.rows, self._table
        columns = {"row": rows.tolist(), "x": rounded(table.x[rows], 1), "y": rounded(table.y[rows], 1)}
        if table.z is not None:
            columns["z"] = rounded(table.z[rows], 1)
        if table.photons is not None:
            columns["photons"] = rounded(table.photons[rows], 0)
        return columns

    def by_frame(self, columns: dict[str, list[Any]]) -> list[dict[str, list[Any]]]:
        """Columns over all rows, cut into those of each frame."""
        places = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [{name: values[start:end] for name, values in columns.items()} for start, end in places]


def _plan(score: Score, truth: _Side, pred: _Side) -> dict[str, list[Any]]:
    """The partner of each detection among the molecules of its frame, and what the detection costs."""
    partner = score.costs.pred_partner[pred.at]
    paired = partner >= 0
    sorting = np.argsort(truth.rows, kind="stable")
    place = sorting[np.searchsorted(truth.rows, partner[paired], sorter=sorting)]
    first = np.repeat(truth.starts, pred.ends - pred.starts)
    local = np.full(len(partner), NO_PARTNER)
    local[paired] = place - first[paired]
    return {"partner": local.tolist(), "pred_cost": rounded(score.costs.of_pred()[pred.at], 2)}


def series_content(score: Score) -> dict[str, Any]:
    """What each frame costs, nm, in three parts; neighbours of a long movie are averaged."""
    frames, parts, together = averaged_frames(score, _MOST_SERIES)
    if not parts:
        return {"frame": [], "last": [], "together": 1, "displaced": [], "missed": [], "false": []}
    numbers = per_frame(score)["frame"]
    last = numbers[np.minimum(np.arange(1, len(frames) + 1) * together, len(numbers)) - 1]
    content = {"frame": frames.tolist(), "last": last.tolist(), "together": together}
    return content | {part: rounded(values, 2) for part, values in parts.items()}


def field_content(score: Score) -> dict[str, Any]:
    """The share of missed molecules (None where there is none) and the number of false detections in squares."""
    field = field_map(score)
    share = [rounded(row, 3) for row in field.share]
    return {"x": field.x, "y": field.y, "step": field.step, "share": share, "false": field.false.astype(int).tolist()}


def errors_content(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Distributions of the errors of matched molecules, nm: along each axis, and of dx against dy, core and all.

    All programs are counted in the same bins; the outermost hold what lies beyond.
    """
    errors = [score.matched.errors for score in scores]
    contents: list[dict[str, Any]] = [{"matched": len(one), "axes": [], "planes": []} for one in errors]
    matched = [one for one in errors if len(one)]
    if not matched:
        return contents
    dim = min(score.dim for score in scores)
    reach = max(1.0, *(float(np.percentile(np.abs(one[:, :dim]), _TAILS)) for one in matched))
    for content, one in zip(contents, errors, strict=True):
        for axis in range(dim if len(one) else 0):
            content["axes"].append(_along(one[:, axis], f"d{'xyz'[axis]}", reach))
    # Around the middle of each program, as far as is needed for the core, or for all, of any of them.
    around = [one[:, :2] - np.median(one[:, :2], axis=0) if len(one) else one[:, :2] for one in errors]
    for name, percent in (("core", _CORE), ("all", 100.0)):
        reach = max(1.0, *(float(np.percentile(np.abs(one).max(axis=1), percent)) for one in around if len(one)))
        for content, one in zip(contents, errors, strict=True):
            content["planes"].append(_plane(one, name, reach))
    return contents


def _along(values: FloatArray, name: str, reach: float) -> dict[str, Any]:
    counts, edges = np.histogram(np.clip(values, -reach, reach), bins=_ERROR_BINS, range=(-reach, reach))
    return {
        "name": name,
        "edges": rounded(edges, 3),
        "count": counts.tolist(),
        "bias": round(float(values.mean()), 3),
        "rmse": round(float(np.sqrt(np.mean(values**2))), 3),
        "constant": bool(np.ptp(values) == 0),
    }


def _plane(errors: FloatArray, name: str, reach: float) -> dict[str, Any]:
    middle = np.median(errors[:, :2], axis=0) if len(errors) else np.zeros(2)
    around = errors[:, :2] - middle
    inside = (np.abs(around) <= reach).all(axis=1)
    limits = [[-reach, reach]] * 2
    counts, edges, _ = np.histogram2d(around[inside, 1], around[inside, 0], bins=_ERROR_BINS, range=limits)
    i, j = np.nonzero(counts)
    cells = {"x": j.tolist(), "y": i.tolist(), "count": counts[i, j].astype(int).tolist()}
    return {
        "name": name,
        "x": rounded(edges + middle[0], 3),
        "y": rounded(edges + middle[1], 3),
        "middle": rounded(middle, 3),
        "inside": int(inside.sum()),
        "cells": cells,
    }


def curve_content(score: Score, lam_max: float) -> dict[str, Any]:
    """The Flat Metric against lam, nm: its breakpoints, or about 300 of them spread evenly; exact at each."""
    if len(score.matched.truth_kept) == 0:
        return {"lam": [], "value": [], "breakpoints": 0}
    curve = score.curve(lam_max)
    chosen = np.unique(np.searchsorted(curve.lam, np.linspace(0.0, curve.lam[-1], _CURVE_POINTS)))
    lam = curve.lam if len(curve.lam) <= _CURVE_POINTS else curve.lam[chosen]
    return {"lam": rounded(lam, 4), "value": rounded(curve(lam), 5), "breakpoints": len(curve.lam)}


def rounded(values: npt.NDArray[Any], digits: int) -> list[Any]:
    """Rounded numbers for JSON, None for NaN and infinity.

    Examples
    --------
    >>> rounded(np.array([1.04, 2.0, np.nan]), 1)
    [1, 2, None]
    """
    short = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0
    return [None if not math.isfinite(v) else int(v) if v.is_integer() else v for v in short.tolist()]
