"""How much memory a solve takes: a process of its own, without the peers, which would be counted too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import flatmetric as fm
from benchmarks import files, problems
from tests.problems import Problem


def solve(problem: Problem) -> None:
    fm.flat_metric(
        problem.truth,
        problem.pred,
        lam=problem.lam,
        truth_frames=problem.truth_frames,
        pred_frames=problem.pred_frames,
        truth_weights=problem.truth_weights,
        pred_weights=problem.pred_weights,
        threads=1,
    )


# What is done, and the bar in MB.
MEMORY: dict[str, tuple[Callable[[], None], float | None]] = {
    "A": (lambda: solve(problems.paper_frames()), None),
    "D": (lambda: solve(problems.pooled(100_000, per_um2=500)), None),
    "E": (lambda: solve(problems.pooled(1_000_000, per_um2=500)), 2500),
    "F": (lambda: solve(problems.pooled(100_000, per_um2=5000)), 1000),
    "H": (lambda: solve(problems.filaments(100_000)), None),
    "I": (lambda: solve(problems.independent_clouds(5000, 5000)), 200),
    "L": (lambda: solve(problems.pooled(10_000_000, per_um2=500)), 6000),
    "score": (files.score_in_process, None),
    "read": (files.read_twenty_million_rows, 3000),
}


if __name__ == "__main__":
    MEMORY[sys.argv[1]][0]()
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
