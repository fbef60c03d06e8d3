"""The network that comes with the package: what it was not trained on, and the file of its weights."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from flatmetric.localizers import neural
from flatmetric.localizers.base import usual
from flatmetric.simulation.optics import Gaussian, spots

SETTINGS = usual(neural.SETTINGS)


@pytest.mark.parametrize("background", [5.0, 100.0])
@pytest.mark.parametrize("sigma", [95.0, 130.0, 165.0])
@pytest.mark.parametrize("photons", [1500.0, 6000.0, 25_000.0])
def test_a_molecule_is_one_spot_whatever_its_width_and_brightness(
    photons: float, sigma: float, background: float
) -> None:
    random = np.random.default_rng(11)
    places = np.column_stack([random.uniform(1500, 1700, (20, 2)), np.zeros(20)])
    lit = [spots(at[None], np.array([photons]), Gaussian(sigma), pixels=32, pixel_size=100.0) for at in places]
    found = neural.localize(random.poisson(background + np.array(lit)).astype(float), SETTINGS)
    away = np.hypot(*((np.column_stack([found.x, found.y]) + 0.5) * 100 - places[found.image, :2]).T)
    near = away < 150
    assert found.image[near].tolist() == list(range(20))
    assert (~near).sum() <= 1, "noise is hardly ever a molecule"
    # What no unbiased estimate falls below, doubled.
    least = np.sqrt(2 * (sigma**2 / photons) * (1 + 8 * np.pi * sigma**2 * background / (photons * 100.0**2)))
    assert np.sqrt((away[near] ** 2).mean()) < 2 * least + 5


def test_photons_of_a_spot_in_focus_are_right() -> None:
    at = np.array([[1630.0, 1580.0, 0.0]])
    image = 30 + spots(at, np.array([5000.0]), Gaussian(130.0), pixels=32, pixel_size=100.0)
    found = neural.localize(image[None], SETTINGS)
    assert found.photons == pytest.approx([5000.0], rel=0.1)


@pytest.mark.parametrize("size", [(5, 7), (64, 64), (200, 33)])
def test_images_of_any_size(size: tuple[int, int]) -> None:
    dark = np.random.default_rng(0).poisson(20.0, (2, *size)).astype(float)
    assert len(neural.localize(dark, SETTINGS).x) <= 1


def test_the_same_in_any_block_of_images() -> None:
    random = np.random.default_rng(2)
    places = np.column_stack([random.uniform(500, 5900, (60, 2)), np.zeros(60)])
    images = random.poisson(
        40 + spots(places, np.full(60, 3000.0), Gaussian(), pixels=64, pixel_size=100.0), (3, 64, 64)
    )
    together = neural.localize(images.astype(float), SETTINGS)
    alone = [neural.localize(one[None].astype(float), SETTINGS) for one in images]
    for axis in ("x", "y", "photons"):
        assert getattr(together, axis).tolist() == np.concatenate([getattr(one, axis) for one in alone]).tolist()


def test_tiles_of_a_large_image_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(3).poisson(80.0, (70, 90)).astype(float)
    image[30:34, 40:43] += 900.0
    whole = neural.trained()(image)
    monkeypatch.setattr(neural, "_TILE", 32)
    assert neural.trained()(image) == pytest.approx(whole, abs=1e-4)


def test_the_weights_are_small_and_hold_no_pickle() -> None:
    content = (files("flatmetric") / "data" / "neural.npz").read_bytes()
    assert len(content) < 5_000_000
    with (files("flatmetric") / "data" / "neural.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        parameters = sum(array.size for name, array in arrays.items() if name != "reach")
        assert all(array.dtype.kind in "fi" for array in arrays.values())
    assert parameters < 300_000
