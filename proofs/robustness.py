"""Robustness: damaged files and faults at any moment, counted, for docs/understand/robustness.md.

Run from the repository: python -m proofs.robustness [--mutations N] [--faults N] [--only NAME]; by default 200 000
damaged files, and 300 faults for each command, which take about an hour on two cores.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import flatmetric as fm
from benchmarks.tables import PROVE, ROOT, show, written
from flatmetric._files import write_text
from flatmetric.formats import hdf5, read
from tests.faults.harness import COMMANDS, build_shim, disturb
from tests.formats.samples import SAMPLES
from tests.formats.test_fuzz import mutated

RESULTS = Path(__file__).with_name("robustness.json")
PAGE = "docs/understand/robustness.md"
_AT_ONCE = 500  # mutations that one process reads
_SLOW_S, _LARGE_MB = 5.0, 1024
_FILES = "files"


def _raised(error: Exception, *_: object) -> fm.InputError:
    """A fault that a format does not foresee counts as a traceback."""
    raise error


def damage(number: int, seed: int, count: int) -> dict[str, float]:
    """What becomes of one sample that is damaged in many ways."""
    sample, found = SAMPLES[number], Counter[str]()
    slowest = 0.0
    vars(read)["unforeseen"] = _raised
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
    hdf5.end_children()
    memory = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {**found, "slowest": slowest, "MB": memory / 1024}


def damaged(task: tuple[int, int]) -> dict[str, float]:
    """The same in a process of its own, whose crash is counted."""
    line = [sys.executable, "-m", "proofs.robustness", "--one", *map(str, task)]
    out = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if out.returncode != 0:
        print(f"{SAMPLES[task[0]].file}, seed {task[1]}: ended with {out.returncode}\n{out.stderr}", file=sys.stderr)
        return {"crashes": 1}
    print(out.stderr, end="", file=sys.stderr)
    return dict(json.loads(out.stdout))


def all_damage(mutations: int) -> dict[str, float]:
    """Every sample, damaged in as many ways as it takes."""
    runs = -(-mutations // (_AT_ONCE * len(SAMPLES)))
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(damaged, [(number, seed) for seed in range(runs) for number in range(len(SAMPLES))]))
    total = Counter[str]()
    for one in outcomes:
        total.update({name: int(value) for name, value in one.items() if name not in ("slowest", "MB")})
    slowest, most = (max(one.get(name, 0.0) for one in outcomes) for name in ("slowest", "MB"))
    names = ("tables", "sentences", "tracebacks", "crashes")
    found = {name: total[name] for name in names} | {"slowest": slowest, "MB": most}
    wrong = total["tracebacks"] + total["crashes"] + total["bad sentences"]
    if wrong or slowest > _SLOW_S or most > _LARGE_MB:
        raise SystemExit(f"{found}, {total['bad sentences']} bad sentences")
    return found


def all_faults(name: str, times: int) -> int:
    """One command, disturbed at as many moments; how often it was."""
    with tempfile.TemporaryDirectory() as folder:
        return disturb(name, times, build_shim(Path(folder)), Path(folder)).total()


def tables(results: dict[str, Any]) -> str:
    """Both tables in Markdown, of what was tried last."""
    files = results[_FILES]
    count = sum(files[name] for name in ("tables", "sentences", "tracebacks"))
    damage_rows = [
        ["damaged files", "tables", "sentences", "tracebacks", "crashes", "slowest", "most memory"],
        [
            f"{count}",
            *(f"{files[name]}" for name in ("tables", "sentences", "tracebacks", "crashes")),
            f"{files['slowest']:.2f} s",
            f"{files['MB']:.0f} MB",
        ],
    ]
    fault_rows = [["command", "faults", "lost or half-written", "the next run ends as undisturbed"]]
    fault_rows += [[f"`{name}`", f"{results[name]}", "0", f"{results[name]}"] for name in COMMANDS if name in results]
    return f"{written(damage_rows)}\n\n{written(fault_rows)}"


def main() -> None:
    """Try it, keep what happened, and write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m proofs.robustness", description=__doc__)
    parser.add_argument("--mutations", type=int, default=200_000)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--only", choices=[_FILES, *COMMANDS], action="append", help="damaged files, or one command")
    parser.add_argument("--one", type=int, nargs=2, metavar=("SAMPLE", "SEED"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(damage(given.one[0], given.one[1], _AT_ONCE)))
        return
    wanted = given.only or [_FILES, *COMMANDS]
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    if _FILES in wanted:
        keep(results, _FILES, all_damage(given.mutations))
    with ThreadPoolExecutor(2) as pool:
        work = {pool.submit(all_faults, name, given.faults): name for name in wanted if name != _FILES}
        for done in as_completed(work):
            keep(results, work[done], done.result())


def keep(results: dict[str, Any], name: str, found: Any) -> None:
    """Note what was found, so that a run that is stopped, or fails elsewhere, has not been in vain."""
    print(f"{name}: {found}", flush=True)
    results[name] = found
    write_text(json.dumps(results, indent=1) + "\n", RESULTS)
    show(tables(results), PAGE, PROVE)


if __name__ == "__main__":
    main()
