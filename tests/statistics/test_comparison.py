"""P-values that mean what they say, programs that can be told apart or not, and who leads for which lam."""

from __future__ import annotations

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.statistics.comparison import Comparison, compare_scores, lead_over, sign_flip_p
from flatmetric.statistics.ranking import compare_entries, entry_of
from tests.scenes import draw, scene


def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(5)
    p = [sign_flip_p(rng.normal(size=(40, 2)), 1, 400, rng)[0, 1] for _ in range(400)]
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) < 3 * np.sqrt(level * (1 - level) / 400) + 0.005


def compared(frames: int, *qualities: tuple[str, float, float]) -> Comparison:
    rng = np.random.default_rng(6)
    truth = draw(rng, frames)[0]
    scores = {}
    for name, quality, error in qualities:
        found = rng.random(len(truth["frame"])) < quality
        pred = {n: c[found] for n, c in truth.items()}
        pred["x"] = pred["x"] + rng.normal(0, error, found.sum())
        scores[name] = fm.score(truth, pred)
    return compare_scores(scores)


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
    assert compare_scores({"a": a, "b": b}).pairs[0].difference == pytest.approx(-125)


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


def test_a_leaderboard_compares_as_compare_does() -> None:
    truth, good = draw(np.random.default_rng(1), 80, 0.9, 15.0)
    _, poor = draw(np.random.default_rng(1), 80, 0.6, 40.0)
    # Every other frame is nearly empty: the number of molecules in a resample varies.
    sparse = []
    for rows in (truth, good, poor):
        kept = (rows["frame"] % 2 == 0) | (rows["x"] < 700)
        sparse.append({name: column[kept] for name, column in rows.items()})
    comparison = compare_scores({"good": fm.score(sparse[0], sparse[1]), "poor": fm.score(sparse[0], sparse[2])})
    entries = [entry_of("d", *entry) for entry in zip(comparison.names, comparison.scores, strict=True)]
    for ours, theirs in zip(compare_entries(entries)["d"], comparison.pairs, strict=True):
        assert (ours.a, ours.b, ours.p, ours.p_holm) == (theirs.a, theirs.b, theirs.p, theirs.p_holm)
        assert (ours.difference, *ours.ci) == pytest.approx((theirs.difference, *theirs.ci))


def test_programs_that_can_not_be_compared() -> None:
    score = fm.score(*scene())
    flat = fm.score(*scene(three_d=False))
    fewer = fm.score(*scene(), protocol=fm.Protocol(first_frame=3))
    for other, sentence in ((fewer, "not scored on the same true molecules"), (flat, "some have none; give dim=2")):
        with pytest.raises(fm.InputError, match=sentence):
            compare_scores({"a": score, "b": other})
