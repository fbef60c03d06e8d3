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
    """Standard deviation of error / claimed uncertainty along an axis, or of several pooled."""
    number = s.claims * len(axes)
    mean = sum(getattr(s, f"claimed_{axis}") for axis in axes) / number
    square = sum(getattr(s, f"claimed_square_{axis}") for axis in axes) / number
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))  # rounding never makes it imaginary


@dataclass(frozen=True, slots=True)
class Calibration:
    """Standard deviation of error / claimed uncertainty over matched pairs: 1 means that the claims are right."""

    x: float | None = _ratio(
        "error / claimed uncertainty, x",
        lambda s: _axis(s, "x"),
        _FEW,
        meaning=_WORDS.format(" along x"),
        equation="standard deviation of (dx / claimed)",
        shown=False,
        label="x {}",
    )
    y: float | None = _ratio(
        "error / claimed uncertainty, y",
        lambda s: _axis(s, "y"),
        _FEW,
        meaning=_WORDS.format(" along y"),
        equation="standard deviation of (dy / claimed)",
        shown=False,
        label="y {}",
    )
    xy: float | None = _ratio(
        "error / claimed uncertainty",
        lambda s: _axis(s, "xy"),
        _FEW,
        meaning=_WORDS.format(""),
        equation="standard deviation of (d / claimed), both axes pooled",
        label="error / claimed uncertainty {} (1 is well calibrated)",
    )
    claims: int = count(
        "detections with a claimed uncertainty",
        lambda s: s.claims,
        meaning="matched pairs whose detection claims a precision",
        equation="count",
        shown=False,
    )
