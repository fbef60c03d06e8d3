"""The tables of docs/certainty.md are those of the last `make prove`, and no verdict misses its bar."""

from __future__ import annotations

import json

import pytest

from proofs import movies
from proofs.__main__ import BEGINS, ENDS, PAGE, RESULTS, Row, tables

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

ROWS = [Row(**row) for row in json.loads(RESULTS.read_text(encoding="utf-8"))]


def test_the_page_shows_the_last_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text[text.index(BEGINS) + len(BEGINS) : text.index(ENDS)].strip() == tables(ROWS)


def test_everything_that_is_owed_was_tried() -> None:
    tried = {row.what for row in ROWS}
    assert tried >= {scenario.title for scenario in (movies.SCENARIOS | movies.MARATHON).values()}
    assert {row.table for row in ROWS} >= {"Coverage", "New structures", "Equal programs told apart", "Ranks", "Power"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_no_share_misses_its_bar(row: Row) -> None:
    assert row.missed == []


@pytest.mark.parametrize("name", ["low-100", "high-100"])
def test_intervals_of_a_few_movies_cover(name: str) -> None:
    trials = [movies.trial((name, seed)) for seed in range(12)]
    true = sum(trial.values for trial in trials) / len(trials)
    held = [((t.spans[:, 0] <= true) & (true <= t.spans[:, 1])).mean() for t in trials]
    assert sum(held) / len(held) > 0.75
