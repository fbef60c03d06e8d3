"""GOSPA and OSPA, summed over frames."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError
from flatmetric.metrics.base import Reason, Sums, error, metric

_MOST_DIGITS = 290  # of c^p


_NOBODY = Reason("there is no point on either side", lambda s: s.n_truth + s.n_pred == 0)
_setting = partial(metric, format="g", interval=False, shown=False)
_part = partial(error, interval=False, shown=False)


def _price(s: Sums) -> float:
    return float(s.settings.gospa_c**s.settings.gospa_p)


def _root(costs: FloatArray, s: Sums) -> FloatArray:
    return costs ** (1 / s.settings.gospa_p)


def _missed(s: Sums) -> FloatArray:
    return _price(s) / 2 * (s.n_truth - s.pairs)


def _false(s: Sums) -> FloatArray:
    return _price(s) / 2 * (s.n_pred - s.pairs)


def ospa(s: Sums) -> FloatArray:
    """OSPA of all frames together, nm.

    Frames are infinitely far apart, but the distance is cut off at c, so leftover points of different frames can pair.
    """
    larger = np.maximum(s.n_truth, s.n_pred)
    return _root((s.moved + _price(s) * (larger - s.pairs)) / larger, s)


@dataclass(frozen=True, slots=True)
class Gospa:
    """GOSPA (alpha 2) with its parts; lengths in nm.

    `value` is the p-th root of the costs of all frames together; `localization`, `missed` and `false` are those of
    its three parts. `frame_mean` is the mean of the frames' own values, over frames with any point.
    """

    value: float = error("GOSPA", lambda s: _root(s.moved + _missed(s) + _false(s), s), format=".6g")
    p: float = _setting("order of GOSPA", lambda s: s.settings.gospa_p)
    c: float = _setting("cutoff of GOSPA", lambda s: s.settings.gospa_c, unit="nm")
    localization: float = _part("GOSPA, localization", lambda s: _root(s.moved, s))
    missed: float = _part("GOSPA, missed", lambda s: _root(_missed(s), s))
    false: float = _part("GOSPA, false", lambda s: _root(_false(s), s))
    frame_mean: float | None = error("GOSPA, mean over frames", lambda s: s.own_gospa / s.frames, _NOBODY, shown=False)


@dataclass(frozen=True, slots=True)
class Ospa:
    """OSPA, nm: `value` for all frames together, `frame_mean` the mean of the frames' own values."""

    value: float | None = error("OSPA", ospa, _NOBODY)
    p: float = _setting("order of OSPA", lambda s: s.settings.gospa_p)
    c: float = _setting("cutoff of OSPA", lambda s: s.settings.gospa_c, unit="nm")
    frame_mean: float | None = error("OSPA, mean over frames", lambda s: s.own_ospa / s.frames, _NOBODY, shown=False)


@dataclass(frozen=True, slots=True, eq=False)
class FramePairs:
    """For each frame: its points, its pairs, and the sum of their distances (nm) to the p-th power."""

    n_truth: IntArray
    n_pred: IntArray
    pairs: IntArray
    moved: FloatArray


def check_order(p: float, c: float) -> None:
    """The order must be at least 1 and the cutoff a positive length in nm.

    Examples
    --------
    >>> check_order(2, 250)
    """
    if not 1 <= p < math.inf:
        raise InputError(f"the order p of GOSPA and OSPA is {p:g}; give a number of at least 1")
    if not 0 < c < math.inf:
        raise InputError(f"the cutoff c of GOSPA and OSPA is {c:g}; give a positive length in nm")
    if abs(p * math.log10(c)) > _MOST_DIGITS:
        raise InputError(
            f"the cutoff {c:g} nm to the order {p:g} of GOSPA and OSPA is out of range; give a lower order"
        )


def frame_pairs(
    n_truth: IntArray, n_pred: IntArray, pair_frame: IntArray, distance: FloatArray, *, p: float
) -> FramePairs:
    """The pairs of each frame, from the index of the frame and the distance (nm) of every pair.

    Examples
    --------
    >>> frame_pairs(np.array([2]), np.array([1]), np.array([0]), np.array([5.0]), p=2).moved
    array([25.])
    """
    count = len(n_truth)
    moved = np.bincount(pair_frame, distance**p, minlength=count).astype(np.float64)
    return FramePairs(n_truth, n_pred, np.bincount(pair_frame, minlength=count), moved)


def frame_values(frames: FramePairs, *, p: float, c: float) -> tuple[FloatArray, FloatArray]:
    """GOSPA and OSPA of each frame alone, nm; 0 for a frame without any point.

    Examples
    --------
    >>> frames = frame_pairs(np.array([2]), np.array([1]), np.array([0]), np.array([5.0]), p=1)
    >>> [float(values[0]) for values in frame_values(frames, p=1, c=250)]
    [130.0, 127.5]
    """
    price = c**p
    alone = frames.n_truth + frames.n_pred - 2 * frames.pairs
    larger = np.maximum(frames.n_truth, frames.n_pred)
    gospa = (frames.moved + price / 2 * alone) ** (1 / p)
    ospa = ((frames.moved + price * (larger - frames.pairs)) / np.maximum(larger, 1)) ** (1 / p)
    return gospa, ospa
