"""The core's choice of method, on both sides of its boundary."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import flatmetric as fm
from flatmetric import _core
from tests import oracles
from tests.problems import Array, Problem


def solve(truth: Array, pred: Array, lam: float, method: _core.Method = _core.Method.automatic) -> tuple[float, bool]:
    out = _core.solve(truth, pred, None, None, None, None, lam, float(len(truth)), method, 1)
    value = out.displaced + out.missed + out.false
    assert abs(value - out.lower_bound) <= 1e-9 * value
    return value, out.by_simplex > 0


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


def test_one_hard_region_is_all_that_is_left_to_the_simplex() -> None:
    """A squeezed cloud and an easy field: far from each other, and then one amid the other."""
    rng = np.random.default_rng(3)
    field = rng.uniform(0, 40, (12_000, 2))
    easy = field[:10_000] + rng.normal(0, 0.01, (10_000, 2))
    cloud, squeezed = rng.uniform(0, 2, (1_500, 2)), rng.uniform(0, 2, (1_400, 2)) * [0.6, 1.0]
    for place, most in (([50.0, 20.0], 1_400), ([19.0, 19.0], 11_400)):
        truth, pred = np.concatenate([field, cloud + place]), np.concatenate([easy, squeezed + place])
        out = _core.solve(truth, pred, None, None, None, None, 0.6, 1.0, _core.Method.automatic, 1)
        value = out.displaced + out.missed + out.false
        assert abs(value - out.lower_bound) <= 1e-9 * value
        assert 0 < out.by_simplex <= most


def test_many_points_at_few_places_are_solved_by_every_method() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        n, m, places = rng.integers(100, 400, 3)
        truth, pred = (np.floor(rng.uniform(0, 2 + places % 2, (count, 2))) * 0.03 for count in (n, m))
        values = [solve(truth, pred, 0.034, method)[0] for method in _core.Method]
        np.testing.assert_allclose(values, oracles.assignment(Problem(truth, pred, 0.034)), rtol=1e-12)


@pytest.mark.parametrize("apart", [0.999, 1.0, 1.001])
def test_regions_that_meet_at_exactly_two_lambda(apart: float) -> None:
    """Where moving costs as much as leaving, a plan may do either, and nothing is lost."""
    rng = np.random.default_rng(12)
    lam = 0.5
    for dim in (1, 2, 3):
        step = np.eye(dim)[0] * apart
        corners = np.concatenate([np.zeros((40, dim)), np.tile(step, (40, 1)), np.tile(2 * step, (40, 1))])
        for _ in range(10):
            truth, pred = (corners[rng.permutation(120)[: rng.integers(20, 100)]] for _ in range(2))
            weights = 10.0 ** rng.uniform(-3, 3, len(truth)), 10.0 ** rng.uniform(-3, 3, len(pred))
            values = []
            for method in _core.Method:
                out = _core.solve(truth, pred, *weights, None, None, lam, 1.0, method, 1)
                values.append(out.displaced + out.missed + out.false)
                assert values[-1] == pytest.approx(out.lower_bound, rel=1e-12)
            np.testing.assert_allclose(values, values[0], rtol=1e-12)


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf, 1.0000001e100, -1.0000001e100])
def test_numbers_beyond_a_limit_are_seen_wherever_they_stand(value: float) -> None:
    for at in (0, 5, 11):
        numbers = np.zeros((6, 2))
        assert _core.all_within(numbers, 1e100)
        numbers.flat[at] = value
        assert not _core.all_within(numbers, 1e100)
    assert _core.all_within(np.full((3, 1), -1e100), 1e100)
    assert _core.all_within(np.empty((0, 0)), 1e100)


def test_columns_that_are_kept_do_not_change_when_others_are_made() -> None:
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 1e5, (40_000, 2))
    pred = truth + rng.normal(0, 20, truth.shape)
    frames = np.repeat(np.arange(400), 100)
    first = fm.flat_metric(truth, pred, lam=125, truth_frames=frames, pred_frames=frames)
    kept = [first.truth_potential.copy(), first.pairs.distance.copy(), first.pairs.truth.copy()]
    for k in range(5):  # memory of what is dropped here is used again, that of `first` is not
        fm.flat_metric(truth + k, pred, lam=125, truth_frames=frames, pred_frames=frames)
    for column, copy in zip((first.truth_potential, first.pairs.distance, first.pairs.truth), kept, strict=True):
        np.testing.assert_array_equal(column, copy)


@pytest.mark.parametrize("rows", [0, 1, 7, 200_000])
def test_columns_become_rows_and_rows_are_subtracted(rows: int) -> None:
    rng = np.random.default_rng(rows)
    columns = [rng.normal(size=rows) for _ in range(3)]
    for threads in (1, 2):
        table = _core.table_of(columns, threads)
        np.testing.assert_array_equal(table, np.stack(columns, axis=1))
        a, b = (rng.integers(0, max(rows, 1), rows) for _ in range(2))
        found = _core.row_differences(table, 2 * table, a, b, threads)
        np.testing.assert_array_equal(found, 2 * table[b] - table[a])


def test_rows_that_are_not_there_are_refused() -> None:
    table, rows = np.zeros((3, 2)), np.array([0, 3])
    with pytest.raises(IndexError, match="out of range"):
        _core.row_differences(table, table, rows, rows[::-1].copy(), 1)
    with pytest.raises(IndexError, match="out of range"):
        _core.row_differences(table, table, rows - 1, np.array([0, 0]), 1)
    with pytest.raises(ValueError, match="equal length"):
        _core.table_of([np.zeros(3), np.zeros(2)], 1)


def frames_of(counts: list[int]) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(len(counts)) * 3, counts)


@pytest.mark.parametrize("shuffled", [False, True])
def test_frames_of_any_length_are_told_apart(shuffled: bool) -> None:
    rng = np.random.default_rng(5)
    for lengths in ([1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 17, 0, 1, 600, 31, 33], [1], [5] * 700):
        truth_frame, pred_frame = frames_of(lengths), frames_of(lengths[::-1])
        if shuffled:
            truth_frame, pred_frame = rng.permutation(truth_frame), rng.permutation(pred_frame)
        truth, pred = (rng.uniform(0, 100, (len(frame), 2)) for frame in (truth_frame, pred_frame))
        sums = _core.nearest(truth, pred, truth_frame, pred_frame, 2)
        number, n, m = sums.frame, sums.truth_count, sums.pred_count
        assert number.tolist() == np.union1d(truth_frame, pred_frame).tolist()
        alone = [(truth_frame == k).sum() * (pred_frame == k).sum() == 0 for k in number]
        assert n.tolist() == [0 if left else (truth_frame == k).sum() for k, left in zip(number, alone, strict=True)]
        assert m.tolist() == [0 if left else (pred_frame == k).sum() for k, left in zip(number, alone, strict=True)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_coordinate_beyond_all_limits_is_named_in_whatever_frame(threads: int) -> None:
    truth = np.zeros((30_000, 2))
    frames = np.arange(30_000) // 10
    truth[28_765, 1] = np.nan
    with pytest.raises(ValueError, match=r"truth\[28765, 1\] is nan"):
        fm.flat_metric(truth, np.zeros((30_000, 2)), lam=1, truth_frames=frames, pred_frames=frames, threads=threads)
