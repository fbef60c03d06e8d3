"""Calibration: whether the precision that a program claims matches its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.metrics.base import Reason, Sums, count, metric

_FEW = Reason("fewer than two matched detections claim an uncertainty", lambda s: s.claims < 2)
_ratio = partial(metric, format=".3f", better="one", limits=(0.0, math.inf))


def _axis(s: Sums, axes: str) -> FloatArray:
    """Standard deviation of error / claimed uncertainty along an axis, or of several pooled."""
    number = s.claims * len(axes)
    mean = sum(getattr(s, f"claimed_{axis}") for axis in axes) / number
    square = sum(getattr(s, f"claimed_square_{axis}") for axis in axes) / number
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))  # rounding never makes it imaginary


@dataclass(frozen=True, slots=True)
class Calibration:
    """Standard deviation of error / claimed uncertainty over matched pairs.

    1 means that the claims are right, 2 that errors are twice as large as claimed. `claims` is the number of matched
    detections with a claimed uncertainty; `xy` pools both axes.
    """

    x: float | None = _ratio("error / claimed uncertainty, x", lambda s: _axis(s, "x"), _FEW, shown=False)
    y: float | None = _ratio("error / claimed uncertainty, y", lambda s: _axis(s, "y"), _FEW, shown=False)
    xy: float | None = _ratio("error / claimed uncertainty", lambda s: _axis(s, "xy"), _FEW)
    claims: int = count("detections with a claimed uncertainty", lambda s: s.claims, shown=False)
