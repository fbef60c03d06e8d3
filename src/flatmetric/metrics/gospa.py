"""GOSPA and OSPA, summed over frames."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flatmetric import _core
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.metrics.matching import Matches
from flatmetric.metrics.value import Undefined, Value
from flatmetric.result import FloatArray, IntArray

_MOST_DIGITS = 290  # of c^p


@dataclass(frozen=True, slots=True)
class Gospa:
    """GOSPA (alpha 2) with its parts; lengths in nm.

    `value` is the p-th root of the costs of all frames together; `localization`, `missed` and `false` are those of
    its three parts. `frame_mean` is the mean of the frames' own values, over frames with any point.
    """

    value: float
    p: float
    c: float
    localization: float
    missed: float
    false: float
    frame_mean: Value


@dataclass(frozen=True, slots=True)
class Ospa:
    """OSPA, nm: `value` for all frames together, `frame_mean` the mean of the frames' own values."""

    value: Value
    p: float
    c: float
    frame_mean: Value


@dataclass(frozen=True, slots=True, eq=False)
class FramePairs:
    """Points of each frame, and of its pairs the number and the sum of distances (nm) to the p-th power."""

    n_truth: IntArray
    n_pred: IntArray
    pairs: IntArray
    moved: FloatArray


def refuse_order(p: float, c: float) -> None:
    """Refuse an order below 1 or a cutoff that is not a positive length in nm.

    Examples
    --------
    >>> refuse_order(2, 250)
    """
    if not 1 <= p < math.inf:
        raise InputError(f"the order p of GOSPA and OSPA is {p:g}; give a number of at least 1")
    if not 0 < c < math.inf:
        raise InputError(f"the cutoff c of GOSPA and OSPA is {c:g}; give a positive length in nm")
    if abs(p * math.log10(c)) > _MOST_DIGITS:
        raise InputError(f"the cutoff {c:g} nm to the order {p:g} of GOSPA and OSPA is no number; give a lower order")


def assign(truth: Localizations, pred: Localizations, *, dim: int, p: float, c: float, threads: int = 1) -> Matches:
    """The pairs of the best assignment: a pair costs distance^p (nm), leaving one apart c^p.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
    >>> len(assign(t, t, dim=2, p=2, c=250))
    1
    """
    rows = _core.match(
        truth.points(dim),
        pred.points(dim),
        truth.frame,
        pred.frame,
        lateral=c,
        axial=math.inf,
        greedy=False,
        power=p,
        price=c**p,
        threads=threads,
    )
    return Matches(*rows)


def frame_pairs(
    n_truth: IntArray, n_pred: IntArray, pair_frame: IntArray, distance: FloatArray, *, p: float
) -> FramePairs:
    """Sums over the pairs of each frame, from the index of its frame and the distance (nm) of each pair.

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


def gospa_and_ospa(frames: FramePairs, *, p: float, c: float) -> tuple[Gospa, Ospa]:
    """Both from the pairs of the best assignment of every frame; lengths in nm.

    Examples
    --------
    >>> frames = frame_pairs(np.array([2]), np.array([1]), np.array([0]), np.array([5.0]), p=1)
    >>> g, o = gospa_and_ospa(frames, p=1, c=250)
    >>> g.value, o.value
    (130.0, 127.5)
    """
    price = c**p
    n, m, pairs = int(frames.n_truth.sum()), int(frames.n_pred.sum()), int(frames.pairs.sum())
    moved, missed, false = float(frames.moved.sum()), price / 2 * (n - pairs), price / 2 * (m - pairs)
    occupied = np.maximum(frames.n_truth, frames.n_pred) > 0
    nobody = Undefined("there is no point on either side")
    own = frame_values(frames, p=p, c=c)
    means: list[Value] = [float(values[occupied].mean()) if occupied.any() else nobody for values in own]
    gospa = Gospa(
        value=(moved + missed + false) ** (1 / p),
        p=p,
        c=c,
        localization=moved ** (1 / p),
        missed=missed ** (1 / p),
        false=false ** (1 / p),
        frame_mean=means[0],
    )
    # Frames are infinitely far apart, but beyond c that makes no difference: left-over points of different frames pair.
    larger = max(n, m)
    value: Value = ((moved + price * (larger - pairs)) / larger) ** (1 / p) if larger else nobody
    return gospa, Ospa(value=value, p=p, c=c, frame_mean=means[1])
