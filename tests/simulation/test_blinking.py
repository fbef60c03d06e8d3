"""Four states: exponential stays, geometric blinks, and fractions of frames that add up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from flatmetric.errors import InputError
from flatmetric.simulation.blinking import Photophysics, Stays, molecules_needed, on_fractions, stays_on

PHYSICS = Photophysics(on_time=2.5, dark_time=12.0, blinks=4.0)


@pytest.fixture(scope="module")
def stays() -> Stays:
    return stays_on(np.zeros(20_000), PHYSICS, np.random.default_rng(7))


def test_on_times_are_exponential(stays: Stays) -> None:
    assert stats.kstest(stays.end - stays.start, "expon", args=(0, 2.5)).pvalue > 0.01


def test_dark_times_are_exponential(stays: Stays) -> None:
    same = stays.molecule[1:] == stays.molecule[:-1]
    dark = (stays.start[1:] - stays.end[:-1])[same]
    assert stats.kstest(dark, "expon", args=(0, 12.0)).pvalue > 0.01


def test_blinks_are_geometric_and_begin_at_activation(stays: Stays) -> None:
    times = np.bincount(stays.molecule)
    observed = np.bincount(np.minimum(times, 12), minlength=13)[1:]
    expected = stats.geom.pmf(np.arange(1, 13), 0.25) * len(times)
    expected[-1] = stats.geom.sf(11, 0.25) * len(times)
    assert stats.chisquare(observed, expected).pvalue > 0.01
    first = np.flatnonzero(np.diff(stays.molecule, prepend=-1))
    np.testing.assert_allclose(stays.start[first], 0, atol=1e-6)


def test_fractions_add_up_to_the_time_on(stays: Stays) -> None:
    seen = on_fractions(stays, frames=30)
    assert (seen.fraction > 0).all() and (seen.fraction <= 1).all()
    assert seen.frame.min() == 1 and seen.frame.max() == 30
    total = np.bincount(seen.molecule, seen.fraction, minlength=20_000)
    lasting = np.clip(stays.end, 0, 30) - np.clip(stays.start, 0, 30)
    np.testing.assert_allclose(total, np.bincount(stays.molecule, lasting, minlength=20_000), atol=1e-9)


def test_a_molecule_that_blinks_twice_in_a_frame_is_there_once() -> None:
    stays = Stays(np.array([4, 4, 2]), np.array([1.1, 1.5, 0.0]), np.array([1.2, 1.75, 3.0]))
    seen = on_fractions(stays, frames=3)
    assert list(zip(seen.frame.tolist(), seen.molecule.tolist(), strict=True)) == [(1, 2), (2, 2), (2, 4), (3, 2)]
    np.testing.assert_allclose(seen.fraction, [1, 1, 0.35, 1])


@pytest.mark.parametrize("physics", [PHYSICS, Photophysics(2.0, 0.5, 3.0), Photophysics(0.2, 0.1, 6.0)])
def test_the_number_of_shining_molecules_is_steady_from_the_first_frame_to_the_last(physics: Photophysics) -> None:
    rng = np.random.default_rng(2)
    expected, begin = molecules_needed(500.0, 400, physics)
    activated = rng.uniform(begin, 400, round(expected))
    seen = on_fractions(stays_on(activated, physics, rng), 400)
    counts = np.bincount(seen.frame, minlength=401)[1:]
    for part in (counts[:100], counts[100:300], counts[300:]):
        assert abs(part.mean() - 500) < 25


@pytest.mark.parametrize("wrong", [{"on_time": 0.0}, {"dark_time": -1.0}, {"blinks": 0.5}, {"on_time": float("nan")}])
def test_wrong_times_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Photophysics(**wrong)
