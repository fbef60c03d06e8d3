"""What it withstands: damaged files and faults at any moment, counted, for docs/understand/withstands.md.

Run from the repository: python -m proofs.withstands [--mutations N] [--faults N]; by default 200 000 damaged files,
and 300 faults for each command, which take about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flatmetric as fm
from benchmarks.tables import ROOT, written
from flatmetric.formats import read
from proofs.detection import BEGINS, ENDS
from tests.faults.harness import COMMANDS, KINDS, build_shim, disturb
from tests.formats.samples import SAMPLES
from tests.formats.test_fuzz import mutated

PAGE = ROOT / "docs" / "understand" / "withstands.md"
_AT_ONCE = 500  # mutations that one process reads
_SLOW_S, _LARGE_MB = 5.0, 1024
_KIND_NAMES = {"kill": "killed", "term": "stopped", "int": "Ctrl-C", "error": "write error", "full": "full disk"}


def damage(number: int, seed: int, count: int) -> dict[str, float]:
    """What becomes of one sample that is damaged in many ways."""
    sample, found = SAMPLES[number], Counter[str]()
    slowest = 0.0
    read.RAISE_ALL = True
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sample.file
        sample.write(path)
        whole, rng = path.read_bytes(), random.Random(f"{sample.file} {seed}")
        for _ in range(count):
            path.write_bytes(mutated(whole, rng))
            start = time.perf_counter()
            try:
                fm.read(path, **sample.options, skip_bad_rows=rng.random() < 0.3)
                found["tables"] += 1
            except fm.InputError as error:
                fine = str(error).isprintable() and len(str(error)) <= 400
                found["sentences" if fine else "bad sentences"] += 1
            except Exception:
                found["tracebacks"] += 1
                traceback.print_exc()
            slowest = max(slowest, time.perf_counter() - start)
    return {**found, "slowest": slowest, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def damaged(task: tuple[int, int]) -> dict[str, float]:
    """The same in a process of its own, whose crash is counted."""
    line = [sys.executable, "-m", "proofs.withstands", "--one", *map(str, task)]
    out = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if out.returncode != 0:
        print(f"{SAMPLES[task[0]].file}, seed {task[1]}: ended with {out.returncode}\n{out.stderr}", file=sys.stderr)
        return {"crashes": 1}
    print(out.stderr, end="", file=sys.stderr)
    return dict(json.loads(out.stdout))


def all_damage(mutations: int) -> str:
    """Every sample, damaged in as many ways as it takes."""
    runs = -(-mutations // (_AT_ONCE * len(SAMPLES)))
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(damaged, [(number, seed) for seed in range(runs) for number in range(len(SAMPLES))]))
    total = Counter[str]()
    for one in outcomes:
        total.update({name: int(value) for name, value in one.items() if name not in ("slowest", "MB")})
    slowest, most = (max(one.get(name, 0.0) for one in outcomes) for name in ("slowest", "MB"))
    rows = [["damaged files", "tables", "sentences", "tracebacks", "crashes", "slowest", "most memory"]]
    names = ("tables", "sentences", "tracebacks", "crashes")
    count = sum(total[name] for name in ("tables", "sentences", "bad sentences", "tracebacks"))
    rows.append([f"{count}", *(f"{total[name]}" for name in names), f"{slowest:.2f} s", f"{most:.0f} MB"])
    wrong = total["tracebacks"] + total["crashes"] + total["bad sentences"]
    if wrong or slowest > _SLOW_S or most > _LARGE_MB:
        raise SystemExit(written(rows))
    return written(rows)


def all_faults(times: int) -> str:
    """Every command, disturbed at as many moments."""
    rows = [["command", *(_KIND_NAMES[kind] for kind in KINDS), "lost or half-written", "ends as undisturbed"]]

    def one(name: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            tried = disturb(name, times, build_shim(Path(folder)), Path(folder))
        return [f"`{name}`", *(f"{tried[kind]}" for kind in KINDS), "0", f"{tried.total()}"]

    with ThreadPoolExecutor(2) as pool:
        rows += pool.map(one, COMMANDS)
    return written(rows)


def main() -> None:
    """Try it, and write what happened into the page."""
    parser = argparse.ArgumentParser(prog="python -m proofs.withstands", description=__doc__)
    parser.add_argument("--mutations", type=int, default=200_000)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--one", type=int, nargs=2, metavar=("SAMPLE", "SEED"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(damage(given.one[0], given.one[1], _AT_ONCE)))
        return
    made = f"{all_damage(given.mutations)}\n\n{all_faults(given.faults)}"
    print(made)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGINS)
    PAGE.write_text(f"{before}{BEGINS}\n\n{made}\n\n{ENDS}{rest.split(ENDS)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
