"""`flatmetric demo`: the main job on a bundled example, and a page about it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from flatmetric.cli.compare import comparison_text
from flatmetric.cli.score_text import score_text
from flatmetric.cli.writing import refuse_outputs, write_text
from flatmetric.formats.reading import read
from flatmetric.scoring import score
from flatmetric.statistics import compare

PROGRAMS = ("baseline", "dog")


def demo(
    out: Annotated[Path, typer.Option("--out", metavar="PAGE.html", help="Where the page goes.")] = Path(
        "flatmetric-demo.html"
    ),
) -> None:
    """Score two programs on a bundled simulated data set, and write a page that explains the result."""
    from flatmetric.report.score_page import Scored, comparison_page

    refuse_outputs([out], [])
    data = resources.files("flatmetric") / "data"
    with resources.as_file(data) as folder:
        truth = read(folder / "demo_truth.csv")
        scores = [(name, score(truth, read(folder / f"demo_{name}.csv"), lam=125.0)) for name in PROGRAMS]
    found = compare(scores)
    print(f"The program {found.names[0]} on a simulated data set:\n")
    print(score_text(found.scores[0]))
    print(f"\nAll {len(scores)} programs, with 95 % intervals:\n")
    print(comparison_text(found))
    pages = [Scored(name, one) for name, one in zip(found.names, found.scores, strict=True)]
    write_text(comparison_page(found, pages, "flatmetric demo"), out)
    print(f"\nOpen this page in a browser: {out}")
