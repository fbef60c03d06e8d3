"""The metrics of the SMLM 2016 Challenge, pooled over all frames."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flatmetric import _core
from flatmetric.arguments import thread_count
from flatmetric.localizations import Localizations
from flatmetric.metrics.value import Undefined, Value, ratio
from flatmetric.result import FloatArray, IntArray

_NO_MATCH = "no detection was matched"
_IN_2D = "scored in 2D"


@dataclass(frozen=True, slots=True)
class Counts:
    """Matched, false and missed: true positives, false positives, false negatives."""

    tp: int
    fp: int
    fn: int


@dataclass(frozen=True, slots=True)
class ChallengeScore:
    """The challenge's metrics. Lengths in nm, errors are found minus true; jaccard and efficiency in percent."""

    tp: int
    fp: int
    fn: int
    precision: Value
    recall: Value
    f1: Value
    jaccard: Value
    rmse_xy: Value
    rmse_z: Value
    rmse_xyz: Value
    mad_xy: Value
    mad_z: Value
    mad_xyz: Value
    bias_x: Value
    bias_y: Value
    bias_z: Value
    efficiency_xy: Value
    efficiency_z: Value
    efficiency: Value
    photon_correlation: Value


def detection(counts: Counts) -> dict[str, Value]:
    """Precision, recall and F1 as fractions, Jaccard in percent.

    Examples
    --------
    >>> detection(Counts(tp=2, fp=1, fn=1))["jaccard"]
    50.0
    """
    tp, fp, fn = counts.tp, counts.fp, counts.fn
    precision = ratio(tp, tp + fp, "there is no detection")
    recall = ratio(tp, tp + fn, "there is no molecule")
    f1: Value = Undefined("precision or recall is undefined, or both are 0")
    if not isinstance(precision, Undefined) and not isinstance(recall, Undefined) and tp:
        f1 = 2 * precision * recall / (precision + recall)
    jaccard = ratio(100 * tp, tp + fp + fn, "there is neither a molecule nor a detection")
    return {"precision": precision, "recall": recall, "f1": f1, "jaccard": jaccard}


def efficiency(jaccard: Value, rmse: Value, alpha: float) -> Value:
    """100 - sqrt((100 - jaccard)^2 + (alpha rmse)^2), jaccard in percent, rmse in nm, alpha in 1/nm; may be negative.

    Examples
    --------
    >>> round(efficiency(91.204, 32.077, 1.0), 3)
    66.739
    """
    for value in (jaccard, rmse):
        if isinstance(value, Undefined):
            return value
    assert not isinstance(jaccard, Undefined) and not isinstance(rmse, Undefined)
    return 100 - math.hypot(100 - jaccard, alpha * rmse)


def precision_errors(errors: FloatArray, dim: int) -> dict[str, Value]:
    """RMSE, MAD (mean of absolute values, summed over the axes) and bias of (k, 3) errors found minus true, nm.

    Examples
    --------
    >>> precision_errors(np.array([[3.0, 4.0, 0.0]]), dim=2)["rmse_xy"]
    5.0
    """
    names = ("rmse_xy", "rmse_z", "rmse_xyz", "mad_xy", "mad_z", "mad_xyz", "bias_x", "bias_y", "bias_z")
    if len(errors) == 0:
        return dict.fromkeys(names, Undefined(_NO_MATCH))
    squares = [float(np.mean(errors[:, axis] ** 2)) for axis in range(3)]
    absolute = [float(np.mean(np.abs(errors[:, axis]))) for axis in range(3)]
    bias = [float(np.mean(errors[:, axis])) for axis in range(3)]
    values: dict[str, Value] = {
        "rmse_xy": math.sqrt(squares[0] + squares[1]),
        "rmse_z": math.sqrt(squares[2]),
        "rmse_xyz": math.sqrt(sum(squares)),
        "mad_xy": absolute[0] + absolute[1],
        "mad_z": absolute[2],
        "mad_xyz": sum(absolute),
        "bias_x": bias[0],
        "bias_y": bias[1],
        "bias_z": bias[2],
    }
    if dim == 2:
        values |= dict.fromkeys(("rmse_z", "rmse_xyz", "mad_z", "mad_xyz", "bias_z"), Undefined(_IN_2D))
    return values


def errors_of(truth: Localizations, pred: Localizations, truth_rows: IntArray, pred_rows: IntArray) -> FloatArray:
    """Found minus true of matched rows, (k, 3) in nm; z is 0 where a table has none.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> errors_of(t, p, np.array([0]), np.array([0]))
    array([[3., 4., 0.]])
    """
    dim = 2 if truth.z is None or pred.z is None else 3
    errors = _core.row_differences(truth.points(dim), pred.points(dim), truth_rows, pred_rows, thread_count(None))
    return errors if dim == 3 else np.column_stack((errors, np.zeros(len(errors))))


def photon_correlation(true: FloatArray | None, found: FloatArray | None) -> Value:
    """Pearson's r between true and found photons of matched rows.

    Examples
    --------
    >>> round(photon_correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])), 12)
    1.0
    """
    if true is None or found is None:
        return Undefined("photons are not known on both sides")
    if len(true) == 0:
        return Undefined(_NO_MATCH)
    a, b = _centred(true), _centred(found)
    if a is None or b is None:
        return Undefined("the matched photons are constant")
    return float(np.dot(a, b) / math.sqrt(np.dot(a, a) * np.dot(b, b)))


def _centred(values: FloatArray) -> FloatArray | None:
    """Deviations from the mean, scaled to 1 so that no square overflows or vanishes; None where there are none."""
    low, high, mean = values.min(), values.max(), values.mean()
    if low == high:
        return None
    deviations: FloatArray = values - mean
    deviations /= max(high - mean, mean - low)
    return deviations


def challenge_score(
    counts: Counts,
    errors: FloatArray,
    photons: tuple[FloatArray | None, FloatArray | None],
    *,
    dim: int,
    alpha_xy: float = 1.0,
    alpha_z: float = 0.5,
) -> ChallengeScore:
    """All metrics of the challenge from the counts, the (k, 3) errors in nm and the photons of the matched rows.

    `alpha_xy` and `alpha_z` (1/nm) weigh the errors in the efficiency; in 2D the efficiency is the lateral one, in 3D
    the mean of both.

    Examples
    --------
    >>> s = challenge_score(Counts(1, 0, 1), np.array([[3.0, 4.0, 0.0]]), (None, None), dim=2)
    >>> s.jaccard, s.rmse_xy, round(s.efficiency, 3)
    (50.0, 5.0, 49.751)
    """
    found = detection(counts)
    spread = precision_errors(errors, dim)
    lateral = efficiency(found["jaccard"], spread["rmse_xy"], alpha_xy)
    axial = efficiency(found["jaccard"], spread["rmse_z"], alpha_z)
    overall = lateral
    if dim == 3 and not isinstance(lateral, Undefined) and not isinstance(axial, Undefined):
        overall = (lateral + axial) / 2
    return ChallengeScore(
        tp=counts.tp,
        fp=counts.fp,
        fn=counts.fn,
        **found,
        **spread,
        efficiency_xy=lateral,
        efficiency_z=axial,
        efficiency=overall,
        photon_correlation=photon_correlation(*photons),
    )
