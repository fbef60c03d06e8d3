"""The metrics of a validation set, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import match_tables
from flatmetric.metrics.base import SUMMED, FormulaSettings, evaluate
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import DEFAULT_LAM, MetricOptions
from flatmetric.scoring.ranges import sums_of_part, whole_of_parts
from flatmetric.torch.batches import Side, batch_of

_FLAT = ("value", "displaced", "missed", "false")
_CHALLENGE = ("jaccard", "rmse_xy", "efficiency")
_IN_3D = ("rmse_z", "rmse_xyz")


class FlatMetric(nn.Module):
    """The Flat Metric and the challenge's metrics of all batches so far, as `fm.score` gives them for the pooled data.

    `update` takes what `flat_metric` takes, in 2D or 3D; every sample is a frame. `compute` gives the metrics of all
    batches, over all processes where `torch.distributed` is at work; `reset` forgets them. Lengths in nm; NaN where a
    metric is undefined.

    Examples
    --------
    >>> import torch
    >>> metric = FlatMetric(lam=125.0)
    >>> metric.update(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0], [900.0, 0.0]]))
    >>> result = metric.compute()
    >>> result["value"].item(), result["jaccard"].item(), result["rmse_xy"].item()
    (65.0, 50.0, 5.0)
    """

    def __init__(
        self, lam: float = DEFAULT_LAM, *, protocol: Protocol | None = None, threads: int | None = None
    ) -> None:
        """`protocol` has the tolerances of matches, the border and so on; default 250 nm laterally, 500 axially."""
        super().__init__()
        self._options, self._rules = MetricOptions(lam=lam), protocol or Protocol()
        self._threads = threads
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        # No buffer: these are copied from the first process to the others, and follow the model to float16.
        self._state = torch.zeros(len(SUMMED) + 1, dtype=torch.float64)
        self._dim: int | None = None

    def update(self, pred: Tensor, truth: Tensor, **given: Any) -> None:
        """Add a batch; `given` are `pred_batch`, `truth_batch` and masks as of `flat_metric`."""
        self._add(*self._of_batch(pred, truth, **given))

    def _of_batch(self, pred: Tensor, truth: Tensor, **given: Any) -> tuple[Tensor, int]:
        """The sums of one batch, and its dimension."""
        batch = batch_of(pred, truth, **given)
        dim = int(pred.shape[-1])
        if dim not in (2, 3):
            raise InputError(f"pred has {dim} coordinates; give x, y or x, y, z")
        if batch.pred.weights is not None:
            raise InputError("a metric takes no weights; give the detections that count")
        threads = thread_count(self._threads)
        matched = match_tables(_table(batch.truth), _table(batch.pred), self._rules, dim, threads)
        sums, mass, _ = sums_of_part(matched, FormulaSettings(dim, options=self._options))
        return torch.tensor([*(sums[name] for name in SUMMED), mass], dtype=torch.float64), dim

    def _add(self, state: Tensor, dim: int) -> None:
        if self._dim not in (None, dim):
            raise InputError(f"this batch has {dim} coordinates and the ones before had {self._dim}; reset first")
        self._state, self._dim = self._state + state, dim

    def compute(self) -> dict[str, Tensor]:
        """The metrics of all batches: value, displaced, missed, false, jaccard (%), rmse_xy, efficiency (%), in 3D also
        rmse_z and rmse_xyz.
        """
        return self._metrics(*_over_processes(self._state, self._dim))

    def _metrics(self, state: Tensor, dim: int | None) -> dict[str, Tensor]:
        sums = dict(zip(SUMMED, state[:-1].tolist(), strict=True))
        settings = FormulaSettings(dim or 2, options=self._options)
        total = whole_of_parts(sums, float(state[-1]), settings)
        values: dict[str, Any] = {}
        for family, names in ((FlatScore, _FLAT), (ChallengeScore, _CHALLENGE + (_IN_3D if settings.dim == 3 else ()))):
            result, _ = evaluate(family, total)
            values |= {name: getattr(result, name) for name in names}
        return {name: torch.tensor(np.nan if value is None else float(value)) for name, value in values.items()}

    def forward(self, pred: Tensor, truth: Tensor, **given: Any) -> dict[str, Tensor]:
        """Add a batch, and give the metrics of this batch alone."""
        state, dim = self._of_batch(pred, truth, **given)
        self._add(state, dim)
        return self._metrics(state, dim)

    def get_extra_state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"sums": self._state, "dim": self._dim}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self._state, self._dim = state["sums"].to("cpu", torch.float64).clone(), state["dim"]


def _table(side: Side) -> Localizations:
    points = side.points.detach().to("cpu", torch.float64).numpy()
    frames = side.sample.detach().cpu().numpy() + 1
    axes = [np.ascontiguousarray(axis) for axis in points.T]
    return Localizations(frames, axes[0], axes[1], axes[2] if len(axes) == 3 else None)


def _over_processes(state: Tensor, dim: int | None) -> tuple[Tensor, int | None]:
    """The sums over all processes that train together, and their dimension; a process may have had no batch."""
    from torch import distributed

    if not (distributed.is_available() and distributed.is_initialized()):
        return state, dim
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    summed, largest = state.to(device, copy=True), torch.tensor(dim or 0, device=device)
    distributed.all_reduce(summed)
    distributed.all_reduce(largest, distributed.ReduceOp.MAX)
    return summed.cpu(), int(largest) or None
