"""One checker for everything that a result promises, from the inputs alone."""

from __future__ import annotations

import math

import numpy as np

import flatmetric as fm
from flatmetric._core import Method
from flatmetric._validation import point_sets
from flatmetric.transport.flat_metric import solve_exactly
from tests.problems import Problem

ROUNDING = 1e-12


def solve(problem: Problem, **options: object) -> fm.FlatResult:
    return fm.flat_metric(
        problem.truth,
        problem.pred,
        lam=problem.lam,
        truth_weights=problem.truth_weights,
        pred_weights=problem.pred_weights,
        **options,  # type: ignore[arg-type]
    )


def solve_by_each_method(problem: Problem) -> list[fm.FlatResult]:
    """The answers of each of the core's methods by itself, and of the rule that chooses between them."""
    truth, pred = point_sets(problem.truth, problem.pred, problem.truth_weights, problem.pred_weights, None, None, None)
    return [solve_exactly(truth, pred, problem.lam, threads=1, core_method=method) for method in Method]


def check(problem: Problem, result: fm.FlatResult, tolerance: float = 1e-9) -> None:
    """The plan is feasible and costs the value; the potentials are feasible and give the bound; the two meet."""
    a, b = problem.masses
    distances = problem.distances
    pairs = result.pairs
    lam = problem.lam if math.isfinite(problem.lam) else 0.0  # nothing may then be left, and 0 * inf is no cost

    assert result.displaced >= 0 and result.missed >= 0 and result.false >= 0
    assert result.value == result.displaced + result.missed + result.false
    assert result.gap == result.value - result.lower_bound

    assert (pairs.mass > 0).all()
    assert len(set(zip(pairs.truth.tolist(), pairs.pred.tolist(), strict=True))) == len(pairs)
    reach = 2 * problem.lam * (1 + ROUNDING)
    assert (pairs.distance <= reach).all()
    measured = distances[pairs.truth, pairs.pred]
    assert (abs(pairs.distance - measured) <= ROUNDING * measured).all()
    moved_truth = np.bincount(pairs.truth, weights=pairs.mass, minlength=len(a))
    moved_pred = np.bincount(pairs.pred, weights=pairs.mass, minlength=len(b))
    # Marginals are sums of parts of one mass: their rounding is that of the masses that took part.
    slack = ROUNDING * max(a.max(initial=0.0), b.max(initial=0.0))
    assert (moved_truth <= a + slack).all()
    assert (moved_pred <= b + slack).all()

    total = problem.scale * (len(a) + len(b))
    for told, summed in (
        (result.displaced, (pairs.mass * pairs.distance).sum()),
        (result.missed, lam * (a - moved_truth).sum()),
        (result.false, lam * (b - moved_pred).sum()),
        (result.lower_bound, (a * result.truth_potential).sum() - (b * result.pred_potential).sum()),
    ):
        assert abs(told - summed) <= ROUNDING * (total + abs(summed)), (told, summed)

    f, g = result.truth_potential, result.pred_potential
    length = min(problem.lam, 2 * float(distances.max(initial=0.0)) + abs(f).max(initial=0.0) + abs(g).max(initial=0.0))
    assert (abs(f) <= problem.lam * (1 + ROUNDING)).all()
    assert (abs(g) <= problem.lam * (1 + ROUNDING)).all()
    assert (abs(f[:, None] - g[None, :]) <= distances + ROUNDING * 100 * length).all()

    assert abs(result.gap) <= tolerance * max(result.value, problem.scale)
