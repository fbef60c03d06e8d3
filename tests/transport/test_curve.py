"""lam -> Flat Metric: against solves at many lam, and the shape that theory gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatmetric as fm

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


def problem(seed: int) -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    n, m, dim = int(rng.integers(1, 25)), int(rng.integers(0, 25)), int(rng.integers(1, 5))
    truth, pred = rng.uniform(0, 100, (n, dim)), rng.uniform(0, 100, (m, dim))
    if seed % 3 == 0:
        truth, pred = np.round(truth / 20), np.round(pred / 20)  # ties and coincident points
    extra: dict[str, Any] = {}
    if seed % 2:
        extra |= {"truth_frames": rng.integers(1, 4, n), "pred_frames": rng.integers(1, 4, m)}
    if seed % 5 == 0:
        extra |= {"truth_weights": rng.lognormal(size=n), "pred_weights": rng.lognormal(size=m)}
    return truth, pred, extra


@given(st.integers(0, 10_000))
@settings(max_examples=150, deadline=None)
def test_the_curve_is_every_solve(seed: int) -> None:
    truth, pred, extra = problem(seed)
    curve = fm.flat_curve(truth, pred, lam_max=60, **extra)
    lams = np.concatenate((np.linspace(0.01, 60, 25), curve.lam[1:], (curve.lam[1:] + curve.lam[:-1]) / 2))
    for lam in lams:
        exact = fm.flat_metric(truth, pred, lam=lam, **extra)
        assert curve(lam) == pytest.approx(exact.value, rel=1e-9, abs=1e-9)
    assert curve.lam[0] == 0 and curve.value[0] == 0 and curve.lam[-1] == 60
    assert (np.diff(curve.lam) > 0).all() and (np.diff(curve.slope) <= 1e-12).all() and (curve.slope >= -1e-12).all()


def test_the_slope_is_the_mass_left() -> None:
    truth, pred, _ = problem(7)
    curve = fm.flat_curve(truth, pred, lam_max=80)
    for k in range(len(curve.lam) - 1):
        lam = (curve.lam[k] + curve.lam[k + 1]) / 2
        plan = fm.flat_metric(truth, pred, lam=lam)
        assert (plan.missed + plan.false) / lam == pytest.approx(curve.slope[k])


def test_two_points_in_closed_form() -> None:
    curve = fm.flat_curve([[0.0]], [[30.0]], lam_max=100, truth_weights=[0.85], pred_weights=[0.55])
    np.testing.assert_allclose(curve.lam, [0, 15, 100])
    np.testing.assert_allclose(curve.value, [0, 1.4 * 15, 1.4 * 15 + 0.3 * 85])


def test_frames_add_up() -> None:
    truth, pred, extra = problem(1)
    whole = fm.flat_curve(truth, pred, lam_max=50, **extra)
    total = np.zeros(20)
    lams = np.linspace(1, 50, 20)
    for frame in (1, 2, 3):
        t, p = truth[extra["truth_frames"] == frame], pred[extra["pred_frames"] == frame]
        ones: dict[str, Any] = {"truth_weights": np.ones(len(t)), "pred_weights": np.ones(len(p))}
        total += fm.flat_curve(t.reshape(-1, truth.shape[1]), p.reshape(-1, truth.shape[1]), lam_max=50, **ones)(lams)
    np.testing.assert_allclose(whole(lams), total / len(truth))


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    truth, pred = rng.uniform(0, 1000, (400, 2)), rng.uniform(0, 1000, (380, 2))
    frames = {"truth_frames": rng.integers(1, 60, 400), "pred_frames": rng.integers(1, 60, 380)}
    one, two = (fm.flat_curve(truth, pred, lam_max=200, threads=k, **frames) for k in (1, 2))
    assert np.array_equal(one.lam, two.lam) and np.array_equal(one.value, two.value)


@pytest.mark.parametrize("field", [20_000, 2000, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_frame(field: float, weighted: bool) -> None:
    """From many groups out of each other's reach to one in which everything is connected."""
    rng = np.random.default_rng(4)
    truth, pred = rng.uniform(0, field, (600, 2)), rng.uniform(0, field, (500, 2))
    weights: dict[str, Any] = {}
    if weighted:
        weights = {"truth_weights": rng.lognormal(size=600), "pred_weights": rng.lognormal(size=500)}
    curve = fm.flat_curve(truth, pred, lam_max=150, **weights)
    for lam in (*np.geomspace(0.1, 150, 12), *rng.choice(curve.lam[1:], 10)):
        assert curve(lam) == pytest.approx(fm.flat_metric(truth, pred, lam=lam, **weights).value, rel=1e-11)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("weights", ["units", "wholes", "reals"])
def test_ties_everywhere(dim: int, weights: str) -> None:
    """On a lattice many ways are equally long, points coincide, and trees that touch fall apart at the same moment."""
    rng = np.random.default_rng(dim)
    for cells in (2, 4, 9):
        truth, pred = (rng.integers(0, cells, (count, dim)).astype(float) for count in (90, 80))
        masses: Any = {
            "units": {},
            "wholes": {"truth_weights": rng.integers(0, 4, 90), "pred_weights": rng.integers(0, 4, 80)},
            "reals": {"truth_weights": rng.uniform(size=90), "pred_weights": rng.uniform(size=80)},
        }[weights]
        curve = fm.flat_curve(truth, pred, lam_max=5, **masses)
        for lam in np.linspace(0.05, 5, 40):
            assert curve(lam) == pytest.approx(
                fm.flat_metric(truth, pred, lam=lam, **masses).value, rel=1e-11, abs=1e-12
            )


def test_a_short_distance_on_a_long_curve() -> None:
    assert fm.flat_curve([[0.0]], [[1.0]], lam_max=1e13).lam.tolist() == [0.0, 0.5, 1e13]


@pytest.mark.parametrize("lam_max", [0, -1, np.inf, np.nan])
def test_bad_lam_max(lam_max: float) -> None:
    with pytest.raises(fm.InputError, match="lam_max"):
        fm.flat_curve([[0.0]], [[1.0]], lam_max=lam_max)


def test_asking_beyond_the_curve() -> None:
    with pytest.raises(fm.InputError, match="from lam 0 to 50 nm"):
        fm.flat_curve([[0.0]], [[1.0]], lam_max=50)(60)


@pytest.mark.parametrize("lam_max", [1.0, 1e6, 1e13, 1e60])
def test_distances_far_below_the_largest_lam_are_on_the_curve(lam_max: float) -> None:
    curve = fm.flat_curve([[0.0]], [[1.0]], lam_max=lam_max)
    assert curve.lam.tolist() == [0.0, 0.5, lam_max] and curve.value.tolist() == [0.0, 1.0, 1.0]


def shape(name: str) -> tuple[Any, Any, Any, Any, float]:
    """Points, weights and the largest lam of problems that are hard to follow or to add up."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(120, 2)) * 10, rng.normal(size=(120, 2)) * 10
    if name == "weights of all sizes":
        w, v = rng.pareto(1.1, 120) + 0.01, rng.pareto(1.1, 120) + 0.01
        return 30 * a, 30 * b, w / w.sum(), v / v.sum(), 2000.0
    if name == "two far clusters":
        b[:, 0] += np.where(np.arange(120) < 60, 10_000, -10_000)
        return a, b, None, None, 1e5
    if name == "many far away":
        return a[:30], np.concatenate((b, a + 3)) + np.array([10_000, 0]), None, None, 1e5
    if name == "ordinary weights":
        w, v = rng.random(120) + 0.1, rng.random(120) + 0.1
        return 30 * a, 30 * a + rng.normal(size=a.shape) * 0.01, w / w.sum(), v / v.sum(), 1000.0
    return a, b, np.full(120, 1 / 120), rng.permutation(np.full(120, 1 / 120)), 1e13  # "equal weights, any lam"


@pytest.mark.parametrize(
    "name",
    ["weights of all sizes", "two far clusters", "many far away", "ordinary weights", "equal weights, any lam"],
)
def test_the_curve_is_exact_at_every_breakpoint(name: str) -> None:
    truth, pred, w, v, lam_max = shape(name)
    curve = fm.flat_curve(truth, pred, lam_max=lam_max, truth_weights=w, pred_weights=v)
    assert (np.diff(curve.value) >= 0).all() and (np.diff(curve.slope) <= 0).all() and (curve.slope >= 0).all()
    for lam, value in zip(curve.lam[1:], curve.value[1:], strict=True):
        exact = fm.flat_metric(truth, pred, lam=lam, truth_weights=w, pred_weights=v).value
        assert value == pytest.approx(exact, rel=1e-12), lam
