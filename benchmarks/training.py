"""The loss with its gradient against the plain solve, POT and GeomLoss; on a GPU also where the time goes.

Needs PyTorch and GeomLoss: make test-torch, and pip install --no-deps geomloss.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import ot
import torch

import flatmetric as fm
from benchmarks.tables import publish, written
from flatmetric.torch import flat_metric

FRAMES, POINTS, LAM, FIELD = 2000, 100, 125.0, 6400.0
_FEW_FRAMES = 50  # for the slow ones, scaled up to all


def problem(frames: int, found: int = 60) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded batches of 100 molecules and 60 detections of them, or more, in each frame; nm."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, FIELD, (frames, POINTS, 2))
    pred = truth[:, :found] + rng.normal(0, 40, (frames, found, 2))
    return torch.tensor(pred), torch.tensor(truth)


def median_of(run: Callable[[], object], repeats: int) -> float:
    """Seconds of the middle one of some runs, after one that does not count."""
    run()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def with_gradient(pred: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """The gradient of the loss with the positions of the detections."""
    places = pred.detach().requires_grad_()
    return torch.autograd.grad(flat_metric(places, truth, LAM), places)[0]


def plain_solve(pred: torch.Tensor, truth: torch.Tensor) -> Callable[[], object]:
    """The same problem, solved from arrays and without a gradient."""
    arrays = [side.reshape(-1, 2).numpy() for side in (truth, pred)]
    frames = [np.repeat(np.arange(len(side)), side.shape[1]) for side in (truth, pred)]
    return lambda: fm.flat_metric(*arrays, lam=LAM, truth_frames=frames[0], pred_frames=frames[1])


def pot_with_gradient(pred: torch.Tensor, truth: torch.Tensor) -> float:
    """POT's exact solver frame by frame, with a virtual point on each side for what stays; the sum of the values."""
    total = 0.0
    for found, true in zip(pred, truth, strict=True):
        places = found.detach().requires_grad_()
        n, m = len(true), len(places)
        cost = torch.full((n + 1, m + 1), LAM, dtype=torch.float64)
        cost[:n, :m] = torch.cdist(true, places)
        cost[n, m] = 0.0
        supply = torch.cat([torch.ones(n), torch.tensor([float(m)])]).double() / (n + m)
        demand = torch.cat([torch.ones(m), torch.tensor([float(n)])]).double() / (n + m)
        value = ot.emd2(supply, demand, cost) * (n + m)
        value.backward()
        total += float(value.detach())
    return total


def geomloss_with_gradient(pred: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """GeomLoss's unbalanced Sinkhorn, tensorized, at its default accuracy, with the field as the unit of length."""
    from geomloss import SamplesLoss

    loss = SamplesLoss("sinkhorn", p=1, reach=LAM / FIELD, backend="tensorized")
    places = (pred / FIELD).float().requires_grad_()
    weights = [torch.ones(side.shape[:2], device=side.device) for side in (pred, truth)]
    value = loss(weights[0], places, weights[1], (truth / FIELD).float()).sum()
    return torch.autograd.grad(value, places)[0]


def rows() -> list[list[str]]:
    """All measurements on the CPU."""
    pred, truth = problem(FRAMES)
    few = pred[:_FEW_FRAMES], truth[:_FEW_FRAMES]
    ours = median_of(lambda: with_gradient(pred, truth), 9)
    plain = median_of(plain_solve(pred, truth), 9)
    value = flat_metric(*few, LAM, normalize=None, reduction="sum").item()
    theirs = pot_with_gradient(*few)
    if abs(value - theirs) > 1e-6 * value:
        raise AssertionError(f"ours {value:.17g}, POT's {theirs:.17g}")
    scale = FRAMES / _FEW_FRAMES
    pot = scale * median_of(lambda: pot_with_gradient(*few), 3)
    geomloss = scale * median_of(lambda: geomloss_with_gradient(*few), 3)
    found = [["2000 frames of 100 molecules and 60 detections", "time", "ours is", "bar"]]
    found.append(["value and gradient", f"{1000 * ours:.1f} ms", "", ""])
    found.append(["the plain solve", f"{1000 * plain:.1f} ms", f"{ours / plain:.2f}x as long", "1.3"])
    found.append(["POT `emd2`, frame by frame, with gradient", f"{pot:.2f} s", f"{pot / ours:.0f}x as fast", "50"])
    found.append(
        ["GeomLoss, default accuracy, with gradient", f"{geomloss:.2f} s", f"{geomloss / ours:.0f}x as fast", "10"]
    )
    return found


def on_gpu() -> None:
    """Where the time goes with points on a GPU."""
    pred, truth = (side.float().cuda() for side in problem(FRAMES))

    def synchronized(run: Callable[[], object]) -> Callable[[], object]:
        def both() -> None:
            run()
            torch.cuda.synchronize()

        return both

    copies = [side.reshape(-1, 2) for side in (pred, truth)]
    print(f"value and gradient {1000 * median_of(synchronized(lambda: with_gradient(pred, truth)), 15):.2f} ms")
    print(f"the plain solve {1000 * median_of(plain_solve(pred.cpu().double(), truth.cpu().double()), 15):.2f} ms")
    print(f"copies there {1000 * median_of(synchronized(lambda: [side.double().cpu() for side in copies]), 15):.2f} ms")
    there = [torch.zeros(len(side), 2) for side in copies]
    print(f"copies back {1000 * median_of(synchronized(lambda: [side.cuda() for side in there]), 15):.2f} ms")


def main() -> None:
    if "--gpu" in sys.argv:
        on_gpu()
        return
    made = written(rows())
    print(made)
    publish(made, "training.md", "docs/how-to/train.md")


if __name__ == "__main__":
    main()
