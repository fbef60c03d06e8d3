"""Ranks that may be, structures not seen, and correlations over methods."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.correlations import _drawn_coefficients, _drawn_counts, interval_over_methods
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import kind_of, new_structures, rank
from tests.statistics.worlds import entries_of


def test_sets_of_ranks_hold_all_true_ranks_of_close_programs() -> None:
    held, trials, sharp = 0, 120, 0.0
    true = np.linspace(50, 53, 7)  # neighbours differ by one standard error
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        board = rank(entries_of(true + rng.normal(0, 0.35 * np.sqrt(300), (300, 7))), Certainty(resamples=500))
        spans = {s.program: s.rank_interval for s in board.overall}
        held += all(spans[f"p{k}"][0] <= k + 1 <= spans[f"p{k}"][1] for k in range(7))
        sharp += float(np.mean([high - low for low, high in spans.values()])) / trials
    assert held / trials >= 0.95 - 3 * (0.05 * 0.95 / trials) ** 0.5
    assert sharp < 5  # of at most 6: the sets say something


def test_replicates_judge_new_structures() -> None:
    """Structures differ by more than the frames of one of them: eight replicates cover the mean over all of them."""
    held, one_more, trials = 0, 0, 300
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        values = rng.normal(50, 4, 9)
        entries = [
            Entry(f"MT-r{k}", "p", {}, 1, np.arange(1, 4), np.full(3, value) + rng.normal(0, 0.5, 3), np.ones(3))
            for k, value in enumerate(values)
        ]
        kind = new_structures(entries[:8], [e.dataset for e in entries[:8]], ["p"], Certainty())
        low, high = kind.standings[0].flat_metric_interval
        held += low <= 50 <= high
        low, high = kind.standings[0].next_interval
        one_more += low <= values[8] <= high
    assert 0.92 <= held / trials <= 0.985 and 0.92 <= one_more / trials <= 0.985


def test_replicates_are_found_by_their_names() -> None:
    assert kind_of("a-r3") == kind_of("a-r12") == "a" != kind_of("a-rest")
    frames, ones = np.arange(1, 31), np.ones(30)
    sets = ("a-r1", "a-r2", "a-r3", "b", "c-r1")
    entries = [
        Entry(d, p, dict.fromkeys(LEADERBOARD), 1, frames, c * ones, ones)
        for d in sets
        for p, c in (("x", 5.0), ("y", 9.0))
    ]
    board = rank(entries)
    assert list(board.kinds) == ["a"] and board.kinds["a"].datasets == ("a-r1", "a-r2", "a-r3")
    assert [s.program for s in board.kinds["a"].standings] == ["x", "y"]


def test_methods_are_drawn_whole() -> None:
    rng = np.random.default_rng(0)
    values = np.column_stack([np.repeat(np.arange(5.0), 10)] * 2)
    seen: set[int] = set()

    def count(rows: np.ndarray) -> float:
        seen.add(len(rows))
        return float(len(set(rows[:, 0])))

    assert interval_over_methods(values, np.repeat(list("abcde"), 10).tolist(), count, 200, rng) is not None
    assert seen == {50}
    assert interval_over_methods(values[:40], list("abcd") * 10, count, 10, rng) is None


@pytest.mark.parametrize("programs", [1, 2])
def test_too_few_frames_tell_no_ranks(programs: int) -> None:
    board = rank(entries_of(np.full((1, programs), 5.0)))
    assert all(s.rank_interval == (1.0, float(programs)) for s in board.overall)


def test_of_very_many_programs_the_true_ranks_are_in_their_sets() -> None:
    """More than pairs and letters are made for; a quarter of them are clearly worse."""
    rng, many = np.random.default_rng(5), 210
    true = np.where(np.arange(many) % 4 == 0, 60.0, 40.0) + 0.001 * np.arange(many)
    shared = rng.normal(0, 3, 400)
    entries = [
        Entry(
            "d",
            f"p{k}",
            dict.fromkeys(LEADERBOARD),
            1,
            np.arange(400),
            true[k] + shared + rng.normal(0, 1, 400),
            np.ones(400),
        )
        for k in range(many)
    ]
    found = rank(entries)
    assert found.pairs == {"d": ()} and {standing.letters for standing in found.datasets["d"]} == {""}
    place = {f"p{k}": 1 + int((true < true[k]).sum()) for k in range(many)}
    for standing in found.datasets["d"]:
        low, high = standing.rank_interval
        assert low <= place[standing.program] <= high
        assert (low > 150) == (place[standing.program] > 157), "the two kinds are told apart"


@pytest.mark.parametrize("rows", [12, 60])
def test_correlations_of_draws_are_those_of_the_rows_drawn(rows: int) -> None:
    rng = np.random.default_rng(rows)
    values = np.column_stack([rng.integers(0, 4, rows), rng.normal(size=(rows, 2)), np.arange(rows) > 0])
    counts = _drawn_counts([f"m{k % 6}" for k in range(rows)], 40, rng)
    for kind, expected in (("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)):
        for found, own in zip(_drawn_coefficients(values, kind, counts, 1), counts, strict=True):
            drawn = np.repeat(values, own, axis=0)
            for a, b in itertools.combinations(range(4), 2):
                if np.ptp(drawn[:, a]) == 0 or np.ptp(drawn[:, b]) == 0:
                    assert np.isnan(found[a, b])
                else:
                    assert found[a, b] == pytest.approx(expected(drawn[:, a], drawn[:, b]).statistic, abs=1e-12)
