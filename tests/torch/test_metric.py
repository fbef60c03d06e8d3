"""The metric of a validation set is `score` of the pooled data, whoever counts."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, distributed, multiprocessing

import flatmetric as fm
from flatmetric.torch import FlatMetric

KEYS = {
    "value": "flat_metric.value",
    "displaced": "flat_metric.displaced",
    "missed": "flat_metric.missed",
    "false": "flat_metric.false",
    "jaccard": "challenge.jaccard",
    "rmse_xy": "challenge.rmse_xy",
    "efficiency": "challenge.efficiency",
    "rmse_z": "challenge.rmse_z",
    "rmse_xyz": "challenge.rmse_xyz",
}


def batches(seed: int, dim: int, count: int = 4) -> list[dict[str, Tensor]]:
    """Batches of five samples; one has no truth, one no detection, and one nothing."""
    rng = torch.Generator().manual_seed(seed)
    found = []
    for k in range(count):
        sizes = [(0, 6), (6, 0), (0, 0)][k] if k < 3 else (40, 30)
        sides = [2000 * torch.rand(size, dim, generator=rng) for size in sizes]
        samples = [torch.randint(0, 5, (size,), generator=rng) for size in sizes]
        if k >= 3:
            sides[0][:25], samples[0][:25] = sides[1][:25] + 20 * torch.randn(25, dim, generator=rng), samples[1][:25]
        found.append({"pred": sides[0], "truth": sides[1], "pred_batch": samples[0], "truth_batch": samples[1]})
    return found


def pooled(parts: list[dict[str, Tensor]], **given: Any) -> fm.Score:
    tables = []
    for side in ("truth", "pred"):
        points = torch.cat([part[side] for part in parts]).double().numpy()
        frames = torch.cat([part[f"{side}_batch"] + 5 * k + 1 for k, part in enumerate(parts)]).numpy()
        tables.append({"frame": frames, **dict(zip("xyz", points.T, strict=False))})
    return fm.score(*tables, check=False, **given)


def assert_same(found: dict[str, Tensor], score: fm.Score) -> None:
    for name, value in found.items():
        expected = score.get(KEYS[name])
        assert value.item() == pytest.approx(float("nan") if expected is None else expected, rel=1e-6, nan_ok=True), (
            name
        )


@pytest.mark.parametrize("dim", [2, 3])
def test_it_is_the_score_of_the_pooled_data(dim: int) -> None:
    parts = batches(0, dim, 7)
    metric = FlatMetric(lam=100.0, protocol=fm.Protocol(tolerance=200.0))
    for part in parts:
        metric.update(**part)
    assert_same(metric.compute(), pooled(parts, lam=100.0, tolerance=200.0, dim=dim))
    alone = metric(**parts[5])
    assert_same(alone, pooled([parts[5]], lam=100.0, tolerance=200.0, dim=dim))
    assert_same(metric.compute(), pooled([*parts, parts[5]], lam=100.0, tolerance=200.0, dim=dim))
    metric.reset()
    assert metric.compute()["value"].isnan()


def test_a_checkpoint_goes_on() -> None:
    parts = batches(1, 2, 6)
    metric, other = FlatMetric(), FlatMetric()
    for part in parts[:5]:
        metric.update(**part)
    other.load_state_dict(copy.deepcopy(metric.state_dict()))
    for one in (metric, other):
        one.update(**parts[5])
    assert {name: value.item() for name, value in other.compute().items()} == {
        name: value.item() for name, value in metric.compute().items()
    }
    assert_same(metric.half().compute(), pooled(parts))


def test_wrong_batches_are_one_sentence() -> None:
    metric = FlatMetric()
    metric.update(torch.zeros(1, 2), torch.zeros(1, 2))
    for given, sentence in (
        ((torch.zeros(1, 3), torch.zeros(1, 3)), "this batch has 3 coordinates and the ones before had 2"),
        ((torch.zeros(1, 4), torch.zeros(1, 4)), "give x, y or x, y, z"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            metric.update(*given)
    with pytest.raises(fm.InputError, match="takes no weights"):
        metric.update(torch.zeros(1, 2), torch.zeros(1, 2), pred_weights=torch.ones(1), truth_weights=torch.ones(1))
    with pytest.raises(fm.InputError, match="lam is -1"):
        FlatMetric(lam=-1.0)


def _process(rank: int, place: str) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{place}/meet", rank=rank, world_size=2)
    metric = FlatMetric()
    for part in batches(2, 2, 6)[rank::2] if rank == 0 else []:
        metric.update(**part)
    if rank == 1:
        for part in batches(2, 2, 6)[1::2]:
            metric.update(**part)
    np.save(f"{place}/{rank}.npy", [value.item() for value in metric.compute().values()])
    distributed.destroy_process_group()


def test_processes_that_train_together_have_one_score(tmp_path: Path) -> None:
    multiprocessing.spawn(_process, (str(tmp_path),), nprocs=2)
    found = [np.load(tmp_path / f"{rank}.npy") for rank in (0, 1)]
    assert np.array_equal(*found)
    names = list(KEYS)[: len(found[0])]
    assert_same(
        {name: torch.tensor(value) for name, value in zip(names, found[0], strict=True)}, pooled(batches(2, 2, 6))
    )
