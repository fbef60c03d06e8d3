"""`flatmetric leaderboard`: ranks, reasons, and a store that survives."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import flatmetric as fm
from flatmetric.challenges.store import FILE
from flatmetric.formats.write import write
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.comparison import Pair
from flatmetric.statistics.correlations import correlations
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import letters, rank
from tests.scenes import REAL_DATA, draw, run, wait_until

PROGRAMS = {"good": (0.95, 10.0), "fair": (0.8, 30.0), "poor": (0.5, 60.0)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for seed, dataset in enumerate(("one", "two")):
        (tmp_path / dataset / "results").mkdir(parents=True)
        for name, (quality, error) in PROGRAMS.items():
            truth, pred = draw(np.random.default_rng(seed), 60, quality, error)
            pd.DataFrame(truth).to_csv(tmp_path / dataset / "truth.csv", index=False)
            pd.DataFrame(pred).to_csv(tmp_path / dataset / "results" / f"{name}.csv", index=False)
    return tmp_path


def read_board(folder: Path) -> dict[str, list[dict[str, str]]]:
    with (folder / "leaderboard" / "leaderboard.csv").open(encoding="utf-8") as file:
        return {"rows": list(csv.DictReader(file))}


def stored(folder: Path) -> dict[str, str]:
    """The scores in the store by key; none before it is made."""
    if not (folder / "leaderboard" / FILE).is_file():
        return {}
    with closing(sqlite3.connect(folder / "leaderboard" / FILE)) as file:
        try:
            return dict(file.execute("SELECT key, content FROM scores"))
        except sqlite3.OperationalError:
            return {}


def test_programs_are_ranked_in_each_data_set_and_overall(folder: Path) -> None:
    out = run("leaderboard", folder)
    assert out.returncode == 0, out.stderr
    content = json.loads((folder / "leaderboard" / "leaderboard.json").read_text())
    assert [s["program"] for s in content["overall"]] == ["good", "fair", "poor"]
    assert all([s["program"] for s in places] == ["good", "fair", "poor"] for places in content["datasets"].values())
    assert content["overall"][0]["rank_interval"] == [1, 1]
    known = len(LEADERBOARD) - 1  # these results claim no uncertainty
    assert len(content["correlations"]) == 3 * known * (known - 1) // 2
    assert "| 1 | good | 1 | 1 to 1 |" in (folder / "leaderboard" / "leaderboard.md").read_text()


def test_pairs_over_replicates_keep_their_earlier_key(folder: Path) -> None:
    for number, old in enumerate(("one", "two"), 1):
        (folder / old).rename(folder / f"MT-r{number}")
    shutil.copytree(folder / "MT-r1", folder / "MT-r3")
    pairs = fm.leaderboard(folder).to_dict()["kinds"]["MT"]["pairs"]
    assert len(pairs) == 3 and all(pair["told"] is pair["significant"] for pair in pairs)


def test_a_second_run_scores_only_what_is_new(folder: Path) -> None:
    run("leaderboard", folder)
    before = stored(folder)
    first = (folder / "leaderboard" / "leaderboard.json").read_bytes()
    run("leaderboard", folder)
    assert stored(folder) == before
    assert (folder / "leaderboard" / "leaderboard.json").read_bytes() == first
    out = run("leaderboard", folder, "--lam", "60")
    assert out.returncode == 2 and "was made with other settings (lam); give another folder with --out" in out.stderr
    assert (folder / "leaderboard" / "leaderboard.json").read_bytes() == first
    run("leaderboard", folder, "--lam", "60", "--replace")  # other settings, other scores
    assert len(stored(folder)) == 2 * len(before)


def test_one_bad_file_is_a_row_with_its_reason(folder: Path) -> None:
    (folder / "one" / "results" / "broken.csv").write_text("nothing,of,use\n")
    assert run("leaderboard", folder).returncode == 0
    row, other = [row for row in read_board(folder)["rows"] if row["program"] == "broken"]
    assert "no column is known as x" in row["reason"] and row["place"] == ""
    assert other["reason"] == "no result was handed in"
    for name in ("second", "third", "fourth"):  # what is the same is said once
        (folder / "one" / "results" / f"{name}.csv").write_text("nothing,of,use\n")
    said = run("leaderboard", folder).stdout
    assert (
        said.count("no result was handed in") == 1 and "broken, fourth, second and 1 more: no result was handed" in said
    )


def test_names_of_the_challenge(folder: Path) -> None:
    result = folder / "one" / "results" / "good.csv"
    result.rename(folder / "one" / "one____2D____good____standard.csv")
    run("leaderboard", folder)
    assert {row["program"] for row in read_board(folder)["rows"]} == set(PROGRAMS)


def test_a_kill_leaves_the_store_whole(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "flatmetric", "leaderboard", str(folder)], stdout=subprocess.DEVNULL
    )
    wait_until(lambda: bool(stored(folder)), "the first score is stored")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert stored(folder)
    assert run("leaderboard", folder).returncode == 0
    assert len([row for row in read_board(folder)["rows"] if row["dataset"] != "overall"]) == 6


def test_correlations_are_those_of_scipy() -> None:
    entries = []
    for k in range(8):
        truth, pred = draw(np.random.default_rng(k), 20, 0.5 + 0.05 * k, 10 + 5 * ((7 * k) % 8))
        entries.append(entry_of("d", f"p{k}", fm.score(truth, pred)))
    found = {(c.a, c.b, c.kind): c for c in correlations(entries)}
    x = [entry.metrics["flat_metric"] for entry in entries]
    y = [entry.metrics["rmse_xy"] for entry in entries]
    expected = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for kind, function in expected.items():
        correlation = found["flat_metric", "rmse_xy", kind]
        assert correlation.value == pytest.approx(float(function(x, y)[0]))
        assert correlation.interval is not None and correlation.interval[0] <= correlation.interval[1]


def test_few_frames_say_nothing_about_ranks() -> None:
    truth, pred = draw(np.random.default_rng(0), 3)
    entries = [entry_of("d", "a", fm.score(truth, truth)), entry_of("d", "b", fm.score(truth, pred))]
    (first, _) = rank(entries).datasets["d"]
    assert first.rank == 1 and first.rank_interval[1] > 1.9


@pytest.mark.parametrize(("make", "sentence"), [("", "holds no DATASET"), ("file", "is not a folder")])
def test_wrong_folders(make: str, sentence: str, tmp_path: Path) -> None:
    place = tmp_path / "x"
    if make:
        place.write_text("")
    else:
        place.mkdir()
    out = run("leaderboard", place)
    assert out.returncode == 2 and sentence in out.stderr


def test_few_frames_leave_all_ranks_open() -> None:
    truth, good = draw(np.random.default_rng(0), 5, 0.9, 10.0)
    _, poor = draw(np.random.default_rng(0), 5, 0.5, 60.0)
    entries = [entry_of("d", name, fm.score(truth, found)) for name, found in (("good", good), ("poor", poor))]
    board = rank(entries)
    assert [s.rank_interval for s in board.datasets["d"]] == [(1.0, 2.0), (1.0, 2.0)]
    assert [s.rank_interval for s in board.overall] == [(1.0, 2.0), (1.0, 2.0)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(("--lam", "-1"), "lam is -1"), (("--resamples", "0"), "resamples is 0"), (("--seed", "-1"), "seed is -1")],
)
def test_wrong_options_stop_before_the_work(folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    out = run("leaderboard", folder, *arguments)
    assert out.returncode == 2 and out.stderr.count("\n") == 1 and sentence in out.stderr
    assert not (folder / "leaderboard").exists()


REAL = REAL_DATA / "gt-and-results"
SETS = ["nairr-2DGauss_LD", "nairr-2DAiry_HD", "nairr-2DAiry_MD", "nairr-3DAS_MD", "storm-analysis-test"]
SETS += ["storm-analysis-test_300x200"]


def faults_of(truth: fm.Localizations, pred: fm.Localizations) -> dict[str, tuple[fm.Localizations, str]]:
    """Wrong results by name, and the words that must be said of them."""
    change, rows = dataclasses.replace, np.arange(len(pred))
    swapped = change(pred, x=pred.y, y=pred.x)
    size = max(float(truth.x.max()), float(truth.y.max()))
    cut = pred.select(pred.frame <= (int(truth.frame.max()) + 1) // 2)
    return {
        "wrong-px": (change(pred, x=pred.x / 100, y=pred.y / 100), "they are not in nm"),
        "wrong-mirrored": (change(pred, y=size - pred.y), "y is mirrored"),
        "wrong-axes": (swapped, "x and y are exchanged"),
        "wrong-frames": (change(pred, frame=pred.frame + 1000), "frames are off by +1000"),
        "wrong-base": (change(pred, frame=pred.frame + 1), "frames are off by +1 "),
        "wrong-place": (change(pred, x=pred.x + 130.0, y=pred.y - 60.0), "everything is shifted"),
        "wrong-scale": (change(pred, x=pred.x * 1.04, y=pred.y * 1.04), "times the true ones (+4"),
        "doubled": (pred.select(np.repeat(rows, 2)), "rows repeat another"),
        "incomplete": (cut, "the result ends at frame"),
        "copied": (pred, "a copy of picasso-gausslq"),
    }


@pytest.mark.skipif(not REAL.is_dir(), reason="the real data sets are not beside this checkout")
def test_of_sixty_submissions_the_twenty_wrong_ones_are_suspect_and_no_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    expected: dict[tuple[str, str], str] = {}
    for at, name in enumerate(SETS):
        (tmp_path / name / "results").mkdir(parents=True)
        (tmp_path / name / "truth.csv").symlink_to(REAL / name / "gt.csv")
        truth, pred = fm.read(REAL / name / "gt.csv"), fm.read(REAL / name / "picasso-gausslq.csv")
        right = {path.stem: fm.read(path) for path in sorted(REAL.joinpath(name).glob("[pt]*.csv"))}
        other = right["trackpy"]
        for number in range(3 + (at < 4)):
            kept = other.select(rng.random(len(other)) < rng.uniform(0.7, 0.95))
            jitter = rng.normal(0, 8, (2, len(kept)))
            right[f"variant-{number}"] = dataclasses.replace(kept, x=kept.x + jitter[0], y=kept.y + jitter[1])
        planted = list(faults_of(truth, pred).items())
        for fault, (table, said) in planted[:5] if at % 3 == 0 else planted[5:] if at % 3 == 1 else []:
            right[fault] = table
            expected[name, fault] = said
        for program, table in right.items():
            write(table, tmp_path / name / "results" / f"{program}.csv", "thunderstorm")
    assert len(expected) == 20 and len(list(tmp_path.glob("*/results/*"))) == 60
    (tmp_path / SETS[0] / "results" / ".DS_Store").write_text("hidden")
    (tmp_path / SETS[0] / "results" / "notes.md").write_text("side")
    (tmp_path / "pictures").mkdir()
    out = run("leaderboard", tmp_path, "--dim", "2")
    assert out.returncode == 0, out.stderr
    rows = [row for row in read_board(tmp_path)["rows"] if row["dataset"] != "overall"]
    suspect = {(row["dataset"], row["program"]): row["suspect"] for row in rows if row["suspect"]}
    copied = {(name, "picasso-gausslq") for name, fault in expected if fault == "copied"}
    assert set(suspect) == set(expected) | copied
    for place, said in expected.items():
        assert said in suspect[place], (place, suspect[place])
    for said in (
        ".DS_Store: a hidden file",
        "notes.md: no table of localizations",
        "pictures: has no truth.* and no results",
    ):
        assert said in out.stdout


def test_letters_places_and_latex(folder: Path) -> None:
    board = fm.leaderboard(folder, latex=folder / "ranks.tex")
    text = (folder / "ranks.tex").read_text()
    assert text.count(r"\begin{tabular}") == 3 and r"1 & good$^{a}$ & " in text
    for places in board.ranking.datasets.values():
        assert [s.place for s in places] == [1, 2, 3]
        told = {frozenset((p.a, p.b)): p.significant for p in board.ranking.pairs["one"]}
        assert all(told.values()) and [s.letters for s in places] == ["a", "b", "c"]
    rows = read_board(folder)["rows"]
    assert [row["dataset"] for row in rows[:3]] == ["overall"] * 3 and rows[0]["mean_rank"] == "1.0"
    assert board.to_pandas()["program"].tolist() == [row["program"] for row in rows]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_letters_of_many_programs_hold_for_every_pair_and_take_no_time(share: float) -> None:
    """Sets of programs that don't differ can be more than there are seconds in a year; few of them are needed."""
    rng, names = np.random.default_rng(0), [f"p{k}" for k in range(120)]
    apart = [(a, b, bool(rng.random() < share)) for k, a in enumerate(names) for b in names[k + 1 :]]
    found = letters(names, [Pair(a, b, 1.0, None, 0.0, 0.0, 0.0, False, None, told) for a, b, told in apart])
    groups = {name: set(re.findall(r"[a-z]|\(\d+\)", marks)) for name, marks in found.items()}
    assert all(groups.values())
    assert all(bool(groups[a] & groups[b]) != told for a, b, told in apart)


def test_letters_of_a_chain() -> None:
    def pair(a: str, b: str, told: bool) -> Pair:
        return Pair(a, b, -1.0, None, 0.5, 0.5, 0.5, False, None, told)

    # a and b, b and c can't be told apart, a and c can: b shares a letter with both.
    chain = [pair("a", "b", False), pair("b", "c", False), pair("a", "c", True)]
    assert letters(["a", "b", "c"], chain) == {"a": "a", "b": "ab", "c": "b"}
    assert letters(["a", "b", "c"], [pair(p.a, p.b, False) for p in chain]) == dict.fromkeys("abc", "a")


def test_a_stop_says_that_it_goes_on_from_here(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "flatmetric", "leaderboard", str(folder)], stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (folder / "leaderboard" / FILE).is_file(), "it has begun")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0 or "run the same command again to go on from here" in said
