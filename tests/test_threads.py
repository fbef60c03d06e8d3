"""As many threads work as are asked for: in reading, scoring, curves and leaderboards."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric import _validation
from flatmetric.api.leaderboard import board_options
from flatmetric.challenge import leaderboard
from flatmetric.challenge.submissions import Found, Submission
from flatmetric.formats import text
from flatmetric.formats.write import write
from flatmetric.quality.checking import check_tables
from flatmetric.scoring.score import score as score_tables
from flatmetric.statistics.comparison import compare_scores, lead_over
from flatmetric.statistics.intervals import confidence
from tests.scenes import scene


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all pools of threads that are made; asking for the number of cores is an error."""
    sizes: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, workers: int) -> None:
            sizes.append(workers)
            super().__init__(workers)

    for module in (leaderboard, text):
        monkeypatch.setattr(module, "ThreadPoolExecutor", Counted)

    def cores(pid: int) -> Any:
        raise AssertionError("the number of threads was given, and the cores were counted")

    monkeypatch.setattr(os, "sched_getaffinity", cores)
    return sizes


def test_threads_are_honoured_everywhere(pools: list[int], tmp_path: Path) -> None:
    truth, pred = scene(frames=30)
    files = tmp_path / "truth.csv", tmp_path / "pred.csv"
    for path, table in zip(files, (truth, pred), strict=True):
        write(table, path, "thunderstorm")
    tables = [fm.read(path, threads=3) for path in files]
    score = fm.score(tables[0], tables[1], threads=3)
    confidence(score)
    comparison = compare_scores({"a": score, "b": fm.score(tables[0], tables[0], threads=3)})
    lead_over(comparison, 10, 250)
    check_tables(tables[0], tables[1], threads=3)
    assert pools and set(pools) == {3}


def test_a_leaderboard_fans_out_once(pools: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, pred = scene(frames=12)
    submissions = []
    write(truth, tmp_path / "truth.csv", "thunderstorm")
    for rows, name in enumerate("abcd", start=20):
        write(pred.select(np.arange(rows)), tmp_path / f"{name}.csv", "thunderstorm")
        submissions.append(Submission("one", name, tmp_path / "truth.csv", tmp_path / f"{name}.csv"))
    inside: list[int] = []

    def watched(*tables: Any, threads: int, **options: Any) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        inside.append(threads)
        return score_tables(*tables, threads=threads, **options)

    monkeypatch.setattr("flatmetric.api.score.score_tables", watched)
    found = Found(tuple(submissions), {})
    leaderboard.write_leaderboard(found, tmp_path / "board", board_options({"threads": 2}))
    assert inside == [1] * 4 and set(pools) == {1, 2}


def test_the_default_is_one_thread_for_each_core() -> None:
    assert _validation.thread_count(None) == len(os.sched_getaffinity(0))
