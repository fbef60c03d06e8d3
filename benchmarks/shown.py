"""What the pages show of the last benchmark: the whole table and a chart in the docs, five rows in the README.

To write the pages again from benchmarks/results/table.csv: python -m benchmarks.shown
"""

from __future__ import annotations

import csv

from benchmarks.tables import RESULTS, ROOT, show, written
from flatmetric.plots.style import GREY, SERIES, house_style, new_figure, save

CHART = ROOT / "docs" / "benchmarks" / "chart.svg"
# What the README tells: in its words, and by regime, problem, number of points and peer.
HIGHLIGHTS = (
    ("2000 frames of 100 molecules", ("A", "frames of the paper", "200000", "SciPy assignment")),
    ("one set, 500 per um2", ("D", "pooled, 500 per um2", "100000", "OR-tools solve")),
    ("filaments", ("H", "filaments, result drawn apart", "100000", "OR-tools solve")),
    ("Wasserstein, one cloud squeezed", ("far", "squeezed", "5000", "POT dense simplex")),
    (
        "`score`: read, match, every metric",
        ("score", "the whole command, by rows", "1M", "DECODE's evaluation, scaled"),
    ),
)
# Peers that do the same work; what else a table compares with is a limit, or ourselves.
PEERS = ("SciPy assignment", "POT emd", "POT dense simplex", "POT sparse emd", "OR-tools solve", "dense LP (HiGHS)")


def main() -> None:
    """Show the table, its rows and its chart."""
    table = read_table()
    last = (RESULTS / "table.md").read_text(encoding="utf-8").strip()
    show(last, "docs/benchmarks.md")
    show(highlights(table), "README.md")
    draw(table)


def read_table() -> list[dict[str, str]]:
    """The rows of the last benchmark, by the names of their columns."""
    with (RESULTS / "table.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def highlights(table: list[dict[str, str]]) -> str:
    """Five rows of the table, as Markdown."""
    rows = [["problem", "true and detected points", "flatmetric", "peer", "its time", "ratio"]]
    for title, (regime, what, points, peer) in HIGHLIGHTS:
        (row,) = (
            one
            for one in table
            if (one["regime"], one["what"], one["peer"]) == (regime, what, peer) and one["size"].startswith(points)
        )
        rows.append(
            [title, row["size"], rounded(row["ours [s]"]), peer, rounded(row["peer [s]"]), f"{speedup(row):.0f}x"]
        )
    return written(rows)


def rounded(seconds: str) -> str:
    """Seconds with two digits."""
    return f"{float(f'{float(seconds):.2g}'):g} s"


def speedup(row: dict[str, str]) -> float:
    """How many times as long as ours the peer takes."""
    return float(row["peer [s]"]) / float(row["ours [s]"])


def draw(table: list[dict[str, str]]) -> None:
    """How much faster than each peer, problem by problem."""
    rows = [row for row in table if row["peer"] in PEERS]
    names = list(dict.fromkeys(f"{row['what']}, {row['size']}" for row in rows))
    with house_style():
        figure = new_figure(7.5, 0.19 * len(names) + 1)
        axes = figure.subplots()
        for peer, colour in zip(PEERS, SERIES, strict=False):
            mine = [row for row in rows if row["peer"] == peer]
            places = [names.index(f"{row['what']}, {row['size']}") for row in mine]
            axes.plot([speedup(row) for row in mine], places, "o", color=colour, label=peer)
        axes.axvline(1, color=GREY, linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("time of the peer / ours: right of 1 we are faster")
        axes.xaxis.set_label_position("top")
        axes.xaxis.tick_top()
        axes.spines["top"].set_visible(True)
        axes.spines["bottom"].set_visible(False)
        axes.grid(axis="y", color="0.93")
        figure.legend(loc="outside upper center", ncols=3)
    CHART.parent.mkdir(exist_ok=True)
    save(figure, CHART)


if __name__ == "__main__":
    main()
