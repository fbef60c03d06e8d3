"""Data that tests share: scenes with and without depths, drawn worlds, rules to score by, and the command line."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.cli import run as run_command
from flatmetric.metrics.table import METRICS

ROOT = Path(__file__).parents[1]
REAL_DATA = Path(os.environ.get("FLATMETRIC_DATA", ROOT.parent / "shared" / "data"))
SCHEMA = json.loads((resources.files("flatmetric") / "data" / "score-1.schema.json").read_text(encoding="utf-8"))
CHALLENGE = fm.Protocol.preset("challenge2016")


def run(
    *words: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own: a copy of this one, which has loaded everything already. With an
    environment of its own, a new process.
    """
    command = [sys.executable, "-m", "flatmetric", *map(str, words)]
    if env is not None or not hasattr(os, "fork"):
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    _load_figures()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of a pool may wait here, and do nothing there
            child = os.fork()
        if child == 0:
            _become_the_command(command[2:], cwd, out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed = []
        for file in (out, err):
            file.seek(0)
            printed.append(file.read().decode().replace("\r\n", "\n"))
    return subprocess.CompletedProcess(command, code, *printed)


@cache
def _load_figures() -> None:
    """What most commands would load again in every copy, a second each time."""
    for name in ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"):
        import_module(name)


def _become_the_command(words: list[str], cwd: Path | None, out: int, err: int) -> NoReturn:
    """What `python -m flatmetric` does, in a process that was copied from that of the tests."""
    try:
        for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0, "r"), os.fdopen(1, "w"), os.fdopen(2, "w")
        sys.argv = words
        if cwd is not None:
            os.chdir(cwd)
        warnings.resetwarnings()
        run_command()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that another process does, for up to ten minutes: the machine may be busy."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and is not waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def scene(seed: int = 0, frames: int = 8, per_frame: int = 12, three_d: bool = True) -> tuple[Any, Any]:
    """Molecules, and what a program with misses, errors and inventions makes of them."""
    rng = np.random.default_rng(seed)
    n = frames * per_frame
    truth = {
        "frame": np.repeat(np.arange(1, frames + 1), per_frame),
        "x": rng.uniform(0, 6400, n),
        "y": rng.uniform(0, 6400, n),
        "z": rng.uniform(-600, 600, n),
        "photons": rng.uniform(200, 4000, n),
        "id": rng.integers(0, n // 3, n),
    }
    found = rng.random(n) < 0.8
    k, extra = int(found.sum()), 15
    error = rng.normal(0, (25, 25, 60), (k, 3))
    pred = {
        "frame": np.r_[truth["frame"][found], rng.integers(1, frames + 2, extra)],
        "photons": np.r_[truth["photons"][found] * rng.uniform(0.7, 1.3, k), rng.uniform(100, 900, extra)],
    }
    for axis, name in enumerate("xyz"):
        span = (-600, 600) if name == "z" else (0, 6400)
        pred[name] = np.r_[truth[name][found] + error[:, axis], rng.uniform(*span, extra)]
    pred["uncertainty"] = np.linspace(15, 35, k + extra)
    if not three_d:
        del truth["z"], pred["z"]
    return fm.read(truth), fm.read(pred)


def numbers(score: fm.Score) -> dict[str, float | None]:
    """All metrics, by key."""
    return {key: score.get(key) for key in METRICS if score.images is not None or not key.startswith("images")}


RULES: list[dict[str, Any]] = [
    {},
    {"protocol": CHALLENGE},
    {"protocol": dataclasses.replace(CHALLENGE, photon_threshold=None, photon_quantile=0.25)},
    {"protocol": fm.Protocol(matching="optimal", dim=2)},
    {"weights": "photons"},
]


def draw(rng: np.random.Generator, frames: int, quality: float = 0.8, error: float = 25.0) -> tuple[Any, Any]:
    """A simple world: molecules, each found with some probability and some error, frames independent."""
    counts = rng.poisson(6, frames) + 1
    frame = np.repeat(np.arange(1, frames + 1), counts)
    n = len(frame)
    truth = {"frame": frame, "x": rng.uniform(0, 20_000, n), "y": rng.uniform(0, 20_000, n)}
    found = rng.random(n) < quality
    pred = {
        "frame": frame[found],
        "x": truth["x"][found] + rng.normal(0, error, found.sum()),
        "y": truth["y"][found] + rng.normal(0, error, found.sum()),
    }
    return truth, pred


def world(
    seed: int = 0, frames: int = 300, per_frame: int = 6, recall: float = 0.8, false: int = 200
) -> tuple[Any, Any]:
    """A truth and a right result, in 3D."""
    rng = np.random.default_rng(seed)
    n = frames * per_frame
    truth = fm.Localizations(
        frame=np.repeat(np.arange(1, frames + 1), per_frame),
        x=rng.uniform(0, 6400, n),
        y=rng.uniform(0, 6400, n),
        z=rng.uniform(-600, 600, n),
    )
    found = np.flatnonzero(rng.random(n) < recall)
    k = len(found)
    assert truth.z is not None
    pred = fm.Localizations(
        frame=np.r_[truth.frame[found], rng.integers(1, frames + 1, false)],
        x=np.r_[truth.x[found] + rng.normal(0, 20, k), rng.uniform(0, 6400, false)],
        y=np.r_[truth.y[found] + rng.normal(0, 20, k), rng.uniform(0, 6400, false)],
        z=np.r_[truth.z[found] + rng.normal(0, 50, k), rng.uniform(-600, 600, false)],
    )
    return truth, pred


def million() -> tuple[dict[str, Any], dict[str, Any]]:
    """A million molecules in 20 000 frames, nine of ten found."""
    rng = np.random.default_rng(0)
    truth = {"frame": rng.integers(1, 20_001, 1_000_000), "x": rng.uniform(0, 25_600, 1_000_000)}
    truth["y"] = rng.uniform(0, 25_600, 1_000_000)
    kept = rng.permutation(1_000_000)[:900_000]
    pred = {"frame": truth["frame"][kept], "x": truth["x"][kept] + rng.normal(0, 20, 900_000)}
    pred["y"] = truth["y"][kept] + rng.normal(0, 20, 900_000)
    return truth, pred


def with_programs(names: Iterable[str]) -> list[Any]:
    """Names of localizers as parameters; programs of others are left to `make prove`, which installs them."""
    return [
        pytest.param(name, marks=pytest.mark.more) if name.startswith(("picasso", "daostorm")) else name
        for name in names
    ]
