"""The Flat Metric as a loss: its value, its gradients, and what PyTorch asks of an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import ot
import pytest
import torch
from torch import Tensor

import flatmetric as fm
from flatmetric.torch import FlatMetricLoss, flat_metric
from flatmetric.torch.loss import _transport

SAMPLES = 7


def ragged(seed: int, *, dim: int = 2, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """A batch of seven samples: an empty one, one without truth, one without detections, and four with both."""
    rng = torch.Generator().manual_seed(seed)
    sizes = [(0, 0), (3, 0), (0, 2), (4, 3), (1, 5), (6, 6), (2, 1)]
    samples = [torch.repeat_interleave(torch.arange(SAMPLES), torch.tensor(side)) for side in zip(*sizes, strict=True)]
    orders = [torch.randperm(len(sample), generator=rng) for sample in samples]
    points = [300 * torch.rand(len(sample), dim, generator=rng, dtype=dtype) for sample in samples]
    names = ("pred_batch", "truth_batch")
    batches = {name: sample[order] for name, sample, order in zip(names, samples, orders, strict=True)}
    return {"pred": points[0], "truth": points[1], **batches}


def weights(batch: dict[str, Tensor], seed: int) -> dict[str, Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return {
        f"{side}_weights": torch.rand(len(batch[side]), generator=rng, dtype=batch[side].dtype)
        for side in ("pred", "truth")
    }


def ours(batch: dict[str, Tensor], lam: float = 60.0, **given: Any) -> Tensor:
    return flat_metric(**batch, lam=lam, batch_size=SAMPLES, **given)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_is_that_of_the_library(dim: int, weighted: bool) -> None:
    for seed in range(10):
        batch = ragged(seed, dim=dim)
        own = weights(batch, seed) if weighted else {}
        scale = [1.0, 0.7, 0.5][:dim]
        arrays = {name: value.numpy() for name, value in {**batch, **own}.items()}
        expected = fm.flat_metric(
            arrays["truth"],
            arrays["pred"],
            lam=60,
            truth_frames=arrays["truth_batch"],
            pred_frames=arrays["pred_batch"],
            truth_weights=arrays.get("truth_weights"),
            pred_weights=arrays.get("pred_weights"),
            axis_scale=scale,
        ).value
        mass = float(own["truth_weights"].sum()) if weighted else 1.0
        assert ours(batch, **own, axis_scale=scale).item() == pytest.approx(expected / mass, rel=1e-12)
        total = ours(batch, **own, axis_scale=scale, normalize=None, reduction="sum").item()
        assert total == pytest.approx(expected * (1 if weighted else len(batch["truth"])), rel=1e-12)
        each = ours(batch, **own, axis_scale=scale, normalize=None, reduction="none")
        assert each.shape == (SAMPLES,) and each[0] == 0 and each.sum().item() == pytest.approx(total)


def test_padded_batches_and_single_sets_are_the_same() -> None:
    rng = torch.Generator().manual_seed(0)
    pred, truth = (300 * torch.rand(4, n, 2, generator=rng, dtype=torch.float64) for n in (5, 3))
    masks = [torch.rand(4, n, generator=rng) < 0.7 for n in (5, 3)]
    padded = flat_metric(pred, truth, 60.0, pred_mask=masks[0], truth_mask=masks[1], normalize=None, reduction="none")
    for k in range(4):
        alone = flat_metric(pred[k][masks[0][k]], truth[k][masks[1][k]], 60.0, normalize=None)
        assert alone.shape == () and alone.item() == pytest.approx(padded[k].item(), rel=1e-12)
    likely = torch.rand(4, 5, generator=rng, dtype=torch.float64)  # ones for the other side
    ones = torch.ones(4, 3, dtype=torch.float64)
    alone = flat_metric(pred, truth, 60.0, pred_weights=likely).item()
    assert alone == flat_metric(pred, truth, 60.0, pred_weights=likely, truth_weights=ones).item()
    everyone = flat_metric(pred, truth, 60.0)
    zeros = [torch.ones(4, n, dtype=torch.float64) for n in (5, 3)]
    assert everyone.item() == pytest.approx(
        flat_metric(pred, truth, 60.0, pred_weights=zeros[0], truth_weights=zeros[1]).item(), rel=1e-12
    )


@pytest.mark.parametrize("normalize", ["truth", None])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients_are_those_of_finite_differences(normalize: Any, reduction: Any) -> None:
    batch = ragged(3)
    own = weights(batch, 4)
    own["pred_weights"][0] = 0.0
    lam = torch.tensor(60.0, dtype=torch.float64, requires_grad=True)
    places = [batch[side].requires_grad_() for side in ("pred", "truth")]

    def plain(pred: Tensor, truth: Tensor, lam: Tensor) -> Tensor:
        return ours({**batch, "pred": pred, "truth": truth}, lam, normalize=normalize, reduction=reduction)

    assert torch.autograd.gradcheck(plain, [*places, lam], eps=1e-5)
    assert torch.autograd.gradgradcheck(lambda pred, truth: plain(pred, truth, lam.detach()), places, eps=1e-5)

    def weighed(pred: Tensor, truth: Tensor, a: Tensor, b: Tensor, lam: Tensor) -> Tensor:
        given = {"pred_weights": a, "truth_weights": b, "normalize": normalize, "reduction": reduction}
        return ours({**batch, "pred": pred, "truth": truth}, lam, axis_scale=(1, 0.5), **given)

    masses = [own["pred_weights"].clamp_min(1e-3).requires_grad_(), own["truth_weights"].requires_grad_()]
    assert torch.autograd.gradcheck(weighed, [*places, *masses, lam], eps=1e-6, atol=1e-4)
    fixed = [mass.detach() for mass in masses]
    assert torch.autograd.gradgradcheck(
        lambda pred, truth: weighed(pred, truth, fixed[0], fixed[1], lam.detach()), places, eps=1e-5
    )


def test_gradients_are_those_of_pot() -> None:
    rng = torch.Generator().manual_seed(1)
    for n in (1, 4, 15):
        pred = (300 * torch.rand(n, 2, generator=rng, dtype=torch.float64)).requires_grad_()
        truth = (300 * torch.rand(n, 2, generator=rng, dtype=torch.float64)).requires_grad_()
        mass = torch.full((n,), 1 / n, dtype=torch.float64)
        theirs = ot.emd2(mass, mass, torch.cdist(truth, pred))
        mine = flat_metric(pred, truth, 1e4)
        assert mine.item() == pytest.approx(theirs.item(), rel=1e-12)
        for side in (pred, truth):
            found, expected = (torch.autograd.grad(value, side, retain_graph=True)[0] for value in (mine, theirs))
            assert torch.allclose(found, expected, atol=1e-12)


def test_ties_have_a_subgradient_and_nothing_is_nan() -> None:
    spots = torch.tensor([[0.0, 0.0], [0.0, 0.0], [10.0, 0.0], [10.0, 0.0]], dtype=torch.float64)
    pred, truth = spots.clone().requires_grad_(), spots[:3].clone().requires_grad_()
    a = torch.tensor([1.0, 0.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
    b = torch.ones(3, dtype=torch.float64, requires_grad=True)
    value = flat_metric(pred, truth, 20.0, pred_weights=a, truth_weights=b, normalize=None)
    slopes = torch.autograd.grad(value, [pred, truth, a, b], create_graph=True)
    assert all(torch.isfinite(slope).all() for slope in slopes)
    again = torch.autograd.grad(slopes[0].sum(), pred, allow_unused=True)[0]
    assert again is None or torch.isfinite(again).all()
    rng = torch.Generator().manual_seed(0)
    for _ in range(200):  # the value is convex in the weights
        there = [3 * torch.rand(len(w), generator=rng, dtype=torch.float64) for w in (a, b)]
        far = flat_metric(pred, truth, 20.0, pred_weights=there[0], truth_weights=there[1], normalize=None)
        line = value + sum(
            (slope * (new - old)).sum() for slope, new, old in zip(slopes[2:], there, (a, b), strict=True)
        )
        assert far.item() >= line.item() - 1e-9
    nothing = flat_metric(spots[:0].requires_grad_(), spots[:0], 20.0)
    nothing.backward()
    assert nothing.item() == 0
    assert flat_metric(spots, spots[:0], 20.0).item() == 80.0


def test_descending_reaches_the_truth() -> None:
    rng = torch.Generator().manual_seed(0)
    starts = 1000
    truth = 5000 * torch.rand(starts, 3, 2, generator=rng, dtype=torch.float64)
    pred = (truth + 60 * torch.randn(starts, 3, 2, generator=rng, dtype=torch.float64).clamp(-1, 1)).requires_grad_()
    step = 20.0
    for _ in range(150):
        (slope,) = torch.autograd.grad(flat_metric(pred, truth, 125.0, normalize=None, reduction="sum"), pred)
        with torch.no_grad():
            pred -= step * slope
        step *= 0.94
    assert flat_metric(pred, truth, 125.0, reduction="none").max().item() < 0.1


def test_float32_half_and_autocast() -> None:
    batch, exact = ragged(5, dtype=torch.float32), ragged(5)
    exact["pred"], exact["truth"] = batch["pred"].double(), batch["truth"].double()
    places = {name: batch[name].requires_grad_() for name in ("pred", "truth")}
    value = ours({**batch, **places})
    assert value.dtype == torch.float32 and value.item() == pytest.approx(ours(exact).item(), rel=1e-6)
    value.backward()
    assert places["pred"].grad is not None and places["pred"].grad.dtype == torch.float32
    low = {name: batch[name].detach().to(torch.bfloat16).requires_grad_() for name in ("pred", "truth")}
    with torch.autocast("cpu", torch.bfloat16):
        rough = ours({**batch, **low})
    rough.backward()
    assert rough.dtype == torch.float32 and low["pred"].grad is not None
    with torch.no_grad():
        assert not ours({**batch, **places}).requires_grad


def test_the_operator_is_as_pytorch_wants_it() -> None:
    batch, lam = ragged(6), torch.tensor(60.0, dtype=torch.float64, requires_grad=True)
    own = weights(batch, 7)
    points = batch["pred"].requires_grad_(), batch["truth"].requires_grad_()
    samples = batch["pred_batch"], batch["truth_batch"]
    torch.library.opcheck(_transport, (*points, lam, *samples, None, None, [1.0, 1.0], SAMPLES, 1, True, False))
    masses = own["pred_weights"].requires_grad_(), own["truth_weights"].requires_grad_()
    torch.library.opcheck(_transport, (*points, lam, *samples, *masses, [1.0, 0.5], SAMPLES, 0, True, True))


def test_it_compiles_to_one_graph() -> None:
    batch = ragged(8)
    places = {name: batch[name].requires_grad_() for name in ("pred", "truth")}
    compiled = torch.compile(
        lambda pred, truth: ours({**batch, "pred": pred, "truth": truth}), fullgraph=True, backend="aot_eager"
    )
    value = compiled(**places)
    value.backward()
    slopes = torch.autograd.grad(ours({**batch, **places}), [places["pred"]])[0]
    assert value.item() == ours(batch).item() and torch.equal(places["pred"].grad, slopes)


class _Losses(torch.utils.data.Dataset[float]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, at: int) -> float:
        return ours(ragged(at)).item()


def test_it_works_in_the_forked_processes_of_a_loader() -> None:
    expected = [ours(ragged(seed)).item() for seed in range(4)]
    rng = np.random.default_rng(0)  # a solve on several threads, which the forked processes don't have
    fm.flat_metric(rng.random((20_000, 2)), rng.random((20_000, 2)), lam=0.01, threads=2)
    loader = torch.utils.data.DataLoader(
        _Losses(), batch_size=1, num_workers=2, multiprocessing_context="fork", timeout=60
    )
    assert [float(value) for value in loader] == expected


def test_the_number_of_threads_changes_nothing() -> None:
    batch = ragged(10)
    found = [ours(batch, threads=threads).item() for threads in (1, 2, 5, None)]
    assert len(set(found)) == 1


def test_the_module_has_the_settings() -> None:
    loss = FlatMetricLoss(60.0, normalize=None, reduction="sum")
    batch = ragged(11)
    assert loss(**batch).item() == ours(batch, normalize=None, reduction="sum").item()
    assert "lam=60" in repr(loss)


POINTS = torch.zeros(3, 2)
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"lam": 0.0}, "lam is 0.0; give a positive length"),
    ({"lam": torch.tensor(-1.0)}, "lam is -1; give a positive length"),
    ({"lam": torch.ones(2)}, r"lam has shape \(2,\)"),
    ({"pred": [[0.0, 0.0]]}, "pred is a list; give a tensor"),
    ({"pred": POINTS.long()}, "pred holds torch.int64"),
    ({"pred": torch.zeros(3)}, r"pred has shape \(3,\)"),
    ({"pred": torch.zeros(3, 3)}, "pred has 3 coordinates and truth has 2"),
    ({"pred": torch.zeros(1, 3, 2)}, "pad both or none"),
    ({"pred": torch.tensor([[0.0, float("nan")]])}, "row 0 of pred is"),
    ({"truth": torch.tensor([[0.0, 0.0], [float("inf"), 0.0]])}, "row 1 of truth is"),
    ({"pred_weights": torch.ones(2)}, r"pred_weights is \(2,\)"),
    ({"pred_weights": -torch.ones(3), "truth_weights": torch.ones(3)}, "row 0 of pred_weights is -1"),
    ({"pred_weights": torch.ones(2), "truth_weights": torch.ones(3)}, r"pred_weights is \(2,\)"),
    ({"pred_batch": torch.zeros(3, dtype=torch.int64)}, "give both pred_batch and truth_batch"),
    ({"pred_batch": torch.zeros(3), "truth_batch": torch.zeros(3)}, "give one whole number for each of the 3 points"),
    (
        {"pred_batch": torch.tensor([0, -1, 0]), "truth_batch": torch.zeros(3, dtype=torch.int64)},
        "row 1 of pred_batch is -1",
    ),
    ({"pred_mask": torch.ones(3, dtype=torch.bool)}, "masks are for padded batches"),
    ({"pred": POINTS[None], "truth": POINTS[None], "pred_mask": torch.ones(1, 3)}, "give a boolean tensor of shape"),
    ({"truth": torch.zeros(3, 2, device="meta")}, "truth is on meta and pred is on cpu"),
    ({"axis_scale": (1,)}, "give 2 numbers from 0"),
    ({"reduction": "max"}, "reduction is 'max'"),
    ({"normalize": "pred"}, "normalize is 'pred'"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG)
def test_wrong_input_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence) as raised:
        flat_metric(**({"pred": POINTS, "truth": POINTS, "lam": 60.0} | given))
    assert "\n" not in str(raised.value)


def test_vmap_is_refused_in_one_sentence() -> None:
    with pytest.raises(fm.InputError, match="can't be mapped by vmap"):
        torch.vmap(lambda pred: flat_metric(pred, POINTS, 60.0))(torch.zeros(4, 3, 2))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_gpu_gives_the_same() -> None:
    batch = ragged(12)
    own = weights(batch, 13)
    there = {name: value.cuda() for name, value in {**batch, **own}.items()}
    places = [there[name].requires_grad_() for name in ("pred", "truth", "pred_weights", "truth_weights")]
    local = {name: value.clone().requires_grad_(value.is_floating_point()) for name, value in {**batch, **own}.items()}
    value, expected = ours(there), ours(local)
    assert value.device.type == "cuda" and value.item() == pytest.approx(expected.item(), rel=1e-12)
    found = torch.autograd.grad(value, places)
    wanted = torch.autograd.grad(expected, [local[name] for name in ("pred", "truth", "pred_weights", "truth_weights")])
    assert all(np.allclose(a.cpu().numpy(), b.numpy(), atol=1e-12) for a, b in zip(found, wanted, strict=True))
