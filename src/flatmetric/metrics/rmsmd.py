"""RMSMD: the root mean square minimum distance (Sun 2018), both ways."""

from __future__ import annotations

from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._core import nearest
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.metrics.base import Measure, Reason, Rows, Sums, count, error

_NOBODY = "no point has another on the other side"
_ALONE = Reason(_NOBODY, lambda s: s.with_nearest_truth + s.with_nearest_pred == 0)
_ALONE_TRUTH = Reason(_NOBODY, lambda s: s.with_nearest_truth == 0)
_ALONE_PRED = Reason(_NOBODY, lambda s: s.with_nearest_pred == 0)
_one_way = partial(error, equation="sqrt(mean of nearest^2)", shown=False)
_both_ways = partial(error, equation="sqrt(mean of nearest^2 over both sides)", line="RMSMD")


def _per_frame(s: Sums) -> FloatArray:
    return np.sqrt((s.nearest_truth + s.nearest_pred) / (s.with_nearest_truth + s.with_nearest_pred))


@dataclass(frozen=True, slots=True)
class Rmsmd:
    """Root mean square of the distances (nm) of all points to the nearest of the other side.

    `per_frame` takes the nearest point within the frame and pools all frames; points in frames where the other side
    is empty have none and are counted in `alone`. `whole_set` ignores the frames.
    """

    per_frame: float | None = _both_ways(
        "RMSMD per frame",
        _per_frame,
        _ALONE,
        meaning="root mean square distance from every point, of both sides, to the nearest of the other side in its "
        "frame",
        label="per frame {} nm",
    )
    per_frame_truth_to_pred: float | None = _one_way(
        "RMSMD per frame, truth to pred",
        lambda s: np.sqrt(s.nearest_truth / s.with_nearest_truth),
        _ALONE_TRUTH,
        meaning="RMSMD per frame, from molecules to detections only",
    )
    per_frame_pred_to_truth: float | None = _one_way(
        "RMSMD per frame, pred to truth",
        lambda s: np.sqrt(s.nearest_pred / s.with_nearest_pred),
        _ALONE_PRED,
        meaning="RMSMD per frame, from detections to molecules only",
    )
    alone: int = count(
        "points without a counterpart in their frame",
        lambda s: s.n_truth + s.n_pred - s.with_nearest_truth - s.with_nearest_pred,
        meaning="points whose frame has no point of the other side, which are left out",
        equation="count",
        better="lower",
        shown=False,
        line="RMSMD",
        label="without {} points that are alone in their frame",
    )
    whole_set: float | None = _both_ways(
        "RMSMD whole set",
        meaning="root mean square distance to the nearest point of the other side, whatever its frame",
        label="whole set {} nm",
    )
    whole_set_truth_to_pred: float | None = _one_way(
        "RMSMD whole set, truth to pred", meaning="RMSMD of the whole set, from molecules to detections only"
    )
    whole_set_pred_to_truth: float | None = _one_way(
        "RMSMD whole set, pred to truth", meaning="RMSMD of the whole set, from detections to molecules only"
    )


def measure_rmsmd(rows: Rows) -> dict[str, Measure]:
    """RMSMD between all points, whatever their frames, nm."""
    matched = rows.matched
    return rmsmd_whole_set(matched.kept_truth, matched.kept_pred, dim=matched.dim, threads=matched.threads)


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
