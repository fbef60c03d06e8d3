"""Closed forms and decided edge cases of flat_metric."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import flatmetric as fm
from tests.certificate import check, solve
from tests.problems import SHAPES, Problem, random_problem, random_weights
from tests.scenes import wait_until


@pytest.mark.parametrize("lam", [0.01, 0.8, 125.0, 1e6])
@pytest.mark.parametrize("distance", [0.0, 0.3, 1.0, 1.6, 1.6000001, 250.0, 1e5])
@pytest.mark.parametrize(("a", "b"), [(0.85, 0.55), (0.55, 0.85), (1.0, 1.0), (0.0, 2.0), (1e-9, 1e9)])
def test_two_diracs(a: float, b: float, distance: float, lam: float) -> None:
    problem = Problem(
        np.array([[0.0, 0.0]]), np.array([[distance * 0.6, distance * 0.8]]), lam, np.array([a]), np.array([b])
    )
    result = solve(problem)
    check(problem, result)
    d = float(problem.distances[0, 0])
    assert result.value == pytest.approx(abs(a - b) * lam + min(a, b) * min(d, 2 * lam), rel=1e-14)
    if d > 2 * lam:
        assert (result.displaced, result.missed, result.false) == (0.0, lam * a, lam * b)


def test_two_dirac_curve_of_figure_2() -> None:
    a, b, lam = 0.85, 0.55, 0.8
    value = [
        fm.flat_metric([[0.0]], [[d]], lam=lam, truth_weights=[a], pred_weights=[b]).value for d in (0.0, 0.8, 1.6, 3.0)
    ]
    assert value == pytest.approx([(a - b) * lam, (a - b) * lam + b * 0.8, (a + b) * lam, (a + b) * lam], abs=1e-15)


def test_empty_pred_is_all_missed() -> None:
    empty: list[npt.ArrayLike] = [[], np.empty((0, 2))]
    for pred in empty:
        result = fm.flat_metric([[0, 0], [1, 1]], pred, lam=125)
        assert (result.value, result.displaced, result.missed, result.false) == (125.0, 0.0, 125.0, 0.0)
        assert result.gap == 0 and len(result.pairs) == 0


def test_empty_truth_with_weights_is_all_false() -> None:
    result = fm.flat_metric([], [[0, 0], [1, 1]], lam=125, truth_weights=[], pred_weights=[0.5, 2.0])
    assert (result.value, result.false) == (312.5, 312.5)
    both_empty = fm.flat_metric([], [], lam=125, truth_weights=[], pred_weights=[])
    assert (both_empty.value, both_empty.gap) == (0.0, 0.0)


def test_identical_measures_are_at_distance_zero() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 6400, (3000, 3))
    weights = rng.lognormal(size=3000)
    order = rng.permutation(3000)
    for lam in (1e-6, 125.0, 1e9, math.inf):
        assert fm.flat_metric(points, points[order], lam=lam).value == 0
        result = fm.flat_metric(points, points[order], lam=lam, truth_weights=weights, pred_weights=weights[order])
        assert result.value == 0


@pytest.mark.parametrize("n", [1, 50, 3000])
def test_wasserstein_on_a_line_is_the_sorted_difference(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(size=n) + 0.3
    expected = np.abs(np.sort(x) - np.sort(y)).mean()
    for lam in (math.inf, 100.0):
        result = fm.flat_metric(x[:, None], y[:, None], lam=lam)
        check(Problem(x[:, None], y[:, None], lam), result)
        assert result.value == pytest.approx(expected, rel=1e-12)


def test_weighted_wasserstein_on_a_line_is_the_area_between_the_distribution_functions() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=70), rng.normal(size=40)
    a, b = rng.dirichlet(np.ones(70)), rng.dirichlet(np.ones(40))
    at = np.concatenate([x, y])
    order = np.argsort(at)
    area = np.abs(np.cumsum(np.concatenate([a, -b])[order]))[:-1] @ np.diff(at[order])
    result = fm.flat_metric(x[:, None], y[:, None], lam=math.inf, truth_weights=a, pred_weights=b)
    assert result.value == pytest.approx(area, rel=1e-12)


def test_small_lam_is_total_variation() -> None:
    rng = np.random.default_rng(4)
    places = rng.integers(4, size=(30, 2)).astype(float)
    a, b = rng.lognormal(size=30), rng.lognormal(size=30)
    lam = 1e-7
    at, inverse = np.unique(places, axis=0, return_inverse=True)
    net = np.bincount(inverse.ravel(), weights=a - b, minlength=len(at))
    result = fm.flat_metric(places, places, lam=lam, truth_weights=a, pred_weights=b)
    assert result.value / lam == pytest.approx(np.abs(net).sum(), rel=1e-12)


def test_a_lone_wide_error_costs_two_thirds_of_its_radius() -> None:
    rng = np.random.default_rng(8)
    grid = np.stack(np.meshgrid(np.arange(200), np.arange(200)), axis=-1).reshape(-1, 2) * 1000.0
    radius, angle = 90 * np.sqrt(rng.uniform(size=len(grid))), rng.uniform(0, 2 * np.pi, len(grid))
    pred = grid + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    result = fm.flat_metric(grid, pred, lam=125)
    assert result.value == pytest.approx(np.hypot(*(pred - grid).T).mean(), rel=1e-12)
    assert result.value == pytest.approx(60, rel=0.01)


def test_recall_without_error_costs_lam_times_what_is_missing() -> None:
    truth = np.random.default_rng(9).uniform(0, 6400, (200, 2))
    result = fm.flat_metric(truth, truth[:150], lam=125)
    assert (result.displaced, result.missed, result.false) == (0.0, 125 * 0.25, 0.0)


def test_frames_add_up_and_do_not_see_each_other() -> None:
    rng = np.random.default_rng(10)
    truth, pred = rng.uniform(0, 500, (300, 2)), rng.uniform(0, 500, (260, 2))
    truth_frames, pred_frames = rng.integers(1, 40, 300), rng.integers(1, 45, 260)
    result = fm.flat_metric(truth, pred, lam=100, truth_frames=truth_frames, pred_frames=pred_frames)
    frames = result.frames
    assert frames is not None
    assert frames.frame.tolist() == np.union1d(truth_frames, pred_frames).tolist()
    assert (truth_frames[result.pairs.truth] == pred_frames[result.pairs.pred]).all()
    for k, frame in enumerate(frames.frame):
        t, p = truth[truth_frames == frame], pred[pred_frames == frame]
        alone = fm.flat_metric(
            t, p, lam=100, truth_weights=np.full(len(t), 1 / 300), pred_weights=np.full(len(p), 1 / 300)
        )
        assert (frames.n_truth[k], frames.n_pred[k]) == (len(t), len(p))
        for part in ("displaced", "missed", "false", "value", "lower_bound"):
            assert getattr(frames, part)[k] == pytest.approx(getattr(alone, part), rel=1e-12, abs=1e-12)
    for part in ("displaced", "missed", "false", "value", "lower_bound"):
        assert getattr(frames, part).sum() == pytest.approx(getattr(result, part), rel=1e-12)


def test_frame_order_of_the_rows_does_not_matter() -> None:
    rng = np.random.default_rng(11)
    truth, pred = rng.uniform(0, 500, (300, 2)), rng.uniform(0, 500, (260, 2))
    truth_frames, pred_frames = np.sort(rng.integers(-3, 40, 300)), np.sort(rng.integers(0, 45, 260))
    sorted_rows = fm.flat_metric(truth, pred, lam=100, truth_frames=truth_frames, pred_frames=pred_frames)
    i, j = rng.permutation(300), rng.permutation(260)
    shuffled = fm.flat_metric(truth[i], pred[j], lam=100, truth_frames=truth_frames[i], pred_frames=pred_frames[j])
    assert shuffled.value == pytest.approx(sorted_rows.value, rel=1e-12)
    pairs = {(int(i[t]), int(j[p])) for t, p in zip(shuffled.pairs.truth, shuffled.pairs.pred, strict=True)}
    assert pairs == set(zip(sorted_rows.pairs.truth.tolist(), sorted_rows.pairs.pred.tolist(), strict=True))
    np.testing.assert_allclose(shuffled.truth_potential, sorted_rows.truth_potential[i], atol=1e-9)


def bits(result: fm.FlatResult) -> list[bytes]:
    assert result.frames is not None
    arrays = [result.pairs.truth, result.pairs.pred, result.pairs.mass, result.pairs.distance]
    arrays += [result.truth_potential, result.pred_potential, result.frames.frame, result.frames.value]
    arrays.append(np.array([result.displaced, result.missed, result.false, result.lower_bound]))
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_change_no_bit(weighted: bool) -> None:
    rng = np.random.default_rng(12)
    n = 40_000
    truth, pred = rng.uniform(0, 3000, (n, 2)), rng.uniform(0, 3000, (n, 2))
    frames = rng.integers(1, 400, n)
    weights = rng.lognormal(size=n) if weighted else None
    first, *others = (
        bits(
            fm.flat_metric(
                truth,
                pred,
                lam=100,
                truth_frames=frames,
                pred_frames=frames[::-1],
                truth_weights=weights,
                pred_weights=weights,
                threads=threads,
            )
        )
        for threads in (1, 2, 3, 8, None)
    )
    assert all(other == first for other in others)


def test_axis_scale_is_scaling_the_coordinates() -> None:
    rng = np.random.default_rng(13)
    truth, pred = rng.uniform(0, 100, (50, 3)), rng.uniform(0, 100, (60, 3))
    scale = np.array([1.0, 2.0, 0.5])
    scaled = fm.flat_metric(truth, pred, lam=20, axis_scale=(1, 2, 0.5))
    assert scaled.value == fm.flat_metric(truth * scale, pred * scale, lam=20).value


def test_swapping_the_sides_swaps_missed_and_false() -> None:
    rng = np.random.default_rng(14)
    for shape in SHAPES:
        problem = random_problem(rng, shape, "real", 300, 200)
        forth = solve(problem)
        back = solve(Problem(problem.pred, problem.truth, problem.lam, problem.pred_weights, problem.truth_weights))
        assert back.value == pytest.approx(forth.value, rel=1e-12)
        assert back.missed == pytest.approx(forth.false, rel=1e-9, abs=1e-9 * problem.scale)


def test_far_offset_and_tiny_spacing_keep_their_digits() -> None:
    rng = np.random.default_rng(15)
    truth = rng.uniform(0, 1e-3, (40, 2)).round(6) + 1e9
    pred = truth[rng.permutation(40)] + 2.0**-20
    problem = Problem(truth, pred, 1e-2)
    check(problem, solve(problem))
    huge = Problem(truth - 1e9, pred - 1e9, 1e9)
    result = solve(huge)
    check(huge, result)
    # lam is 18 orders above the answer and must not drown it
    assert abs(result.gap) <= 1e-12 * result.value


@pytest.mark.parametrize("scale", [1e-90, 1e-60, 1e60, 1e98])
def test_scale_does_not_matter_however_large_or_small(scale: float) -> None:
    rng = np.random.default_rng(20)
    truth, pred = rng.uniform(size=(1000, 2)), rng.uniform(size=(1200, 2))
    at_one = fm.flat_metric(truth, pred, lam=0.4)
    scaled = fm.flat_metric(truth * scale, pred * scale, lam=0.4 * scale)
    assert scaled.value == pytest.approx(at_one.value * scale, rel=1e-12)
    assert scaled.lower_bound == pytest.approx(at_one.value * scale, rel=1e-12)


def test_very_different_sides() -> None:
    rng = np.random.default_rng(16)
    for n, m in ((1, 20_000), (20_000, 1), (3, 5000)):
        problem = Problem(rng.uniform(size=(n, 2)), rng.uniform(size=(m, 2)), 0.3)
        check(problem, solve(problem))


def test_points_without_mass_have_a_feasible_potential() -> None:
    rng = np.random.default_rng(17)
    for n in (20, 600):
        a, b = random_weights(rng, "with_zeros", n), random_weights(rng, "with_zeros", n)
        problem = Problem(rng.uniform(size=(n, 2)), rng.uniform(size=(n, 2)), 0.2, a, b)
        check(problem, solve(problem))
        nothing = Problem(problem.truth, problem.pred, 0.2, np.zeros(n), np.zeros(n))
        check(nothing, solve(nothing))


def test_memory_grows_with_the_points_not_the_pairs() -> None:
    n = 20_000
    script = (
        "import numpy as np, resource, flatmetric as fm\n"
        "rng = np.random.default_rng(0)\n"
        f"x, y = rng.uniform(size=({n}, 2)), rng.uniform(size=({n - 3000}, 2))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "fm.flat_metric(x, y, lam=10.0, threads=1)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(out.stdout) < 60_000  # KiB; the dense table alone would be 2.7 GB


def cpu_ticks(pid: int) -> int:
    """How much of the processor a process has used, in ticks of a hundredth of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt_stops_a_long_solve_within_a_second(threads: int) -> None:
    script = (
        "import signal, numpy as np, flatmetric as fm\n"
        # A test run in the background inherits an ignored SIGINT; a user's shell does not pass one on.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "rng = np.random.default_rng(0)\n"
        "n = 60_000\n"
        "x, y = rng.uniform(size=(n, 2)), rng.uniform(size=(n, 2))\n"
        "frames = np.repeat([1, 2], n // 2)\n"
        "print('go', flush=True)\n"
        f"fm.flat_metric(x, y, lam=10.0, threads={threads}, truth_frames=frames, pred_frames=frames)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "go\n"
        before = cpu_ticks(process.pid)
        wait_until(lambda: cpu_ticks(process.pid) > before + 50, "the solve is at work")
        assert process.poll() is None, "the solve was meant to be long"
        before = cpu_ticks(process.pid)
        os.kill(process.pid, signal.SIGINT)
        _, _, usage = os.wait4(process.pid, 0)
        after = (usage.ru_utime + usage.ru_stime) * os.sysconf("SC_CLK_TCK")
        assert after - before < 2 * threads * os.sysconf("SC_CLK_TCK")  # and not the minutes of the whole solve
        assert "KeyboardInterrupt" in process.stderr.read()


def test_inputs_are_left_alone_and_results_are_read_only() -> None:
    rng = np.random.default_rng(19)
    truth = np.asfortranarray(rng.uniform(0, 100, (50, 2)))[::2]
    pred = rng.integers(0, 100, (30, 2)).astype(np.int16)
    truth.setflags(write=False)
    before = truth.copy(), pred.copy()
    result = fm.flat_metric(truth, pred, lam=20)
    assert (truth == before[0]).all() and (pred == before[1]).all()
    expected = fm.flat_metric(np.array(truth, order="C"), pred.astype(float), lam=20)
    assert result.value == expected.value
    for array in (result.pairs.mass, result.truth_potential):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        result.displaced = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint16, np.int64])
def test_any_number_type(dtype: type[np.generic]) -> None:
    truth = np.array([[0, 0], [40, 30]], dtype=dtype)
    assert fm.flat_metric(truth, truth[:1] + dtype(3), lam=100).value == pytest.approx((math.sqrt(18) + 100) / 2)


def test_one_heavy_target_takes_from_all_by_distance() -> None:
    """As many sources as it has room for go to it, the nearest first."""
    rng = np.random.default_rng(0)
    truth, capacity, lam = rng.uniform(0, 1000, (5000, 2)), 3000.0, 400.0
    away = np.sort(np.hypot(*(truth - 500).T))
    moved = np.minimum(away[:3000], 2 * lam).sum()
    for pred_weights in ([capacity], [5000.0]):
        result = fm.flat_metric(
            truth, [[500.0, 500.0]], lam=lam, truth_weights=np.ones(5000), pred_weights=pred_weights
        )
        expected = moved + lam * 2000 if pred_weights == [capacity] else np.minimum(away, 2 * lam).sum()
        assert result.value == pytest.approx(expected, rel=1e-12)
        assert result.value >= result.lower_bound * (1 - 1e-14)


@pytest.mark.parametrize("lam", [1e3, 1e6, 1e9, 1e12, 1e15, 1e20])
def test_the_bound_meets_the_value_where_masses_are_equal_but_for_rounding(lam: float) -> None:
    rng = np.random.default_rng(0)
    weights = rng.random(300)
    truth_weights, pred_weights = weights / weights.sum(), rng.permutation(weights) / rng.permutation(weights).sum()
    found = fm.flat_metric(
        rng.random((300, 2)), rng.random((300, 2)), lam=lam, truth_weights=truth_weights, pred_weights=pred_weights
    )
    assert 0 <= found.gap <= 1e-12 * found.value


def test_the_bound_meets_the_value_where_masses_differ_by_twenty_decades() -> None:
    masses = [1e10, 1e-10]
    found = fm.flat_metric([[0.0], [1.0]], [[2.5], [2.0]], lam=1e20, truth_weights=masses, pred_weights=masses)
    assert found.value == found.lower_bound == 2.5e10
    for seed in range(300):
        rng = np.random.default_rng(seed)
        truth, pred = rng.integers(0, 9, (5, 1)), rng.integers(0, 9, (5, 1))
        a, b = 10.0 ** rng.integers(-10, 11, 5), 10.0 ** rng.integers(-10, 11, 5)
        found = fm.flat_metric(truth, pred, lam=10.0 ** rng.integers(-2, 21), truth_weights=a, pred_weights=b)
        assert 0 <= found.gap <= 1e-12 * found.value, seed
