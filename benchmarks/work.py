"""Many tasks: how work scales with worker processes, what a task costs, and how long large boards take."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

import flatmetric as fm
from benchmarks.tables import publish, written
from flatmetric._files import json_text
from flatmetric.execution.cluster import DaskExecutor, dask_cluster
from flatmetric.execution.workers import Workers
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import CellCosts, Entry
from flatmetric.statistics.ranking import rank
from flatmetric.statistics.variation import Cells
from tests.scenes import draw

_RESULTS_SCORED = 2000
_RUNS = 40
_EMPTY_TASKS = 2000


@contextmanager
def workers(count: int) -> Iterator[tuple[str, DaskExecutor]]:
    """A Dask cluster of so many worker processes on this machine: its address, and the executor."""
    from distributed import LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as local,
        dask_cluster(local.scheduler_address, []) as executor,
    ):
        yield local.scheduler_address, executor


def seconds_of(work: object) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def results_folder(place: Path, programs: int) -> Path:
    """One data set with so many results of about 1000 rows."""
    (place / "one" / "results").mkdir(parents=True)
    truth, _ = draw(np.random.default_rng(0), 100)
    pd.DataFrame(truth).to_csv(place / "one" / "truth.csv", index=False)
    for k in range(programs):
        _, pred = draw(np.random.default_rng(0), 100, 0.95 - 0.5 * k / programs, 10 + 40 * k / programs)
        pd.DataFrame(pred).to_csv(place / "one" / "results" / f"p{k}.csv", index=False)
    return place


def scoring(place: Path) -> list[float]:
    """Seconds to score all results: one after another, and by 1 and 2 worker processes."""
    folder = results_folder(place / "scoring", _RESULTS_SCORED)
    taken = [seconds_of(lambda: fm.leaderboard(folder, jobs=1, out=folder / "out-0", check=False))]
    for count in (1, 2):
        with workers(count) as (_, executor):
            small, _ = draw(np.random.default_rng(0), 3)
            Workers(executor=executor).run(fm.score, [(small, small)] * 8)  # imports on the workers
            target = folder / f"out-{count}"
            taken.append(seconds_of(lambda: fm.leaderboard(folder, executor=executor, out=target, check=False)))  # noqa: B023
    return taken


def challenge(place: Path) -> list[float]:
    """The same for a challenge of 40 short runs of programs."""
    words = ["--dataset", "MT4.N2.HD", "--replicates", "10", "--frames", "40", "--tune", "0"]
    for name in ("dog", "trackpy", "daofind", "log"):
        words += ["--participant", name]

    def run(out: str, *more: str) -> float:
        command = [sys.executable, "-m", "flatmetric", "challenge", "run", "--out", str(place / out), *words, *more]
        return seconds_of(lambda: subprocess.run(command, check=True, capture_output=True))

    taken = [run("challenge-0", "--jobs", "1")]
    for count in (1, 2):
        with workers(count) as (address, _):
            taken.append(run(f"challenge-{count}", "--scheduler", address))
    return taken


def overheads() -> dict[str, float]:
    """Milliseconds that a task takes which does nothing, by who does it."""
    tasks = [(2, 3)] * _EMPTY_TASKS
    found = {
        "threads of this process": seconds_of(lambda: Workers(2).run(pow, tasks)),
        "processes of this machine": seconds_of(lambda: Workers(2, kind="processes").run(pow, tasks)),
    }
    with workers(2) as (_, executor):
        remote = Workers(executor=executor)
        remote.run(pow, tasks[:50])
        found["a Dask cluster"] = seconds_of(lambda: remote.run(pow, tasks))
    return {who: 1000 * seconds / _EMPTY_TASKS for who, seconds in found.items()}


def board_entries(programs: int, datasets: int) -> list[Entry]:
    """Made-up entries: 3559 molecules in their stretches and 300 frames of each data set, as of a short movie."""
    rng, stretches, frames = np.random.default_rng(0), 20, np.arange(1, 301)
    entries = []
    for dataset in range(datasets):
        key = np.sort(rng.choice(700 * stretches, 3559, replace=False))
        truths = rng.integers(1, 6, len(key)).astype(np.float64)
        cells = Cells(key // stretches, key % stretches, truths, stretches)
        base, per_frame = rng.gamma(2, 20, len(key)) * truths, rng.integers(20, 40, 300).astype(np.float64)
        for program in range(programs):
            quality = 1 + program / programs + rng.normal(0, 0.02)
            metrics: dict[str, float | None] = {name: 10 * quality + float(rng.normal()) for name in LEADERBOARD}
            costs = CellCosts(cells, base * quality * rng.lognormal(0, 0.3, len(key)), truths, np.zeros(stretches))
            of_frames = 40 * quality * rng.gamma(50, 1, 300)
            entries.append(Entry(f"d{dataset}", f"p{program}", metrics, 10, frames, of_frames, per_frame, costs))
    return entries


def large_board() -> tuple[float, float]:
    """Seconds and peak memory (GB) of the ranks and correlations of 2000 programs on 10 data sets."""
    entries = board_entries(2000, 10)
    return seconds_of(lambda: rank(entries, threads=2)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def stored_board(place: Path) -> tuple[float, float]:
    """Seconds of a command for 10 000 results that were scored before, of 100 programs with 10 settings on 10 data
    sets; and what is left of it without the writing of tables.
    """
    folder = place / "stored"
    for dataset in range(10):
        (folder / f"d{dataset}" / "results").mkdir(parents=True)
        for program in range(1000):
            truth, pred = draw(np.random.default_rng(dataset), 30, 0.95 - program / 2000, 10 + program / 25)
            pd.DataFrame(truth).to_csv(folder / f"d{dataset}" / "truth.csv", index=False)
            name = f"p{program // 10}-{program % 10 + 1}.csv"
            pd.DataFrame(pred).to_csv(folder / f"d{dataset}" / "results" / name, index=False)
    fm.leaderboard(folder, check=False)
    boards = []
    whole = seconds_of(lambda: boards.append(fm.leaderboard(folder, check=False)))
    made = fm.Leaderboard(boards[0].ranking, boards[0].entries, boards[0].failures, boards[0].settings)
    return whole, whole - seconds_of(lambda: (made.to_csv(), json_text(made.to_dict()), made.to_markdown()))


def tables() -> str:
    """All measurements, as Markdown."""
    memory = large_board()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        scaling = [["work", "one after another", "1 worker process", "2 worker processes", "speed-up"]]
        for what, taken in (
            (f"scoring {_RESULTS_SCORED} results", scoring(place)),
            (f"a challenge of {_RUNS} short runs", challenge(place)),
        ):
            scaling.append([what, *(f"{seconds:.1f} s" for seconds in taken), f"{taken[0] / taken[2]:.2f}"])
        stored = stored_board(place)
    per_task = overheads()
    costs = [["who does it", "overhead of a task"], *([who, f"{ms:.2f} ms"] for who, ms in per_task.items())]
    largest = [["task", "1 s", "10 s", "100 s"]]
    slots = [f"{1000 * seconds / per_task['a Dask cluster']:.0f}" for seconds in (1, 10, 100)]
    largest.append(["tasks at a time, at most", *slots])
    boards = [["board", "time", "bar", "memory"]]
    boards.append(["10 000 stored results, loaded and ranked", f"{stored[1]:.1f} s", "10 s", ""])
    boards.append(["the same with its tables written", f"{stored[0]:.1f} s", "", ""])
    boards.append(
        [
            "ranks and correlations of 2000 programs on 10 data sets",
            f"{memory[0]:.0f} s",
            "60 s",
            f"{memory[1]:.1f} GB (2 GB)",
        ]
    )
    return "\n\n".join(written(rows) for rows in (scaling, costs, largest, boards))


def main() -> None:
    made = tables()
    print(made)
    publish(made, "work.md", "docs/how-to/cluster.md")


if __name__ == "__main__":
    main()
