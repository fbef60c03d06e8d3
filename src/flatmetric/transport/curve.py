"""The Flat Metric as a function of lam: exact, with every breakpoint."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray
from flatmetric._core import follow_lam
from flatmetric._dataclass import dataclass
from flatmetric._validation import check_coordinates, point_sets, positive_length, thread_count
from flatmetric.errors import InputError

_ALIKE = 1e-9  # relative to the larger value; curves closer than this count as equal


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlatCurve:
    """The Flat Metric for every lam from 0 to `lam[-1]`: concave, non-decreasing, linear between its breakpoints.

    Attributes
    ----------
    lam : (k,) float array
        0, the breakpoints, and the largest lam, in nm, ascending.
    value : (k,) float array
        The Flat Metric there, in nm (with the paper's weights).
    slope : (k,) float array
        Its slope to the right: the unmoved mass. The last entry is the slope to the left of the end.

    Examples
    --------
    >>> import flatmetric as fm
    >>> curve = fm.flat_curve([[0, 0], [900, 0]], [[3, 4]], lam_max=250)
    >>> curve.lam.tolist(), curve.slope.tolist()
    ([0.0, 2.5, 250.0], [1.5, 0.5, 0.5])
    >>> float(curve(125))
    65.0
    """

    lam: FloatArray
    value: FloatArray
    slope: FloatArray

    def __post_init__(self) -> None:
        for column in (self.lam, self.value, self.slope):
            column.setflags(write=False)

    def __call__(self, lam: npt.ArrayLike) -> FloatArray:
        """The Flat Metric at `lam` (nm): one number or an array, within the range of the curve.

        Examples
        --------
        >>> import flatmetric as fm
        >>> fm.flat_curve([[0, 0]], [[30, 40]], lam_max=250)([10, 25, 200]).tolist()
        [20.0, 50.0, 50.0]
        """
        asked = np.asarray(lam, dtype=np.float64)
        if asked.size and not (asked.min() >= 0 and asked.max() <= self.lam[-1]):
            raise InputError(f"the curve reaches from lam 0 to {self.lam[-1]:g} nm; compute it with a larger lam_max")
        place = np.clip(np.searchsorted(self.lam, asked, side="right") - 1, 0, len(self.lam) - 2)
        return np.asarray(self.value[place] + self.slope[place] * (asked - self.lam[place]))

    def to_dict(self) -> dict[str, list[float]]:
        """Every breakpoint as plain values, nm, for JSON."""
        return {"lam_nm": self.lam.tolist(), "value": self.value.tolist(), "slope": self.slope.tolist()}

    def __repr__(self) -> str:
        return f"FlatCurve(lam 0 to {self.lam[-1]:g} nm, {len(self.lam) - 2} breakpoints)"


def flat_curve(
    truth: npt.ArrayLike,
    pred: npt.ArrayLike,
    *,
    lam_max: float,
    truth_weights: npt.ArrayLike | None = None,
    pred_weights: npt.ArrayLike | None = None,
    truth_frames: npt.ArrayLike | None = None,
    pred_frames: npt.ArrayLike | None = None,
    axis_scale: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> FlatCurve:
    """The Flat Metric for every lam up to `lam_max` (nm), with all breakpoints; other arguments as in `flat_metric`.

    Mass is moved in the order of the length of its way, and each way that is taken is a breakpoint, at half its length:
    one sweep gives them all, for about the price of two solves at lam_max where errors are local, of ten with weights,
    and of more where whole clusters lie far from each other. Ways of equal length may give breakpoints that differ by
    rounding error.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth, pred = [[100, 100], [500, 100], [900, 100]], [[103, 104], [500, 100], [100, 900]]
    >>> curve = fm.flat_curve(truth, pred, lam_max=250)
    >>> bool(abs(curve(120) - fm.flat_metric(truth, pred, lam=120).value) < 1e-9)
    True
    """
    largest = positive_length(lam_max, "lam_max")
    if np.isinf(largest):
        raise InputError("lam_max is infinite; give a finite length in nm")
    workers = thread_count(threads)
    truth_set, pred_set = point_sets(truth, pred, truth_weights, pred_weights, truth_frames, pred_frames, axis_scale)
    check_coordinates(truth_set.coords, pred_set.coords)
    divisor = 1 if truth_set.masses is not None else len(truth_set.coords)
    curve = follow_lam(
        truth_set.coords,
        pred_set.coords,
        truth_set.masses,
        pred_set.masses,
        truth_set.frames,
        pred_set.frames,
        largest,
        workers,
    )
    places, inverse = np.unique(curve.breakpoint, return_inverse=True)
    falls = np.bincount(inverse, curve.fall, minlength=len(places)) if len(places) else np.zeros(0)
    # From the end backwards, where all terms are positive: nothing cancels, and slopes and values are in order.
    from_end = np.cumsum(np.concatenate(([curve.slope_at_end], falls[::-1])), dtype=np.longdouble)[::-1]
    before_end = places < largest
    lam = np.concatenate(([0.0], places[before_end], [largest]))
    slopes = from_end[: 1 + np.count_nonzero(before_end)] / divisor
    value = np.concatenate(([0.0], np.cumsum(slopes * np.diff(lam), dtype=np.longdouble)))
    return FlatCurve(lam, value.astype(np.float64), np.append(slopes, slopes[-1]).astype(np.float64))


def crossings(a: FlatCurve, b: FlatCurve) -> list[float]:
    """The lam (nm) at which two curves change places: one is lower before, the other after.

    Where they coincide for a stretch in between, it is the middle of that stretch.

    Examples
    --------
    >>> import flatmetric as fm
    >>> precise = fm.flat_curve([[0], [1000]], [[1]], lam_max=250)      # one of two, 1 nm off
    >>> complete = fm.flat_curve([[0], [1000]], [[40], [1040]], lam_max=250)      # both, 40 nm off
    >>> [round(lam, 9) for lam in crossings(precise, complete)]
    [79.0]
    """
    end = min(a.lam[-1], b.lam[-1])
    lam = np.union1d(a.lam, b.lam)
    lam = lam[lam <= end]
    difference = a(lam) - b(lam)
    alike = np.abs(difference) <= _ALIKE * max(float(a.value[-1]), float(b.value[-1]))
    sign = np.where(alike, 0, np.sign(difference))
    crossed = []
    for i, j in itertools.pairwise(np.flatnonzero(sign)):
        if sign[i] == sign[j]:
            continue
        if j == i + 1:
            share = difference[i] / (difference[i] - difference[j])
            crossed.append(float(lam[i] + share * (lam[j] - lam[i])))
        else:
            crossed.append(float((lam[i + 1] + lam[j - 1]) / 2))
    return crossed
