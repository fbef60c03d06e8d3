"""The Cramer-Rao bound against published formulas, brute force and the fit that reaches it."""

from __future__ import annotations

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.localizers.baseline import DEFAULTS, localize
from flatmetric.metrics.bound import precision_bound
from flatmetric.options.scoring import Imaging
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.optics import Gaussian, spots


def rieger_stallinga(photons: float, sigma: float, pixel: float, background: float) -> float:
    """The approximation of Rieger and Stallinga (2014) of the least variance, nm^2."""
    wide = sigma**2 + pixel**2 / 12
    tau = 2 * np.pi * wide * background / (photons * pixel**2)
    return float(wide / photons * (1 + 4 * tau + np.sqrt(2 * tau / (1 + 4 * tau))))


@pytest.mark.parametrize("photons", [200.0, 1000.0, 10_000.0])
@pytest.mark.parametrize("background", [0.5, 10.0, 100.0])
def test_the_bound_is_near_its_published_approximation(photons: float, background: float) -> None:
    imaging = Imaging(pixel_size=100.0, sigma=120.0, background=background)
    found = precision_bound(np.array([photons]), imaging, sigma=120.0, background=background)[0]
    assert found == pytest.approx(rieger_stallinga(photons, 120.0, 100.0, background), rel=0.06)


def test_the_bound_by_brute_force() -> None:
    """The information of the expected image, by finite differences of its pixels, averaged over the pixel."""
    optics, photons, background, step = Gaussian(sigma=130.0), 800.0, 20.0, 0.01
    information = []
    for x in np.linspace(1600, 1700, 21):
        for y in np.linspace(1600, 1700, 21):
            images = [
                spots(np.array([[x + s, y, 0.0]]), np.array([photons]), optics, pixels=33, pixel_size=100.0)
                + background
                for s in (-step, 0.0, step)
            ]
            information.append((((images[2] - images[0]) / (2 * step)) ** 2 / images[1]).sum())
    imaging = Imaging(pixel_size=100.0, sigma=130.0, background=background)
    found = precision_bound(np.array([photons]), imaging, sigma=130.0, background=background)[0]
    assert found == pytest.approx(1 / np.mean(information), rel=0.01)


def test_multiplication_doubles_the_variance_and_few_photons_are_no_bound() -> None:
    plain = Imaging(pixel_size=100.0, sigma=120.0, background=5.0)
    em = Imaging(pixel_size=100.0, sigma=120.0, background=5.0, em=True)
    photons = np.array([0.0, -3.0, 500.0])
    one, two = (precision_bound(photons, camera, sigma=120.0, background=5.0) for camera in (plain, em))
    assert two[2] == 2 * one[2] and np.isinf(one[:2]).all()


def isolated(photons: float, background: float, count: int) -> tuple[fm.Score, Imaging]:
    """Spots alone in their images, seen by the simulated camera and fitted by the built-in localizer."""
    rng, camera, sigma = np.random.default_rng(int(photons)), Camera(), 130.0
    side, pixel = 11, 100.0
    middle = side * pixel / 2
    place = middle + rng.uniform(-50, 50, (count, 2))
    xyz = np.column_stack([place, np.zeros(count)])
    optics = Gaussian(sigma=sigma)
    expected = np.stack([spots(one[None], np.array([photons]), optics, pixels=side, pixel_size=pixel) for one in xyz])
    counts = camera.expose(expected + background, rng)
    found = localize(
        (counts.astype(float) - camera.offset) * camera.photons_per_count, {**DEFAULTS, "sigma": 1.3, "rounds": 1.0}
    )
    frame = np.arange(1, count + 1)
    truth = {"frame": frame, "x": place[:, 0], "y": place[:, 1], "photons": np.full(count, photons)}
    pred = {"frame": found.image + 1, "x": pixel * (found.x + 0.5), "y": pixel * (found.y + 0.5)}
    imaging = Imaging(
        pixel_size=pixel, sigma=sigma, background=background, em=True, quantum_efficiency=camera.quantum_efficiency
    )
    return fm.score(truth, pred, bound=imaging), imaging


@pytest.mark.parametrize(("photons", "background"), [(1500.0, 10.0), (4000.0, 30.0), (15_000.0, 60.0)])
def test_the_built_in_fit_reaches_the_bound(photons: float, background: float) -> None:
    score, _ = isolated(photons, background, 3000)
    assert score.bound is not None and score.bound.pairs >= 2950 and score.bound.ratio is not None
    assert score.bound.ratio == pytest.approx(1.0, abs=0.03)


def test_the_ratio_needs_photons_and_says_so() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0], "photons": [0.0]}
    imaging = Imaging(pixel_size=100.0, sigma=120.0, background=5.0)
    assert fm.score(truth, truth, bound=imaging).undefined()["bound.ratio"] == "no matched molecule has photons"
    assert fm.score(truth, truth).bound is None
    with pytest.raises(fm.InputError, match="it has no photons, so there is no precision bound"):
        fm.score({k: truth[k] for k in ("frame", "x", "y")}, truth, bound=imaging)
    for wrong, words in (
        ({"pixel_size": 100, "sigma": 120}, "bound lacks background"),
        ({"pixel_size": 100, "sigma": 0, "background": 1}, "sigma is 0"),
        ({"pixel_size": 100, "sigma": 120, "background": 1, "gain": 3}, "has no 'gain'"),
    ):
        with pytest.raises(fm.InputError, match=words):
            Imaging.parse(wrong)


def test_spots_widen_with_depth() -> None:
    truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0], "z": [0.0, 400.0], "photons": [1000.0, 1000.0]}
    imaging = Imaging(pixel_size=100.0, sigma=110.0, background=0.0, focal_depth=400.0)
    results = [{"frame": [frame], "x": [1.0], "y": [0.0]} for frame in (1, 2)]
    near, far = (fm.score(truth, pred, bound=imaging).bound for pred in results)
    assert near is not None and far is not None and near.rmse_xy is not None
    assert far.rmse_xy == pytest.approx(np.sqrt(2) * near.rmse_xy, rel=0.03)
