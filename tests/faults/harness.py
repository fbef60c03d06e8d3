"""Faults at any moment: commands that are killed, stopped or can't write, and what they leave.

What a command does to files is counted by a library that is loaded before the C library; at a random one of these
moments the command is killed, interrupted, or the disk fails.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from flatmetric.formats.write import write
from tests.scenes import scene

KINDS = ("kill", "term", "int", "error", "full")
COMMANDS: dict[str, list[str]] = {
    "score": ["score", "truth.csv", "one.csv", "--json", "score.json", "--report", "page.html", "--per-frame", "f.csv"],
    "convert": ["convert", "one.csv", "out.hdf5", "--to", "picasso", "--pixel-size", "100"],
    "leaderboard": ["leaderboard", "board", "--out", "ranks", "--jobs", "1"],
    "simulate": ["simulate", "--dataset", "MT4.N2.HD", "--frames", "2", "--out", "movie", "--jobs", "1"],
    "challenge": [
        *("challenge", "run", "--out", "run", "--dataset", "MT4.N2.HD", "--frames", "2", "--tune", "0"),
        *("--participant", "dog", "--jobs", "1"),
    ],
}
CHANGING = (".sqlite", ".lock", "runs.csv", "challenge.html", "page.html")  # hold times


def build_shim(folder: Path) -> Path:
    """The library that fails on purpose."""
    library, source = folder / "shim.so", Path(__file__).with_name("shim.cpp")
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def make_inputs(folder: Path) -> None:
    truth, pred = scene(frames=6)
    (folder / "board" / "d" / "results").mkdir(parents=True)
    for place in ("truth.csv", "board/d/truth.csv"):
        write(truth, folder / place, "thunderstorm")
    for place in ("one.csv", "board/d/results/one.csv", "board/d/results/two.csv"):
        write(pred, folder / place, "thunderstorm")


def run(folder: Path, command: list[str], **faults: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {name: str(value) for name, value in faults.items()}
    line = [sys.executable, "-m", "flatmetric", *command]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


def contents(folder: Path) -> dict[str, str]:
    """A hash of every file that is the same in every undisturbed run; the empty string for the others.

    What SQLite leaves beside a store when it is killed is its own: it looks at it when it writes next.
    """
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.endswith("-journal")):
        name = path.relative_to(folder).as_posix()
        same = not name.endswith(CHANGING) and "/runs/" not in name
        found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if same else ""
    return found


def is_unfinished(name: str) -> bool:
    """Whether a name is that of a file that was being written: hidden, or of work that can't be told from it."""
    return any(part.startswith(".") for part in name.split("/")) or "/runs/" in name


def disturb(name: str, times: int, shim: Path, place: Path) -> Counter[str]:
    """Disturb a command at random moments, and run it once more each time: nothing is lost or half-written, and the
    end is that of an undisturbed run. Returns how often it was disturbed in which way.
    """
    start, whole, counted = place / "start", place / "whole", place / "count"
    make_inputs(start)
    given = contents(start)
    shutil.copytree(start, whole)
    done = run(whole, COMMANDS[name], LD_PRELOAD=shim, FAULT_ROOT=whole, FAULT_COUNT=counted)
    assert done.returncode == 0, done.stderr
    expected, moments = contents(whole), counted.stat().st_size
    assert moments >= 3
    chance, tried = random.Random(f"{name} {times}"), Counter[str]()
    for _ in range(times):
        folder, kind, at = place / "again", chance.choice(KINDS), chance.randrange(1, moments + 1)
        shutil.copytree(start, folder)
        case = f"{name}, {kind} at {at} of {moments}"
        failed = run(folder, COMMANDS[name], LD_PRELOAD=shim, FAULT_ROOT=folder, FAULT_AT=at, FAULT_KIND=kind)
        assert "Traceback" not in failed.stderr, (case, failed.stderr)
        assert failed.returncode in (0, 2, 130, 143, -9), (case, failed.returncode, failed.stderr)
        left = contents(folder)
        assert all(left.get(file) == own for file, own in given.items()), f"{case}: an input changed"
        for file, own in left.items():
            # What is marked as unfinished, and ranks with the reason why a result is missing, are whole.
            if not is_unfinished(file) and own and not file.endswith("simulation.json") and "leaderboard" not in file:
                assert own == expected[file], f"{case}: {file} is half-written"
        again = run(folder, COMMANDS[name])
        assert again.returncode == 0, (case, again.stderr)
        end = contents(folder)
        assert end == expected, (
            case,
            {file for file in end.keys() | expected.keys() if end.get(file) != expected.get(file)},
        )
        shutil.rmtree(folder)
        tried[kind] += 1
    return tried
