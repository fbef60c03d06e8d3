"""GOSPA and OSPA, summed over frames."""

from __future__ import annotations

from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import Reason, Sums, error, metric

_NOBODY = Reason("there is no point on either side", lambda s: s.n_truth + s.n_pred == 0)
_setting = partial(metric, format="g", interval=False, shown=False)
_part = partial(error, interval=False, shown=False)
_CUTOFF = "distance beyond which nothing is assigned"


def _price(s: Sums) -> float:
    return float(s.settings.options.cutoff**s.settings.options.gospa_p)


def _root(costs: FloatArray, s: Sums) -> FloatArray:
    return costs ** (1 / s.settings.options.gospa_p)


def _missed(s: Sums) -> FloatArray:
    return _price(s) / 2 * (s.n_truth - s.pairs)


def _false(s: Sums) -> FloatArray:
    return _price(s) / 2 * (s.n_pred - s.pairs)


def ospa(s: Sums) -> FloatArray:
    """OSPA of all frames together, nm, for each point of the larger side of its frame."""
    return _root((s.moved + _price(s) * (s.larger - s.pairs)) / s.larger, s)


@dataclass(frozen=True, slots=True)
class Gospa:
    """GOSPA (alpha 2) with its parts; lengths in nm."""

    value: float = error(
        "GOSPA",
        lambda s: _root(s.moved + _missed(s) + _false(s), s),
        meaning="generalised optimal subpattern assignment: a best assignment, and half of c^p for each point alone; "
        "of order 1 with c = 2 lam, divided by the number of molecules, it is the Flat Metric",
        equation="(sum of d^p + c^p / 2 x (missed + false))^(1/p)",
        format=".6g",
        line="GOSPA",
        label="{} nm",
    )
    p: float = _setting(
        "order of GOSPA",
        lambda s: s.settings.options.gospa_p,
        meaning="order of GOSPA",
        equation="p",
        line="GOSPA",
        label="p {}",
    )
    c: float = _setting(
        "cutoff of GOSPA",
        lambda s: s.settings.options.cutoff,
        meaning=_CUTOFF,
        equation="c",
        unit="nm",
        line="GOSPA",
        label="c {} nm",
    )
    localization: float = _part(
        "GOSPA, localization",
        lambda s: _root(s.moved, s),
        meaning="part from assigned pairs; parts add up as their p-th powers",
        equation="(sum of d^p)^(1/p)",
    )
    missed: float = _part(
        "GOSPA, missed",
        lambda s: _root(_missed(s), s),
        meaning="part from molecules without a partner",
        equation="(c^p / 2 x missed)^(1/p)",
    )
    false: float = _part(
        "GOSPA, false",
        lambda s: _root(_false(s), s),
        meaning="part from detections without a partner",
        equation="(c^p / 2 x false)^(1/p)",
    )
    frame_mean: float | None = error(
        "GOSPA, mean over frames",
        lambda s: s.own_gospa / s.frames,
        _NOBODY,
        meaning="mean of GOSPA of each frame by itself, over frames with any point",
        equation="mean over frames",
        shown=False,
    )


@dataclass(frozen=True, slots=True)
class Ospa:
    """OSPA, nm: `value` for all frames together, `frame_mean` the mean of the frames' own values."""

    value: float | None = error(
        "OSPA",
        ospa,
        _NOBODY,
        meaning="optimal subpattern assignment, per point of the larger side of a frame; one without a pair costs c",
        equation="((sum of d^p + c^p (larger - pairs)) / larger)^(1/p)",
        line="GOSPA",
        label="OSPA {} nm",
    )
    p: float = _setting("order of OSPA", lambda s: s.settings.options.gospa_p, meaning="order of OSPA", equation="p")
    c: float = _setting("cutoff of OSPA", lambda s: s.settings.options.cutoff, meaning=_CUTOFF, equation="c", unit="nm")
    frame_mean: float | None = error(
        "OSPA, mean over frames",
        lambda s: s.own_ospa / s.frames,
        _NOBODY,
        meaning="mean of OSPA of each frame by itself, over frames with any point",
        equation="mean over frames",
        shown=False,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FramePairs:
    """For each frame: its points, its pairs, and the sum of their distances (nm) to the p-th power."""

    n_truth: IntArray
    n_pred: IntArray
    pairs: IntArray
    moved: FloatArray


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
