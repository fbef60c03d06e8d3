"""The same work on a Dask cluster: the same bytes, and what dies, is missing or is wrong is said in one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import flatmetric as fm
from flatmetric.execution.cluster import DaskExecutor, dask_cluster
from flatmetric.execution.workers import Failed, Workers
from tests.scenes import draw, is_alive, run, wait_until
from tests.tasks import killed, slow

DASK = [sys.executable, "-m", "dask"]


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self._folder, self._processes = folder, list[subprocess.Popen[bytes]]()
        self.scheduler = self._start("scheduler", "--port", "0", "--dashboard-address", ":0")
        wait_until(self.file.is_file, "the scheduler has started")

    def worker(self, *words: str, site: str = "") -> subprocess.Popen[bytes]:
        """Start a worker; `site` is code that it runs first."""
        place = self._folder / f"worker-{len(self._processes)}"
        place.mkdir()
        (place / "sitecustomize.py").write_text(site)
        return self._start(
            "worker", "--nthreads", "1", "--no-dashboard", "--local-directory", str(place), *words, path=place
        )

    def _start(self, kind: str, *words: str, path: Path | None = None) -> subprocess.Popen[bytes]:
        command = [*DASK, kind, "--scheduler-file", str(self.file), *words]
        root = str(Path(__file__).parents[1])
        paths = os.pathsep.join([root] if path is None else [str(path), root])
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": paths}, start_new_session=True
            )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End everything."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def started(folder: Path, workers: int) -> Iterator[Cluster]:
    """A cluster that has all its workers."""
    folder.mkdir()
    cluster = Cluster(folder)
    try:
        for _ in range(workers):
            cluster.worker()
        if workers:
            with Client(scheduler_file=str(cluster.file)) as client:
                client.wait_for_workers(workers)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers that are left alone."""
    with started(tmp_path_factory.mktemp("cluster") / "c", 2) as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    for seed, dataset in enumerate(("one", "two")):
        (place / dataset / "results").mkdir(parents=True)
        for k in range(4):
            truth, pred = draw(np.random.default_rng(seed), 40, 0.95 - 0.1 * k, 10 + 10 * k)
            pd.DataFrame(truth).to_csv(place / dataset / "truth.csv", index=False)
            pd.DataFrame(pred).to_csv(place / dataset / "results" / f"p{k}.csv", index=False)
    (place / "one" / "results" / "broken.csv").write_text("nothing,of,use\n")
    return place


def test_a_leaderboard_has_the_same_bytes(cluster: Cluster, folder: Path) -> None:
    for place, words in (("here", ["--jobs", "1"]), ("there", ["--scheduler", str(cluster.file)])):
        out = run("leaderboard", ".", "--out", place, *words, cwd=folder)
        assert out.returncode == 0, out.stderr
        if place == "there":
            assert "cluster: 2 tasks at a time, dashboard http://" in out.stderr
    for name in ("leaderboard.json", "leaderboard.csv", "leaderboard.md"):
        assert (folder / "here" / name).read_bytes() == (folder / "there" / name).read_bytes()
    assert "no column is known as x" in (folder / "there" / "leaderboard.csv").read_text()


def test_a_comparison_and_a_score_by_ranges_are_the_same(cluster: Cluster, folder: Path) -> None:
    truth, *results = (f"one/{name}.csv" for name in ("truth", "results/p0", "results/p1", "results/p2"))
    for words in (["compare", truth, *results], ["score", truth, results[0], "--rows-at-a-time", "200"]):
        here, there = (run(*words, *more, cwd=folder) for more in ([], ["--scheduler", str(cluster.file)]))
        assert here.returncode == there.returncode == 0, there.stderr
        assert here.stdout == there.stdout
    assert sorted(path.name for path in (folder / "one" / "results").iterdir())[0] == "broken.csv"


def test_two_commands_on_one_folder_at_once(cluster: Cluster, folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: run("leaderboard", folder, "--scheduler", cluster.file), range(2)))
    assert [out.returncode for out in both] == [0, 0], both[0].stderr + both[1].stderr
    assert both[0].stdout == both[1].stdout
    alone = run("leaderboard", folder, "--out", folder / "again", "--jobs", "1")
    assert alone.stdout.partition("\nwritten: ")[0] == both[0].stdout.partition("\nwritten: ")[0]


@pytest.mark.usefixtures("undrawn")
def test_a_challenge_has_the_same_bytes(cluster: Cluster, tmp_path: Path) -> None:
    options = ["--dataset", "MT4.N2.HD", "--frames", "6", "--participant", "dog", "--tune", "2", "--seed", "2"]
    hungry = "hungry=" + sys.executable + " -c 'x = bytearray(10**15)' {stack} {out}"
    for place, words in (("here", ["--jobs", "1"]), ("there", ["--scheduler", str(cluster.file)])):
        out = run("challenge", "run", *options, "--program", hungry, "--out", tmp_path / place, *words)
        assert out.returncode == 0, out.stderr
    same = [
        *("MT4.N2.HD/stack.ome.tif", "MT4.N2.HD/results/dog.csv", "training/MT0.N2.HD/results/dog.csv"),
        *("leaderboard/leaderboard.json", "leaderboard/leaderboard.csv", "agreement.csv"),
    ]
    for name in same:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name
    assert not list((tmp_path / "there").glob(".lease-*"))


@pytest.mark.usefixtures("undrawn")
def test_a_program_gets_no_more_memory_than_its_worker(tmp_path: Path) -> None:
    grow = "import sys\nparts = []\nwhile len(parts) < 3000: parts.append(bytearray(2**20) * 4)\n"
    (tmp_path / "grow.py").write_text(grow)  # stops at 12 GB, should the limit not hold
    with started(tmp_path / "c", 0) as cluster:
        cluster.worker("--memory-limit", "600MB")
        program = f"hungry={sys.executable} {tmp_path / 'grow.py'} {{stack}} {{out}}"
        out = run(
            *("challenge", "run", "--dataset", "MT4.N2.HD", "--frames", "4", "--participant", "dog", "--tune", "0"),
            *("--program", program, "--out", tmp_path / "out", "--scheduler", cluster.file),
        )
        assert out.returncode == 0, out.stderr
    rows = (tmp_path / "out" / "runs.csv").read_text().splitlines()
    assert [row for row in rows if "hungry" in row and "MemoryError" in row], rows
    assert [row for row in rows if row.startswith("MT4.N2.HD,dog,") and row.endswith(",")], rows


def test_a_task_that_kills_its_workers_harms_no_other(tmp_path: Path) -> None:
    with started(tmp_path / "c", 2) as cluster, dask_cluster(str(cluster.file), [tmp_path]) as executor:
        found = Workers(executor=executor).run(killed, [(k, {1}, tmp_path) for k in range(4)])
    assert [one for one in found if not isinstance(one, Failed)] == [0, 2, 3]
    assert isinstance(found[1], Failed) and "its worker died every time" in found[1].reason


class Arrived:
    """A result whose worker died as it arrived: its value is here, and its status is no longer `finished`."""

    status = "pending"

    async def _result(self, raiseit: bool) -> int:
        return 3


def test_a_worker_that_dies_as_its_result_arrives_is_lost() -> None:
    from distributed.cfexecutor import _cascade_future
    from tornado.ioloop import IOLoop

    arrived: Future[int] = Future()
    IOLoop(make_current=False).run_sync(lambda: _cascade_future(Arrived(), arrived))
    failed: Future[int] = Future()
    failed.set_exception(TypeError("of the task itself"))
    lost = partial(DaskExecutor.lost, cast(DaskExecutor, None))
    assert lost(arrived) and not lost(failed)


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    with started(tmp_path / "c", 1) as cluster:
        victim = cluster.worker()
        with dask_cluster(str(cluster.file), [tmp_path]) as executor:
            wait_until(lambda: executor.workers == 2, "both workers have joined")

            def kill(at: int, outcome: Any) -> None:
                if at < 2:
                    with suppress(ProcessLookupError):
                        os.killpg(victim.pid, signal.SIGKILL)

            assert Workers(executor=executor).run(slow, [(k, tmp_path) for k in range(8)], done=kill) == list(range(8))


def test_a_lost_scheduler_is_one_sentence_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    kept: list[int] = []
    with started(tmp_path / "c", 1) as cluster, dask_cluster(str(cluster.file), [tmp_path]) as executor:

        def kill(at: int, outcome: Any) -> None:
            kept.append(at)
            if len(kept) == 2:
                cluster.scheduler.kill()

        with pytest.raises(fm.InputError, match=r"the scheduler .* was lost; what is finished is kept"):
            Workers(executor=executor).run(slow, [(k, tmp_path) for k in range(40)], done=kill)
    assert 2 <= len(kept) < 40


def test_a_stopped_command_stops_its_programs_on_the_cluster(cluster: Cluster, tmp_path: Path) -> None:
    program = f"slow=sh -c 'echo $$ > {tmp_path / 'pid'}; sleep 600' {{stack}} {{out}}"
    words = ["challenge", "run", "--dataset", "MT4.N2.HD", "--frames", "4", "--participant", "dog", "--tune", "0"]
    words += ["--program", program, "--out", str(tmp_path / "out"), "--scheduler", str(cluster.file)]
    process = subprocess.Popen([sys.executable, "-m", "flatmetric", *words], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (tmp_path / "pid").is_file() and bool((tmp_path / "pid").read_text()), "the program runs")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130 and "Traceback" not in said, said
    program_id = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(program_id), "the program has ended")


@pytest.mark.parametrize(
    ("site", "said"),
    [
        ("import sys; sys.modules['flatmetric'] = None", "has no flatmetric; install version"),
        ("import flatmetric.version as v; v.__version__ = '9.9'", "has flatmetric 9.9; install version"),
    ],
)
def test_a_worker_that_would_fail_is_named_before_work_starts(tmp_path: Path, site: str, said: str) -> None:
    with started(tmp_path / "c", 0) as cluster:
        cluster.worker(site=site)
        with (
            pytest.raises(fm.InputError, match=f"worker tcp://.* {said}"),
            dask_cluster(str(cluster.file), [tmp_path]),
        ):
            raise AssertionError("it was not noticed")
    assert not list(tmp_path.glob(".seen-*"))


def test_a_worker_that_does_not_see_the_folder_is_named(tmp_path: Path) -> None:
    blind = f"""
import pathlib
real = pathlib.Path.exists
pathlib.Path.exists = lambda self, **more: real(self, **more) and not str(self).startswith({str(tmp_path / "data")!r})
"""
    (tmp_path / "data").mkdir()
    with started(tmp_path / "c", 0) as cluster:
        cluster.worker(site=blind)
        with (
            pytest.raises(fm.InputError, match=r"worker tcp://.* does not see .*data; give a place that all workers"),
            dask_cluster(str(cluster.file), [tmp_path / "data"]),
        ):
            raise AssertionError("it was not noticed")


def test_a_cluster_of_nobody_is_one_sentence(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatmetric.execution.cluster._PATIENCE_S", 1)
    with started(tmp_path / "c", 0) as cluster:
        address = json.loads(cluster.file.read_text())["address"]
        with pytest.raises(fm.InputError, match="has no worker; start one"), dask_cluster(address, [tmp_path]):
            pass
    with pytest.raises(fm.InputError, match="does not answer; start it"), dask_cluster(address, [tmp_path]):
        pass
    out = run("leaderboard", folder, "--scheduler", tmp_path / "none.json")
    assert out.returncode == 2 and "none.json: is no scheduler file" in out.stderr
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(fm.InputError, match="needs the package distributed"), dask_cluster("x.json", [tmp_path]):
        pass


def test_any_executor_of_dask_does(folder: Path) -> None:
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as local,
        Client(local) as client,
    ):
        board = fm.leaderboard(folder, executor=client.get_executor())
    assert board.to_markdown() == fm.leaderboard(folder, out=folder / "here", jobs=1).to_markdown()
