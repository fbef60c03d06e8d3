"""Errors of depth that all detections share: none at all, a factor, a tilt over the field, a drift over the movie, a
shift.

What a factor, a tilt or a drift leaves as a common shift of depths belongs to it.
"""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding, reading_options
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, certainty_of

_FEWEST = 30  # pairs for a fit of five numbers
_DEEP = 50.0  # nm, standard deviation of true depths: flatter layers have no scale, and 0 is a fair depth in them
_SMALLEST_SCALE = 0.06  # programs compress depths by a few percent, at the ends of their range by more
_SMALLEST_RANGE = 50.0  # nm from end to end: below what depths err by
_SMALLEST_SHIFT = 30.0  # nm: programs disagree by less about where the focus is
_SURE = 4.0  # standard errors: less than for a pile, since a fix must lower the Flat Metric as well
_SURE_OF_TWO = 4.4  # the same for two numbers at once, by their joint errors
_ROUNDS, _KEPT = 8, 3.0  # of fits to what lies within so many spreads of the last one


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """The depth that was found by the true depth, x, y and time, each from -1/2 to 1/2 but for the depth; `shift` is by
    how much depths are too large on average, with its standard error, nm.
    """

    slopes: FloatArray
    covariance: FloatArray
    shift: tuple[float, float]
    ranges: tuple[float, float]
    frames: tuple[int, int]
    middle: tuple[float, float]

    @property
    def errors(self) -> FloatArray:
        """The standard errors of the slopes."""
        return np.maximum(np.sqrt(np.diag(self.covariance)), 1e-12)


def flat(case: Case) -> Finding | None:
    """All depths are the same, and those of the molecules are not."""
    truth, pred = case.truth.z, case.pred.z
    if case.dim != 3 or truth is None or pred is None or len(pred) < _FEWEST or float(np.std(truth)) < _DEEP:
        return None
    return Finding("z_flat", float(pred[0]), None, None, 1.0) if np.ptp(pred) == 0 else None


def scale(case: Case) -> Finding | None:
    """Depths that are a multiple of the true ones."""
    fit = _fit(case)
    if fit is None or abs(fit.slopes[1] - 1) < max(_SMALLEST_SCALE, _SURE * fit.errors[1]) or fit.slopes[1] <= 0.1:
        return None
    estimate = {"factor": round(float(fit.slopes[1]), 3), "offset": round(float(fit.slopes[0]), 1)}
    return Finding("z_scale", estimate, None, None, certainty_of(abs(fit.slopes[1] - 1) / fit.errors[1]))


def tilt(case: Case) -> Finding | None:
    """Depths that rise from one side of the field to the other."""
    fit = _fit(case)
    if fit is None:
        return None
    slopes = fit.slopes[2:4]
    sigmas = math.sqrt(max(0.0, float(slopes @ np.linalg.pinv(fit.covariance[2:4, 2:4]) @ slopes)))
    if math.hypot(*slopes) < _SMALLEST_RANGE or sigmas < _SURE_OF_TWO:
        return None
    offset, x, y = (round(float(slope), 1) for slope in fit.slopes[[0, 2, 3]])
    estimate = {"x": x, "y": y, "field": fit.ranges, "middle": fit.middle, "offset": offset}
    return Finding("z_tilt", estimate, None, None, certainty_of(sigmas))


def drift(case: Case) -> Finding | None:
    """Depths that rise or fall from the first to the last frame."""
    fit = _fit(case)
    if fit is None or abs(fit.slopes[4]) < max(_SMALLEST_RANGE, _SURE * fit.errors[4]):
        return None
    estimate = {"z": float(fit.slopes[4]), "frames": fit.frames, "offset": round(float(fit.slopes[0]), 1)}
    return Finding("z_drift", estimate, None, None, certainty_of(abs(fit.slopes[4]) / fit.errors[4]))


def shift(case: Case) -> Finding | None:
    """Depths that are too large, or too small, by the same length everywhere."""
    fit = _fit(case)
    if fit is None or abs(fit.shift[0]) < max(_SMALLEST_SHIFT, _SURE * fit.shift[1]):
        return None
    size, error = round(fit.shift[0], 1), fit.shift[1]
    options = reading_options("z_shift", size, case.pred.provenance)
    return Finding("z_shift", size, None, None, certainty_of(abs(size) / max(error, 1e-12)), options)


def _fit(case: Case) -> _Fit | None:
    """By least squares of what lies close to the fit before, since other molecules lie at any depth."""
    truth, pred = case.truth, case.pred
    if truth.z is None or pred.z is None or not pred.z.any() or case.pile.sigmas < SIGNIFICANT:
        return None
    dx, dy = case.apart
    near = (dx - case.pile.x) ** 2 + (dy - case.pile.y) ** 2 <= (WINDOW / 2) ** 2
    t, p = (rows[near] for rows in case.rows)
    if len(t) < _FEWEST or float(np.std(truth.z[t])) < _DEEP:
        return None
    field = [truth.extent["x"], truth.extent["y"]]
    sizes, middle = [high - low for low, high in field], [(low + high) / 2 for low, high in field]
    frames = int(truth.frame.min()), int(truth.frame.max())
    place = [
        (getattr(truth, axis)[t] - at) / max(size, 1.0) for axis, at, size in zip("xy", middle, sizes, strict=True)
    ]
    time = (truth.frame[t] - sum(frames) / 2) / max(1, frames[1] - frames[0])
    columns = np.column_stack([np.ones(len(t)), truth.z[t], *place, time])
    measured = pred.z[p]
    kept = np.ones(len(t), dtype=bool)
    for _ in range(_ROUNDS):
        slopes = np.linalg.lstsq(columns[kept], measured[kept], rcond=None)[0]
        left = measured - columns @ slopes
        spread = 1.4826 * float(np.median(np.abs(left[kept])))
        kept = np.abs(left) <= max(_KEPT * spread, 1.0)
        if kept.sum() < _FEWEST:
            return None
    # Rows of one molecule err together, so that they count as one.
    seen = len(np.unique(np.column_stack([truth.x[t[kept]], truth.y[t[kept]]]), axis=0))
    inverse = np.linalg.pinv(columns[kept].T @ columns[kept])
    covariance = inverse * float((left[kept] ** 2).mean()) * kept.sum() / seen
    deeper = (measured - truth.z[t])[kept]
    shift = float(deeper.mean()), float(deeper.std()) / math.sqrt(seen)
    return _Fit(slopes, covariance, shift, (sizes[0], sizes[1]), frames, (middle[0], middle[1]))
