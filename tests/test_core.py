"""The core's choice of method, on both sides of its boundary."""

from __future__ import annotations

import numpy as np
import pytest

from flatmetric import _core
from tests import oracles
from tests.problems import Array, Problem


def solve(truth: Array, pred: Array, lam: float, method: _core.Method = _core.Method.automatic) -> tuple[float, bool]:
    out = _core.solve(truth, pred, None, None, None, None, lam, float(len(truth)), method, 1)
    value = out["displaced"] + out["missed"] + out["false"]
    assert abs(value - out["lower_bound"]) <= 1e-9 * value
    return value, out["by_simplex"]


@pytest.mark.parametrize("n", [100, 400, 3000])
def test_local_problems_are_solved_by_searches(n: int) -> None:
    rng = np.random.default_rng(n)
    truth = rng.uniform(size=(n, 2))
    spacing = n**-0.5
    for pred in (
        truth[: n * 9 // 10] + rng.normal(scale=0.5 * spacing, size=(n * 9 // 10, 2)),
        rng.uniform(size=(n, 2)),
    ):
        assert not solve(truth, pred, 2 * spacing)[1]


@pytest.mark.parametrize("n", [100, 400, 1200])
@pytest.mark.parametrize("shift", [0.3, 3.0])
def test_mass_that_travels_far_is_left_to_the_simplex(n: int, shift: float) -> None:
    rng = np.random.default_rng(n)
    truth, pred = rng.uniform(size=(n, 2)), rng.uniform(size=(n, 2)) + np.array([shift, 0.0])
    value, by_simplex = solve(truth, pred, lam=10.0)
    assert by_simplex
    assert value == pytest.approx(oracles.assignment(Problem(truth, pred, 10.0)), rel=1e-12)


def test_both_methods_agree_on_either_side_of_the_boundary() -> None:
    """From local to far-reaching: the rule changes its choice once, the value never."""
    rng = np.random.default_rng(7)
    truth, pred = rng.uniform(size=(600, 2)), rng.uniform(size=(600, 2)) + np.array([0.2, 0.0])
    choices = []
    for lam in np.geomspace(0.01, 10, 16):
        by_rule, by_simplex = solve(truth, pred, lam)
        for method in (_core.Method.shortest_paths, _core.Method.simplex):
            assert solve(truth, pred, lam, method)[0] == pytest.approx(by_rule, rel=1e-12)
        choices.append(by_simplex)
    assert choices == sorted(choices) and choices[0] != choices[-1]
