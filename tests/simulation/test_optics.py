"""The spot holds all its light, stands where the molecule is, and widens as it should."""

from __future__ import annotations

import numpy as np
import pytest

from flatmetric.errors import InputError
from flatmetric.simulation.optics import Gaussian, spots

PIXELS = np.arange(64)


def moments(image: np.ndarray) -> tuple[float, float, float, float]:
    """Centre and variance along x and y, in pixels."""
    total = image.sum()
    x, y = image.sum(axis=0) / total, image.sum(axis=1) / total
    mean_x, mean_y = x @ PIXELS, y @ PIXELS
    return mean_x, mean_y, x @ (PIXELS - mean_x) ** 2, y @ (PIXELS - mean_y) ** 2


@pytest.mark.parametrize("z", [-700.0, 0.0, 450.0])
def test_the_spot_holds_all_photons_at_its_place(z: float) -> None:
    image = spots(np.array([[3033.0, 3377.0, z]]), np.array([1234.5]), Gaussian(), pixels=64, pixel_size=100.0)
    assert np.isclose(image.sum(), 1234.5, rtol=1e-9)
    x, y, width_x, width_y = moments(image)
    assert np.isclose((x + 0.5) * 100, 3033.0) and np.isclose((y + 0.5) * 100, 3377.0)
    # A pixel adds the variance of its own width, 1/12.
    wanted = (110.0 * np.hypot(1, z / 400.0) / 100.0) ** 2 + 1 / 12
    assert np.isclose(width_x, wanted, rtol=1e-6) and np.isclose(width_y, wanted, rtol=1e-6)


def test_astigmatism_stretches_one_axis_above_and_the_other_below_focus() -> None:
    optics = Gaussian(sigma=100, focal_depth=400, astigmatism=250)
    for z, sign in ((300.0, -1), (-300.0, 1)):
        image = spots(np.array([[3200.0, 3200.0, z]]), np.ones(1), optics, pixels=64, pixel_size=100.0)
        _, _, width_x, width_y = moments(image)
        assert np.sign(width_x - width_y) == sign
    in_focus, across = optics.widths(np.array([250.0]))
    assert in_focus[0] == 100 and across[0] > 150


def test_molecules_add_up() -> None:
    rng = np.random.default_rng(0)
    xyz = rng.uniform((0, 0, -700), (6400, 6400, 700), (20, 3))
    photons = rng.uniform(10, 1000, 20)
    together = spots(xyz, photons, Gaussian(), pixels=64, pixel_size=100.0)
    one_by_one = sum(
        spots(xyz[k : k + 1], photons[k : k + 1], Gaussian(), pixels=64, pixel_size=100.0) for k in range(20)
    )
    np.testing.assert_allclose(together, one_by_one, rtol=1e-10, atol=1e-12)


def test_an_empty_frame_is_dark() -> None:
    assert not spots(np.empty((0, 3)), np.empty(0), Gaussian(), pixels=8, pixel_size=100.0).any()


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"focal_depth": -5.0}, {"astigmatism": float("nan")}])
def test_wrong_optics_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Gaussian(**wrong)
