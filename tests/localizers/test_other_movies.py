"""Our programs on movies of a simulator that is not ours, and blind: they get the camera and the pixel size alone."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.localizers.registry import METHODS
from flatmetric.localizers.spot_width import USUAL, spot_width
from tests.localizers.foreign import MICROSCOPES, Microscope, foreign_movie

SCMOS = MICROSCOPES["sCMOS, 110 nm"]
MUCH_WORSE = 1.3  # than the best program: not without a warning
OTHERS = ["neural", "trackpy", "daofind-psf", "daostorm-2d", "daostorm-2d-fixed", "picasso-lq", "picasso-mle"]


def localized(movie: Path, scope: Microscope, method: str, ppc: float | None = None) -> fm.Localizations:
    known = scope.photons_per_count if ppc is None else ppc
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.FindingWarning)
        return fm.localize(movie, method=method, pixel_size=scope.pixel, offset=scope.offset, photons_per_count=known)


@pytest.mark.parametrize("sigma", [0.7, 1.3, 2.4])
@pytest.mark.parametrize("aspect", [1.0, 1.15])
def test_the_width_of_spots_is_measured(sigma: float, aspect: float) -> None:
    random, at = np.random.default_rng(2), np.arange(64.0)
    images = np.full((20, 64, 64), 25.0)
    for image in images:
        for x, y in random.uniform(8, 56, (3, 2)):
            across, down = (
                np.exp(-((at[:, None] + np.linspace(-0.4, 0.4, 5) - c) ** 2) / (2 * w**2)).sum(axis=1)
                for c, w in ((x, sigma * aspect), (y, sigma / aspect))
            )
            image += 2500 * np.outer(down / down.sum(), across / across.sum())
    measured = spot_width(random.poisson(images).astype(float))
    assert measured.sigma == pytest.approx(sigma, rel=0.06) and measured.aspect == pytest.approx(aspect, rel=0.05)


def test_without_spots_the_width_is_the_usual_one() -> None:
    images = np.random.default_rng(0).poisson(20, (10, 48, 48)).astype(float)
    assert spot_width(images).sigma == USUAL


@pytest.mark.parametrize("name", MICROSCOPES)
def test_the_blind_baseline_is_good_at_any_pixel_size(name: str, tmp_path: Path) -> None:
    scope = MICROSCOPES[name]
    movie, truth = foreign_movie(tmp_path, scope)
    value = fm.score(truth, localized(movie, scope, "baseline"), check=False)["flat_metric"]
    assert value is not None and value < 25, "between 14 and 20 nm when this was written"


@pytest.mark.more
@pytest.mark.parametrize("name", MICROSCOPES)
def test_nobody_elses_program_is_ahead_and_neural_warns(name: str, tmp_path: Path) -> None:
    scope = MICROSCOPES[name]
    movie, truth = foreign_movie(tmp_path, scope)
    ready = [method for method in ("baseline", *OTHERS) if METHODS[method].available]
    assert len(ready) >= 6, "make programs"
    found = {method: localized(movie, scope, method) for method in ready}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.FindingWarning)
        comparison = fm.compare(truth, found)
    for pair in comparison.pairs:
        # `neural` is ours as well, and blind: on the sCMOS movie it is 3 nm ahead.
        if "baseline" in (pair.a, pair.b) and "neural" not in (pair.a, pair.b) and pair.significant:
            assert (pair.difference < 0) == (pair.a == "baseline"), "another program is significantly better"
    neural, best = (comparison[one].flat_metric.value or 0.0 for one in ("neural", comparison.best))
    assert found["neural"].provenance.warnings or neural < MUCH_WORSE * best


@pytest.mark.parametrize(
    ("scope", "factor", "sentence"),
    [
        (dataclasses.replace(SCMOS, aspect=1.25), 1.0, r"trained on round spots, and these are 1\.[56] times"),
        (dataclasses.replace(SCMOS, pixel=50.0), 1.0, "neural was trained on spots 0.75 to 1.85 pixels wide"),
        (SCMOS, 5.0, r"by the noise a count is about 0\.4"),
        (SCMOS, 0.2, r"by the noise a count is about 0\.4"),
        (dataclasses.replace(SCMOS, slope=10.0), 1.0, "neural was trained on an even background"),
    ],
    ids=["elliptic", "small pixels", "gain too high", "gain too low", "steep background"],
)
def test_neural_warns_of_what_it_was_not_trained_on(
    scope: Microscope, factor: float, sentence: str, tmp_path: Path
) -> None:
    movie, _ = foreign_movie(tmp_path, scope, frames=20)
    with pytest.warns(fm.FindingWarning, match=sentence):
        fm.localize(
            movie,
            method="neural",
            pixel_size=scope.pixel,
            offset=scope.offset,
            photons_per_count=factor * scope.photons_per_count,
        )


@pytest.mark.parametrize("method", ["baseline", "neural"])
def test_a_sloping_background_costs_little(method: str, tmp_path: Path) -> None:
    values = []
    for slope in (1.0, 3.0):
        scope = dataclasses.replace(SCMOS, slope=slope)
        movie, truth = foreign_movie(tmp_path, scope, frames=40)
        values.append(fm.score(truth, localized(movie, scope, method), check=False).flat_metric.value or 0.0)
    assert values[1] < 1.7 * values[0], "twice the light in the middle is 1.4 times the error of dim spots"


def test_a_simulated_movie_gives_the_baseline_no_advantage(tmp_path: Path) -> None:
    """It finds the same with the optics in simulation.json and without; "baseline-psf" knows them, by its name."""
    made = fm.simulate(dataset="MT3.N2.LD", frames=20, out=tmp_path / "simulated")
    alone = tmp_path / "alone.tif"
    alone.write_bytes(made.stack.read_bytes())
    blind = fm.localize(alone, offset=100.0, photons_per_count=1 / 6)
    there = fm.localize(made.stack, offset=100.0, photons_per_count=1 / 6)
    np.testing.assert_array_equal(there.x, blind.x)
    known = fm.localize(made.stack, method="baseline-psf", offset=100.0, photons_per_count=1 / 6)
    better, usual = (fm.score(made.truth, one, check=False).flat_metric.value or 0.0 for one in (known, blind))
    assert better < usual
