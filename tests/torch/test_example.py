"""The example that trains the network of the package: the same network for NumPy, and weights that can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from examples import train_localizer
from flatmetric.localizers import neural


def shaken() -> train_localizer.Network:
    """A network with weights and normalisation of its own."""
    torch.manual_seed(3)
    network = train_localizer.Network()
    for _ in range(3):
        network(torch.rand(4, 20, 24) * 500)  # the running means of the normalisation
    return network.eval()


def test_the_plain_network_is_the_trained_one() -> None:
    network, photons = shaken(), np.random.default_rng(0).uniform(0, 900, (2, 33, 20))
    with torch.no_grad():
        expected = network(torch.tensor(photons, dtype=torch.float32)).numpy()
    plain = train_localizer.plain(network)
    for image, wanted in zip(photons, expected, strict=True):
        assert plain(image) == pytest.approx(wanted, abs=2e-4)


def test_weights_are_written_and_read(tmp_path: Path) -> None:
    plain = train_localizer.plain(shaken())
    np.savez(tmp_path / "weights.npz", allow_pickle=False, **plain.arrays())
    with np.load(tmp_path / "weights.npz", allow_pickle=False) as arrays:
        again = neural.Network.from_arrays(arrays)
    image = np.random.default_rng(1).uniform(0, 100, (16, 16))
    assert again(image).tolist() == plain(image).tolist()


@pytest.mark.parametrize("kind", ["flat metric", "cross-entropy and MSE"])
def test_both_losses_fall_on_simulated_images(kind: str) -> None:
    images, truth = train_localizer.simulated(train_localizer.like_the_challenge, 2)
    few = truth.select(truth.frame <= 2)
    photons, places = torch.tensor(images[:2]), torch.tensor(few.points(2), dtype=torch.float32)
    sample = torch.tensor(few.frame - 1)
    torch.manual_seed(0)
    network = train_localizer.Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    values = []
    for _ in range(12):
        found = network(photons)
        loss = (
            train_localizer.by_flat_metric(found, places, sample, train_localizer.LAM)
            if kind == "flat metric"
            else train_localizer.by_pixels(found, places, sample)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < 0.75 * values[0]


@pytest.mark.filterwarnings("ignore::flatmetric.errors.FindingWarning")  # so small a network may find nothing
def test_the_quick_size_runs_and_its_loss_falls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = train_localizer.Size(movies=1, batch=4, steps=40, seeds=1, channels=8, blocks=1)
    train_localizer.quick(tmp_path, frames=3, size=size)
    said = capsys.readouterr().out.splitlines()
    assert any("min left" in line for line in said)
    steps = [float(line.split(": ")[1].split(",")[0]) for line in said if line.startswith("flat metric, seed 0, step")]
    assert steps[-1] < 0.9 * steps[0]
    assert (tmp_path / "training.png").stat().st_size > 10_000 and (tmp_path / "results.json").exists()
