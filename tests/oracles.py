"""The Flat Metric by programs that are not ours."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np
import ot
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import coo_matrix, hstack, identity
from stonesoup.metricgenerator.ospametric import GOSPAMetric
from stonesoup.types.state import State

from tests.problems import Problem


def highs_primal(problem: Problem) -> float:
    """The primal linear program in plan, missed and false mass, by HiGHS. Scaled to lam 1 and total mass 1."""
    a, b = problem.masses
    n, m = len(a), len(b)
    mass = float(a.sum() + b.sum()) or 1.0
    pair = np.arange(n * m)
    rows = np.concatenate([pair // m if m else pair, n + (pair % m if m else pair)])
    plan = coo_matrix((np.ones(2 * n * m), (rows, np.tile(pair, 2))), shape=(n + m, n * m))
    solution = linprog(
        c=np.concatenate([problem.distances.ravel() / problem.lam, np.ones(n + m)]),
        A_eq=hstack([plan, identity(n + m)], format="csr"),
        b_eq=np.concatenate([a, b]) / mass,
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solution.success
    return float(solution.fun) * mass * problem.lam


def assignment(problem: Problem) -> float:
    """Unit weights: assignment by SciPy with costs cut at 2 lam."""
    n, m = len(problem.truth), len(problem.pred)
    cost = np.minimum(problem.distances, 2 * problem.lam)
    i, j = linear_sum_assignment(cost)
    return float(cost[i, j].sum() + problem.lam * abs(n - m)) / n


def pot_graph(problem: Problem, i: Any, j: Any, distance: Any) -> tuple[Any, Any, Any]:
    """Supply, demand and costs of POT's sparse EMD, scaled to lam 1 and total mass 1, for the pairs (i, j) in reach.

    A virtual node on each side takes what stays, at lam; the two exchange the rest for nothing. POT reads a stored zero
    as no arc at all, so every cost is lifted by one.
    """
    a, b = problem.masses
    n, m, mass = len(a), len(b), float(a.sum() + b.sum())
    rows = np.concatenate([i, np.arange(n), np.full(m, n), [n]])
    columns = np.concatenate([j, np.full(n, m), np.arange(m), [m]])
    lengths = np.concatenate([distance / problem.lam, np.ones(n + m), [0.0]])
    cost = coo_matrix((lengths + 1.0, (rows, columns)), shape=(n + 1, m + 1))
    return np.append(a, b.sum()) / mass, np.append(b, a.sum()) / mass, cost


def pot_value(problem: Problem, total: float) -> float:
    """What POT's total means: without the lift, in the units of the problem."""
    a, b = problem.masses
    return (total - 1.0) * float(a.sum() + b.sum()) * problem.lam


def pot_with_virtual_node(problem: Problem) -> float:
    """POT's sparse EMD."""
    if sum(mass.sum() for mass in problem.masses) == 0:
        return 0.0
    i, j = np.nonzero(problem.distances < 2 * problem.lam)
    graph = pot_graph(problem, i, j, problem.distances[i, j])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log: Any = ot.emd(*graph, numItermax=10_000_000, log=True)[1]  # emd2 would take most of its time for gradients
    return pot_value(problem, float(log["cost"]))


def stone_soup_states(points: Any) -> Any:
    """Points as Stone Soup's states."""
    when = datetime.datetime(2020, 1, 1)
    return np.array([State(row, timestamp=when) for row in points], dtype=object)


def stone_soup_gospa(problem: Problem) -> float:
    """Unit weights: GOSPA with p = 1, alpha = 2, c = 2 lam, divided by the number of true points."""
    states = stone_soup_states(problem.pred), stone_soup_states(problem.truth)
    single, _ = GOSPAMetric(p=1, c=2 * problem.lam).compute_gospa_metric(*states)
    return float(single.value["distance"]) / len(problem.truth)
