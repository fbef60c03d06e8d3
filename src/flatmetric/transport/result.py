"""The result of `flat_metric`: frozen, with read-only arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass


def _freeze(*arrays: npt.NDArray[np.generic]) -> None:
    for array in arrays:
        array.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pairs:
    """The transport plan: which mass goes where.

    Attributes
    ----------
    truth, pred : (k,) int arrays
        Rows of the true and of the predicted point.
    mass : (k,) float array
        Mass carried between them, in the units of the weights.
    distance : (k,) float array
        Distance in nm, after `axis_scale`.

    Examples
    --------
    >>> import flatmetric as fm
    >>> pairs = fm.flat_metric([[0, 0], [900, 0]], [[3, 4]], lam=125).pairs
    >>> len(pairs), int(pairs.truth[0]), int(pairs.pred[0]), float(pairs.distance[0])
    (1, 0, 0, 5.0)
    """

    truth: IntArray
    pred: IntArray
    mass: FloatArray
    distance: FloatArray

    def __post_init__(self) -> None:
        _freeze(self.truth, self.pred, self.mass, self.distance)

    def __len__(self) -> int:
        return len(self.truth)

    def __repr__(self) -> str:
        return f"Pairs({len(self)} pairs)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrameParts:
    """The parts of the Flat Metric that each frame contributes, in nm; over the frames they add up to the whole.

    Attributes
    ----------
    frame : (k,) int array
        Frame numbers that occur in truth or pred, ascending.
    n_truth, n_pred : (k,) int arrays
        Points of each side in the frame.
    displaced, missed, false, lower_bound : (k,) float arrays
        As in `FlatResult`, in nm.

    Examples
    --------
    >>> import flatmetric as fm
    >>> r = fm.flat_metric([[0, 0], [0, 0]], [[3, 4]], lam=125, truth_frames=[1, 2], pred_frames=[1])
    >>> r.frames.frame.tolist(), r.frames.value.tolist()
    ([1, 2], [2.5, 62.5])
    """

    frame: IntArray
    n_truth: IntArray
    n_pred: IntArray
    displaced: FloatArray
    missed: FloatArray
    false: FloatArray
    lower_bound: FloatArray

    def __post_init__(self) -> None:
        _freeze(self.frame, self.n_truth, self.n_pred, self.displaced, self.missed, self.false, self.lower_bound)

    @property
    def value(self) -> FloatArray:
        """Contribution of each frame in nm: displaced + missed + false."""
        value = self.displaced + self.missed + self.false
        _freeze(value)
        return value

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"FrameParts({len(self)} frames)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FlatResult:
    """The Flat Metric, where it comes from, and its proof. Lengths in nm.

    With the paper's weights 1/n every number reads "nm per true molecule"; with weights of your own it is in nm times
    their unit.

    Attributes
    ----------
    lam : float
        Cost in nm of leaving a unit of mass where it is, on either side.
    displaced : float
        Cost of the mass that is moved: the sum of mass times distance.
    missed : float
        lam times the true mass that nothing is moved to.
    false : float
        lam times the predicted mass that is not moved.
    lower_bound : float
        Dual value of the potentials: no plan costs less.
    pairs : Pairs
        The optimal plan.
    truth_potential, pred_potential : float arrays
        The optimal f of the dual problem at each point, in nm: ``|f| <= lam``, and ``|f(x) - f(y)| <= d(x, y)`` across
        the sets.
    frames : FrameParts or None
        The contribution of each frame, when frames were given.

    Examples
    --------
    >>> import flatmetric as fm
    >>> fm.flat_metric([[0, 0], [900, 0]], [[3, 4]], lam=125)
    FlatResult(value=65 nm = displaced 2.5 + missed 62.5 + false 0; lam=125 nm, 1 pairs)
    """

    lam: float
    displaced: float
    missed: float
    false: float
    lower_bound: float
    pairs: Pairs
    truth_potential: FloatArray
    pred_potential: FloatArray
    frames: FrameParts | None

    def __post_init__(self) -> None:
        _freeze(self.truth_potential, self.pred_potential)

    @property
    def value(self) -> float:
        """The Flat Metric in nm: displaced + missed + false."""
        return self.displaced + self.missed + self.false

    @property
    def gap(self) -> float:
        """The most by which the value can exceed the optimum, in nm: value - lower_bound. Zero up to rounding."""
        return self.value - self.lower_bound

    def __repr__(self) -> str:
        parts = f"displaced {self.displaced:.6g} + missed {self.missed:.6g} + false {self.false:.6g}"
        return f"FlatResult(value={self.value:.6g} nm = {parts}; lam={self.lam:g} nm, {len(self.pairs)} pairs)"
