"""Programs that can be told apart or not, however many there are, and who leads for which lam."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.comparison import Comparison, compare_entries, compare_scores, lead_over
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.simultaneous import compare_all
from flatmetric.statistics.variation import variation_of_blocks
from tests.scenes import draw, scene
from tests.statistics.worlds import blinking, entries_of


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
    equal, clear = by_pair[found.names[0], found.names[1]], by_pair[found.names[0], "worse"]
    assert not equal.significant and equal.p_adjusted > 0.05 and equal.ci_all is not None
    assert equal.ci_all[0] < 0 < equal.ci_all[1]
    assert clear.significant and clear.p_adjusted < 0.01 and clear.ci_all is not None and clear.ci_all[1] < 0
    assert clear.difference == pytest.approx(
        found.scores[0].flat_metric.value - found.scores[2].flat_metric.value  # type: ignore[operator]
    )
    for pair in found.pairs:
        assert pair.ci is not None and pair.ci_all is not None
        assert pair.p <= pair.p_adjusted <= 1 and pair.p <= pair.p_holm <= 1
        assert pair.ci_all[0] <= pair.ci[0] or pair.ci_all[0] == 0


def test_a_clear_difference_is_told_among_many_programs() -> None:
    """34 programs, 561 pairs: 20 nm with a standard error of 0.5 nm."""
    rng = np.random.default_rng(0)
    values = np.where(np.arange(34) == 33, 70.0, 50.0)
    costs = values + rng.normal(0, 0.5 * np.sqrt(3000 / 2), (3000, 34))
    pairs = compare_entries(entries_of(costs))["d"]
    assert len(pairs) == 561
    assert all(pair.significant == (pair.b == "p33") for pair in pairs)
    clear = next(pair for pair in pairs if pair.b == "p33")
    assert clear.p_smallest and clear.p_adjusted == pytest.approx(1 / 10_001) and clear.ci_all is not None
    assert clear.ci_all[1] - clear.ci_all[0] == pytest.approx(2 * 3.5 * 0.5, rel=0.25)


def test_all_flips_of_few_blocks_are_counted() -> None:
    """Eight blocks have 128 flips: the p-value of a difference that has one sign is exactly 1 / 128."""
    added = np.column_stack([np.ones(8), np.linspace(1.1, 1.2, 8)])
    rng = np.random.default_rng(0)
    pair = compare_all(added.sum(axis=0), variation_of_blocks(added), added, level=95.0, draws=1000, rng=rng)
    assert pair.p_adjusted[0] == 1 / 128 and pair.smallest[0]
    mixed = added * np.where(np.arange(8) == 0, -1, 1)[:, None]
    pair = compare_all(mixed.sum(axis=0), variation_of_blocks(mixed), mixed, level=95.0, draws=1000, rng=rng)
    assert pair.p_adjusted[0] > 1 / 128 and not pair.smallest[0]


@pytest.mark.parametrize("memory", [0.0, 0.9])
@pytest.mark.parametrize("equal", [8, 4])
def test_equal_programs_are_rarely_told_apart(memory: float, equal: int) -> None:
    """The share of data sets in which any pair of equal programs is told apart: at most 5 %."""
    wrong, trials = 0, 120
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        costs = rng.normal(0, 3, (600, 8))
        for at in range(1, len(costs)):
            costs[at] += memory * costs[at - 1]
        costs += 50 + np.maximum(np.arange(8) - equal + 1, 0)
        pairs = compare_entries(entries_of(costs), Certainty(resamples=500))["d"]
        wrong += any(pair.significant for pair in pairs if int(pair.a[1:]) < equal and int(pair.b[1:]) < equal)
    assert wrong / trials <= 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def test_equal_programs_on_few_blinking_molecules_are_rarely_told_apart() -> None:
    wrong, trials = 0, 40
    for seed in range(trials):
        truth, results = blinking(seed, 150, programs=5)
        entries = [entry_of("d", str(k), fm.score(truth, one, check=False)) for k, one in enumerate(results)]
        assert all(entry.of_molecules is not None for entry in entries)
        pairs = compare_entries(entries, Certainty(resamples=500))["d"]
        wrong += any(pair.significant for pair in pairs)
        assert all(pair.ci_all[0] <= pair.ci[0] for pair in pairs if pair.ci and pair.ci_all and not pair.significant)
    assert wrong / trials <= 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def test_frames_of_one_program_alone_are_compared_too() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    a = fm.score(truth, truth)
    b = fm.score(truth, {"frame": [1, 7], "x": [0.0, 5.0], "y": [0.0, 5.0]})
    assert compare_scores({"a": a, "b": b}).pairs[0].difference == pytest.approx(-125)


def test_one_frame_tells_nothing_apart() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    pair = compare_scores({"a": fm.score(truth, truth), "b": fm.score(truth, dict(truth, x=[90.0]))}).pairs[0]
    assert not pair.significant and pair.ci is None and pair.ci_all is None and pair.p == 1


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


@pytest.mark.parametrize("ids", [False, True])
def test_a_leaderboard_compares_as_compare_does(ids: bool) -> None:
    truth, (good, poor) = blinking(1, 80, programs=2, errors=(15.0, 40.0))
    if not ids:
        del truth["id"]
    comparison = compare_scores({"good": fm.score(truth, good), "poor": fm.score(truth, poor)})
    entries = [entry_of("d", *entry) for entry in zip(comparison.names, comparison.scores, strict=True)]
    assert compare_entries(entries)["d"] == comparison.pairs


def test_programs_that_can_not_be_compared() -> None:
    score = fm.score(*scene())
    flat = fm.score(*scene(three_d=False))
    fewer = fm.score(*scene(), protocol=fm.Protocol(first_frame=3))
    for other, sentence in ((fewer, "not scored on the same true molecules"), (flat, "some have none; give dim=2")):
        with pytest.raises(fm.InputError, match=sentence):
            compare_scores({"a": score, "b": other})


def test_copies_of_a_program_change_no_verdict() -> None:
    """The difference of equal programs is rounding, whose own error must not blow up the largest of all pairs."""
    for seed in range(4):
        truth, (good, poor) = blinking(seed, 150, per_frame=3, programs=2, errors=(20.0, 60.0))
        once = [entry_of("d", name, fm.score(truth, one)) for name, one in (("good", good), ("poor", poor))]
        copies = [dataclasses.replace(entry, program=f"{entry.program}{k}") for entry in once for k in range(3)]
        alone = compare_entries(once)["d"][0]
        pairs = {(pair.a, pair.b): pair for pair in compare_entries(copies)["d"]}
        assert alone.significant and pairs["good0", "poor0"].significant
        same = pairs["good0", "good1"]
        assert not same.significant and same.p_adjusted == 1 and same.ci_all == (0.0, 0.0)


@pytest.mark.parametrize(("blocks", "level"), [(3, 95.0), (5, 95.0), (8, 90.0), (30, 99.0)])
def test_intervals_of_all_pairs_hold_together_and_agree_with_the_tests(blocks: int, level: float) -> None:
    held, trials = 0, 300
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        added = rng.normal([0.0, 0.0, 0.3, 0.6], 0.2, (blocks, 4))
        settings = {"level": level, "draws": 400, "rng": rng}
        two = compare_all(added[:, :2].sum(axis=0), variation_of_blocks(added[:, :2]), added[:, :2], **settings)  # type: ignore[arg-type]
        assert two.low_all[0] <= two.low[0] or two.p_adjusted[0] < 1 - level / 100
        found = compare_all(added.sum(axis=0), variation_of_blocks(added), added, **settings)  # type: ignore[arg-type]
        true = blocks * (np.array([0.0, 0.0, 0.3, 0.6])[found.first] - np.array([0.0, 0.0, 0.3, 0.6])[found.second])
        held += bool(((found.low_all <= true) & (true <= found.high_all)).all())
        told = found.p_adjusted < 1 - level / 100
        assert ((found.low_all <= 0) & (found.high_all >= 0))[~told].all()
        assert ((found.low_all >= 0) | (found.high_all <= 0))[told].all()
        wider = (found.low_all <= found.low) & (found.high <= found.high_all)
        assert wider[~told].all()
    share = level / 100
    assert held / trials >= share - 3 * (share * (1 - share) / trials) ** 0.5


def test_scores_by_different_rules_are_not_compared() -> None:
    truth, pred = scene()
    other = fm.read({"frame": truth.frame, "x": truth.x + 3000, "y": truth.y, "z": truth.z})
    for wrong, words in (
        (fm.score(other, pred), "not scored on the same true"),
        (fm.score(truth, pred, lam=40), "lam"),
    ):
        with pytest.raises(fm.InputError, match=words):
            compare_scores({"a": fm.score(truth, pred), "b": wrong})
    with pytest.raises(fm.InputError, match="nothing to compare"):
        compare_scores({})


def test_a_comparison_says_what_its_pairs_rest_on() -> None:
    truth, (good, poor) = blinking(1, 80, programs=2)
    content = compare_scores({"a": fm.score(truth, good), "b": fm.score(truth, poor)}).to_dict()
    assert content["blocks"] == max(1, 80 // content["block"]) and content["unit"] == "molecules"
