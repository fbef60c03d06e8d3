"""`flatmetric demo`: the main job on a bundled example, and a page about it."""

from __future__ import annotations

from flatmetric.api.demo import FILES, run_demo
from flatmetric.cli import text
from flatmetric.cli.options import Keywords, command


@command(run_demo)
def demo(keywords: Keywords) -> None:
    """Score and compare two programs on a bundled simulated data set, and write a page about them.

    flatmetric demo
    flatmetric demo --out page.html --data example
    """
    comparison = run_demo(**keywords)
    print(f"The program {comparison.names[0]} on a simulated data set:\n")
    print(text.score_text(comparison.scores[0]))
    print(f"\nAll {len(comparison.names)} programs, with 95 % intervals:\n")
    print(text.comparison_text(comparison))
    print(f"\nOpen this page in a browser: {keywords['out']}")
    if keywords["data"] is not None:
        print(f"Its files are in {keywords['data']}: {', '.join(FILES)}")
