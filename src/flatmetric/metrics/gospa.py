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


def gospa_and_ospa(
    n_truth: IntArray, n_pred: IntArray, pair_frame: IntArray, distance: FloatArray, *, p: float, c: float
) -> tuple[Gospa, Ospa]:
    """Both from the assignment: points of each frame, and for each pair the index of its frame and its distance in nm.

    Examples
    --------
    >>> g, o = gospa_and_ospa(np.array([2]), np.array([1]), np.array([0]), np.array([5.0]), p=1, c=250)
    >>> g.value, o.value
    (130.0, 127.5)
    """
    moved = np.bincount(pair_frame, distance**p, minlength=len(n_truth))
    pairs = np.bincount(pair_frame, minlength=len(n_truth))
    price = c**p
    missed, false = price / 2 * (n_truth - pairs), price / 2 * (n_pred - pairs)
    larger = np.maximum(n_truth, n_pred)
    occupied = larger > 0
    nobody = Undefined("there is no point on either side")
    own = (moved + missed + false)[occupied] ** (1 / p)
    gospa = Gospa(
        value=float((moved.sum() + missed.sum() + false.sum()) ** (1 / p)),
        p=p,
        c=c,
        localization=float(moved.sum() ** (1 / p)),
        missed=float(missed.sum() ** (1 / p)),
        false=float(false.sum() ** (1 / p)),
        frame_mean=float(own.mean()) if occupied.any() else nobody,
    )
    # Frames are infinitely far apart, but beyond c that makes no difference: left-over points of different frames pair.
    total = max(int(n_truth.sum()), int(n_pred.sum()))
    own = (((moved + price * (larger - pairs))[occupied]) / larger[occupied]) ** (1 / p)
    ospa = Ospa(
        value=float(((moved.sum() + price * (total - pairs.sum())) / total) ** (1 / p)) if total else nobody,
        p=p,
        c=c,
        frame_mean=float(own.mean()) if occupied.any() else nobody,
    )
    return gospa, ospa
