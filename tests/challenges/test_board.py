"""A board of thirty teams, as a reader sees it: the winner first, every team a row, and what is wrong is marked."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric._files import write_columns
from flatmetric.challenges.drafts import letters_to_teams
from flatmetric.challenges.submissions import program_name
from flatmetric.options.scoring import Imaging
from flatmetric.scoring.too_good import closeness_of
from tests.challenges.board import (
    CHEATS,
    COPIES,
    DATASETS,
    GOOD,
    WORTH_FIXING,
    WRONG,
    found,
    make_board,
    truth_of,
)
from tests.scenes import REAL_DATA, run

BELOW = {*WRONG, "team06", "team17", "team18", "team19", "team20"}
"""Certainly wrong: besides gross mistakes the truth itself, what changes over the movie, and what is worse than an
empty file and has a finding.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_board(tmp_path_factory.mktemp("thirty"))


@pytest.fixture(scope="module")
def printed(folder: Path) -> list[str]:
    fixes, letters = folder.parent / "fixes.toml", folder.parent / "letters"
    out = run("leaderboard", folder, "--draft-fixes", fixes, "--letters", letters, "--report", folder.parent / "pages")
    assert out.returncode == 0, out.stderr
    assert out.stderr == ""
    return out.stdout.splitlines()


@pytest.fixture(scope="module")
def board(folder: Path, printed: list[str]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "leaderboard" / "leaderboard.json").read_text())
    return content


def with_scores(folder: Path, name: str) -> Path:
    """A folder for another leaderboard of the same results, which are not scored again."""
    out = folder.parent / name
    out.mkdir()
    shutil.copy(folder / "leaderboard" / "scores.sqlite", out)
    return out


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "leaderboard" / "leaderboard.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["dataset"] == "one"]


def test_the_winner_comes_first_and_what_looks_wrong_is_one_line(printed: list[str]) -> None:
    assert printed[0] == "Best of the 14 programs with a rank in every data set: team07 (suspect)"
    assert printed[1] == "one: team07 (suspect: too precise) leads with 12.7 nm."
    assert printed[4].startswith("Overall") and printed[6].startswith("1      team07")
    wrong = [k for k, line in enumerate(printed) if "results look wrong" in line]
    table = next(k for k, line in enumerate(printed) if line == "two")
    assert len(wrong) == 1 and wrong[0] > table
    assert re.match(r"36 of 54 results look wrong; .*leaderboard\.md has the reasons\.", printed[wrong[0]])


def test_every_team_has_a_row(folder: Path, printed: list[str]) -> None:
    names = {row["program"] for row in rows_of(folder)}
    numbered = {f"team{k:02}" for k in range(1, 31)} - {"team24"}
    assert names == numbered | {"team24.csv", "team24.txt", "archive"}
    reasons = {row["program"]: row["reason"] for row in rows_of(folder)}
    assert reasons["team24.csv"] == "2 results are called team24; keep one, or rename them"
    assert reasons["team25"].endswith("team25.json: is JSON, which holds no table; give a localization file")
    assert 'the folder has 2 tables (first.csv, second.csv); keep one, or say which: member = "' in reasons["team26"]
    assert "the folder has no table" in reasons["team27"]
    assert reasons["team28"] == reasons["archive"] == ""


def test_each_mistake_has_its_mark_and_good_results_have_none(folder: Path, printed: list[str]) -> None:
    suspect = {row["program"]: row["suspect"] for row in rows_of(folder)}
    for team in (*GOOD, "team28", "team29", "team30", "archive"):
        assert suspect[team] == "", team
    table = next(k for k, line in enumerate(printed) if line == "one")
    shown = {line.split()[1]: line for line in printed[table + 2 :] if re.match(r"(\d+|below) +team", line)}
    for team, mark in (WRONG | WORTH_FIXING | CHEATS).items():
        assert mark in shown[team], shown[team]
    for team in COPIES:
        others = [other for other in COPIES if other != team]
        assert f"copy of {others[0]} and 1 more" in shown[team]
        assert all(other in suspect[team] for other in others)
    assert "identical to the truth: 100 % of its detections lie on a true molecule" in suspect["team06"]
    assert "more precise than light allows: its median error is 0.59 nm, the Cramer-Rao bound" in suspect["team07"]


def test_what_is_certainly_wrong_is_below_the_line_and_spoils_nothing(board: dict[str, Any], folder: Path) -> None:
    assert {(one["dataset"], one["program"]) for one in board["left_out"]} == {(d, t) for d in DATASETS for t in BELOW}
    for dataset in DATASETS:
        places = {one["program"]: one for one in board["datasets"][dataset]}
        assert not BELOW & set(places)
        good = [places[team] for team in GOOD]
        assert [one["rank"] for one in good] == sorted(one["rank"] for one in good)
        assert places["team01"]["rank_interval"] == [2.0, 2.0]
        low, high = places["team01"]["flat_metric_interval"]
        assert high - low < 10
    without = with_scores(folder, "without")
    words = [word for team in sorted({*BELOW, "team07"}) for word in ("--exclude", team)]
    out = run("leaderboard", folder, "--out", without, *words)
    assert out.stdout.startswith("Best of the 13 programs with a rank in every data set: team01\n")
    again = json.loads((without / "leaderboard.json").read_text())["datasets"]["one"]
    for one in again:
        before = next(other for other in board["datasets"]["one"] if other["program"] == one["program"])
        assert one["flat_metric_interval"] == pytest.approx(before["flat_metric_interval"], rel=0.2)


@pytest.mark.usefixtures("printed")
def test_suspects_can_be_ranked_or_left_out(folder: Path) -> None:
    for option, expected in (("--include-suspect", 27), ("--exclude-suspect", 12)):
        out = with_scores(folder, option.strip("-"))
        assert run("leaderboard", folder, "--out", out, option).returncode == 0
        content = json.loads((out / "leaderboard.json").read_text())
        assert len(content["datasets"]["one"]) == expected, option


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--exclude", "nobody"), "--exclude is 'nobody', which has no result here"),
        (("--exclude-suspect", "--include-suspect"), "contradict each other; give one"),
    ],
)
def test_wrong_choices_are_one_sentence(folder: Path, words: tuple[str, ...], sentence: str) -> None:
    out = run("leaderboard", folder, *words)
    assert out.returncode == 2 and sentence in out.stderr and out.stderr.count("\n") == 1
    out = run("leaderboard", folder, "--report", folder)
    assert out.returncode == 2 and "--report is the folder of the data sets" in out.stderr


def test_results_without_depths_are_not_ranked_among_those_that_have_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    flat = truth_of(6)
    truth = dataclasses.replace(flat, z=rng.uniform(-400, 400, len(flat)))
    (tmp_path / "d" / "results").mkdir(parents=True)
    truth.to_pandas().to_csv(tmp_path / "d" / "truth.csv", index=False)
    for k, name in enumerate(("deep", "deeper", "flat")):
        table = found(flat, k, 1.0, 20.0, false=0)
        if name != "flat":
            table = dataclasses.replace(table, z=truth.z)
        table.to_pandas().to_csv(tmp_path / "d" / "results" / f"{name}.csv", index=False)
    (tmp_path / "d" / "results" / "empty.csv").write_text("frame,x,y\n")
    out = run("leaderboard", tmp_path, "--report", tmp_path / "pages")
    assert out.returncode == 0, out.stderr
    assert re.search(r"below +flat .* no depths, others have them \(--dim 2 ranks all\)", out.stdout), out.stdout
    assert re.search(r"3 +empty .* no detection", out.stdout)
    assert "Best of the 3 programs" in run("leaderboard", tmp_path).stdout
    assert "4" in run("leaderboard", tmp_path, "--dim", "2", "--out", tmp_path / "flat").stdout.splitlines()[0]


def test_a_truth_without_ids_is_named_on_the_board(tmp_path: Path) -> None:
    rng, remarks = np.random.default_rng(0), {}
    columns = {
        "frame": np.repeat(np.arange(1, 201), 5),
        "x": rng.uniform(0, 6400, 1000),
        "y": rng.uniform(0, 6400, 1000),
    }
    for name, ids in (("with", {"id": np.repeat(np.arange(500), 2)}), ("without", {})):
        (tmp_path / name / "results").mkdir(parents=True)
        write_columns(columns | ids, tmp_path / name / "truth.csv")
        write_columns(columns | {"x": columns["x"] + 20 * rng.normal(size=1000)}, tmp_path / name / "results/a.csv")
    for _ in range(2):  # scored, and as stored
        board = fm.leaderboard(tmp_path)
        remarks = board.suspects.shared
        assert list(remarks) == ["without"] and remarks["without"][-1].startswith("the truth has no ids of molecules")


def test_dots_are_parts_of_names() -> None:
    names = ["fit v1.2.csv", "fit v1.3.csv", "J. Doe.hdf5", "a.b [x].csv.gz", "plain"]
    assert [program_name(Path(name)) for name in names] == ["fit v1.2", "fit v1.3", "J. Doe", "a.b [x]", "plain"]


def test_a_drift_around_the_middle_is_found() -> None:
    truth = truth_of(5)
    right = found(truth, 5, 0.85, 15.0)
    time = right.frame / right.frame.max() - 0.5
    finding = fm.check(truth, dataclasses.replace(right, x=right.x + 120 * time))[0]
    assert finding.kind == "drift" and finding.estimate["x"] == pytest.approx(120, abs=12)


def test_detections_outside_the_movie_are_many_units() -> None:
    truth = truth_of(3)
    late = found(truth, 3, 0.85, 22.0)
    moved = dataclasses.replace(late, frame=late.frame + 1000)
    with pytest.warns(fm.FindingWarning):
        interval = fm.score(truth, moved, ci=95).intervals
    assert interval is not None
    low, high = interval.intervals["flat_metric.value"] or (0.0, np.inf)
    assert 200 < low < high < 270  # 89 to 382 where frames outside set the block length


def test_drafted_fixes_are_toml_that_works(folder: Path, printed: list[str]) -> None:
    text = (folder.parent / "fixes.toml").read_text(encoding="utf-8")
    drafted = tomllib.loads(text)
    assert drafted["one/results/team08.txt"] == {"unit": "px", "pixel_size": 100.0}
    assert drafted["one/results/archive.zip"] == {"member": "final.csv"}
    assert "# team16 in one, worth fixing: everything is shifted by x +90.1" in text
    assert re.search(r"# team12 in two, wrong: frames are off by \+1000 \(Flat Metric \d+\.\d to \d+\.\d nm\)", text)
    own = (folder / "submissions.toml").read_text()
    try:
        (folder / "submissions.toml").write_text(text)
        out = with_scores(folder, "fixed")
        assert run("leaderboard", folder, "--out", out).returncode == 0
        content = json.loads((out / "leaderboard.json").read_text())
    finally:
        (folder / "submissions.toml").write_text(own)
    ranked = {one["program"]: one["flat_metric"] for one in content["datasets"]["one"]}
    assert all(ranked[team] == pytest.approx(46.9, abs=0.3) for team in ("team08", "team09", "team10", "team12"))


def test_no_escape_is_printed_where_it_would_be_copied(printed: list[str], folder: Path) -> None:
    assert not [line for line in printed if "\\[" in line or "\\_" in line]
    assert "shift = \\[-90" in (folder / "leaderboard" / "leaderboard.md").read_text()


def test_pixel_sizes_of_a_team_agree_across_data_sets(tmp_path: Path) -> None:
    for seed, dataset in enumerate(DATASETS):
        truth = truth_of(seed)
        (tmp_path / dataset / "results").mkdir(parents=True)
        truth.to_pandas().to_csv(tmp_path / dataset / "truth.csv", index=False)
        size = 106.9 if seed else 107.1  # measured, not known
        result = found(truth, seed, 0.85, 22.0)
        pixels = dataclasses.replace(result, x=result.x / size, y=result.y / size)
        pixels.to_pandas().to_csv(tmp_path / dataset / "results" / "team.csv", index=False)
        result.to_pandas().to_csv(tmp_path / dataset / "results" / "good.csv", index=False)
    board = fm.leaderboard(tmp_path, draft_fixes=tmp_path / "fixes.toml")
    drafted = tomllib.loads((tmp_path / "fixes.toml").read_text())
    sizes = [options["pixel_size"] for options in drafted.values()]
    assert sizes[0] == sizes[1] == pytest.approx(107.0, abs=0.05), board.suspect


def test_letters_say_what_to_correct_and_nothing_about_molecules(folder: Path, printed: list[str]) -> None:
    letters = {path.stem: path.read_text() for path in (folder.parent / "letters").iterdir()}
    assert "one: place 3 of 14, Flat Metric 39 nm (37 to 40)." in letters["team02"]
    assert "wrong: x and y are exchanged" in letters["team10"]
    assert "not scored, 2 results are called team24" in letters["team24.csv"]
    assert str(folder) not in "".join(letters.values())
    assert "note: another team has handed in the same result" in letters["team22"]
    assert "worth fixing: all positions are shifted\n" in letters["team16"]
    assert "wrong: it holds the true positions" in letters["team06"] and "is JSON" in letters["team25"]
    assert "team21" not in letters["team22"]  # teams are not told on
    truth = truth_of(0)
    for text in letters.values():
        numbers = [float(number) for number in re.findall(r"\d+\.\d+", text)]
        assert not [n for n in numbers if np.abs(truth.x - n).min() < 1e-3 or np.abs(truth.y - n).min() < 1e-3]


@pytest.mark.usefixtures("printed")
def test_a_redacted_board_has_ranks_and_nothing_else(folder: Path) -> None:
    pages = folder.parent / "redacted"
    assert run("leaderboard", folder, "--report", pages, "--redacted").returncode == 0
    assert sorted(path.name for path in pages.iterdir()) == ["index.html", "programs"]
    index = (pages / "index.html").read_text()
    one = (pages / "programs" / "team02.html").read_text()
    assert "one: team07 leads with 12.0 nm" in index and "too precise" not in index and "--redacted" not in index
    assert not re.search(r'"(value|difference)":-?\d\.\d{4}', index)
    assert "id='frames'" not in one and "id='next'" not in one and "Place 3 of 14 overall; place 3 of 14 in one" in one
    board = fm.leaderboard(folder, out=with_scores(folder, "again")).redacted()
    for entry in board.entries:
        assert len(entry.frames) == 1 and entry.advice == () and entry.findings == () and entry.sample == ()
        assert all(value is None or value == float(f"{value:.2g}") for value in entry.metrics.values())
    with pytest.raises(fm.InputError, match="no source files"):
        board.scores("one", ["team01"])
    out = run("leaderboard", folder, "--redacted")
    assert out.returncode == 2 and "--redacted needs a report" in out.stderr
    assert letters_to_teams(board)  # of what is left


def test_a_submission_can_be_held_against_the_truth(folder: Path) -> None:
    results = folder / "one" / "results"
    out = run("validate", results / "team10.txt", results / "team01.csv", "--against", folder / "one" / "truth.csv")
    assert out.returncode == 1
    assert "- wrong: x and y are exchanged" in out.stdout
    assert "team01.csv: a proper submission" in out.stdout


def honest() -> list[tuple[Path, Path]]:
    places = sorted((REAL_DATA / "gt-and-results").iterdir()) if REAL_DATA.is_dir() else []
    return [(place / "gt.csv", file) for place in places for file in sorted(place.glob("[pt]*-*.csv"))[:1]]


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="the real data sets are not beside this checkout")
def test_no_honest_result_is_too_good() -> None:
    pairs = honest()
    assert len(pairs) > 8
    for truth, result in pairs:
        close = closeness_of(fm.score(truth, result, check=False))
        assert close.exact < 0.1, result
        assert close.error is None or close.least is None or close.error > 2 * close.least, result


def test_known_spots_and_background_sharpen_the_bound() -> None:
    truth = truth_of(4)
    near = found(truth, 4, 0.9, 2.0, false=0)
    plain = closeness_of(fm.score(truth, near))
    known = closeness_of(fm.score(truth, near, bound=Imaging(pixel_size=100.0, sigma=130.0, background=100.0)))
    assert plain.error == known.error and plain.least is not None and known.least is not None
    assert plain.least < 2.5 < 8.0 < known.least


def test_results_averaged_over_the_frames_of_a_molecule_are_not_too_good() -> None:
    """A program that links and averages has all photons of a molecule, and writes one place for all its frames."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 6400, (2, 60))
    frame, who = np.tile(np.arange(1, 31), 60), np.repeat(np.arange(60), 30)
    truth = {"frame": frame, "x": x[who], "y": y[who], "photons": np.full(1800, 1000.0)}
    error = rng.normal(0, 100 / np.sqrt(30_000), (2, 60))
    close = closeness_of(fm.score(truth, dict(truth, x=(x + error[0])[who], y=(y + error[1])[who])))
    assert close.error is not None and close.least is not None and close.error > close.least
    apart = rng.normal(0, 0.5, (2, 1800))
    close = closeness_of(fm.score(truth, dict(truth, x=x[who] + apart[0], y=y[who] + apart[1])))
    assert close.error is not None and close.least is not None and close.error < 0.5 * close.least
