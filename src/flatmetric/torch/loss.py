"""The Flat Metric as a loss: solved exactly on the CPU, with exact gradients from its plan and its potentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from flatmetric._core import LARGEST, BeyondLimitError, Method, plan_slopes, solve
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.torch.batches import Batch, batch_of

Reduction = Literal["mean", "sum", "none"]


def flat_metric(
    pred: Tensor,
    truth: Tensor,
    lam: float | Tensor,
    *,
    pred_batch: Tensor | None = None,
    truth_batch: Tensor | None = None,
    pred_mask: Tensor | None = None,
    truth_mask: Tensor | None = None,
    pred_weights: Tensor | None = None,
    truth_weights: Tensor | None = None,
    axis_scale: Sequence[float] | None = None,
    normalize: Literal["truth"] | None = "truth",
    reduction: Reduction = "mean",
    batch_size: int | None = None,
    threads: int | None = None,
) -> Tensor:
    """The Flat Metric between predicted and true points, differentiable.

    Parameters
    ----------
    pred, truth
        Positions in nm, (points, D) of float32 or float64: one pair of sets, or all points of a batch with the sample
        of each in `pred_batch` and `truth_batch`; or padded batches (samples, points, D).
    lam
        Cost of a missed molecule or a false detection, nm; a number, or a tensor of one number.
    pred_batch, truth_batch
        The sample of each point, whole numbers from 0, in any order.
    pred_mask, truth_mask
        Of padded batches: which points are there, (samples, points) of booleans; default all.
    pred_weights, truth_weights
        How much each point weighs, e.g. the probability that a network gives to a detection. Default: 1 each.
    axis_scale
        Factor for each coordinate, e.g. (1, 1, 0.5).
    normalize
        "truth": divide by the mean true weight of a sample, so that the mean over the samples is the Flat Metric of
        the paper, in nm per true molecule; without any truth it is as if there were one molecule. None: don't.
    reduction
        Of the samples: "mean", "sum", or "none" for one value each.
    batch_size
        The number of samples; default one more than the largest index.
    threads
        All cores by default; the result is the same for any number.

    Returns
    -------
    Tensor
        One number, or with reduction "none" one for each sample of a batch; float64 for float64 positions, else
        float32.

    Notes
    -----
    Gradients are exact wherever the value is differentiable. At a tie they are those of the plan and the potentials
    that were found, which is a subgradient; of two points at the same place it is 0. Positions have second derivatives,
    too; weights and lam don't: beyond the first derivative they count as constants.

    Examples
    --------
    >>> import torch
    >>> truth = torch.tensor([[100.0, 100.0], [500.0, 100.0]])
    >>> pred = torch.tensor([[103.0, 104.0]], requires_grad=True)
    >>> value = flat_metric(pred, truth, lam=120.0)
    >>> value.backward()
    >>> value.item(), pred.grad.tolist()
    (62.5, [[0.30000001192092896, 0.4000000059604645]])
    """
    _check_choices(normalize, reduction)
    batch = batch_of(
        pred,
        truth,
        pred_batch=pred_batch,
        truth_batch=truth_batch,
        pred_mask=pred_mask,
        truth_mask=truth_mask,
        pred_weights=pred_weights,
        truth_weights=truth_weights,
        batch_size=batch_size,
    )
    dtype = torch.float64 if torch.float64 in (pred.dtype, truth.dtype) else torch.float32
    value = _values(batch, _length(lam, pred, dtype), _scale(axis_scale, pred.shape[-1]), dtype, threads)
    divisor = _mean_mass(batch, dtype) if normalize == "truth" else 1.0
    if reduction == "none" and not batch.single:
        return value / divisor
    # The gradient of a sum is the same for all samples, which spares the backward pass a gather; that of a mean is not.
    return value.sum() / (divisor * batch.size if reduction == "mean" else divisor)


def _check_choices(normalize: Any, reduction: Any) -> None:
    if normalize not in ("truth", None):
        raise InputError(f'normalize is {normalize!r}; give "truth" or None')
    if reduction not in ("mean", "sum", "none"):
        raise InputError(f'reduction is {reduction!r}; give "mean", "sum" or "none"')


def _length(lam: Any, pred: Tensor, dtype: torch.dtype) -> Tensor:
    if isinstance(lam, Tensor):
        if lam.numel() != 1 or not lam.is_floating_point():
            raise InputError(f"lam has shape {tuple(lam.shape)} of {lam.dtype}; give one number in nm")
        return lam.reshape(()).to(pred.device)
    if isinstance(lam, bool) or not isinstance(lam, (int, float)) or not (lam > 0 and math.isfinite(lam)):
        raise InputError(f"lam is {lam!r:.40}; give a positive length in nm")
    return torch.tensor(float(lam), dtype=dtype, device=pred.device)


def _scale(axis_scale: Any, dim: int) -> list[float]:
    if axis_scale is None:
        return [1.0] * dim
    try:
        scale = [float(factor) for factor in axis_scale]
    except (TypeError, ValueError) as error:
        raise InputError(f"axis_scale is {axis_scale!r:.60}; give a number for each coordinate") from error
    if len(scale) != dim or not all(0 <= factor < math.inf for factor in scale):
        raise InputError(f"axis_scale is {axis_scale!r:.60}; give {dim} numbers from 0")
    return scale


def _mean_mass(batch: Batch, dtype: torch.dtype) -> Tensor:
    """The true weight of the mean sample; 1 over the number of samples where there is none at all."""
    weights = batch.truth.weights
    if weights is None:
        total = torch.tensor(float(max(1, len(batch.truth.points))), dtype=dtype, device=batch.pred.points.device)
    else:
        total = weights.sum().to(dtype)
        total = torch.where(total > 0, total, torch.ones_like(total))
    return total / batch.size


def _values(batch: Batch, lam: Tensor, scale: list[float], dtype: torch.dtype, threads: int | None) -> Tensor:
    """The Flat Metric of each sample, not normalized."""
    sides = batch.pred, batch.truth
    points = [side.points.to(dtype) for side in sides]
    weights = [None if side.weights is None else side.weights.to(dtype) for side in sides]
    solution = _transport(
        *points,
        lam,
        *(side.sample for side in sides),
        *weights,
        scale,
        batch.size,
        0 if threads is None else threads,
        points[1].requires_grad,
        False,
    )
    return solution[0]


@torch.library.custom_op("flatmetric::transport", mutates_args=())
def _transport(
    pred: Tensor,
    truth: Tensor,
    lam: Tensor,
    pred_sample: Tensor,
    truth_sample: Tensor,
    pred_weights: Tensor | None,
    truth_weights: Tensor | None,
    scale: list[float],
    samples: int,
    threads: int,
    of_truth: bool,
    with_pairs: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Each sample's value and its slope with lam; the slopes with the positions of both sides, those of the truth only
    if they are wanted, and with their weights, if they have any; and, if wanted, the pairs and their masses, as many as
    there may be, those that there are not with mass 0.
    """
    x, y, a, b, i, j = _on_cpu(pred, truth, pred_weights, truth_weights, pred_sample, truth_sample)
    length, workers = float(lam), thread_count(threads or None)
    _check_numbers(a, b, length)
    factors = np.asarray(scale)
    scaled = bool((factors != 1.0).any())
    if scaled:
        x, y = x * factors, y * factors
    try:
        solution = solve(y, x, b, a, j, i, length, 1.0, Method.automatic, workers)
    except BeyondLimitError:
        _check_positions(pred=x, truth=y)
        raise
    frames = solution.frames
    assert frames is not None
    _check_samples(frames.frame, samples, pred=i, truth=j)
    value, unmatched = np.zeros(samples), np.zeros(samples)
    unmatched[frames.frame] = (frames.missed + frames.false) / length
    value[frames.frame] = frames.displaced + frames.missed + frames.false
    mass, nothing = solution.pair_mass, np.zeros(0)
    slopes_y, slopes_x = plan_slopes(
        y, x, solution.pair_truth, solution.pair_pred, solution.pair_distance, mass, of_truth, workers
    )
    if scaled:
        slopes_x, slopes_y = slopes_x * factors, slopes_y * factors
    rows, most = len(solution.pair_truth), _most_pairs(len(x), len(y), a is not None, with_pairs)
    pairs, masses = np.zeros((2, most), dtype=np.int64), np.zeros(most)
    if with_pairs:
        pairs[0, :rows], pairs[1, :rows] = solution.pair_pred, solution.pair_truth
        masses[:rows] = 1.0 if mass is None else mass
    columns = [
        value,
        unmatched,
        slopes_x,
        slopes_y,
        nothing if a is None else -solution.pred_potential,
        nothing if b is None else solution.truth_potential,
        masses,
    ]
    sent = [column.to(pred.dtype) for column in _on_device(columns, pred.device)]
    return (*sent[:6], torch.from_numpy(pairs).to(pred.device), sent[6])


def _most_pairs(n: int, m: int, weighted: bool, wanted: bool) -> int:
    return 0 if not wanted else n + m if weighted else min(n, m)


def _on_cpu(*given: Tensor | None) -> list[Any]:
    """Tensors of numbers and of indices as arrays, by one copy from another device."""
    wide = [None if one is None else _wide(one.detach()) for one in given]
    there = [one for one in wide if one is not None]
    if there[0].device.type == "cpu":
        return [None if one is None else one.numpy() for one in wide]
    # Whole numbers travel as the floats of the same bits.
    packed = torch.cat([one.view(torch.float64).reshape(-1) for one in there])
    host = torch.empty(packed.shape, dtype=torch.float64, pin_memory=packed.device.type == "cuda")
    host.copy_(packed)
    arrays, done = list[Any](), 0
    for one in wide:
        if one is None:
            arrays.append(None)
            continue
        part = host[done : done + one.numel()].view(one.dtype).reshape(one.shape)
        arrays.append(part.numpy())
        done += one.numel()
    return arrays


def _wide(values: Tensor) -> Tensor:
    return (values.to(torch.float64) if values.is_floating_point() else values).contiguous()


def _on_device(columns: list[Any], device: Any) -> list[Tensor]:
    """Arrays of floats as tensors, by one copy to another device."""
    if device.type == "cpu":
        return [torch.from_numpy(np.asarray(column)) for column in columns]
    sizes = [column.size for column in columns]
    host = torch.empty(sum(sizes), dtype=torch.float64, pin_memory=device.type == "cuda")
    np.concatenate([column.reshape(-1) for column in columns], out=host.numpy())
    parts = host.to(device).split(sizes)  # outputs of an operator must not share memory
    return [part.reshape(column.shape).clone() for part, column in zip(parts, columns, strict=True)]


def _check_numbers(a: Any, b: Any, lam: float) -> None:
    if not (lam > 0 and math.isfinite(lam)):
        raise InputError(f"lam is {lam:g}; give a positive length in nm")
    for name, weights in (("pred", a), ("truth", b)):
        if weights is not None and len(weights) and not (weights.min() >= 0 and weights.max() <= LARGEST):
            at = int(np.argmin((weights >= 0) & (weights <= LARGEST)))
            raise InputError(f"row {at} of {name}_weights is {weights[at]:g}; give finite weights from 0")


def _check_samples(used: Any, samples: int, **sides: Any) -> None:
    """`used` are the samples that have points, each once: far fewer to look at than the points."""
    if len(used) == 0 or (used.min() >= 0 and used.max() < samples):
        return
    for name, sample in sides.items():
        wrong = (sample < 0) | (sample >= samples)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(f"row {at} of {name}_batch is {sample[at]}; give numbers from 0 to {samples - 1}")


def _check_positions(**sides: Any) -> None:
    for name, points in sides.items():
        fine = (np.abs(points) <= LARGEST).all(axis=1)  # NaN is not
        if not fine.all():
            at = int(np.argmin(fine))
            raise InputError(f"row {at} of {name} is {points[at].tolist()}; give finite positions in nm")


@_transport.register_fake
def _(*given: Any) -> tuple[Tensor, ...]:
    pred, truth, _lam, pred_sample, _truth_sample, pred_weights, truth_weights = given[:7]
    _scale, samples, _threads, of_truth, with_pairs = given[7:]
    most = _most_pairs(len(pred), len(truth), pred_weights is not None, with_pairs)
    return (
        pred.new_empty(samples),
        pred.new_empty(samples),
        pred.new_empty(pred.shape),
        pred.new_empty((len(truth) if of_truth else 0, truth.shape[1])),
        pred.new_empty(0 if pred_weights is None else len(pred)),
        pred.new_empty(0 if truth_weights is None else len(truth)),
        pred_sample.new_empty((2, most)),
        pred.new_empty(most),
    )


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    points, ctx.settings = inputs[:7], inputs[7:11]
    ctx.weighted = points[5] is not None
    kept = [one for one in points if one is not None]
    ctx.save_for_backward(*kept, *output[1:6])
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
    """Only the values are differentiable; the slopes are what they are."""
    of_value = gradients[0]
    if of_value is None:
        return (None,) * 12
    *points, unmatched, along_pred, along_truth, of_pred, of_truth = ctx.saved_tensors
    lam, pred_sample, truth_sample = points[2:5]
    wanted = ctx.needs_input_grad
    for_pred = _of_points(of_value, pred_sample) if wanted[0] or wanted[5] else of_value
    for_truth = _of_points(of_value, truth_sample) if wanted[1] or wanted[6] else of_value
    if torch.is_grad_enabled() and (wanted[0] or wanted[1]):
        # Somebody wants to differentiate this again: the same slopes as a function of the positions.
        along_pred, along_truth = _slopes(points if ctx.weighted else [*points, None, None], ctx.settings)
    return (
        for_pred[:, None] * along_pred if wanted[0] else None,
        for_truth[:, None] * along_truth if wanted[1] else None,
        (of_value * unmatched).sum().to(lam.dtype) if wanted[2] else None,
        None,
        None,
        for_pred * of_pred if wanted[5] else None,
        for_truth * of_truth if wanted[6] else None,
        None,
        None,
        None,
        None,
        None,
    )


def _of_points(of_value: Tensor, sample: Tensor) -> Tensor:
    """The gradient of each point's sample; of a sum or a mean it is the same for all."""
    return of_value[:1] if of_value.stride(0) == 0 else of_value[sample]


def _slopes(points: Sequence[Tensor | None], settings: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """How the cost of a plan changes with the positions, by operations that can be differentiated."""
    fixed = [None if one is None else one.detach() for one in points]
    pairs, masses = _transport(*fixed, *settings, True)[6:]
    pred, truth = points[0], points[1]
    assert pred is not None and truth is not None
    if pairs.shape[1] == 0:
        return torch.zeros_like(pred), torch.zeros_like(truth)
    factors = torch.tensor(settings[0], dtype=pred.dtype, device=pred.device)
    steps = (pred[pairs[0]] - truth[pairs[1]]) * factors
    squared = (steps**2).sum(dim=1)
    apart = squared > 0
    distance = torch.sqrt(torch.where(apart, squared, torch.ones_like(squared)))
    along = torch.where(apart[:, None], masses[:, None] * steps / distance[:, None], torch.zeros_like(steps)) * factors
    return torch.zeros_like(pred).index_add(0, pairs[0], along), torch.zeros_like(truth).index_add(0, pairs[1], -along)


_transport.register_autograd(_backward, setup_context=_keep)


@_transport.register_vmap
def _(info: Any, in_dims: Any, *values: Any) -> Any:
    raise InputError("flat_metric can't be mapped by vmap; give it the whole batch, with pred_batch and truth_batch")


class FlatMetricLoss(nn.Module):
    """`flat_metric` as a module: `lam` and the other settings once, points and samples with every call.

    Examples
    --------
    >>> import torch
    >>> loss = FlatMetricLoss(lam=125.0)
    >>> loss(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]])).item()
    5.0
    """

    def __init__(
        self,
        lam: float,
        *,
        axis_scale: Sequence[float] | None = None,
        normalize: Literal["truth"] | None = "truth",
        reduction: Reduction = "mean",
        threads: int | None = None,
    ) -> None:
        super().__init__()
        _check_choices(normalize, reduction)
        _length(lam, torch.zeros(()), torch.float64)
        self.lam, self.axis_scale, self.normalize, self.reduction = lam, axis_scale, normalize, reduction
        self.threads = threads

    def forward(self, pred: Tensor, truth: Tensor, **given: Any) -> Tensor:
        """The loss of a batch; `given` are `pred_batch`, `truth_batch`, masks and weights as of `flat_metric`."""
        settings: dict[str, Any] = {"axis_scale": self.axis_scale, "normalize": self.normalize}
        return flat_metric(pred, truth, self.lam, **settings, reduction=self.reduction, threads=self.threads, **given)

    def extra_repr(self) -> str:
        """The settings."""
        return f"lam={self.lam:g}, normalize={self.normalize!r}, reduction={self.reduction!r}"
