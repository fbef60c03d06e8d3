"""Intervals that hold: slopes that are exact, units that follow from the data, and no more claimed than is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.metrics.base import SUMMED, Sums, evaluate_many
from flatmetric.metrics.table import METRICS
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.intervals import intervals_of, metric_slopes
from flatmetric.statistics.sampling import FRAME_ONLY, autocorrelation_time, cell_table, sampling_of
from tests.scenes import RULES, draw, numbers, scene
from tests.statistics.worlds import blinking

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


@pytest.mark.parametrize("rules", RULES)
def test_the_sums_of_all_frames_give_the_score(rules: dict[str, Any]) -> None:
    score = fm.score(*scene(), **rules)
    total = score.sums.table.sum(axis=0)[None]
    found = evaluate_many(METRICS, Sums.from_table(total, score.sums.total.settings))
    exact = numbers(score)
    assert len(found) >= 22
    for name in [name for name in found if not name.startswith("bound")]:
        values = found[name]
        assert values[0] == pytest.approx(exact[name], rel=1e-9, abs=1e-9), name


def test_slopes_say_what_a_metric_does_without_a_frame() -> None:
    """To first order: the error of that falls with the square of the share that is left out."""
    score = fm.score(*scene(frames=60))
    values, slopes = metric_slopes(score)
    table = score.sums.table
    total = table.sum(axis=0)
    for frame in (0, 20):
        less = evaluate_many(METRICS, Sums.from_table((total - 1e-3 * table[frame])[None], score.sums.total.settings))
        for at, (key, value) in enumerate(values.items()):
            expected = -1e-3 * table[frame] @ slopes[at]
            assert less[key][0] - value == pytest.approx(expected, rel=2e-2, abs=1e-6 * (1 + abs(value))), key


def test_cells_and_frames_add_up_to_the_same() -> None:
    score = fm.score(*blinking(1, 200))
    sampling = sampling_of(score)
    table, alone = cell_table(score, sampling)
    for at, name in enumerate(SUMMED):
        whole = score.sums.table[:, at].sum()
        assert table[:, at].sum() + alone[:, at].sum() == pytest.approx(0.0 if name in FRAME_ONLY else whole), name
    assert sampling.cells is not None and sampling.cells.truths.sum() == len(score.matched.truth_kept)


def test_blocks_are_as_long_as_molecules_live() -> None:
    truth = {"frame": [1, 5, 1, 2, 3, 4], "x": np.arange(6.0) * 900, "y": np.zeros(6), "id": [1, 1, 2, 2, 3, 3]}
    assert sampling_of(fm.score(truth, truth)).block == 10
    long = fm.score(*blinking(1, 8000, per_frame=2))
    short = fm.score(*blinking(1, 200, per_frame=2))
    assert intervals_of(long).unit == "blocks" and intervals_of(short).unit == "molecules"
    assert intervals_of(long).block >= 120 and intervals_of(long).blocks == 8000 // intervals_of(long).block
    remark = intervals_of(short).remark
    assert remark is not None and "molecules are taken as independent" in remark
    assert intervals_of(long, Certainty(block=10)).remark is None


def test_without_molecules_blocks_follow_the_autocorrelation() -> None:
    rng = np.random.default_rng(2)
    assert sampling_of(fm.score(*draw(rng, 500))).block <= 8
    on = np.repeat(rng.integers(1, 12, 50), 10)  # the same number of molecules for ten frames
    frame = np.repeat(np.arange(1, 501), on)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, len(frame)), "y": rng.uniform(0, 20_000, len(frame))}
    found = rng.random(len(frame)) < 0.8
    pred = {name: column[found] for name, column in truth.items()}
    assert 25 <= sampling_of(fm.score(truth, pred)).block <= 84


def test_the_autocorrelation_time_of_an_autoregression() -> None:
    rng = np.random.default_rng(0)
    series = np.zeros(20_000)
    for at, step in enumerate(rng.normal(size=len(series))):
        series[at] = 0.8 * series[at - 1] + step
    assert autocorrelation_time([series]) == pytest.approx((1 + 0.8) / (1 - 0.8), rel=0.25)


@pytest.mark.parametrize("frames", [60, 400])
def test_intervals_of_independent_frames_cover(frames: int) -> None:
    paths = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")
    rng = np.random.default_rng(0)
    long = numbers(fm.score(*draw(rng, 50_000), check=False))
    hits = dict.fromkeys(paths, 0)
    for _ in range(150):
        intervals = intervals_of(fm.score(*draw(rng, frames), check=False)).intervals
        for path in paths:
            low, high = intervals[path] or (np.nan, np.nan)
            hits[path] += bool(low <= long[path] <= high)  # type: ignore[operator]
    for path, count in hits.items():
        assert abs(count / 150 - 0.95) <= 3 * 0.018, (path, count / 150)


def test_what_the_data_can_not_tell_is_not_claimed() -> None:
    truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0], "id": [1, 2]}
    intervals = intervals_of(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    assert intervals.blocks == 1 and intervals.intervals["gospa.value"] is None
    assert intervals.remark is not None and "1 independent block," in intervals.remark
    alone = intervals_of(fm.score({k: v for k, v in truth.items() if k != "id"}, truth))
    assert set(alone.intervals.values()) == {None}


def test_intervals_stay_within_what_is_possible() -> None:
    truth, pred = blinking(3, 60, per_frame=2)
    intervals = intervals_of(fm.score(truth, pred)).intervals
    assert intervals["challenge.recall"] is not None and intervals["challenge.recall"][1] <= 1
    for key, span in intervals.items():
        low, high = METRICS[key].limits
        assert span is None or low <= span[0] <= span[1] <= high, key


def test_bad_arguments() -> None:
    score = fm.score(*scene())
    nobody = fm.score(*scene(), protocol=fm.Protocol(photon_threshold=1e9))
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: intervals_of(score, Certainty(ci=100)), "confidence level is 100"),
        (lambda: intervals_of(score, Certainty(resamples=5)), "resamples is 5"),
        (lambda: intervals_of(score, Certainty(block=0)), "block is 0"),
        (lambda: intervals_of(nobody), "so there are no intervals"),
    ]
    for call, sentence in calls:
        with pytest.raises(fm.InputError, match=sentence):
            call()


def test_a_pair_again_and_again_has_no_correlation() -> None:
    """Its photons don't vary: what is left of the variance is rounding, and no number."""
    truth = {"frame": [1, 2, 3], "x": [0.0] * 3, "y": [0.0] * 3, "photons": [1000.1, 1300.7, 900.3]}
    sums = fm.score(truth, dict(truth, photons=[905.3, 1250.9, 801.1])).sums
    again = Sums.from_table(7 * sums.table[[1]], sums.total.settings)
    assert np.isnan(evaluate_many(METRICS, again)["challenge.photon_correlation"]).all()


def test_a_stray_detection_makes_no_blocks() -> None:
    for ids in (True, False):
        truth, pred = blinking(1, 200, per_frame=3)
        if not ids:
            del truth["id"]
        stray = {name: np.append(column, 20_000 if name == "frame" else 50.0) for name, column in pred.items()}
        plain, more = (intervals_of(fm.score(truth, one)) for one in (pred, stray))
        assert (plain.blocks, plain.unit) == (more.blocks, more.unit)
        (a, b), (c, d) = (one.intervals["flat_metric.value"] or (0.0, 0.0) for one in (plain, more))
        assert d - c > 0.8 * (b - a)


def test_ids_that_number_the_rows_are_no_molecules() -> None:
    truth, pred = blinking(1, 1000, per_frame=3)
    rng = np.random.default_rng(0)
    rows = truth | {"id": np.arange(len(truth["x"])), "x": truth["x"] + rng.normal(0, 1e-3, len(truth["x"]))}
    without = {name: column for name, column in rows.items() if name != "id"}
    assert intervals_of(fm.score(rows, pred)).block == intervals_of(fm.score(without, pred)).block > 5


@pytest.mark.parametrize("far", [10**6, 10**9, 10**15])
@pytest.mark.parametrize("ids", [True, False])
def test_gaps_between_frames_cost_no_memory(far: int, ids: bool) -> None:
    truth: dict[str, Any] = {"frame": [1, 2, 3, 4, far], "x": [0.0] * 5, "y": [0.0] * 5}
    if ids:
        truth["id"] = [1, 1, 2, 2, 1]
    pred = dict(truth, x=[3.0, 1.0, 2.0, 5.0, 4.0])
    pred.pop("id", None)
    found = intervals_of(fm.score(truth, pred))
    assert found.blocks <= 5


def test_sparse_frames_stay_correlated_for_as_long() -> None:
    """The same frames ten times as far apart have blocks ten times as long."""
    rng = np.random.default_rng(2)
    on = np.repeat(rng.integers(1, 12, 50), 10)
    frame = np.repeat(np.arange(1, 501), on)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, len(frame)), "y": rng.uniform(0, 20_000, len(frame))}
    near = sampling_of(fm.score(truth, truth))
    apart = dict(truth, frame=10 * frame)
    far = sampling_of(fm.score(apart, apart))
    assert far.block == pytest.approx(10 * near.block, rel=0.05) and far.blocks == near.blocks
