"""The baseline finds what is there, as precisely as can be."""

from __future__ import annotations

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.localizers.baseline import DEFAULTS, find_maxima, fit_gaussians, localize
from flatmetric.simulation.optics import Gaussian, spots

SIGMA = 120.0


def box(x: float, y: float, photons: float, background: float, sigma: float = SIGMA) -> np.ndarray:
    """Expected photons of a spot in 9 x 9 pixels of 100 nm; x, y in nm from the middle."""
    at = np.array([[450.0 + x, 450.0 + y, 0.0]])
    return background + spots(at, np.array([photons]), Gaussian(sigma=sigma), pixels=9, pixel_size=100.0)


def bound(x: float, y: float, photons: float, background: float) -> float:
    """Cramer-Rao bound of the lateral error, nm, with photons, background and width unknown as well."""
    at = np.array([x, y, photons, background, SIGMA])
    model = box(*at)
    steps = np.array([0.1, 0.1, 1.0, 0.01, 0.1])
    slopes = []
    for k, step in enumerate(steps):
        up, down = at.copy(), at.copy()
        up[k] += step
        down[k] -= step
        slopes.append((box(*up) - box(*down)).ravel() / (2 * step))
    information = np.einsum("ip,jp,p->ij", np.array(slopes), np.array(slopes), 1 / model.ravel())
    covariance = np.linalg.inv(information)
    return float(np.sqrt(covariance[0, 0] + covariance[1, 1]))


@pytest.mark.parametrize(("photons", "background"), [(500.0, 5.0), (2000.0, 20.0), (5000.0, 100.0)])
def test_the_fit_reaches_the_cramer_rao_bound(photons: float, background: float) -> None:
    rng = np.random.default_rng(1)
    x, y = 23.0, -41.0
    boxes = rng.poisson(box(x, y, photons, background), (4000, 9, 9)).astype(np.float64)
    found_x, found_y, found_photons, good = fit_gaussians(boxes, 1.2, 2.6)
    assert good.mean() > 0.99
    errors = 100 * np.column_stack([found_x, found_y])[good] - (x, y)
    rmse = np.sqrt((errors**2).sum(axis=1).mean())
    assert rmse < 1.05 * bound(x, y, photons, background)
    assert rmse > 0.95 * bound(x, y, photons, background)
    assert np.abs(errors.mean(axis=0)).max() < 4 * rmse / np.sqrt(len(errors))
    assert np.mean(found_photons[good]) == pytest.approx(photons, rel=0.02)


def test_without_noise_the_fit_is_exact() -> None:
    boxes = np.stack([box(x, y, 1000.0, 10.0, s) for x, y, s in ((0, 0, 100), (40, -30, 130), (-70, 60, 180))])
    x, y, photons, good = fit_gaussians(boxes, 1.2, 2.6)
    np.testing.assert_allclose(100 * x, [0, 40, -70], atol=0.05)
    np.testing.assert_allclose(100 * y, [0, -30, 60], atol=0.05)
    np.testing.assert_allclose(photons, 1000, rtol=1e-3)
    assert good.all()


def test_fits_that_run_away_are_not_believed() -> None:
    noise = np.random.default_rng(0).poisson(50, (500, 9, 9)).astype(np.float64)
    assert fit_gaussians(noise, 1.2, 2.6)[3].mean() < 0.5
    flat = np.full((3, 9, 9), 7.0)
    assert np.isfinite(fit_gaussians(flat, 1.2, 2.6)[0]).all()
    wide = box(0, 0, 1e5, 1.0, sigma=400.0)[None]
    assert not fit_gaussians(wide, 1.2, 2.6)[3][0]
    assert len(fit_gaussians(np.empty((0, 9, 9)), 1.2, 2.6)[0]) == 0


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
    noisy = rng.poisson(image, (300, 64, 64)).astype(np.float64)
    errors = []
    for fit in (1.0, 0.0):
        found = localize(noisy, {**DEFAULTS, "threshold": 8.0, "fitted": fit})
        assert len(np.unique(found.image)) == 300
        errors.append(np.sqrt(np.mean((100 * (found.x + 0.5) - 3233) ** 2 + (100 * (found.y + 0.5) - 3171) ** 2)))
    assert errors[0] < errors[1] < 60
