"""RMSMD: the root mean square minimum distance (Sun 2018), both ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._core import nearest
from flatmetric.localizations import Localizations
from flatmetric.metrics.base import Measure, Reason, Sums, count, error

_NOBODY = "no point has another on the other side"
_ALONE = Reason(_NOBODY, lambda s: s.with_nearest_truth + s.with_nearest_pred == 0)
_ALONE_TRUTH = Reason(_NOBODY, lambda s: s.with_nearest_truth == 0)
_ALONE_PRED = Reason(_NOBODY, lambda s: s.with_nearest_pred == 0)


def _truth_to_pred(s: Sums) -> FloatArray:
    return np.sqrt(s.nearest_truth / s.with_nearest_truth)


def _pred_to_truth(s: Sums) -> FloatArray:
    return np.sqrt(s.nearest_pred / s.with_nearest_pred)


def _per_frame(s: Sums) -> FloatArray:
    return np.sqrt((s.nearest_truth + s.nearest_pred) / (s.with_nearest_truth + s.with_nearest_pred))


def _alone(s: Sums) -> FloatArray:
    return s.n_truth + s.n_pred - s.with_nearest_truth - s.with_nearest_pred


@dataclass(frozen=True, slots=True)
class Rmsmd:
    """Root mean square of the distances (nm) of all points to the nearest of the other side.

    `per_frame` takes the nearest point within the frame and pools all frames; points in frames where the other side
    is empty have none and are counted in `alone`. `whole_set` ignores the frames.
    """

    per_frame: float | None = error("RMSMD per frame", _per_frame, _ALONE)
    per_frame_truth_to_pred: float | None = error(
        "RMSMD per frame, truth to pred", _truth_to_pred, _ALONE_TRUTH, shown=False
    )
    per_frame_pred_to_truth: float | None = error(
        "RMSMD per frame, pred to truth", _pred_to_truth, _ALONE_PRED, shown=False
    )
    alone: int = count("points without a counterpart in their frame", _alone, better="lower", shown=False)
    whole_set: float | None = error("RMSMD whole set")
    whole_set_truth_to_pred: float | None = error("RMSMD whole set, truth to pred", shown=False)
    whole_set_pred_to_truth: float | None = error("RMSMD whole set, pred to truth", shown=False)


def rmsmd_whole_set(truth: Localizations, pred: Localizations, *, dim: int, threads: int = 1) -> dict[str, Measure]:
    """RMSMD in nm between all points, whatever their frames: the fields of `Rmsmd` that don't add over frames.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 100.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> rmsmd_whole_set(t, p, dim=2)["whole_set_pred_to_truth"]
    5.0
    """
    sums = nearest(truth.points(dim, threads), pred.points(dim, threads), None, None, threads)
    truth_sum = float(sums.truth.sum()), int(sums.truth_count.sum())
    return whole_set_of(truth_sum, (float(sums.pred.sum()), int(sums.pred_count.sum())))


def whole_set_of(truth: tuple[float, int], pred: tuple[float, int]) -> dict[str, Measure]:
    """The same from the squared distances of each side to the other, summed, and how many points have one.

    Examples
    --------
    >>> whole_set_of((34.0, 2), (2.0, 2))["whole_set"]
    3.0
    """
    (a, n), (b, m) = truth, pred
    names = ("whole_set", "whole_set_truth_to_pred", "whole_set_pred_to_truth")
    if n + m == 0:
        return dict.fromkeys(names, _NOBODY)
    return dict(zip(names, np.sqrt([(a + b) / (n + m), a / n, b / m]).tolist(), strict=True))
