"""Errors of depth that all detections share: none at all, a factor, a tilt over the field, a drift over the movie, a
shift.

What a factor, a tilt or a drift leaves as a common shift of depths belongs to it.
"""

from __future__ import annotations

import math

import numpy as np

from flatmetric.quality.case import Case
from flatmetric.quality.depth_fit import DEEP, FEWEST
from flatmetric.quality.findings import Finding, reading_options
from flatmetric.quality.pairing import certainty_of

_SMALLEST_SCALE = 0.06  # programs compress depths by a few percent, at the ends of their range by more
_SMALLEST_RANGE = 50.0  # nm from end to end: below what depths err by
_SMALLEST_SHIFT = 30.0  # nm: programs disagree by less about where the focus is
_SURE = 4.0  # standard errors: less than for a pile, since a fix must lower the Flat Metric as well
_SURE_OF_TWO = 4.4  # the same for two numbers at once, by their joint errors


def flat(case: Case) -> Finding | None:
    """All depths are the same, and those of the molecules are not."""
    truth, pred = case.truth.z, case.pred.z
    if case.dim != 3 or truth is None or pred is None or len(pred) < FEWEST or float(np.std(truth)) < DEEP:
        return None
    return Finding("z_flat", float(pred[0]), None, None, 1.0) if np.ptp(pred) == 0 else None


def scale(case: Case) -> Finding | None:
    """Depths that are a multiple of the true ones."""
    fit = case.depth_fit
    if fit is None or abs(fit.slopes[1] - 1) < max(_SMALLEST_SCALE, _SURE * fit.errors[1]) or fit.slopes[1] <= 0.1:
        return None
    estimate = {"factor": round(float(fit.slopes[1]), 3), "offset": round(float(fit.slopes[0]), 1)}
    return Finding("z_scale", estimate, None, None, certainty_of(abs(fit.slopes[1] - 1) / fit.errors[1]))


def tilt(case: Case) -> Finding | None:
    """Depths that rise from one side of the field to the other."""
    fit = case.depth_fit
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
    fit = case.depth_fit
    if fit is None or abs(fit.slopes[4]) < max(_SMALLEST_RANGE, _SURE * fit.errors[4]):
        return None
    estimate = {"z": float(fit.slopes[4]), "frames": fit.frames, "offset": round(float(fit.slopes[0]), 1)}
    return Finding("z_drift", estimate, None, None, certainty_of(abs(fit.slopes[4]) / fit.errors[4]))


def shift(case: Case) -> Finding | None:
    """Depths that are too large, or too small, by the same length everywhere."""
    fit = case.depth_fit
    if fit is None or abs(fit.shift[0]) < max(_SMALLEST_SHIFT, _SURE * fit.shift[1]):
        return None
    size, error = round(fit.shift[0], 1), fit.shift[1]
    options = reading_options("z_shift", size, case.pred.provenance)
    return Finding("z_shift", size, None, None, certainty_of(abs(size) / max(error, 1e-12)), options)
