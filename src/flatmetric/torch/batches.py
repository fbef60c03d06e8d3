"""Batches of point sets as flat lists of points: single sets, ragged batches with indices, padded ones with masks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError


@dataclass(frozen=True, slots=True)
class Side:
    """The points of one side of a batch, (rows, D), the sample of each, and their weights; None: 1 each."""

    points: Tensor
    sample: Tensor
    weights: Tensor | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Both sides of `size` samples; `single` where it is one pair of sets, not a batch."""

    pred: Side
    truth: Side
    size: int
    single: bool


def batch_of(
    pred: Any,
    truth: Any,
    *,
    pred_batch: Any = None,
    truth_batch: Any = None,
    pred_mask: Any = None,
    truth_mask: Any = None,
    pred_weights: Any = None,
    truth_weights: Any = None,
    batch_size: int | None = None,
) -> Batch:
    """What was given as a batch, checked.

    Examples
    --------
    >>> points = torch.zeros(3, 2)
    >>> batch_of(points, points, pred_batch=torch.tensor([0, 0, 1]), truth_batch=torch.tensor([0, 1, 1])).size
    2
    >>> batch_of(torch.zeros(4, 5, 2), torch.zeros(4, 3, 2)).pred.points.shape
    torch.Size([20, 2])
    """
    for name, value in (("pred", pred), ("truth", truth)):
        _check_points(value, name)
    if pred.shape[-1] != truth.shape[-1]:
        raise InputError(f"pred has {pred.shape[-1]} coordinates and truth has {truth.shape[-1]}; give the same")
    if pred.ndim != truth.ndim:
        raise InputError(f"pred has shape {tuple(pred.shape)} and truth {tuple(truth.shape)}; pad both or none")
    for name, value in (
        ("truth", truth),
        ("pred_batch", pred_batch),
        ("truth_batch", truth_batch),
        ("pred_mask", pred_mask),
        ("truth_mask", truth_mask),
        ("pred_weights", pred_weights),
        ("truth_weights", truth_weights),
    ):
        if isinstance(value, Tensor) and value.device != pred.device:
            raise InputError(f"{name} is on {value.device} and pred is on {pred.device}; move one of them")
    if (pred_weights is None) != (truth_weights is None):  # ones for the other side
        pred_weights = _ones(pred, truth_weights) if pred_weights is None else pred_weights
        truth_weights = _ones(truth, pred_weights) if truth_weights is None else truth_weights
    if pred.ndim == 3:
        if pred_batch is not None or truth_batch is not None:
            raise InputError("pred_batch and truth_batch are for lists of points; padded batches take masks")
        if len(pred) != len(truth):
            raise InputError(f"pred has {len(pred)} samples and truth has {len(truth)}; give the same number")
        size = len(pred)
        sides = [
            _unpadded(points, mask, weights, name)
            for points, mask, weights, name in (
                (pred, pred_mask, pred_weights, "pred"),
                (truth, truth_mask, truth_weights, "truth"),
            )
        ]
        return Batch(sides[0], sides[1], size, False)
    if pred_mask is not None or truth_mask is not None:
        raise InputError("masks are for padded batches of shape (samples, points, D); leave them out")
    if (pred_batch is None) != (truth_batch is None):
        raise InputError("give both pred_batch and truth_batch, or neither")
    single = pred_batch is None
    sides = [
        Side(points, _sample(points, index, f"{name}_batch"), _weights(weights, points.shape[:1], f"{name}_weights"))
        for points, index, weights, name in (
            (pred, pred_batch, pred_weights, "pred"),
            (truth, truth_batch, truth_weights, "truth"),
        )
    ]
    return Batch(sides[0], sides[1], 1 if single else _size(sides, batch_size), single)


def _ones(points: Tensor, other: Any) -> Tensor:
    """A weight of 1 for each point, of the kind of number that the weights of the other side are."""
    kind = other.dtype if isinstance(other, Tensor) and other.is_floating_point() else points.dtype
    return torch.ones(points.shape[:-1], dtype=kind, device=points.device)


def _check_points(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise InputError(f"{name} is a {type(value).__name__}; give a tensor")
    if not value.is_floating_point():
        raise InputError(f"{name} holds {value.dtype}; give float32 or float64")
    if value.ndim not in (2, 3) or value.shape[-1] == 0:
        raise InputError(
            f"{name} has shape {tuple(value.shape)}; give (points, D), or (samples, points, D) for a padded batch"
        )


def _weights(value: Any, shape: Any, name: str) -> Tensor | None:
    if value is None:
        return None
    if not isinstance(value, Tensor) or not value.is_floating_point() or value.shape != shape:
        what = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise InputError(f"{name} is {what}; give a floating-point tensor of shape {tuple(shape)}")
    return value


def _sample(points: Tensor, index: Any, name: str) -> Tensor:
    if index is None:
        return torch.zeros(len(points), dtype=torch.int64, device=points.device)
    if not isinstance(index, Tensor) or index.is_floating_point() or index.shape != points.shape[:1]:
        what = f"{tuple(index.shape)} of {index.dtype}" if isinstance(index, Tensor) else type(index).__name__
        raise InputError(f"{name} is {what}; give one whole number for each of the {len(points)} points")
    return index.to(torch.int64)


def _size(sides: list[Side], batch_size: int | None) -> int:
    if batch_size is not None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}; give the number of samples")
        return batch_size
    largest = [int(side.sample.max()) for side in sides if len(side.sample)]
    return max([*largest, 0]) + 1


def _unpadded(points: Tensor, mask: Any, weights: Any, name: str) -> Side:
    """The points of a padded batch where the mask is true."""
    sample = torch.arange(len(points), device=points.device)[:, None].expand(points.shape[:2])
    own = _weights(weights, points.shape[:2], f"{name}_weights")
    if mask is None:
        flat = None if own is None else own.reshape(-1)
        return Side(points.reshape(-1, points.shape[-1]), sample.reshape(-1), flat)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != points.shape[:2]:
        what = f"{tuple(mask.shape)} of {mask.dtype}" if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(f"{name}_mask is {what}; give a boolean tensor of shape {tuple(points.shape[:2])}")
    return Side(points[mask], sample[mask], None if own is None else own[mask])
