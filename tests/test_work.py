"""One door for work: whoever does it, the outcome is the same, and what dies is tried again."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import flatmetric as fm
from flatmetric.execution.workers import Failed, Workers
from tests.scenes import draw
from tests.tasks import failing, killed, killed_once, squared


@pytest.fixture(params=["serial", "threads", "processes", "pool of threads", "pool of processes"])
def workers(request: pytest.FixtureRequest) -> Any:
    if request.param == "serial":
        yield Workers(1)
    elif request.param in ("threads", "processes"):
        yield Workers(2, kind=request.param)
    elif request.param == "pool of threads":
        with ThreadPoolExecutor(2) as pool:
            yield Workers(executor=pool)
    else:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            yield Workers(executor=pool)


def test_the_outcome_is_the_same_whoever_works(workers: Workers) -> None:
    kept: dict[int, int] = {}
    said: list[tuple[str, int, int]] = []
    tasks = [(k,) for k in range(9)]
    found = workers.run(squared, tasks, what="squaring", progress=lambda *one: said.append(one), done=kept.__setitem__)
    assert found == [k * k for k in range(9)] and kept == dict(enumerate(found))
    assert [done for _, done, _ in said] == list(range(1, 10)) and said[-1] == ("squaring", 9, 9)
    assert workers.run(squared, []) == []


def test_an_error_of_a_task_is_raised(workers: Workers) -> None:
    with pytest.raises(fm.InputError, match="is wrong"):
        workers.run(failing, [(1,), (2,)])


def test_a_task_that_kills_its_worker_is_tried_three_times_and_harms_no_other(tmp_path: Path) -> None:
    tasks = [(k, {2, 5}, tmp_path) for k in range(8)]
    found = Workers(2, kind="processes").run(killed, tasks)
    assert [type(one) for one in found] == [Failed if k in (2, 5) else int for k in range(8)]
    assert [one for one in found if isinstance(one, int)] == [0, 1, 3, 4, 6, 7]
    # Three times alone; whether it began before, beside others, depends on when their worker died.
    assert all((tmp_path / str(k)).read_text() in ("xxx", "xxxx") for k in (2, 5))
    assert "its worker died every time" in found[2].reason


def test_a_worker_that_dies_once_loses_nothing(tmp_path: Path) -> None:
    assert Workers(2, kind="processes").run(killed_once, [(k, tmp_path) for k in range(6)]) == list(range(6))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_takes_too_long_is_given_up(jobs: int) -> None:
    release = threading.Event()
    try:
        found = Workers(jobs, timeout=2.0).run(lambda wait: release.wait(60 if wait else 0), [(True,), (False,)])
    finally:
        release.set()
    assert found == [Failed("took longer than 2 s"), False]


def test_failures_are_counted_while_it_works() -> None:
    said: list[str] = []
    workers = Workers(2, timeout=0.1)
    workers.run(time.sleep, [(0.0,), (30.0,), (0.0,), (0.0,)], progress=lambda what, *_: said.append(what))
    assert any("running" in text for text in said)


def test_after_an_error_nothing_more_is_begun() -> None:
    begun: list[int] = []

    def work(value: int) -> None:
        begun.append(value)
        time.sleep(0.05)
        raise fm.InputError("wrong")

    with pytest.raises(fm.InputError):
        Workers(2).run(work, [(k,) for k in range(200)])
    assert len(begun) < 200


def test_an_executor_that_breaks_is_one_sentence(tmp_path: Path) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(fm.InputError, match="the executor that was given is broken"),
    ):
        Workers(executor=pool).run(killed, [(1, {1}, tmp_path)])


class _Recording(Executor):
    """Does each task at once, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def submit(self, function: Any, /, *values: Any, **named: Any) -> Future[Any]:
        self.asked.append(function)
        future: Future[Any] = Future()
        future.set_result(function(*values, **named))
        return future


def test_simulating_and_localizing_are_cut_into_ranges_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flatmetric.simulation.folder._RANGE", 30)
    monkeypatch.setattr("flatmetric.localizers.registry._PIXELS_AT_ONCE", 64 * 64 * 8)
    given: dict[str, Any] = {"dataset": "MT3.N2.LD", "frames": 90, "seed": 3}
    alone = fm.simulate(out=tmp_path / "alone", jobs=1, **given)
    pool = _Recording()
    shared = fm.simulate(out=tmp_path / "shared", executor=pool, **given)
    both = fm.simulate(out=tmp_path / "both", jobs=2, **given)
    assert len(pool.asked) == 3
    for name in ("stack.ome.tif", "activations.csv", "simulation.json"):
        one, *others = ((tmp_path / place / name).read_bytes() for place in ("alone", "shared", "both"))
        assert all(other == one for other in others)
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == [
        "activations.csv",
        "simulation.json",
        "stack.ome.tif",
    ]
    pool.asked.clear()
    for place, more in ((alone, {"jobs": 1}), (shared, {"executor": pool}), (both, {"jobs": 2})):
        fm.localize(place.stack, method="dog", out=place.stack.with_name("dog.csv"), **more)
    one, *others = ((tmp_path / place / "dog.csv").read_bytes() for place in ("alone", "shared", "both"))
    assert all(other == one for other in others) and len(pool.asked) == 3


def test_a_comparison_is_the_same_whoever_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(3):
        truth, pred = draw(np.random.default_rng(1), 30, 0.9 - 0.1 * k, 10 + 10 * k)
        pd.DataFrame(truth).to_csv(tmp_path / "truth.csv", index=False)
        pd.DataFrame(pred).to_csv(tmp_path / f"p{k}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    results, pool = [f"p{k}.csv" for k in range(3)], _Recording()
    alone = fm.compare("truth.csv", results, threads=1).to_dict()
    others: list[dict[str, Any]] = [{"threads": 2}, {"threads": 9}, {"executor": pool}]
    for given in others:
        assert fm.compare("truth.csv", results, **given).to_dict() == alone
    assert len(pool.asked) == 3
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        compared = fm.compare("truth.csv", results, executor=processes)
    assert compared.to_dict() == alone and compared.scores[0].matched.pred.provenance.file == "p0.csv"
    with pytest.raises(fm.InputError, match="there is no such file"):
        fm.compare("truth.csv", [*results, "p9.csv"], executor=pool)


@pytest.mark.parametrize("given", [{"jobs": 0}, {"timeout": 0.0}, {"executor": 3}])
def test_wrong_workers_are_one_sentence(tmp_path: Path, given: dict[str, Any]) -> None:
    (tmp_path / "one" / "results").mkdir(parents=True)
    for name in ("truth.csv", "results/mine.csv"):
        (tmp_path / "one" / name).write_text("1,100,100,0,900\n2,300,100,0,900\n")
    with pytest.raises(fm.InputError, match=r"; give "):
        fm.leaderboard(tmp_path, **given)


def test_a_script_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    lines = [
        "import flatmetric as fm",
        "from flatmetric.simulation import folder",
        "print('once', flush=True)",
        "folder._RANGE = 3  # frames for each process",
        f"fm.simulate(dataset='MT3.N2.LD', frames=6, out={str(tmp_path / 'out')!r}, jobs=2)",
    ]
    script.write_text("\n".join(lines))
    out = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert out.returncode == 0 and out.stdout == "once\n" and out.stderr == ""
