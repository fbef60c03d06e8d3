"""The paper's program gives the same answers, in the same type."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.transport import lp
from tests.certificate import check, solve
from tests.problems import SHAPES, WEIGHTS, random_problem, sizes


@pytest.mark.parametrize("weights", [w for w in WEIGHTS if w != "very_unequal"])
@pytest.mark.parametrize("shape", SHAPES)
def test_same_answer_as_the_exact_solver(shape: str, weights: str) -> None:
    rng = np.random.default_rng(2)
    for _ in range(15):
        problem = random_problem(rng, shape, weights, *sizes(rng, 10))
        program, exact = solve(problem, method="lp"), solve(problem)
        check(problem, program, tolerance=1e-8)
        assert abs(program.value - exact.value) <= 1e-8 * max(exact.value, problem.scale)


def test_frames_and_wasserstein() -> None:
    rng = np.random.default_rng(3)
    truth, pred = rng.uniform(size=(12, 2)), rng.uniform(size=(12, 2))
    frames = np.repeat([3, 1, 2], 4)
    for lam in (0.2, math.inf):
        exact, program = (
            fm.flat_metric(truth, pred, lam=lam, truth_frames=frames, pred_frames=frames, method=method)
            for method in ("exact", "lp")
        )
        assert exact.frames is not None and program.frames is not None
        assert program.frames.frame.tolist() == [1, 2, 3]
        np.testing.assert_allclose(program.frames.value, exact.frames.value, atol=1e-9)
        assert program.gap == pytest.approx(0, abs=1e-9)


def test_empty_sides() -> None:
    result = fm.flat_metric([[0.0], [5.0]], [], lam=10, method="lp")
    assert (result.value, result.missed, result.gap) == (10.0, 10.0, 0.0)


def test_no_points_and_no_frames() -> None:
    for method in ("exact", "lp"):
        result = fm.flat_metric(
            [], [], lam=1, truth_weights=[], pred_weights=[], truth_frames=[], pred_frames=[], method=method
        )
        assert result.value == 0


def test_mass_relayed_over_a_third_point_is_carried_straight() -> None:
    plan = lp._without_relays(
        there=np.array([[1.0, 0.0], [0.0, 1.0]]),  # x0 -> y0 and x1 -> y1
        back=np.array([[0.0, 0.0], [1.0, 0.0]]),  # y0 -> x1
    )
    assert plan.tolist() == [[0.0, 1.0], [0.0, 0.0]]


def test_too_many_pairs_and_unequal_masses_are_refused() -> None:
    many = np.zeros((501, 2))
    with pytest.raises(ValueError, match=r'501 x 501 points in one frame.*250000 pairs: use method "exact"'):
        fm.flat_metric(many, many, lam=1, method="lp")
    with pytest.raises(ValueError, match="needs equal masses, but truth has mass 1 and pred 2"):
        fm.flat_metric([[0.0]], [[0.0], [1.0]], lam=math.inf, method="lp")
