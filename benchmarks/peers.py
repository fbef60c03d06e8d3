"""The peers: other ways to the same number. Each returns the value, as a sum over unit masses, and its seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import ot
from ortools.graph.python import min_cost_flow
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from stonesoup.metricgenerator.ospametric import GOSPAMetric

import flatmetric as fm
from tests.oracles import pot_graph, pot_value, stone_soup_states
from tests.problems import Array, Problem

Answer = tuple[float, float]


class Clock:
    seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start


def flatmetric(problem: Problem, threads: int = 1) -> Answer:
    clock = Clock()
    with clock.running():
        result = fm.flat_metric(
            problem.truth,
            problem.pred,
            lam=problem.lam,
            truth_frames=problem.truth_frames,
            pred_frames=problem.pred_frames,
            truth_weights=problem.truth_weights,
            pred_weights=problem.pred_weights,
            threads=threads,
        )
    unit = 1 if problem.truth_weights is not None else len(problem.truth)
    return result.value * unit, clock.seconds


def flatmetric_curve(problem: Problem) -> float:
    """The seconds that the whole curve takes."""
    clock = Clock()
    with clock.running():
        fm.flat_curve(problem.truth, problem.pred, lam_max=problem.lam, threads=1)
    return clock.seconds


def over_frames(solve: Callable[[Problem, Clock], float]) -> Callable[[list[Problem]], Answer]:
    """The sum over frames; a frame with an empty side costs lam a point and no time."""

    def run(frames: list[Problem]) -> Answer:
        clock = Clock()
        total = 0.0
        for frame in frames:
            if len(frame.truth) == 0 or len(frame.pred) == 0:
                total += frame.lam * (len(frame.truth) + len(frame.pred))
            else:
                total += solve(frame, clock)
        return total, clock.seconds

    return run


@over_frames
def scipy_assignment(frame: Problem, clock: Clock) -> float:
    with clock.running():
        cost = cdist(frame.truth, frame.pred)
        np.minimum(cost, 2 * frame.lam, out=cost)
        i, j = linear_sum_assignment(cost)
        value = cost[i, j].sum() + frame.lam * abs(len(frame.truth) - len(frame.pred))
    return float(value)


@over_frames
def pot_emd(frame: Problem, clock: Clock) -> float:
    """POT's dense network simplex, with a virtual node on each side for what stays."""
    n, m = len(frame.truth), len(frame.pred)
    with clock.running():
        cost = np.full((n + 1, m + 1), frame.lam)
        cost[:n, :m] = cdist(frame.truth, frame.pred)
        cost[n, m] = 0.0
        supply, demand = np.append(np.ones(n), m), np.append(np.ones(m), n)
        value: Any = ot.emd2(supply / (n + m), demand / (n + m), cost, numItermax=10_000_000)
    return float(value) * (n + m)


@over_frames
def highs_lp(frame: Problem, clock: Clock) -> float:
    with clock.running():
        value = fm.flat_metric(frame.truth, frame.pred, lam=frame.lam, method="lp").value
    return value * len(frame.truth)


@over_frames
def stone_soup(frame: Problem, clock: Clock) -> float:
    states = stone_soup_states(frame.pred), stone_soup_states(frame.truth)
    with clock.running():
        single, _ = GOSPAMetric(p=1, c=2 * frame.lam).compute_gospa_metric(*states)
    return float(single.value["distance"])


def list_pairs(problem: Problem) -> tuple[Any, float]:
    """All pairs closer than 2 lam by SciPy's KD-tree, and the seconds that took."""
    clock = Clock()
    with clock.running():
        pairs = cKDTree(problem.truth).sparse_distance_matrix(
            cKDTree(problem.pred), 2 * problem.lam, output_type="ndarray"
        )
    return pairs, clock.seconds


def or_tools(problem: Problem) -> Answer:
    """OR-tools' min-cost flow: the solve alone, without listing the pairs and building the graph."""
    pairs, _ = list_pairs(problem)
    n, m, lam = len(problem.truth), len(problem.pred), problem.lam
    units = 1e6  # costs are integers there: a millionth of a nanometre
    tail = np.concatenate([pairs["i"], np.arange(n), n + np.arange(m)]).astype(np.int32)
    head = np.concatenate([n + pairs["j"], np.full(n, n + m), np.full(m, n + m)]).astype(np.int32)
    length = np.concatenate([pairs["v"], np.full(n, 2 * lam), np.zeros(m)])
    flow = min_cost_flow.SimpleMinCostFlow()
    arcs = flow.add_arcs_with_capacity_and_unit_cost(
        tail, head, np.ones(len(tail), dtype=np.int64), np.rint(length * units).astype(np.int64)
    )
    supplies = np.concatenate([np.ones(n), np.zeros(m), [-n]]).astype(np.int64)
    flow.set_nodes_supplies(np.arange(n + m + 1, dtype=np.int32), supplies)
    clock = Clock()
    with clock.running():
        status = flow.solve()
    assert status == flow.OPTIMAL
    return float(length @ flow.flows(arcs)) + lam * (m - n), clock.seconds


def pot_sparse(problem: Problem) -> Answer:
    """POT's sparse EMD for weights: the solve alone, without listing the pairs."""
    pairs, _ = list_pairs(problem)
    graph = pot_graph(problem, pairs["i"], pairs["j"], pairs["v"])
    clock = Clock()
    with clock.running():
        total: Any = ot.emd2(*graph, numItermax=100_000_000)
    return pot_value(problem, float(total)), clock.seconds


def distances(problem: Problem) -> Array:
    return np.asarray(cdist(problem.truth, problem.pred))


def pot_dense(problem: Problem) -> Answer:
    """POT's dense network simplex: the solve alone. A virtual point takes the surplus of a side for nothing."""
    n, m = len(problem.truth), len(problem.pred)
    cost = distances(problem)
    supply, demand = np.ones(n), np.ones(m)
    if n != m:
        cost = np.hstack([cost, np.zeros((n, 1))]) if n > m else np.vstack([cost, np.zeros((1, m))])
        demand, supply = (np.append(demand, n - m), supply) if n > m else (demand, np.append(supply, m - n))
    total = supply.sum()
    clock = Clock()
    with clock.running():
        value: Any = ot.emd2(supply / total, demand / total, cost, numItermax=100_000_000)
    return float(value) * total + problem.lam * abs(n - m), clock.seconds


def scipy_dense(problem: Problem) -> Answer:
    """SciPy's assignment: the solve alone."""
    cost = distances(problem)
    clock = Clock()
    with clock.running():
        i, j = linear_sum_assignment(cost)
    return float(cost[i, j].sum()) + problem.lam * abs(len(problem.truth) - len(problem.pred)), clock.seconds
