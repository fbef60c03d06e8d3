"""`flatmetric demo`: the main job on a bundled example."""

from __future__ import annotations

from importlib import resources

import numpy as np

from flatmetric.cli.budget import error_budget
from flatmetric.result import FloatArray, IntArray
from flatmetric.transport import flat_metric

LAM = 125.0


def demo() -> None:
    """Score a bundled example: molecules on filaments, and what a program found of them."""
    truth, truth_frames = _read("demo_truth.csv")
    pred, pred_frames = _read("demo_result.csv")
    result = flat_metric(truth, pred, lam=LAM, truth_frames=truth_frames, pred_frames=pred_frames)
    assert result.frames is not None
    print(f"{len(truth)} true molecules, {len(pred)} found, {len(result.frames)} frames, lam {LAM:g} nm\n")
    print(error_budget(result))
    print(f"\nProved: no plan is cheaper than {result.lower_bound:.9f} nm; this one costs {result.value:.9f} nm.")


def _read(name: str) -> tuple[FloatArray, IntArray]:
    with (resources.files("flatmetric") / "data" / name).open(encoding="utf-8") as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=1)
    return rows[:, 1:], rows[:, 0].astype(np.int64)
