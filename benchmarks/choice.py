"""Draws where each method of the solver works: docs/understand/solver/choice.svg.

Two independent clouds in a square, one with a tenth fewer points. The larger lam is against the spacing of the points,
the further the surplus travels.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np

from flatmetric._core import Method, solve
from flatmetric._files import whole_file

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "flatmetric"
from matplotlib import pyplot  # noqa: E402

PICTURE = Path(__file__).parent.parent / "docs" / "understand" / "solver" / "choice.svg"
SIZES = (100, 300, 1000, 3000, 10_000, 30_000)
REACHES = (0.5, 1, 2, 5, 10, 30, 100)


def main() -> None:
    share = np.zeros((len(SIZES), len(REACHES)))
    micros = np.zeros_like(share)
    for row, n in enumerate(SIZES):
        for column, reach in enumerate(REACHES):
            share[row, column], micros[row, column] = _try(n, reach)
    figure, axes = pyplot.subplots(figsize=(8, 4.4), layout="constrained")
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1, origin="lower", aspect="auto")
    for (row, column), value in np.ndenumerate(micros):
        colour = "white" if share[row, column] > 0.6 else "black"
        axes.text(column, row, f"{value:.2g}", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(REACHES)), [f"{reach:g}" for reach in REACHES])
    axes.set_yticks(range(len(SIZES)), [f"{n:,}" for n in SIZES])
    axes.set_xlabel("lam, in mean distances between points")
    axes.set_ylabel("points a side")
    axes.set_title("White: shortest paths; blue: network simplex. Numbers: microseconds a point", fontsize="medium")
    figure.colorbar(image, label="share of the points that the simplex placed")
    PICTURE.parent.mkdir(exist_ok=True)
    with whole_file(PICTURE) as part:
        figure.savefig(part, format="svg", metadata={"Date": None})


def _try(n: int, reach: float) -> tuple[float, float]:
    """The share of the sources that the simplex placed, and microseconds a point; the median of some problems."""
    shares, seconds = [], []
    for seed in range(9 if n < 5000 else 1):
        rng = np.random.default_rng(seed)
        truth, pred = rng.uniform(size=(n, 2)), rng.uniform(size=(n * 9 // 10, 2))
        start = time.perf_counter()
        out = solve(truth, pred, None, None, None, None, reach * n**-0.5, 1.0, Method.automatic, 1)
        seconds.append(time.perf_counter() - start)
        shares.append(min(1.0, out.by_simplex / len(pred)))
    return statistics.median(shares), 1e6 * statistics.median(seconds) / (n + n * 9 // 10)


if __name__ == "__main__":
    main()
