"""What the super-resolved picture is drawn from: every place, or counts in small squares where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray
from flatmetric.localizations import Localizations
from flatmetric.reports.packing import packed, packed_between
from flatmetric.scoring.score import Score

MOST_PLACES = 150_000
"""Up to this many molecules and detections of all programs together, each has its place in the page."""
_MOST_SQUARES = 2_400_000  # of all layers together
_MOST_SHARED = 100_000  # rows, enough for the spread of errors to 0.2 %
_USUAL_BLUR = 15.0  # nm, where nothing is matched
_LEAST_BLUR = 2.0  # nm: smaller spots vanish on the screen
_NORMAL = 1.4826  # standard deviation over the median of the size, of normal errors
_FAR_OFF = 0.5  # percent of the detections at each end that may lie outside the picture


def picture_content(scores: Sequence[Score]) -> dict[str, Any]:
    """Truth, results, what was missed and what is false; positions in nm.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> content = picture_content([fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})])
    >>> content["kind"], content["x"], content["programs"][0]["missed"]["count"]
    ('places', [-9.0, 909.0], 1)
    """
    truth = scores[0].matched.kept_truth
    tables = [truth, *(score.matched.kept_pred for score in scores)]
    left, right = _field(truth.x, [table.x for table in tables[1:]])
    top, bottom = _field(truth.y, [table.y for table in tables[1:]])
    places = sum(map(len, tables))
    content: dict[str, Any] = {"x": [left, right], "y": [top, bottom]}
    layer: _Places | _Squares
    if places <= MOST_PLACES:
        layer = _Places((left, right), (top, bottom))
        content["kind"] = "places"
    else:
        layers = 1 + 3 * len(scores)
        side = max(right - left, bottom - top) / np.sqrt(_MOST_SQUARES / layers)
        content |= {"kind": "squares", "step": side}
        layer = _Squares((left, right), (top, bottom), side)
    content["truth"] = layer.of(truth)
    content["programs"] = []
    for score in scores:
        pred, costs = score.matched.kept_pred, score.costs
        content["programs"].append(
            {
                "blur": blur(score),
                "found": layer.of(pred),
                "missed": layer.of(truth, costs.truth_partner < 0),
                "false": layer.of(pred, costs.pred_partner < 0),
            }
        )
    return content


def blur(score: Score) -> float:
    """The precision along one axis, nm: the spread of the errors of matched molecules, without bias and tails."""
    errors = score.matched.errors[:, :2]
    if len(errors) == 0:
        return _USUAL_BLUR
    spread = np.median(np.abs(errors - np.median(errors, axis=0)))
    return round(max(_LEAST_BLUR, _NORMAL * float(spread)), 2)


def _inside(x: FloatArray, y: FloatArray, across: tuple[float, float], down: tuple[float, float]) -> BoolArray:
    within: BoolArray = (x >= across[0]) & (x <= across[1]) & (y >= down[0]) & (y <= down[1])
    return within


class _Places:
    """Every place of a table, in 65 536 steps across the field."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self._x, self._y = x, y

    def of(self, table: Localizations, rows: BoolArray | None = None) -> dict[str, Any]:
        x, y = (table.x, table.y) if rows is None else (table.x[rows], table.y[rows])
        inside = _inside(x, y, self._x, self._y)
        places = {"x": packed_between(x[inside], *self._x), "y": packed_between(y[inside], *self._y)}
        return {"count": len(x), "outside": int((~inside).sum()), **places}


class _Squares:
    """Counts in squares of `step` nm, row by row."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], step: float) -> None:
        self._x, self._y, self._step = x, y, step
        self._shape = int(np.ceil((y[1] - y[0]) / step)), int(np.ceil((x[1] - x[0]) / step))

    def of(self, table: Localizations, rows: BoolArray | None = None) -> dict[str, Any]:
        x, y = (table.x, table.y) if rows is None else (table.x[rows], table.y[rows])
        height, width = self._shape
        inside = _inside(x, y, self._x, self._y)
        i = np.clip(((y[inside] - self._y[0]) / self._step).astype(np.int64), 0, height - 1)
        j = np.clip(((x[inside] - self._x[0]) / self._step).astype(np.int64), 0, width - 1)
        counts = np.bincount(i * width + j, minlength=height * width)
        squares = {"width": width, "squares": packed(np.minimum(counts, 255), np.uint8)}
        return {"count": len(x), "outside": int((~inside).sum()), **squares}


def shared_content(scores: Sequence[Score]) -> dict[str, Any]:
    """Which molecules each program finds: their number for every two programs, and the places of up to 100 000.

    `found` has a bit for each program. `only[a][b]` counts what a finds and b misses, `both[a][b]` what both find.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> first, second = {"frame": [1], "x": [3.0], "y": [4.0]}, {"frame": [1, 1], "x": [3.0, 900.0], "y": [4.0, 0.0]}
    >>> shared_content([fm.score(truth, first), fm.score(truth, second)])["only"]
    [[0, 0], [1, 0]]
    """
    truth = scores[0].matched.kept_truth
    detected = np.array([score.costs.truth_partner >= 0 for score in scores], dtype=np.int64)
    bits = (detected << np.arange(len(scores))[:, None]).sum(axis=0)
    some = slice(None, None, max(1, -(-len(truth) // _MOST_SHARED)))
    (left, right), (top, bottom) = _field(truth.x, []), _field(truth.y, [])
    return {
        "only": (detected @ (1 - detected).T).tolist(),
        "both": (detected @ detected.T).tolist(),
        "molecules": len(truth),
        "shown": len(truth.x[some]),
        "x": [left, right],
        "y": [top, bottom],
        "places": [packed_between(truth.x[some], left, right), packed_between(truth.y[some], top, bottom)],
        "found": packed(bits[some], np.uint8),
    }


def _field(truth: FloatArray, preds: Sequence[FloatArray]) -> tuple[float, float]:
    """What the truth fills, and nearly all detections if they are not far off, and a hundredth more on each side."""
    if len(truth) == 0:
        not_empty = [pred for pred in preds if len(pred)]
        return _field(not_empty[0], []) if not_empty else (0.0, 1.0)
    low, high = float(truth.min()), float(truth.max())
    size = max(high - low, 1.0)
    for pred in preds:
        if len(pred):
            first, last = np.percentile(pred, [_FAR_OFF, 100 - _FAR_OFF])
            low, high = max(min(low, float(first)), low - size), min(max(high, float(last)), high + size)
    edge = max(0.01 * (high - low), 1.0)
    return low - edge, high + edge
