"""Intervals that are honest, p-values that mean what they say, and no solve repeated."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.statistics import (
    Comparison,
    block_length,
    compare,
    confidence,
    frame_sums,
    lead_over,
    metrics_of,
    resampled,
    sign_flip_p,
)
from tests.test_scoring import RULES, numbers, scene


@pytest.mark.parametrize("rules", RULES)
def test_the_sums_of_all_frames_give_the_score(rules: dict[str, Any]) -> None:
    score = fm.score(*scene(), **rules)
    sums = frame_sums(score)
    found = metrics_of(sums.table.sum(axis=0)[None], sums)
    exact = numbers(score)
    assert len(found) >= 22
    for name, values in found.items():
        assert values[0] == pytest.approx(exact[name], rel=1e-9, abs=1e-9), name


def test_a_resample_is_a_score_of_its_frames() -> None:
    """Drawing whole frames again is the same as scoring a data set made of them."""
    truth, pred = scene(frames=6)
    sums = frame_sums(fm.score(truth, pred))
    drawn = [2, 2, 5, 1]
    parts = [(truth.select(truth.frame == f), pred.select(pred.frame == f)) for f in drawn]
    joined = [
        {"frame": np.repeat(np.arange(1, 5), [len(p[side]) for p in parts])}
        | {n: np.concatenate([getattr(p[side], n) for p in parts]) for n in ("x", "y", "z", "photons")}
        for side in (0, 1)
    ]
    exact = numbers(fm.score(joined[0], joined[1]))
    rows = np.searchsorted(sums.frame, drawn)
    found = metrics_of(sums.table[rows].sum(axis=0)[None], sums)
    for name in ("flat_metric.value", "flat_metric.frame_mean", "challenge.jaccard", "rmsmd.per_frame", "ospa.value"):
        assert found[name][0] == pytest.approx(exact[name]), name


def draw(rng: np.random.Generator, frames: int, quality: float = 0.8, error: float = 25.0) -> tuple[Any, Any]:
    """A simple world: molecules, each found with some probability and some error, frames independent."""
    counts = rng.poisson(6, frames) + 1
    frame = np.repeat(np.arange(1, frames + 1), counts)
    n = len(frame)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, n), "y": rng.uniform(0, 20_000, n)}
    found = rng.random(n) < quality
    pred = {
        "frame": frame[found],
        "x": truth["x"][found] + rng.normal(0, error, found.sum()),
        "y": truth["y"][found] + rng.normal(0, error, found.sum()),
    }
    return truth, pred


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    paths = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")
    rng = np.random.default_rng(0)
    long = numbers(fm.score(*draw(rng, 50_000)))
    trials, hits = 1000, dict.fromkeys(paths, 0)
    for trial in range(trials):
        intervals = confidence(fm.score(*draw(rng, 60)), resamples=400, seed=trial).intervals
        for path in paths:
            interval = intervals[path]
            assert interval is not None
            hits[path] += interval[0] <= long[path] <= interval[1]  # type: ignore[operator]
    for path, count in hits.items():
        assert 0.90 <= count / trials <= 0.98, (path, count / trials)


def test_the_same_seed_gives_the_same_bits() -> None:
    score = fm.score(*scene(frames=30))
    assert confidence(score, seed=3) == confidence(score, seed=3)
    assert confidence(score, seed=3).intervals != confidence(score, seed=4).intervals


def test_twenty_thousand_frames_take_under_a_second() -> None:
    score = fm.score(*draw(np.random.default_rng(1), 20_000))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        confidence(score)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1.0


def test_molecules_that_stay_on_make_blocks() -> None:
    rng = np.random.default_rng(2)
    assert block_length(frame_sums(fm.score(*draw(rng, 500)))) <= 2
    on = np.repeat(rng.integers(1, 12, 50), 10)  # the same number of molecules for ten frames
    frame = np.repeat(np.arange(1, 501), on)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, len(frame)), "y": rng.uniform(0, 20_000, len(frame))}
    found = rng.random(len(frame)) < 0.8
    pred = {name: column[found] for name, column in truth.items()}
    assert 5 <= block_length(frame_sums(fm.score(truth, pred))) <= 30


def test_blocks_keep_neighbours_together() -> None:
    table = np.arange(12.0)[:, None]
    totals = resampled([table], 12, 50, np.random.default_rng(0))[0]
    np.testing.assert_allclose(totals, 66)  # one block is everything, wherever it begins
    pair = resampled([table, 2 * table], 3, 50, np.random.default_rng(0))
    np.testing.assert_allclose(pair[1], 2 * pair[0])  # the same frames for both


def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(5)
    p = [sign_flip_p(rng.normal(size=40), 1, 400, rng) for _ in range(400)]
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) < 3 * np.sqrt(level * (1 - level) / 400) + 0.005


def compared(frames: int, *qualities: tuple[str, float, float]) -> Comparison:
    rng = np.random.default_rng(6)
    truth = draw(rng, frames)[0]
    entries = []
    for name, quality, error in qualities:
        found = rng.random(len(truth["frame"])) < quality
        pred = {n: c[found] for n, c in truth.items()}
        pred["x"] = pred["x"] + rng.normal(0, error, found.sum())
        entries.append((name, fm.score(truth, pred)))
    return compare(entries)


def test_better_programs_rank_first_and_equals_can_not_be_told_apart() -> None:
    found = compared(200, ("worse", 0.6, 40), ("good", 0.9, 20), ("as good", 0.9, 20))
    assert set(found.names[:2]) == {"good", "as good"} and found.names[2] == "worse"
    by_pair = {(p.a, p.b): p for p in found.pairs}
    equal = by_pair[found.names[0], found.names[1]]
    assert equal.p_holm > 0.05 and equal.ci[0] < 0 < equal.ci[1]
    clear = by_pair[found.names[0], "worse"]
    assert clear.p_holm < 0.01 and clear.ci[1] < 0
    assert clear.difference == pytest.approx(
        found.scores[0].flat_metric.value - found.scores[2].flat_metric.value  # type: ignore[operator]
    )
    assert all(pair.p <= pair.p_holm <= 1 for pair in found.pairs)


def test_frames_of_one_program_alone_are_compared_too() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    a = fm.score(truth, truth)
    b = fm.score(truth, {"frame": [1, 7], "x": [0.0, 5.0], "y": [0.0, 5.0]})
    assert compare([("a", a), ("b", b)]).pairs[0].difference == pytest.approx(-125)


def test_who_leads_for_which_lam() -> None:
    found = compared(50, ("precise", 0.6, 5), ("complete", 0.95, 60))
    lead = lead_over(found, 10, 250)
    assert sum(lead.share.values()) == pytest.approx(1)
    ((pair, places),) = lead.crossings.items()
    curves = {name: score.curve(250) for name, score in zip(found.names, found.scores, strict=True)}
    for lam in places:
        assert curves[pair[0]](lam) == pytest.approx(float(curves[pair[1]](lam)))
    dense = np.linspace(10, 250, 4001)
    first = curves["precise"](dense) < curves["complete"](dense)
    assert lead.share["precise"] == pytest.approx(first.mean(), abs=1e-3)


def test_bad_arguments() -> None:
    score = fm.score(*scene())
    for call, sentence in (
        (lambda: confidence(score, level=100), "confidence level is 100"),
        (lambda: confidence(score, resamples=5), "resamples is 5"),
        (lambda: confidence(score, block=0), "block is 0"),
        (lambda: compare([("a", score), ("a", score)]), "the same name"),
        (
            lambda: compare([("a", score), ("b", fm.score(*scene(), protocol=fm.Protocol(first_frame=3)))]),
            "not scored on the same true molecules",
        ),
        (lambda: confidence(fm.score(*scene(), protocol=fm.Protocol(photon_threshold=1e9))), "nothing to resample"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            call()
