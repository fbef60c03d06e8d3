"""`flatmetric leaderboard`: ranks, reasons, and a store that survives."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import flatmetric as fm
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import correlations, rank
from tests.scenes import draw, run, wait_until

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


def test_a_second_run_scores_only_what_is_new(folder: Path) -> None:
    run("leaderboard", folder)
    store = folder / "leaderboard" / "store"
    before = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    first = (folder / "leaderboard" / "leaderboard.json").read_bytes()
    run("leaderboard", folder)
    assert {path: path.stat().st_mtime_ns for path in store.iterdir()} == before
    assert (folder / "leaderboard" / "leaderboard.json").read_bytes() == first
    out = run("leaderboard", folder, "--lam", "60")
    assert out.returncode == 2 and "was made with other settings (lam); give another folder with --out" in out.stderr
    assert (folder / "leaderboard" / "leaderboard.json").read_bytes() == first
    run("leaderboard", folder, "--lam", "60", "--replace")  # other settings, other scores
    assert len(list(store.iterdir())) == 2 * len(before)


def test_one_bad_file_is_a_row_with_its_reason(folder: Path) -> None:
    (folder / "one" / "results" / "broken.csv").write_text("nothing,of,use\n")
    assert run("leaderboard", folder).returncode == 0
    row, other = [row for row in read_board(folder)["rows"] if row["program"] == "broken"]
    assert "no column is known as x" in row["reason"] and row["place"] == ""
    assert other["reason"] == "no result was handed in"


def test_names_of_the_challenge(folder: Path) -> None:
    result = folder / "one" / "results" / "good.csv"
    result.rename(folder / "one" / "one____2D____good____standard.csv")
    run("leaderboard", folder)
    assert {row["program"] for row in read_board(folder)["rows"]} == set(PROGRAMS)


def test_a_kill_leaves_the_store_whole(folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "flatmetric", "leaderboard", str(folder)], stdout=subprocess.DEVNULL
    )
    store = folder / "leaderboard" / "store"
    wait_until(lambda: store.is_dir() and any(store.iterdir()), "the first score is stored")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for path in store.glob("[0-9a-f]*.json"):
        json.loads(path.read_text())
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
