"""Input validation: arguments become checked arrays, or an error says what is wrong and how to fix it."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._core import LARGEST, MAX_POINTS, all_within
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError

# Between this and LARGEST, squares and products of lengths and masses neither overflow nor underflow.
SMALLEST_LAM = 1e-100
MOST_THREADS = 1024  # beyond any machine of today; a typo like 10000 would exhaust the system


@dataclass(frozen=True, slots=True)
class PointSet:
    """The points of one side: scaled coordinates, masses (None: 1 each) and frame numbers (None: one frame)."""

    coords: FloatArray
    masses: FloatArray | None
    frames: IntArray | None


def point_sets(
    truth: npt.ArrayLike,
    pred: npt.ArrayLike,
    truth_weights: npt.ArrayLike | None,
    pred_weights: npt.ArrayLike | None,
    truth_frames: npt.ArrayLike | None,
    pred_frames: npt.ArrayLike | None,
    axis_scale: npt.ArrayLike | None,
) -> tuple[PointSet, PointSet]:
    """Check each side, and both together; whether coordinates are in range is left to `check_coordinates`."""
    truth_coords, pred_coords = _same_dimension(_coordinates(truth, "truth"), _coordinates(pred, "pred"))
    if axis_scale is not None:
        scale = _axis_scale(axis_scale, truth_coords.shape[1])
        check_coordinates(truth_coords, pred_coords)
        truth_coords = _scaled(truth_coords, scale, "truth")
        pred_coords = _scaled(pred_coords, scale, "pred")
    _both_or_neither(truth_weights, pred_weights, "weights")
    _both_or_neither(truth_frames, pred_frames, "frames")
    if truth_weights is None and len(truth_coords) == 0:
        raise InputError(
            "truth is empty, and the weights 1/n of its n points are undefined; give truth_weights and pred_weights"
        )
    return (
        PointSet(
            truth_coords,
            _weights(truth_weights, "truth_weights", len(truth_coords)),
            _frames(truth_frames, "truth_frames", len(truth_coords)),
        ),
        PointSet(
            pred_coords,
            _weights(pred_weights, "pred_weights", len(pred_coords)),
            _frames(pred_frames, "pred_frames", len(pred_coords)),
        ),
    )


def positive_length(value: float, name: str) -> float:
    """A length in nm, positive, possibly infinite."""
    try:
        length = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is {value!r}; give one positive number in nm") from error
    except OverflowError:
        length = -math.inf if value < 0 else LARGEST * 10
    also = "" if name == "lam_max" else ", or inf"
    if math.isnan(length) or length <= 0:
        raise InputError(f"{name} is {length:g}; give a positive length in nm{also}")
    if not math.isinf(length) and not SMALLEST_LAM <= length <= LARGEST:
        raise InputError(f"{name} is {length:g}; give a length between {SMALLEST_LAM:g} and {LARGEST:g} nm{also}")
    return length


def unequal_masses(what: str, truth: float, pred: float, where: str = "") -> InputError:
    """The error for an infinite lam between sides of different mass, or of different numbers of points."""
    return InputError(
        f"lam is {math.inf}, which needs equal masses, but truth has {what} {truth:.17g} and pred {pred:.17g}{where}; "
        "give a finite lam or equal masses"
    )


def thread_count(threads: int | None) -> int:
    """The number of threads to use; None means one for each core available to this process."""
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise TypeError(f"threads is {threads!r}; give a whole number of at least 1, or None for all cores")
    if threads < 1:
        raise InputError(f"threads is {threads}; give at least 1, or None for all cores")
    return min(int(threads), MOST_THREADS)


def check_unmasked(value: Any, name: str) -> None:
    """Masked entries have no value."""
    if hasattr(value, "mask") and np.ma.is_masked(value):  # numpy.ma is loaded only where there is a mask
        raise InputError(f"{name} has masked entries; drop those rows or fill them")


def _as_array(value: Any, name: str, what: str) -> npt.NDArray[Any]:
    check_unmasked(value, name)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} has rows of different lengths; give {what}") from error


def _as_floats(array: npt.NDArray[Any], name: str, what: str) -> FloatArray:
    if array.size > 0 and array.dtype.kind not in "fiu":
        raise TypeError(f"{name} holds {array.dtype}, not real numbers; give {what}")
    return array.astype(np.float64, order="C", copy=False)


def _coordinates(value: Any, name: str) -> FloatArray:
    what = "an (n, D) array of coordinates in nm, one row for each point"
    array = _as_array(value, name, what)
    if array.ndim == 1 and array.size == 0:
        array = array.reshape(0, 0)
    if array.ndim != 2:
        hint = f"; for n points on a line use {name}.reshape(-1, 1)" if array.ndim == 1 else ""
        raise InputError(f"{name} has shape {array.shape}; give {what}{hint}")
    if array.shape[1] == 0 and len(array) > 0:
        raise InputError(f"{name} has shape {array.shape}; points need at least one coordinate")
    if len(array) > MAX_POINTS:
        raise InputError(f"{name} has {len(array)} points; at most {MAX_POINTS} fit one call, so split it by frames")
    return _as_floats(array, name, what)


def check_coordinates(truth: FloatArray, pred: FloatArray) -> None:
    """Coordinates (nm) must be finite and not too large."""
    for name, coordinates in (("truth", truth), ("pred", pred)):
        if not all_within(coordinates, LARGEST):
            _check_range(coordinates, -LARGEST, LARGEST, name, f"coordinates must be finite and within {LARGEST:g} nm")


def _check_range(array: FloatArray, low: float, high: float, name: str, rule: str) -> None:
    if array.size == 0 or (array.min() >= low and array.max() <= high):
        return
    wrong = np.argwhere(~((array >= low) & (array <= high)))
    if len(wrong) == 0:
        raise InputError(f"{name} changed while it was read; {rule}")
    at = tuple(int(k) for k in wrong[0])
    raise InputError(f"{name}[{', '.join(map(str, at))}] is {array[at]:g}; {rule}: drop or fix that row")


def _same_dimension(truth: FloatArray, pred: FloatArray) -> tuple[FloatArray, FloatArray]:
    # An empty list has no dimension of its own and takes the other's.
    if truth.shape == (0, 0):
        truth = truth.reshape(0, max(1, pred.shape[1]))
    if pred.shape == (0, 0):
        pred = pred.reshape(0, truth.shape[1])
    if truth.shape[1] != pred.shape[1]:
        raise InputError(
            f"truth has {truth.shape[1]} coordinates for each point and pred has {pred.shape[1]}; give both the same"
        )
    return truth, pred


def _axis_scale(value: Any, dimension: int) -> FloatArray:
    what = "one positive factor for each coordinate"
    scale = _as_floats(_as_array(value, "axis_scale", what), "axis_scale", what)
    if scale.shape != (dimension,):
        raise InputError(f"axis_scale has shape {scale.shape}; give one factor for each of the {dimension} coordinates")
    for axis, factor in enumerate(scale):
        if not 0 < factor <= LARGEST:
            raise InputError(f"axis_scale[{axis}] is {factor:g}; give a positive factor of at most {LARGEST:g}")
    return scale


def _scaled(coordinates: FloatArray, scale: FloatArray, name: str) -> FloatArray:
    scaled = coordinates * scale
    _check_range(scaled, -LARGEST, LARGEST, f"axis_scale * {name}", f"coordinates must stay within {LARGEST:g} nm")
    return scaled


def _both_or_neither(truth: Any, pred: Any, what: str) -> None:
    if (truth is None) != (pred is None):
        given, missing = ("pred", "truth") if truth is None else ("truth", "pred")
        raise InputError(f"{given}_{what} is given but {missing}_{what} is not; give both or neither")


def _weights(value: Any, name: str, n: int) -> FloatArray | None:
    if value is None:
        return None
    what = "one weight for each point"
    array = _as_array(value, name, what)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape} but there are {n} points; give {what}")
    weights = _as_floats(array, name, what)
    _check_range(weights, 0.0, LARGEST, name, f"weights must be finite, not negative and within {LARGEST:g}")
    return weights


def _frames(value: Any, name: str, n: int) -> IntArray | None:
    if value is None:
        return None
    what = "one frame number for each point"
    array = _as_array(value, name, what)
    if array.shape != (n,):
        raise InputError(f"{name} has shape {array.shape} but there are {n} points; give {what}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} holds {array.dtype}, not integers; convert it, e.g. {name}.astype(np.int64)")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        at = int(np.argmax(array))
        raise InputError(f"{name}[{at}] is {array[at]}; frame numbers must fit 64-bit signed integers")
    return np.ascontiguousarray(array, dtype=np.int64)
