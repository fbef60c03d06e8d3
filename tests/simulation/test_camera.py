"""Mean and variance of the counts against theory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from flatmetric.errors import InputError
from flatmetric.simulation.camera import Camera


@pytest.mark.parametrize("photons", [0.0, 3.0, 100.0, 2000.0])
def test_mean_and_variance_are_those_of_theory(photons: float) -> None:
    camera, count = Camera(), 400_000
    counts = camera.expose(np.full(count, photons), np.random.default_rng(int(photons))).astype(np.float64)
    mean, variance = float(camera.mean(np.array(photons))), float(camera.variance(np.array(photons)))
    assert abs(counts.mean() - mean) < 4 * math.sqrt(variance / count)
    # The fourth moment of multiplied electrons is that of a heavy-tailed sum: allow for its spread.
    fourth = float(np.mean((counts - counts.mean()) ** 4))
    assert abs(counts.var() - variance) < 5 * math.sqrt((fourth - variance**2) / count)


def test_the_formulas_are_those_of_an_emccd() -> None:
    camera = Camera(quantum_efficiency=0.9, spurious=0.002, gain=300, readout=74.4, electrons_per_count=45, offset=100)
    electrons = 0.9 * 50 + 0.002
    assert math.isclose(float(camera.mean(np.array(50.0))), 100 + electrons * 300 / 45)
    noise = 2 * electrons * 300**2 + 74.4**2  # an excess factor of two on the shot noise
    assert math.isclose(float(camera.variance(np.array(50.0))), noise / 45**2 + 1 / 12)
    assert math.isclose(camera.photons_per_count, 45 / 300 / 0.9)


def test_counts_stay_within_16_bits() -> None:
    bright = Camera().expose(np.full(10, 1e6), np.random.default_rng(0))
    assert (bright == 65535).all()
    dark = Camera(offset=0.0).expose(np.zeros(1000), np.random.default_rng(0))
    assert dark.min() == 0 and dark.max() < 100


@pytest.mark.parametrize(
    "wrong", [{"quantum_efficiency": 1.1}, {"gain": 0.0}, {"readout": -1.0}, {"spurious": math.nan}]
)
def test_wrong_cameras_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Camera(**wrong)


def test_without_multiplication_the_noise_is_that_of_the_photons() -> None:
    camera = Camera(
        quantum_efficiency=1.0, gain=1.0, electrons_per_count=0.5, spurious=0.0, readout=1.5, multiplies=False
    )
    counts = camera.expose(np.full((400, 400), 30.0), np.random.default_rng(0)).astype(float)
    assert counts.mean() == pytest.approx(100 + 60, rel=0.01)
    assert counts.var() == pytest.approx(4 * (30 + 1.5**2) + 1 / 12, rel=0.02)
    assert camera.variance(np.array(30.0)) == pytest.approx(counts.var(), rel=0.02)
