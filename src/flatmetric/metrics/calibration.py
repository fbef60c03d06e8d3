"""Calibration: whether the precision that a program claims matches its errors."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import Reason, Sums, count, metric

_FEW = Reason("fewer than two matched detections claim an uncertainty", lambda s: s.claims < 2, quiet=True)
_WORDS = "errors{}, bias left out, over the precision that the result claims; 2 means twice as large"
_ratio = partial(metric, format=".3f", better="one", limits=(0.0, math.inf), line="claims")


def _axis(s: Sums, axes: str) -> FloatArray:
    """Root mean square of (error - bias) / claimed uncertainty along an axis, or of several pooled.

    Each axis has a bias of its own: the mean of its errors, weighted as precise as they claim to be. Taking it out
    costs one pair.
    """
    square = sum(
        getattr(s, f"claimed_square_{axis}") - getattr(s, f"claimed_{axis}") ** 2 / s.claimed_weight for axis in axes
    )
    # Rounding never makes it imaginary.
    return np.asarray(np.sqrt(np.maximum(square / ((s.claims - 1) * len(axes)), 0.0)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Errors over claimed uncertainties of matched pairs, bias left out: 1 means that the claims are right."""

    x: float | None = _ratio(
        "error / claimed uncertainty, x",
        lambda s: _axis(s, "x"),
        _FEW,
        meaning=_WORDS.format(" along x"),
        equation="root of the sum of ((dx - bias) / claimed)^2 over (pairs - 1)",
        shown=False,
        label="x {}",
    )
    y: float | None = _ratio(
        "error / claimed uncertainty, y",
        lambda s: _axis(s, "y"),
        _FEW,
        meaning=_WORDS.format(" along y"),
        equation="root of the sum of ((dy - bias) / claimed)^2 over (pairs - 1)",
        shown=False,
        label="y {}",
    )
    xy: float | None = _ratio(
        "error / claimed uncertainty",
        lambda s: _axis(s, "xy"),
        _FEW,
        meaning=_WORDS.format(""),
        equation="the same for both axes together, each with its own bias",
        label="error / claimed uncertainty {} (1 is well calibrated)",
    )
    claims: int = count(
        "detections with a claimed uncertainty",
        lambda s: s.claims,
        meaning="matched pairs whose detection claims a precision",
        equation="count",
        shown=False,
    )
