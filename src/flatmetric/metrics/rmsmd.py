"""RMSMD: the root mean square minimum distance (Sun 2018), both ways."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flatmetric import _core
from flatmetric.localizations import Localizations
from flatmetric.metrics.value import Undefined, Value


@dataclass(frozen=True, slots=True)
class Rmsmd:
    """Root mean square of the distances (nm) of all points to the nearest of the other side.

    `per_frame` looks for the nearest within the frame and pools all frames; points of frames that have nobody on the
    other side have no nearest and are counted in `alone`. `whole_set` disregards the frames.
    """

    per_frame: Value
    per_frame_truth_to_pred: Value
    per_frame_pred_to_truth: Value
    alone: int
    whole_set: Value
    whole_set_truth_to_pred: Value
    whole_set_pred_to_truth: Value


def _root_mean(squares: float, count: int) -> Value:
    if count == 0:
        return Undefined("no point has another on the other side")
    return math.sqrt(squares / count)


def rmsmd(truth: Localizations, pred: Localizations, *, dim: int, threads: int = 1) -> Rmsmd:
    """RMSMD between two tables in nm, per frame and over the whole set.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 100.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> rmsmd(t, p, dim=2).whole_set_pred_to_truth
    5.0
    """
    there, back = truth.points(dim), pred.points(dim)
    found = []
    for frames in ((truth.frame, pred.frame), (None, None)):
        _, *columns = _core.nearest(there, back, frames[0], frames[1], threads)
        n, m = (int(column.sum()) for column in columns[:2])
        a, b = (float(column.sum()) for column in columns[2:])
        found.append((_root_mean(a + b, n + m), _root_mean(a, n), _root_mean(b, m), len(truth) + len(pred) - n - m))
    per_frame, (*whole_set, _) = found
    return Rmsmd(*per_frame, *whole_set)
