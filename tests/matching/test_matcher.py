"""The matcher against published cases, brute force and SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.matching.matcher import match_frames


def table(points: Any, frame: int = 1) -> fm.Localizations:
    array = np.asarray(points, dtype=float).reshape(-1, 3)
    return fm.Localizations(frame=np.full(len(array), frame), x=array[:, 0], y=array[:, 1], z=array[:, 2])


def matched(truth: Any, pred: Any, lateral: float, axial: float, rule: Any = "greedy") -> list[tuple[int, int]]:
    found = match_frames(table(truth), table(pred), dim=3, tolerance=lateral, tolerance_z=axial, matching=rule)
    return list(zip(found.truth.tolist(), found.pred.tolist(), strict=True))


def test_published_matches() -> None:
    four = [(-0.5, -0.5, 0), (0.6, -0.5, 0), (-0.4, 0.5, 0), (0.35, 0.35, 0)]
    assert matched([(0, 0, 0)], four, 1, 2) == [(0, 3)]
    assert matched(four, [(0, 0, 0)], 1, 2) == [(3, 0)]
    origin = [(0, 0, 0)]
    assert matched(origin, [(1.9, 0, 0)], 2, math.inf) == [(0, 0)]
    assert matched(origin, [(2.1, 0, 0)], 2, math.inf) == []
    assert matched(origin, [(0, 0, -5000)], 2, math.inf) == [(0, 0)]
    assert matched(origin, [(1.5, 1.5, 0)], 2, math.inf) == []
    actual, predicted = [(0, 0, 0), (1, 1, 0), (1.1, 1.1, 0), (60, 60, 0)], [(0, 0, 0), (0.4, 0.4, 0), (5, 5, 0)]
    assert len(matched(actual, predicted, 1, 1)) == 2
    at_origin = [(0, 0, 0)] * 4
    for gate in range(4):
        assert len(matched(at_origin, [(k, 0, 0) for k in range(4)], gate or 1e-9, 1)) == gate + 1


def test_published_optimal_assignment() -> None:
    truth, pred = [(1, 4, 0), (2, 5, 0), (3, 6, 0)], [(1, 4, 0), (2, 5, 0), (4, 7, 0)]
    assert matched(truth, pred, 1, 1, rule="optimal") == [(0, 0), (1, 1)]


def test_ties_go_to_the_lower_rows() -> None:
    assert matched([(0, 0, 0), (2, 0, 0)], [(1, 0, 0), (1, 0, 0)], 5, 5) == [(0, 0), (1, 1)]
    assert matched([(0, 0, 0)], [(1, 0, 0), (-1, 0, 0)], 5, 5) == [(0, 0)]


def brute_force_greedy(truth: Any, pred: Any, lateral: float, axial: float) -> set[tuple[int, int]]:
    """Again and again the smallest of all distances; the first of equals is that of the lowest rows."""
    distance = np.linalg.norm(truth[:, None] - pred, axis=2)
    beside = np.linalg.norm(truth[:, None, :2] - pred[:, :2], axis=2)
    distance[(beside > lateral) | (np.abs(truth[:, None, 2] - pred[:, 2]) > axial)] = np.inf
    pairs: set[tuple[int, int]] = set()
    while distance.size and np.isfinite(distance.min()):
        i, j = np.unravel_index(np.argmin(distance), distance.shape)
        pairs.add((int(i), int(j)))
        distance[i, :] = distance[:, j] = np.inf
    return pairs


@pytest.mark.parametrize("n", [5, 30, 90])
def test_greedy_by_brute_force(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        truth = rng.integers(0, 30, (n, 3)).astype(float)  # a lattice: many ties
        pred = rng.integers(0, 30, (n - 2, 3)).astype(float)
        assert set(matched(truth, pred, 5, 3)) == brute_force_greedy(truth, pred, 5, 3)


def test_optimal_against_scipy_on_every_way_to_list_pairs() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    for n, m in [(4, 6), (12, 9), (40, 30), (300, 280)]:
        truth, pred = rng.uniform(0, 20, (n, 3)), rng.uniform(0, 20, (m, 3))
        far = np.linalg.norm(truth[:, None] - pred, axis=2)
        lateral = np.linalg.norm(truth[:, None, :2] - pred[:, :2], axis=2)
        allowed = (lateral <= 2) & (np.abs(truth[:, None, 2] - pred[:, 2]) <= 4)
        cost = np.where(allowed, far, 1e6)
        i, j = linear_sum_assignment(cost)
        kept = cost[i, j] < 1e6
        found = match_frames(table(truth), table(pred), dim=3, tolerance=2, tolerance_z=4, matching="optimal")
        assert len(found) == kept.sum()
        assert found.distance.sum() == pytest.approx(cost[i, j][kept].sum())


def test_large_frames_match_as_small_ones_do() -> None:
    """The tree behind large frames, against the sweep that small ones take."""
    rng = np.random.default_rng(2)
    truth, pred = rng.uniform(0, 2000, (400, 3)), rng.uniform(0, 2000, (380, 3))
    assert len(truth) * len(pred) > 2**16
    assert set(matched(truth, pred, 60, 80)) == brute_force_greedy(truth, pred, 60, 80)


@pytest.mark.parametrize("lateral", [2.0, 9.0, 1e6])
@pytest.mark.parametrize("kind", ["lattice", "one place", "few places", "cloud"])
def test_crowded_frames_are_matched_without_a_list_of_all_pairs(kind: str, lateral: float) -> None:
    rng = np.random.default_rng(4)
    truth, pred = rng.integers(0, 12, (300, 3)).astype(float), rng.integers(0, 12, (260, 3)).astype(float)
    if kind == "one place":
        truth[:], pred[:] = 1.0, 2.0
    elif kind == "few places":
        pred = pred // 6 * 6
    elif kind == "cloud":
        truth += rng.normal(0, 1, truth.shape)
    assert set(matched(truth, pred, lateral, 4)) == brute_force_greedy(truth, pred, lateral, 4)
