"""Trains a small convolutional localizer by the Flat Metric and by a common loss, and scores both on unseen data.

Run from the repository: python -m examples.train_localizer --quick --out DIR
That trains a small network by the Flat Metric in about five minutes on two CPU cores and draws what it finds. It needs
PyTorch (pip install '.[torch]'). Without --quick it compares both losses with the same images, steps and seeds: 6
networks of 6000 steps, minutes on a GPU and days on two cores. With --weights FILE it trains one network by the Flat
Metric and writes it for the method "neural" of `flatmetric localize`; with --programs it scores the methods of
`flatmetric localize` on the same unseen data. Images come from the package's own simulator.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise SystemExit("train_localizer needs PyTorch; pip install '.[torch]' in a clone of flatmetric") from None

import flatmetric as fm
from flatmetric._files import whole_file
from flatmetric.localizations import Localizations
from flatmetric.localizers import neural
from flatmetric.localizers.registry import StackCamera, localize_stack, participant
from flatmetric.simulation.datasets import Dataset, named
from flatmetric.simulation.movie import images, molecules
from flatmetric.simulation.optics import Gaussian, Optics
from flatmetric.simulation.pupil import Pupil
from flatmetric.simulation.structures import STRUCTURES
from flatmetric.stacks import open_stack, write_stack
from flatmetric.torch import flat_metric

LAM = 125.0  # nm
REACHES = (1, 2, 4, 2, 1)  # pixels between the taps of a block
FRAMES_AT_ONCE = 100
LIKELIEST = 256  # pixels of a frame that take part in the transport; all others count as false
UNSEEN = 9000  # seed
PROGRAMS = ("baseline", "neural", "daostorm-2d", "picasso-mle")
HELD_OUT = {"low density": "MT3.N2.LD", "high density": "MT4.N2.HD"}


@dataclasses.dataclass(frozen=True)
class Size:
    """How much is trained: images in movies of 100, frames and steps, and channels and blocks of the network."""

    movies: int = 200
    batch: int = 32
    steps: int = 6000
    seeds: int = 3
    channels: int = 48
    blocks: int = len(REACHES)


QUICK = Size(movies=30, batch=8, steps=1200, seeds=1, channels=24, blocks=3)


class Block(nn.Module):
    """Two convolutions beside an identity."""

    def __init__(self, channels: int, reach: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=reach, dilation=reach),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.BatchNorm2d(channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """The sum of both."""
        return torch.relu(x + self.layers(x))


class Network(nn.Module):
    """From images in photons, (frames, height, width), to (frames, 3, height, width), as `neural.Network` does."""

    def __init__(self, size: Size | None = None) -> None:
        super().__init__()
        size = size or Size()
        self.first = nn.Conv2d(1, size.channels, 5, padding=2)
        self.blocks = nn.Sequential(*(Block(size.channels, reach) for reach in REACHES[: size.blocks]))
        self.last = nn.Conv2d(size.channels, 3, 3, padding=1)
        nn.init.constant_(self.last.bias[:1], -3.0)  # most pixels have no molecule

    def forward(self, photons: Tensor) -> Tensor:
        """Logits and offsets."""
        seen = torch.sqrt(photons.clamp_min(0) + 1.0)  # noise of about the same size everywhere
        seen = (seen - seen.flatten(1).median(dim=1).values[:, None, None]) / 3.0
        found = self.last(self.blocks(torch.relu(self.first(seen[:, None]))))
        return torch.cat([found[:, :1], neural.FARTHEST * torch.tanh(found[:, 1:])], dim=1)


def plain(network: Network) -> neural.Network:
    """The same network for NumPy, with the normalisation of each batch folded into the convolution before it."""
    found = []
    layers = [layer for layer in network.modules() if isinstance(layer, (nn.Conv2d, nn.BatchNorm2d))]
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            found.append((layer.weight, layer.bias, layer.dilation[0]))
        else:
            weights, bias, reach = found.pop()
            scale = layer.weight / torch.sqrt(layer.running_var + layer.eps)
            bias = (bias - layer.running_mean) * scale + layer.bias
            found.append((weights * scale[:, None, None, None], bias, reach))
    return neural.Network(
        tuple(
            neural.Convolution(weights.detach().cpu().numpy(), bias.detach().cpu().numpy(), reach)
            for weights, bias, reach in found
        )
    )


def like_the_challenge(number: int) -> Dataset:
    """A training movie: structure, density, brightness and background are drawn, somewhat beyond N1 to N3."""
    rng = np.random.default_rng([7, number])
    usual = named("MT3.N2.LD")
    light = np.exp(rng.uniform(-1.2, 1.0))
    return dataclasses.replace(
        usual,
        name=f"training-{number}",
        structure=str(rng.choice(sorted(STRUCTURES))),
        frames=FRAMES_AT_ONCE,
        density=float(np.exp(rng.uniform(np.log(0.03), np.log(2.0)))),
        photons=float(usual.photons * light),
        background=float(usual.background * light * np.exp(rng.uniform(-0.7, 0.7))),
    )


def of_any_kind(number: int) -> Dataset:
    """A training movie: the round spot of any good microscope, sharp or not, bright or dim."""
    rng = np.random.default_rng([8, number])
    photons = np.exp(rng.uniform(np.log(500), np.log(30_000)))
    optics: Optics = Pupil()
    kind = rng.uniform()
    if kind < 0.35:
        optics = Gaussian(rng.uniform(85, 180), rng.uniform(300, 900))
    elif kind < 0.8:
        optics = Pupil(
            wavelength=rng.uniform(520, 720),
            aperture=rng.uniform(1.2, 1.49),
            focus=rng.uniform(-200, 200),
            blur=rng.uniform(0, 90),
            coma_x=rng.normal(0, 0.1),
            coma_y=rng.normal(0, 0.1),
            spherical=rng.normal(0, 0.15),
        )
    return dataclasses.replace(
        like_the_challenge(number),
        photons=photons,
        photons_spread=rng.uniform(0, 0.7),
        background=photons * np.exp(rng.uniform(np.log(0.001), np.log(0.03))),
        depth=rng.uniform(0, 1400),
        optics=optics,
    )


def simulated(draw: Callable[[int], Dataset], number: int) -> tuple[Any, Localizations]:
    """One training movie."""
    return movie(draw(number), 100_000 + number)


def movie(dataset: Dataset, seed: int) -> tuple[Any, Localizations]:
    """Images in photons, and the truth."""
    truth = molecules(dataset, seed)
    counts = np.stack(list(images(truth, dataset, seed))).astype(np.float32)
    return (counts - dataset.camera.offset) * dataset.camera.photons_per_count, truth


@dataclasses.dataclass(frozen=True)
class Truths:
    """Positions in nm of the molecules of many frames, sorted by frame; those of frame k begin at `starts[k]`."""

    places: Tensor
    starts: Tensor

    def of(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """The molecules of some frames, and to which of these each belongs."""
        counts = self.starts[frames + 1] - self.starts[frames]
        sample = torch.repeat_interleave(torch.arange(len(frames), device=frames.device), counts)
        within = torch.arange(len(sample), device=frames.device) - torch.repeat_interleave(
            counts.cumsum(0) - counts, counts
        )
        return self.places[self.starts[frames][sample] + within], sample


def training_set(draw: Callable[[int], Dataset], movies: int, device: str) -> tuple[Tensor, Truths]:
    """All images and their truth, on the device."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(partial(simulated, draw), range(movies)))
    photons = torch.tensor(np.concatenate([part for part, _ in parts]), device=device)
    frames = np.concatenate([truth.frame - 1 + FRAMES_AT_ONCE * k for k, (_, truth) in enumerate(parts)])
    places = np.concatenate([truth.points(2) for _, truth in parts])
    order = np.argsort(frames, kind="stable")
    starts = np.searchsorted(frames[order], np.arange(len(photons) + 1))
    return photons, Truths(
        torch.tensor(places[order], dtype=torch.float32, device=device), torch.tensor(starts, device=device)
    )


def candidates(found: Tensor, pixel_size: float = 100.0) -> tuple[Tensor, Tensor]:
    """Of each pixel: where its molecule would be, (frames, pixels, 2) in nm, and how likely it is there."""
    _, _, height, width = found.shape
    y, x = torch.meshgrid(
        torch.arange(height, device=found.device), torch.arange(width, device=found.device), indexing="ij"
    )
    places = torch.stack([x + 0.5 + found[:, 1], y + 0.5 + found[:, 2]], dim=-1) * pixel_size
    return places.flatten(1, 2), torch.sigmoid(found[:, 0]).flatten(1)


def by_flat_metric(found: Tensor, places: Tensor, sample: Tensor, lam: float) -> Tensor:
    """The Flat Metric between the pixels, weighted by their probabilities, and the molecules."""
    where, likely = candidates(found)
    best = likely.detach().topk(LIKELIEST, dim=1).indices
    weights = likely.gather(1, best)
    points = where.gather(1, best[..., None].expand(-1, -1, 2))
    frame = torch.arange(len(found), device=found.device)[:, None].expand_as(best)
    value = flat_metric(
        points.reshape(-1, 2),
        places,
        lam,
        pred_batch=frame.reshape(-1),
        truth_batch=sample,
        pred_weights=weights.reshape(-1),
        truth_weights=torch.ones(len(places), device=found.device),
        normalize=None,
        reduction="sum",
        batch_size=len(found),
    )
    rest = lam * (likely.sum() - weights.sum())
    return (value + rest) / (lam * max(1, len(places)))


def by_pixels(found: Tensor, places: Tensor, sample: Tensor) -> Tensor:
    """Cross-entropy of which pixels hold a molecule, and the mean square error of the offsets there, in pixels."""
    x, y = (places / 100.0).T
    column, row = (axis.floor().long().clamp(0, found.shape[-1] - 1) for axis in (x, y))
    held = torch.zeros_like(found[:, 0])
    held[sample, row, column] = 1.0
    entropy = nn.functional.binary_cross_entropy_with_logits(found[:, 0], held, reduction="sum")
    offsets = found[sample, 1:, row, column]
    errors = (offsets - torch.stack([x - column - 0.5, y - row - 0.5], dim=1)) ** 2
    return (entropy + 4.0 * errors.sum()) / max(1, len(places))


def trained(
    kind: str, seed: int, data: tuple[Tensor, Truths], size: Size, device: str, log: Callable[[str], None] = print
) -> tuple[Network, list[float]]:
    """A network trained by one loss, and the loss at each step; `log` gets how it goes."""
    torch.manual_seed(seed)
    photons, truths = data
    network, steps, losses = Network(size).to(device), size.steps, []
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    begin = time.monotonic()
    for step in range(steps):
        frames = torch.randint(0, len(photons), (size.batch,), device=device)
        places, sample = truths.of(frames)
        found = network(photons[frames])
        if kind == "flat metric":
            # Far-off detections feel a pull at first; at the end lam is the one that counts.
            loss = by_flat_metric(found, places, sample, LAM * (1 + 2 * max(0.0, 1 - 2 * step / steps)))
        else:
            loss = by_pixels(found, places, sample)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step == 10 or step % (steps // 12 or 1) == 0:
            left = (steps - step) * (time.monotonic() - begin) / (step + 1) / 60
            rest = f", about {left:.1f} min left" if step >= 10 else ""
            log(f"{kind}, seed {seed}, step {step}: {np.mean(losses[-50:]):.4f}{rest}")
    return network.eval(), losses


@torch.no_grad()
def localized(network: Network, photons: Any, device: str, pixel_size: float = 100.0) -> dict[str, Any]:
    """What a network finds, in nm."""
    rows: dict[str, list[Any]] = {"frame": [], "x": [], "y": []}
    for begin in range(0, len(photons), 256):
        found = network(torch.tensor(photons[begin : begin + 256], device=device)).cpu().numpy()
        for number, one in enumerate(found, start=begin + 1):
            x, y = neural.peaks(one, neural.SETTINGS["probability"].usual)
            rows["frame"].append(np.full(len(x), number))
            rows["x"].append(pixel_size * (x + 0.5))
            rows["y"].append(pixel_size * (y + 0.5))
    return {name: np.concatenate(values) for name, values in rows.items()}


def by_programs(frames: int) -> None:
    """Score what installed localizers find with their usual settings."""
    for name, kind in HELD_OUT.items():
        dataset = named(kind).with_frames(frames)
        truth, camera = molecules(dataset, UNSEEN), dataset.camera
        with tempfile.TemporaryDirectory() as folder:
            stack = Path(folder) / "stack.ome.tif"
            write_stack(
                stack,
                images(truth, dataset, UNSEEN),
                frames=frames,
                pixels=dataset.pixels,
                pixel_size=dataset.pixel_size,
            )
            known = StackCamera(dataset.pixel_size, camera.offset, camera.photons_per_count)
            for program in PROGRAMS:
                found = localize_stack(open_stack(stack), participant(program), known)
                print({"program": program, "data": name, **scored(truth, found)}, flush=True)


def scored(truth: Localizations, found: Any) -> dict[str, float | None]:
    """The three numbers that are compared."""
    score = fm.score(truth, found, lam=LAM, dim=2, check=False)
    return {key: score.get(key) for key in ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy")}


def quick(out: Path, frames: int, size: Size = QUICK) -> dict[str, float | None]:
    """Train a small network by the Flat Metric, score it on unseen images, and draw its loss and what it finds."""
    from flatmetric.plots.style import new_figure

    say = partial(print, flush=True)
    out.mkdir(parents=True, exist_ok=True)
    say(f"simulating {size.movies * FRAMES_AT_ONCE} images")
    network, losses = trained(
        "flat metric", 0, training_set(like_the_challenge, size.movies, "cpu"), size, "cpu", log=say
    )
    photons, truth = movie(named(HELD_OUT["low density"]).with_frames(frames), UNSEEN)
    found = localized(network, photons, "cpu")
    values = scored(truth, found)
    say(f"on {frames} unseen frames of {HELD_OUT['low density']}: {values}")
    figure = new_figure(9.0, 4.0)
    left, right = figure.subplots(1, 2)
    smooth = np.convolve(losses, np.full(min(50, len(losses)), 1 / min(50, len(losses))), "valid")
    left.plot(np.arange(len(smooth)), smooth)
    left.set(xlabel="step", ylabel="Flat Metric / lam", ylim=(0, None), title="training loss")
    frame = int(np.bincount(truth.frame).argmax())
    right.imshow(photons[frame - 1], cmap="gray", extent=(0, 6400, 6400, 0))
    here = truth.frame == frame
    right.plot(truth.x[here], truth.y[here], "o", fillstyle="none", markersize=10, label="truth")
    seen = found["frame"] == frame
    right.plot(found["x"][seen], found["y"][seen], "+", markersize=10, label="network")
    right.set(xlabel="x [nm]", ylabel="y [nm]", title=f"unseen frame {frame}")
    right.legend()
    figure.savefig(out / "training.png", dpi=120)
    (out / "results.json").write_text(json.dumps(values, indent=1))
    say(f"written: {out / 'training.png'}, {out / 'results.json'}")
    return values


def main() -> None:
    """Train by both losses with several seeds, and score on data sets that were not used for it."""
    parser = argparse.ArgumentParser(prog="python -m examples.train_localizer", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    work = parser.add_mutually_exclusive_group(required=True)
    work.add_argument("--out", type=Path)
    work.add_argument("--weights", type=Path)
    work.add_argument("--programs", action="store_true")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--movies", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=300)
    given = parser.parse_args()
    if given.programs:
        by_programs(given.frames)
        return
    if given.quick and given.out:
        quick(given.out, given.frames)
        return
    whole = Size(movies=given.movies, steps=given.steps, seeds=given.seeds)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = training_set(of_any_kind if given.weights else like_the_challenge, given.movies, device)
    size = sum(parameter.numel() for parameter in Network(whole).parameters())
    print(f"{len(data[0])} images, {len(data[1].places)} molecules, {size} parameters", flush=True)
    if given.weights:
        network = plain(trained("flat metric", 0, data, whole, device)[0])
        with whole_file(given.weights) as path:
            np.savez(path, allow_pickle=False, **network.arrays())
        return
    given.out.mkdir(parents=True, exist_ok=True)
    held_out = {name: movie(named(kind).with_frames(given.frames), UNSEEN) for name, kind in HELD_OUT.items()}
    found = []
    for kind in ("flat metric", "cross-entropy and MSE"):
        for seed in range(given.seeds):
            network, _ = trained(kind, seed, data, whole, device)
            for name, (photons, truth) in held_out.items():
                values = scored(truth, localized(network, photons, device))
                found.append({"loss": kind, "seed": seed, "data": name, **values})
                print(found[-1], flush=True)
    (given.out / "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
