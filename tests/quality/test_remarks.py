"""Findings of several results: graded, said once, and about the right thing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.quality.findings import FINDINGS, Finding
from flatmetric.sentences import disagreements, doubts, gain_sentence
from flatmetric.statistics.comparison import compare_scores
from tests.challenges.board import found, truth_of
from tests.scenes import run

TRUTH = truth_of(1)


def moved(table: fm.Localizations, x: float, y: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x + x, y=table.y + y)


def results(shift: float) -> dict[str, fm.Localizations]:
    """Three programs whose results share a shift."""
    return {name: moved(found(TRUTH, 10 + k, 0.4, 20.0), shift, shift) for k, name in enumerate(("a", "b", "c"))}


def test_a_small_shift_that_all_share_is_one_note_about_the_truth(tmp_path: Path) -> None:
    for name, table in {"truth": TRUTH, **results(10.0)}.items():
        table.to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    out = run("compare", *(tmp_path / f"{name}.csv" for name in ("truth", "a", "b", "c")))
    said = [line for line in out.stderr.splitlines() if not line.startswith("assumed: ")]
    assert len(said) == 1 and said[0].startswith("note: all 3 results are shifted by x +10"), said
    assert said[0].endswith("look at the origin of the truth")
    assert "its file is" not in out.stdout and "don't reflect the program" not in out.stdout


def test_only_what_is_wrong_says_that_numbers_mean_nothing() -> None:
    right = found(TRUTH, 1, 0.9, 20.0)
    wrong = dataclasses.replace(right, x=right.y, y=right.x)
    with pytest.warns(fm.FindingWarning):
        compared = fm.compare(TRUTH, {"right": right, "moved": moved(right, 90.0, 0.0), "swapped": wrong})
    (doubt,) = doubts(compared)
    assert doubt.startswith("Fix swapped first: its file is wrong (x and y are exchanged)")
    grades = {name: [one.severity for one in own] for name, own in compared.remarks.own.items()}
    assert grades == {"right": [], "moved": ["worth fixing"], "swapped": ["wrong"]}


@pytest.mark.parametrize("kind", FINDINGS)
def test_every_kind_has_a_grade(kind: str) -> None:
    """Unit, axes and frames are wrong; a limit of the program or a remark on the rules is a note."""
    gross = {"no_frames", "no_overlap", "frame_offset", "shuffled_frames", "swapped_axes", "flipped_axis"}
    gross |= {"rotated_axes", "unit", "z_sign"}
    assert FINDINGS[kind].gross == (kind in gross)
    if FINDINGS[kind].is_limit or FINDINGS[kind].by_rules:
        estimate = {"border": 300.0, "share_of_missed": 0.5, "fov": (6400.0, 6400.0), "extent": (1.0, 1.0)}
        assert Finding(kind, estimate, 90.0, 10.0, 1.0).severity == "note"


def test_remarks_on_the_border_are_made_once_for_a_data_set() -> None:
    truth = truth_of(2)
    inside = {}
    for name, seed in (("a", 1), ("b", 2)):
        table = found(truth, seed, 0.95, 15.0, false=0)
        edge = np.minimum.reduce([table.x, 12_800 - table.x, table.y, 12_800 - table.y])
        inside[name] = table.select(edge > 700)
    compared = fm.compare(truth, inside)
    (remark,) = compared.remarks.shared
    assert "2 of 2 results have next to nothing within" in remark and "border=" in remark
    assert compared.remarks.own == {"a": (), "b": ()}
    score = compared.scores[0]
    assert "edge" in [one.kind for one in score.advice]  # what the program should do about it


def spread(table: fm.Localizations, error: float) -> fm.Localizations:
    away = np.random.default_rng(0).normal(0, error, (2, len(table)))
    return dataclasses.replace(table, x=table.x + away[0], y=table.y + away[1])


PLANTED = {
    "displaced molecules": spread(found(TRUTH, 1, 0.62, 20.0, false=0), 60.0),  # finds more, and less precisely
    "missed molecules": found(TRUTH, 1, 0.4, 2.0, false=0),  # more precise, and fewer
    "false detections": found(TRUTH, 1, 0.75, 20.0, false=900),  # finds more, and invents
}


@pytest.mark.parametrize("part", PLANTED)
def test_the_part_that_differs_most_is_named_and_not_the_largest(part: str) -> None:
    """The best misses many, which costs it most; what makes the other the worst is planted."""
    best = found(TRUTH, 1, 0.6, 20.0, false=0)
    scores = {name: fm.score(TRUTH, pred, check=False) for name, pred in (("best", best), ("worst", PLANTED[part]))}
    compared = compare_scores(scores)
    assert compared.names[0] == "best"
    assert any(f"the worst Flat Metric: {part} cost it" in text for text in disagreements(compared))


def test_where_the_file_is_wrong_advice_waits(tmp_path: Path) -> None:
    right = found(TRUTH, 1, 0.9, 20.0)
    for name, table in (("truth", TRUTH), ("px", dataclasses.replace(right, x=right.x / 100, y=right.y / 100))):
        table.to_pandas().to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "d" / "results").mkdir(parents=True)
    (tmp_path / "truth.csv").rename(tmp_path / "d" / "truth.csv")
    (tmp_path / "px.csv").rename(tmp_path / "d" / "results" / "px.csv")
    out = run("leaderboard", tmp_path, "--report", tmp_path / "pages")
    assert out.returncode == 0, out.stderr
    page = (tmp_path / "pages" / "programs" / "px.html").read_text()
    assert "Fix the file first: advice waits for that." in page and "Nothing stands out" not in page
    out = run("score", tmp_path / "d" / "truth.csv", tmp_path / "d" / "results" / "px.csv")
    assert "Nothing stands out" not in out.stdout and out.stderr.startswith("wrong: positions are 0.01 times")


def test_a_scale_that_is_worth_fixing_also_makes_advice_wait() -> None:
    right = found(TRUTH, 1, 0.9, 5.0)
    with pytest.warns(fm.FindingWarning, match="1.01 times"):
        score = fm.score(TRUTH, dataclasses.replace(right, x=right.x * 1.01, y=right.y * 1.01))
    assert [finding.kind for finding in score.findings] == ["scale"] and not score.advice
    assert gain_sentence(score) == "Fix the findings, then rerun: advice waits for that."
