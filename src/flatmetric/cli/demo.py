"""`flatmetric demo`: the main job on a bundled example, and a page about it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from flatmetric._files import write_text
from flatmetric.cli import text
from flatmetric.cli.options import Group, command, option
from flatmetric.cli.output import check_outputs
from flatmetric.formats.read import read
from flatmetric.scoring.score import score
from flatmetric.statistics.comparison import compare_scores

PROGRAMS = ("baseline", "dog")


class DemoFlags(Group):
    """The options of `demo`."""

    out: Path = option(Path("flatmetric-demo.html"), "File for the page.", metavar="PAGE.html")


@command
def demo(options: DemoFlags) -> None:
    """Score two programs on a bundled simulated data set, and write a page that explains the result."""
    from flatmetric.pages.score_page import Scored, comparison_page

    check_outputs([options.out], [])
    with resources.as_file(resources.files("flatmetric") / "data") as folder:
        truth = read(folder / "demo_truth.csv")
        scores = {name: score(truth, read(folder / f"demo_{name}.csv"), lam=125.0) for name in PROGRAMS}
    comparison = compare_scores(scores)
    print(f"The program {comparison.names[0]} on a simulated data set:\n")
    print(text.score_text(comparison.scores[0]))
    print(f"\nAll {len(scores)} programs, with 95 % intervals:\n")
    print(text.comparison_text(comparison))
    pages = [Scored(name, one) for name, one in zip(comparison.names, comparison.scores, strict=True)]
    write_text(comparison_page(comparison, pages, "flatmetric demo"), options.out)
    print(f"\nOpen this page in a browser: {options.out}")
