"""As many threads work as are asked for: in reading, scoring, curves and leaderboards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric import _core, _validation
from flatmetric.challenges import leaderboard
from flatmetric.challenges.submissions import Submission, Submissions
from flatmetric.execution import workers as execution
from flatmetric.formats import text
from flatmetric.formats.write import write
from flatmetric.options.execution import Execution
from flatmetric.options.ranking import RankOptions
from flatmetric.quality.checking import check_tables
from flatmetric.scoring.score import score_tables
from flatmetric.statistics.comparison import compare_scores, lead_over
from flatmetric.statistics.intervals import intervals_of
from tests.scenes import scene


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all pools of threads that are made; asking for the number of cores is an error."""
    sizes: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, workers: int) -> None:
            sizes.append(workers)
            super().__init__(workers)

    for module in (execution, text):
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
    intervals_of(score)
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

    monkeypatch.setattr("flatmetric.scoring.checked.score_tables", watched)
    found = Submissions(tuple(submissions), {})
    leaderboard.write_leaderboard(found, tmp_path / "board", RankOptions(execution=Execution(jobs=2)))
    assert inside == [1] * 4 and set(pools) == {1, 2}


def test_the_default_is_one_thread_for_each_core() -> None:
    assert _validation.thread_count(None) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("kind", ["easy", "hard", "weighted", "frames"])
def test_any_number_of_threads_gives_the_same_bits(kind: str) -> None:
    """One frame of many tiles, which threads share, and large frames among small ones."""
    rng = np.random.default_rng(5)
    n = 70_000
    truth = rng.uniform(0, 12_000, (n, 2))
    if kind == "hard":  # bursts along lines that cross all borders of tiles: too many for too few partners nearby
        sites = rng.uniform(0, 1, (60, 2, 2)) * 6000
        along = rng.uniform(0, 1, (2, n // 10, 1))
        truth, pred = (
            np.repeat(pick[:, 0] * (1 - t) + pick[:, 1] * t, 10, axis=0) + rng.normal(0, 12, (n, 2))
            for pick, t in ((sites[rng.integers(60, size=n // 10)], part) for part in along)
        )
        pred = pred[: n * 8 // 10]
    else:
        pred = truth[: n * 9 // 10] + rng.normal(0, 20, (n * 9 // 10, 2))
    masses: list[Any] = [rng.lognormal(size=len(side)) if kind == "weighted" else None for side in (truth, pred)]
    frames: list[Any] = [None, None]
    if kind == "frames":
        frames = [np.sort(np.minimum(rng.integers(0, 60, len(side)), 20)) for side in (truth, pred)]
    solutions = [
        _core.solve(truth, pred, masses[0], masses[1], frames[0], frames[1], 60.0, 1.0, _core.Method.automatic, threads)
        for threads in (1, 2, 3, 16)
    ]
    assert (solutions[0].by_simplex > 0) == (kind == "hard")
    for solution in solutions:
        assert solution.lower_bound == pytest.approx(solution.displaced + solution.missed + solution.false, rel=1e-12)
        for name in ("displaced", "missed", "false", "lower_bound", "by_simplex"):
            assert getattr(solution, name) == getattr(solutions[0], name)
        for name in ("pair_truth", "pair_pred", "pair_mass", "pair_distance", "truth_potential", "pred_potential"):
            np.testing.assert_array_equal(getattr(solution, name), getattr(solutions[0], name))


KEPT = """
import resource
import numpy as np
import flatmetric as fm

def solve(points):
    frames = np.arange(len(points)) // 100 + 1
    return fm.flat_metric(points, points + 1.0, lam=10.0, truth_frames=frames, pred_frames=frames, threads=1)

points = np.random.default_rng(0).uniform(0, 1e5, (1_500_000, 2))
solve(points)
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + 100_000_000
resource.setrlimit(resource.RLIMIT_AS, (room, room))
solve(points[:1_100_000])
print("solved")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits and sizes of a process as Linux has them")
def test_buffers_that_are_kept_for_the_next_call_are_given_back_where_memory_is_short() -> None:
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=False)
    assert done.stdout == "solved\n", done.stderr
