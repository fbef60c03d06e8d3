"""Under load: arrays that change during a call, many threads at once, processes after use, and very many calls."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flatmetric as fm
from tests.scenes import scene

CHANGING = """
import sys, threading, time
import numpy as np
import flatmetric as fm
from flatmetric._core import match, nearest, neighbours

n = 20_000
rng = np.random.default_rng(0)
truth, pred = rng.uniform(0, 1e4, (n, 2)), rng.uniform(0, 1e4, (n, 2))
frames, others = np.sort(rng.integers(1, 99, n)), np.ones(n, dtype=np.int64)
weights = rng.random(n)

def table_of(points, frames):
    return fm.Localizations(frame=frames, x=points[:, 0], y=points[:, 1])

calls = [
    lambda: fm.flat_metric(truth, pred, lam=100.0, truth_frames=frames, pred_frames=others),
    lambda: fm.flat_metric(truth, pred, lam=50.0),
    lambda: fm.flat_metric(truth, pred, lam=50.0, truth_weights=weights, pred_weights=weights[::-1]),
    lambda: fm.score(table_of(truth, frames), table_of(pred, others), check=False),
    lambda: fm.flat_curve(truth[:999], pred[:999], lam_max=100.0, truth_frames=frames[:999], pred_frames=others[:999]),
    lambda: match(truth, pred, frames, others, 100.0, 100.0, True, 1.0, float("inf"), 2),
    lambda: nearest(truth, pred, frames, others, 2),
    lambda: neighbours(truth, pred, frames, others, 100.0, False, 2),
]
over = threading.Event()

def change():
    own = np.random.default_rng(1)
    while not over.is_set():
        rows = own.integers(0, n, 300)
        truth[rows] = own.choice([np.nan, np.inf, 1e300, -1e300, 5.0], (300, 2))
        weights[rows] = own.choice([0.0, np.nan, -1.0, 1e300, 0.5], 300)
        weights[rows] = own.random(300)
        frames[rows], others[rows] = own.integers(-(2**62), 2**62, 300), own.integers(0, 9, 300)
        pred[rows], truth[rows] = own.uniform(-1e6, 1e6, (300, 2)), own.uniform(0, 1e4, (300, 2))

changing = threading.Thread(target=change, daemon=True)
changing.start()
answers = 0
for number in range(int(sys.argv[1])):
    try:
        calls[number % len(calls)]()
        answers += 1
    except fm.InputError:
        pass
over.set()
changing.join()
print(answers)
"""


@pytest.mark.parametrize("calls", [300, pytest.param(6000, marks=pytest.mark.prove)])
def test_arrays_that_change_during_a_call_give_an_answer_or_an_error(calls: int) -> None:
    out = subprocess.run([sys.executable, "-c", CHANGING, str(calls)], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert int(out.stdout) > 0


def test_32_threads_that_score_at_once_say_what_one_says() -> None:
    truth, pred = scene(frames=20)
    alone = fm.score(truth, pred, check=False).to_dict()
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda _: fm.score(truth, pred, check=False, threads=2).to_dict(), range(96)))
    assert all(one == alone for one in found)


def value_of(seed: int) -> float:
    rng = np.random.default_rng(seed)
    return fm.flat_metric(rng.uniform(0, 999, (500, 2)), rng.uniform(0, 999, (400, 2)), lam=99.0, threads=2).value


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_processes_that_start_after_use(start: str) -> None:
    expected = [value_of(seed) for seed in range(4)]
    with multiprocessing.get_context(start).Pool(2) as pool:
        assert pool.map(value_of, range(4)) == expected


GROWTH = """
import resource, sys
import numpy as np
import flatmetric as fm

rng = np.random.default_rng(0)
truth, pred = rng.uniform(0, 999, (20, 2)), rng.uniform(0, 999, (20, 2))
frames = np.arange(20) // 5

def call(times):
    for _ in range(times):
        fm.flat_metric(truth, pred, lam=99.0, truth_frames=frames, pred_frames=frames, threads=1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = call(2000)
print((call(int(sys.argv[1])) - before) // 1024)
"""


@pytest.mark.parametrize("calls", [20_000, pytest.param(1_000_000, marks=pytest.mark.prove)])
def test_many_calls_take_no_more_memory(calls: int) -> None:
    out = subprocess.run([sys.executable, "-c", GROWTH, str(calls)], capture_output=True, text=True, check=True)
    assert int(out.stdout) <= 2, "megabytes"
