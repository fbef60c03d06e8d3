"""Intervals that are honest, p-values that mean what they say, and no solve repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.statistics.bootstrap import Bootstrap, block_length, confidence, resample_frames, resampled_metrics
from tests.scenes import RULES, draw, numbers, scene


@pytest.mark.parametrize("rules", RULES)
def test_the_sums_of_all_frames_give_the_score(rules: dict[str, Any]) -> None:
    score = fm.score(*scene(), **rules)
    found = resampled_metrics(score.sums.table.sum(axis=0)[None], score.sums)
    exact = numbers(score)
    assert len(found) >= 22
    for name, values in found.items():
        assert values[0] == pytest.approx(exact[name], rel=1e-9, abs=1e-9), name


def test_a_resample_is_a_score_of_its_frames() -> None:
    """Drawing whole frames again is the same as scoring a data set made of them."""
    truth, pred = scene(frames=6)
    sums = fm.score(truth, pred).sums
    drawn = [2, 2, 5, 1]
    parts = [(truth.select(truth.frame == f), pred.select(pred.frame == f)) for f in drawn]
    joined = [
        {"frame": np.repeat(np.arange(1, 5), [len(p[side]) for p in parts])}
        | {n: np.concatenate([getattr(p[side], n) for p in parts]) for n in ("x", "y", "z", "photons")}
        for side in (0, 1)
    ]
    exact = numbers(fm.score(joined[0], joined[1]))
    rows = np.searchsorted(sums.frame, drawn)
    found = resampled_metrics(sums.table[rows].sum(axis=0)[None], sums)
    for name in ("flat_metric.value", "flat_metric.frame_mean", "challenge.jaccard", "rmsmd.per_frame", "ospa.value"):
        assert found[name][0] == pytest.approx(exact[name]), name


@pytest.mark.parametrize("trials", [60, pytest.param(1000, marks=pytest.mark.prove)])
def test_intervals_cover_the_truth_as_often_as_they_say(trials: int) -> None:
    paths = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")
    rng = np.random.default_rng(0)
    long = numbers(fm.score(*draw(rng, 50_000)))
    hits = dict.fromkeys(paths, 0)
    for trial in range(trials):
        intervals = confidence(fm.score(*draw(rng, 60)), Bootstrap(resamples=400, seed=trial)).intervals
        for path in paths:
            interval = intervals[path]
            assert interval is not None
            hits[path] += interval[0] <= long[path] <= interval[1]  # type: ignore[operator]
    for path, count in hits.items():
        # Three standard errors of the share on either side, at a thousand trials 0.90 to 0.98.
        slack = 0.02 * (1000 / trials) ** 0.5
        assert 0.92 - slack <= count / trials <= 0.96 + slack, (path, count / trials)


def test_the_same_seed_gives_the_same_bits() -> None:
    score = fm.score(*scene(frames=30))
    assert confidence(score, Bootstrap(seed=3)) == confidence(score, Bootstrap(seed=3))
    assert confidence(score, Bootstrap(seed=3)).intervals != confidence(score, Bootstrap(seed=4)).intervals


def test_molecules_that_stay_on_make_blocks() -> None:
    rng = np.random.default_rng(2)
    assert block_length(fm.score(*draw(rng, 500)).sums) <= 2
    on = np.repeat(rng.integers(1, 12, 50), 10)  # the same number of molecules for ten frames
    frame = np.repeat(np.arange(1, 501), on)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, len(frame)), "y": rng.uniform(0, 20_000, len(frame))}
    found = rng.random(len(frame)) < 0.8
    pred = {name: column[found] for name, column in truth.items()}
    assert 5 <= block_length(fm.score(truth, pred).sums) <= 30


def test_blocks_keep_neighbours_together() -> None:
    table = np.arange(12.0)[:, None]
    totals = resample_frames([table], 12, 50, np.random.default_rng(0))[0]
    np.testing.assert_allclose(totals, 66)  # one block is everything, wherever it begins
    pair = resample_frames([table, 2 * table], 3, 50, np.random.default_rng(0))
    np.testing.assert_allclose(pair[1], 2 * pair[0])  # the same frames for both


def test_bad_arguments() -> None:
    score = fm.score(*scene())
    nobody = fm.score(*scene(), protocol=fm.Protocol(photon_threshold=1e9))
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: confidence(score, Bootstrap(level=100)), "confidence level is 100"),
        (lambda: confidence(score, Bootstrap(resamples=5)), "resamples is 5"),
        (lambda: confidence(score, Bootstrap(block=0)), "block is 0"),
        (lambda: confidence(nobody), "nothing to resample"),
    ]
    for call, sentence in calls:
        with pytest.raises(fm.InputError, match=sentence):
            call()


def test_a_pair_drawn_again_and_again_has_no_correlation() -> None:
    """Its photons don't vary: what is left of the variance is rounding, and no number."""
    truth = {"frame": [1, 2, 3], "x": [0.0] * 3, "y": [0.0] * 3, "photons": [1000.1, 1300.7, 900.3]}
    sums = fm.score(truth, dict(truth, photons=[905.3, 1250.9, 801.1])).sums
    assert np.isnan(resampled_metrics(7 * sums.table[[1]], sums)["challenge.photon_correlation"]).all()
