"""Runs the regimes, checks that our answers are the peers', prints the table and saves it as CSV and Markdown."""

from __future__ import annotations

import argparse
import csv
import math
import platform
import subprocess
import sys
import time

from benchmarks import shown
from benchmarks.memory import MEMORY
from benchmarks.regimes import REGIMES
from benchmarks.tables import RESULTS, Row, written

HEADER = [
    "regime",
    "what",
    "size",
    "ours [s]",
    "peer",
    "peer [s]",
    "ratio",
    "bar",
    "met",
    "peak memory [MB]",
    "measured",
]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=REGIMES, metavar="NAME", help=f"one of {', '.join(REGIMES)}")
    options = parser.parse_args()
    table = [HEADER]
    print(" | ".join(HEADER))
    for name in options.only or REGIMES:
        memory = peak_memory(name) if name in MEMORY else None
        for row in REGIMES[name]():
            table.append(cells(row, memory))
            memory = None  # that of the first problem, said once
            print(" | ".join(table[-1]), flush=True)
    save(table, whole=options.only is None)
    print(verdict(table))


def verdict(table: list[list[str]]) -> str:
    """How many of the bars are met, of the rows that have one."""
    met = [row[HEADER.index("met")] for row in table[1:]]
    return f"{met.count('yes')} of {sum(map(bool, met))} bars met"


def cells(row: Row, memory: float | None) -> list[str]:
    sign = "<=" if row.at_most else ">="
    shown = "" if memory is None else f"{memory:.0f}"
    misses = [] if row.met is not False else [f"{row.gap:.0%}"]
    bar = MEMORY[row.regime][1] if row.regime in MEMORY else None
    if memory is not None and bar is not None:
        shown += f" (<= {bar:.0f})"
        misses += [f"{memory / bar - 1:.0%} of memory"] if memory > bar else []
    has_bar = row.bar is not None or (memory is not None and bar is not None)
    return [
        row.regime,
        row.what,
        row.size,
        f"{row.ours_s:.4g}",
        row.peer,
        "" if math.isnan(row.peer_s) else f"{row.peer_s:.4g}",
        "" if math.isnan(row.ratio) else f"{row.ratio:.2f}" + (" ours/peer" if row.at_most else ""),
        "" if row.bar is None else f"{sign} {row.bar:g}",
        "" if not has_bar else f"NO, by {' and '.join(misses)}" if misses else "yes",
        shown,
        time.strftime("%Y-%m-%d %H:%M"),
    ]


def peak_memory(name: str) -> float:
    """Peak resident memory in MB of a process that makes the problem and solves it, numpy and all."""
    command = [sys.executable, "-m", "benchmarks.memory", name]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def save(table: list[list[str]], whole: bool) -> None:
    if not whole:
        return
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / "table.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(table)
    machine = f"{platform.machine()}, one thread unless said; {verdict(table)}"
    (RESULTS / "table.md").write_text(f"{written(table)}\n\n{machine}\n", encoding="utf-8")
    shown.main()


if __name__ == "__main__":
    main()
