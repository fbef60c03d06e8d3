"""The baseline finds what is there, as precisely as can be."""

from __future__ import annotations

import numpy as np
import pytest

import flatmetric as fm
from flatmetric._arrays import FloatArray
from flatmetric.localizers.base import uneven_background
from flatmetric.localizers.baseline import DEFAULTS, find_maxima, localize
from flatmetric.localizers.shapes import GaussianShape
from flatmetric.simulation.optics import Gaussian, spots
from proofs.localizer import bound, known_shape, single_spots


def places(count: int, z: float) -> FloatArray:
    rng = np.random.default_rng(7)
    return np.column_stack([2050 + rng.uniform(-50, 50, (count, 2)), np.full(count, z)])


@pytest.mark.parametrize(("photons", "background"), [(500.0, 5.0), (2000.0, 20.0), (5000.0, 100.0)])
def test_gaussians_are_fitted_to_the_cramer_rao_bound(photons: float, background: float) -> None:
    xyz = places(400, 0.0)
    found = localize(single_spots(Gaussian(sigma=120.0), xyz, photons, background), DEFAULTS)
    assert (np.bincount(found.image, minlength=400) == 1).mean() > 0.98
    errors = 100 * (np.column_stack([found.x, found.y]) + 0.5) - xyz[found.image, :2]
    errors = errors[np.abs(errors).max(axis=1) < 250]  # without spots made of noise elsewhere
    rmse, least = np.sqrt((errors**2).mean(axis=0)), 100 * bound(GaussianShape(1.2, 3.5), 1.2, photons, background)
    assert (rmse < 1.1 * least[:2]).all() and (rmse > 0.85 * least[:2]).all()
    assert np.abs(errors.mean(axis=0)).max() < 4 * rmse.max() / np.sqrt(len(errors))
    assert np.mean(found.photons) == pytest.approx(photons, rel=0.03)


@pytest.mark.parametrize(
    ("modality", "z"),
    [("AS", -400.0), ("AS", 0.0), ("AS", 300.0), ("DH", -300.0), ("DH", 0.0), ("BP", -500.0), ("BP", 0.0)],
)
def test_known_spots_are_fitted_to_the_cramer_rao_bound_in_three_dimensions(modality: str, z: float) -> None:
    shape, pupil = known_shape(modality)
    xyz = places(300, z)
    found = localize(single_spots(pupil, xyz, 5000.0, 100.0), {**DEFAULTS, "rounds": 1.0}, shape)
    assert found.z is not None
    here = np.hypot(*(100 * (np.column_stack([found.x, found.y]) + 0.5) - xyz[found.image, :2]).T) < 250
    assert len(np.unique(found.image[here])) == 300 and (~here).mean() < 0.15
    at = np.column_stack([100 * (found.x + 0.5), 100 * (found.y + 0.5), found.z])[here]
    errors = at - xyz[found.image[here]]
    rmse = 1.4826 * np.median(
        np.abs(errors - np.median(errors, axis=0)), axis=0
    )  # of the many, without a few that fail
    least = 100 * bound(shape, z / 100, 5000.0, 100.0)
    assert (rmse < 1.2 * least).all() and (rmse > 0.8 * least).all()
    assert (np.abs(np.median(errors, axis=0)) < 0.5 * least + 2).all()


def test_two_spots_that_overlap_are_told_apart() -> None:
    image = 20 + spots(
        np.array([[1900.0, 2000.0, 0.0], [2200.0, 2000.0, 0.0]]),
        np.array([4000.0, 2500.0]),
        Gaussian(),
        pixels=40,
        pixel_size=100.0,
    )
    noisy = np.random.default_rng(2).poisson(image, (50, 40, 40)).astype(np.float64)
    found = localize(noisy, {**DEFAULTS, "sigma": 1.2})  # of pairs alone no width can be measured
    assert (np.bincount(found.image) == 2).mean() > 0.9
    x = 100 * (found.x + 0.5)
    left = x < 2050
    assert np.median(x[left]) == pytest.approx(1900, abs=3) and np.median(x[~left]) == pytest.approx(2200, abs=3)
    assert np.median(found.photons[left]) == pytest.approx(4000, rel=0.05)


def test_nothing_is_found_where_there_is_nothing() -> None:
    """About 0.1 false spots in a frame would cost several nm where molecules are sparse."""
    noise = np.random.default_rng(0).poisson(50, (300, 64, 64)).astype(np.float64)
    assert len(localize(noise, DEFAULTS).x) < 6
    assert len(localize(np.full((3, 20, 20), 7.0), DEFAULTS).x) == 0
    assert len(localize(np.zeros((3, 20, 20)), DEFAULTS).x) == 0
    assert len(localize(-np.ones((1, 9, 9)), DEFAULTS).x) == 0


def test_well_separated_molecules_are_all_found() -> None:
    rng = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(np.arange(800.0, 6000, 1200), np.arange(800.0, 6000, 1200)), axis=-1).reshape(-1, 2)
    at = np.column_stack([grid + rng.uniform(-50, 50, grid.shape), np.zeros(len(grid))])
    image = rng.poisson(20 + spots(at, np.full(len(at), 2000.0), Gaussian(), pixels=64, pixel_size=100.0))
    found = localize(image[None].astype(np.float64), {**DEFAULTS, "threshold": 6.0})
    assert len(found.x) == len(at)
    pred = np.column_stack([found.x + 0.5, found.y + 0.5]) * 100
    result = fm.flat_metric(at[:, :2], pred, lam=125)
    assert len(result.pairs) == len(at) and result.value < 12


def test_the_threshold_is_in_units_of_the_noise() -> None:
    noise = np.random.default_rng(0).normal(100, 7, (50, 64, 64))
    counts = [len(find_maxima(noise, 1.2, threshold, 3)[0]) for threshold in (2.0, 3.0, 4.0, 6.0)]
    assert counts == sorted(counts, reverse=True) and counts[0] > 100 * counts[2] and counts[3] == 0
    scaled = find_maxima(10 * noise + 500, 1.2, 3.0, 3)
    np.testing.assert_array_equal(scaled[1], find_maxima(noise, 1.2, 3.0, 3)[1])


def test_the_centre_of_mass_is_cheaper_and_worse() -> None:
    rng = np.random.default_rng(4)
    at = np.array([[3233.0, 3171.0, 0.0]])
    image = 20 + spots(at, np.array([1500.0]), Gaussian(), pixels=64, pixel_size=100.0)
    noisy = rng.poisson(image, (150, 64, 64)).astype(np.float64)
    errors = []
    for fit in (1.0, 0.0):
        found = localize(noisy, {**DEFAULTS, "threshold": 8.0, "fitted": fit})
        assert len(np.unique(found.image)) == 150
        errors.append(np.sqrt(np.mean((100 * (found.x + 0.5) - 3233) ** 2 + (100 * (found.y + 0.5) - 3171) ** 2)))
    assert errors[0] < errors[1] < 60


@pytest.mark.parametrize("size", [(64, 64), (61, 130), (70, 97), (128, 200)])
def test_a_background_that_slopes_is_found_in_images_of_any_size(size: tuple[int, int]) -> None:
    row, column = np.mgrid[: size[0], : size[1]]
    slope = 100 + 3.0 * column + 2.0 * row
    found = uneven_background(slope)
    assert found is not None
    assert np.abs(found - slope).max() < 2 * (3.0 + 2.0)  # two pixels: not all parts are of one length
