"""The metrics of the SMLM 2016 Challenge: detection (Jaccard), errors of what was matched (RMSE), and efficiency."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import (
    IN_2D,
    NO_MATCH,
    Reason,
    Sums,
    count,
    error,
    fraction,
    mad_of,
    metric,
    percent,
    rmse_of,
)

_NO_DETECTION = Reason("there is no detection", lambda s: s.n_pred == 0)
_NO_MOLECULE = Reason("there is no molecule", lambda s: s.n_truth == 0)
_NOBODY = Reason("there is neither a molecule nor a detection", lambda s: s.n_truth + s.n_pred == 0)
_NO_F1 = Reason("precision or recall is undefined, or both are 0", lambda s: s.tp == 0)
_NO_PHOTONS = Reason("photons are not known on both sides", lambda s: not s.settings.photons_known)
_CONSTANT = Reason(
    "the matched photons are constant", lambda s: (s.photons_truth_square == 0) | (s.photons_pred_square == 0)
)
_AXIAL = (NO_MATCH, IN_2D)
_ROUNDING = 1e-12  # relative: a spread below it is rounding of equal values
_bias = partial(metric, unit="nm", format="+.2f", better="zero")
_efficiency = partial(percent, limits=(-math.inf, 100.0))


def _shifted(axis: str) -> dict[str, Any]:
    return {
        "meaning": f"mean error along {axis}: the shift of everything that is matched",
        "equation": f"mean of d{axis}",
    }


def hypot(a: FloatArray, b: FloatArray) -> FloatArray:
    """sqrt(a^2 + b^2), bit-identical on every machine, unlike numpy's."""
    return np.asarray(_hypot(a, b))


_hypot = np.vectorize(math.hypot, otypes=[np.float64])


def precision(s: Sums) -> FloatArray:
    """Share of the detections that are matched."""
    return s.tp / s.n_pred


def recall(s: Sums) -> FloatArray:
    """Share of the molecules that are matched."""
    return s.tp / s.n_truth


def f1(s: Sums) -> FloatArray:
    """Harmonic mean of precision and recall."""
    return 2 * precision(s) * recall(s) / (precision(s) + recall(s))


def jaccard(s: Sums) -> FloatArray:
    """Matched pairs over all molecules and detections, each pair counted once, in percent."""
    return 100 * s.tp / (s.n_truth + s.n_pred - s.tp)


def rmse_xy(s: Sums) -> FloatArray:
    """Root mean square of the lateral distance, nm."""
    return np.sqrt(s.square_x / s.tp + s.square_y / s.tp)


def rmse_z(s: Sums) -> FloatArray:
    """Root mean square of the axial error, nm."""
    return np.sqrt(s.square_z / s.tp)


def rmse_xyz(s: Sums) -> FloatArray:
    """Root mean square of the distance in 3D, nm."""
    return np.sqrt(s.square_x / s.tp + s.square_y / s.tp + s.square_z / s.tp)


def efficiency_xy(s: Sums) -> FloatArray:
    """100 - sqrt((100 - jaccard)^2 + (alpha rmse)^2), in percent, by the lateral error; may be negative."""
    return 100 - hypot(100 - jaccard(s), s.settings.options.alpha_xy * rmse_xy(s))


def efficiency_z(s: Sums) -> FloatArray:
    """The same by the axial error."""
    return 100 - hypot(100 - jaccard(s), s.settings.options.alpha_z * rmse_z(s))


def efficiency(s: Sums) -> FloatArray:
    """In 2D the lateral efficiency, in 3D the mean of the lateral and the axial one."""
    return efficiency_xy(s) if s.settings.dim == 2 else (efficiency_xy(s) + efficiency_z(s)) / 2


def photon_correlation(s: Sums) -> FloatArray:
    """Pearson's r between true and predicted photons of matched pairs."""
    spread = _spread(s.photons_truth, s.photons_truth_square, s.tp) * _spread(
        s.photons_pred, s.photons_pred_square, s.tp
    )
    return (s.photons_product - s.photons_truth * s.photons_pred / s.tp) / np.sqrt(spread)


def _spread(total: FloatArray, squares: FloatArray, count: FloatArray) -> FloatArray:
    """Sum of squared deviations from the mean; 0 where it is only rounding, e.g. if a resample repeats one pair."""
    spread = squares - total**2 / count
    return np.where(spread > _ROUNDING * squares, spread, 0.0)


_OVER = ("matched molecules", "matched pairs")


@dataclass(frozen=True, slots=True)
class ChallengeScore:
    """The challenge's metrics. Lengths in nm, errors are pred minus truth; jaccard and efficiency in percent.

    MAD is the mean absolute error, summed over the axes.
    """

    tp: int = count(
        "true positives",
        lambda s: s.tp,
        meaning="molecules with a matched detection",
        equation="TP",
        better="higher",
        line="detection",
        label="TP {}",
    )
    fp: int = count(
        "false positives",
        lambda s: s.n_pred - s.tp,
        meaning="detections without a matched molecule",
        equation="FP",
        better="lower",
        line="detection",
        label="FP {}",
    )
    fn: int = count(
        "false negatives",
        lambda s: s.n_truth - s.tp,
        meaning="molecules without a matched detection",
        equation="FN",
        better="lower",
        line="detection",
        label="FN {}",
    )
    precision: float | None = fraction(
        "precision",
        precision,
        _NO_DETECTION,
        meaning="share of the detections that are matched",
        equation="TP / (TP + FP)",
        line="detection",
    )
    recall: float | None = fraction(
        "recall",
        recall,
        _NO_MOLECULE,
        meaning="share of the molecules that are matched",
        equation="TP / (TP + FN)",
        line="detection",
    )
    f1: float | None = fraction(
        "F1",
        f1,
        _NO_F1,
        meaning="harmonic mean of precision and recall",
        equation="2 TP / (2 TP + FP + FN)",
        line="detection",
    )
    jaccard: float | None = percent(
        "Jaccard",
        jaccard,
        _NOBODY,
        meaning="matched pairs among all molecules and detections",
        equation="100 TP / (TP + FP + FN)",
        line="detection",
    )
    rmse_xy: float | None = error(
        "RMSE lateral", rmse_xy, NO_MATCH, **rmse_of("xy", *_OVER), line="lateral", label="RMSE {} nm"
    )
    rmse_z: float | None = error(
        "RMSE axial", rmse_z, *_AXIAL, **rmse_of("z", *_OVER), line="axial", label="RMSE {} nm"
    )
    rmse_xyz: float | None = error(
        "RMSE 3D", rmse_xyz, *_AXIAL, **rmse_of("xyz", *_OVER), line="3D", label="RMSE {} nm"
    )
    mad_xy: float | None = error(
        "MAD lateral",
        lambda s: s.abs_x / s.tp + s.abs_y / s.tp,
        NO_MATCH,
        **mad_of("xy", *_OVER),
        line="lateral",
        label="MAD {} nm",
    )
    mad_z: float | None = error(
        "MAD axial",
        lambda s: s.abs_z / s.tp,
        *_AXIAL,
        **mad_of("z", *_OVER),
        shown=False,
        line="axial",
        label="MAD {} nm",
    )
    mad_xyz: float | None = error(
        "MAD 3D",
        lambda s: s.abs_x / s.tp + s.abs_y / s.tp + s.abs_z / s.tp,
        *_AXIAL,
        **mad_of("xyz", *_OVER),
        shown=False,
        line="3D",
        label="MAD {} nm",
    )
    bias_x: float | None = _bias("bias x", lambda s: s.error_x / s.tp, NO_MATCH, **_shifted("x"), line="lateral")
    bias_y: float | None = _bias("bias y", lambda s: s.error_y / s.tp, NO_MATCH, **_shifted("y"), line="lateral")
    bias_z: float | None = _bias("bias z", lambda s: s.error_z / s.tp, *_AXIAL, **_shifted("z"), line="axial")
    efficiency_xy: float | None = _efficiency(
        "efficiency lateral",
        efficiency_xy,
        _NOBODY,
        NO_MATCH,
        meaning="Jaccard and lateral RMSE in one number; alpha is 1 per nm unless set",
        equation="100 - sqrt((100 - Jaccard)^2 + (alpha RMSE lateral)^2)",
        shown=False,
        line="lateral",
        label="efficiency {} %",
    )
    efficiency_z: float | None = _efficiency(
        "efficiency axial",
        efficiency_z,
        _NOBODY,
        *_AXIAL,
        meaning="Jaccard and axial RMSE in one number; alpha is 0.5 per nm unless set",
        equation="100 - sqrt((100 - Jaccard)^2 + (alpha RMSE axial)^2)",
        shown=False,
        line="axial",
        label="efficiency {} %",
    )
    efficiency: float | None = _efficiency(
        "efficiency",
        efficiency,
        _NOBODY,
        NO_MATCH,
        meaning="the mean of both efficiencies in 3D, the lateral one in 2D",
        equation="(lateral + axial) / 2",
        line="overall",
    )
    photon_correlation: float | None = fraction(
        "photon correlation",
        photon_correlation,
        _NO_PHOTONS,
        NO_MATCH,
        _CONSTANT,
        meaning="how true and detected photons of matched pairs agree",
        equation="Pearson's r",
        limits=(-1.0, 1.0),
        line="photons",
        label="correlation {}",
    )
