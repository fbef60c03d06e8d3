"""Mass that travels far past others: the coarse-to-fine simplex on shapes that have little in common."""

from __future__ import annotations

import numpy as np
import pytest

from tests import certificate, oracles
from tests.problems import FAR_SHAPES, Problem


@pytest.mark.parametrize("shape", FAR_SHAPES)
@pytest.mark.parametrize("weights", ["units", "log-normal", "from 1e-6 to 1e6"])
@pytest.mark.parametrize("share", [0.1, 0.5, 10.0])
def test_pot_agrees(shape: str, weights: str, share: float) -> None:
    rng = np.random.default_rng(len(shape) + len(weights))
    n = 160 if shape == "far apart" and weights != "units" else 300  # POT would take most of a minute here
    truth, pred = FAR_SHAPES[shape](rng, n)
    pred = pred[: n if share > 1 else 5 * n // 6]
    a, b = {
        "units": (None, None),
        "log-normal": (rng.lognormal(size=n), rng.lognormal(size=len(pred))),
        "from 1e-6 to 1e6": (10 ** rng.uniform(-6, 6, n), 10 ** rng.uniform(-6, 6, len(pred))),
    }[weights]
    lam = share * float(np.ptp(np.concatenate([truth, pred]), axis=0).max())
    problem = Problem(truth, pred, lam, a, b)
    expected = oracles.pot_with_virtual_node(problem)
    for result in certificate.solve_by_each_method(problem)[::2]:  # the rule, and the simplex by itself
        certificate.check(problem, result)
        assert result.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [(1, 700), (700, 1), (2, 3), (1, 1), (33, 900), (700, 40)])
def test_sides_of_very_different_size(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    n, m = sizes
    problem = Problem(
        rng.uniform(size=(n, 2)), rng.uniform(size=(m, 2)) + 1, 3.0, rng.uniform(size=n), rng.uniform(size=m)
    )
    expected = oracles.pot_with_virtual_node(problem)
    for result in certificate.solve_by_each_method(problem):
        certificate.check(problem, result)
        assert result.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("lam", [0.4, 3.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [4, 40])
def test_points_at_the_same_places(lam: float, weighted: bool, places: int) -> None:
    rng = np.random.default_rng(places)
    where = rng.integers(0, 10, (places, 2)).astype(float)
    truth, pred = (where[rng.integers(places, size=count)] for count in (900, 700))
    weights = (rng.integers(0, 4, 900) / 3, rng.integers(0, 4, 700) / 3) if weighted else (None, None)
    problem = Problem(truth, pred, lam, *weights)
    expected = oracles.pot_with_virtual_node(problem)
    for result in certificate.solve_by_each_method(problem):
        certificate.check(problem, result)
        assert result.value == pytest.approx(expected, rel=1e-9)
        if not weighted:
            assert len(np.unique(result.pairs.truth)) == len(result.pairs.truth)
            assert len(np.unique(result.pairs.pred)) == len(result.pairs.pred)
