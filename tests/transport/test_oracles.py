"""Thousands of random cases against solvers that are not ours."""

from __future__ import annotations

import dataclasses
import math
import zlib

import numpy as np
import pytest

from tests import oracles
from tests.certificate import check, solve, solve_by_each_method
from tests.problems import SHAPES, WEIGHTS, Problem, random_problem, random_weights, sizes

TREE_SIZE = 513  # from here on the core searches neighbours by trees


def cases(shape: str, weights: str, count: int, largest: int) -> list[Problem]:
    rng = np.random.default_rng(zlib.crc32(f"{shape} {weights} {largest}".encode()))
    smallest = TREE_SIZE if largest > TREE_SIZE else 1
    return [random_problem(rng, shape, weights, *sizes(rng, largest, smallest)) for _ in range(count)]


def agree(problem: Problem, oracle: float, tolerance: float = 1e-9) -> None:
    for result in solve_by_each_method(problem):
        check(problem, result)
        assert abs(result.value - oracle) <= tolerance * max(result.value, problem.scale)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_highs(shape: str, weights: str) -> None:
    for problem in cases(shape, weights, count=40, largest=14):
        agree(problem, oracles.highs_primal(problem), tolerance=1e-8)


@pytest.mark.parametrize("weights", [w for w in WEIGHTS if w != "very_unequal"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("count", "largest"), [(60, 30), (2, 800)], ids=["small", "large"])
def test_pot(shape: str, weights: str, count: int, largest: int) -> None:
    for problem in cases(shape, weights, count, largest):
        agree(problem, oracles.pot_with_virtual_node(problem), tolerance=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("count", "largest"), [(200, 40), (4, 800)], ids=["small", "large"])
def test_scipy_assignment(shape: str, count: int, largest: int) -> None:
    for problem in cases(shape, "paper", count, largest):
        agree(problem, oracles.assignment(problem))


@pytest.mark.parametrize("shape", SHAPES)
def test_stone_soup_gospa(shape: str) -> None:
    for problem in cases(shape, "paper", count=10, largest=12):
        if len(problem.pred) > 0:
            agree(problem, oracles.stone_soup_gospa(problem))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [17, 400, 500])
def test_wasserstein_limit_of_equal_masses(shape: str, n: int) -> None:
    rng = np.random.default_rng(n)
    problem = dataclasses.replace(random_problem(rng, shape, "paper", n, n), lam=math.inf)
    agree(problem, oracles.assignment(dataclasses.replace(problem, lam=1e12 * problem.scale * n)))
    assert solve(problem).missed == solve(problem).false == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_wasserstein_limit_of_equal_real_masses(shape: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        truth, pred = SHAPES[shape](rng, 20, 15)
        a, b = random_weights(rng, "real", 20), random_weights(rng, "real", 15)
        problem = Problem(truth, pred, math.inf, a / a.sum(), b / b.sum())
        agree(problem, oracles.pot_with_virtual_node(dataclasses.replace(problem, lam=100.0)), tolerance=1e-8)
