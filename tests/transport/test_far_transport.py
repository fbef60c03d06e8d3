"""Mass that travels far past others: the coarse-to-fine simplex on shapes that have little in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import certificate, oracles
from tests.problems import Array, Problem

Maker = Callable[[np.random.Generator, int], tuple[Array, Array]]


def ring(rng: np.random.Generator, n: int, radius: float) -> Array:
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 5, (n, 2))


def spiral(rng: np.random.Generator, n: int, turn: float) -> Array:
    along = 4 * np.pi * np.sqrt(rng.uniform(size=n))
    return np.stack([50 * along * np.cos(along + turn), 50 * along * np.sin(along + turn)], axis=1)


def lattice(rng: np.random.Generator, n: int, cells: int) -> Array:
    return 10 * rng.integers(0, cells, (n, 2)).astype(np.float64)


def clusters(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    centres = rng.uniform(0, 1000, (8, 2))
    truth, pred = (centres[rng.choice(8, n, p=rng.dirichlet(np.ones(8)))] + rng.normal(0, 15, (n, 2)) for _ in range(2))
    return truth, pred


SHAPES: dict[str, Maker] = {
    "squeezed": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) * [0.7, 1]),
    "shifted": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) + np.array([333, 0])),
    "far apart": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) + np.array([3000, 0])),
    "rings": lambda rng, n: (ring(rng, n, 300), ring(rng, n, 600)),
    "spirals": lambda rng, n: (spiral(rng, n, 0), spiral(rng, n, 1)),
    "clusters": clusters,
    "line": lambda rng, n: (rng.uniform(0, 1000, (n, 1)), rng.uniform(0, 700, (n, 1))),
    "cube": lambda rng, n: (rng.uniform(0, 1000, (n, 3)), rng.uniform(0, 1000, (n, 3)) * [0.7, 1, 1]),
    "lattice": lambda rng, n: (lattice(rng, n, 30), lattice(rng, n, 20)),
    "four dimensions": lambda rng, n: (rng.normal(size=(n, 4)), rng.normal(size=(n, 4)) + 1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weights", ["units", "log-normal", "from 1e-6 to 1e6"])
@pytest.mark.parametrize("share", [0.1, 0.5, 10.0])
def test_pot_agrees(shape: str, weights: str, share: float) -> None:
    rng = np.random.default_rng(len(shape) + len(weights))
    n = 420
    truth, pred = SHAPES[shape](rng, n)
    pred = pred[: n if share > 1 else 350]
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
    for result in certificate.solve_by_each_method(problem):
        certificate.check(problem, result)
        assert result.value == pytest.approx(oracles.pot_with_virtual_node(problem), rel=1e-9)


@pytest.mark.parametrize("lam", [0.4, 3.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [4, 40])
def test_points_at_the_same_places(lam: float, weighted: bool, places: int) -> None:
    rng = np.random.default_rng(places)
    where = rng.integers(0, 10, (places, 2)).astype(float)
    truth, pred = (where[rng.integers(places, size=count)] for count in (900, 700))
    weights = (rng.integers(0, 4, 900) / 3, rng.integers(0, 4, 700) / 3) if weighted else (None, None)
    problem = Problem(truth, pred, lam, *weights)
    for result in certificate.solve_by_each_method(problem):
        certificate.check(problem, result)
        assert result.value == pytest.approx(oracles.pot_with_virtual_node(problem), rel=1e-9)
        if not weighted:
            assert len(np.unique(result.pairs.truth)) == len(result.pairs.truth)
            assert len(np.unique(result.pairs.pred)) == len(result.pairs.pred)
