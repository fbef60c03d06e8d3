"""Tables of measurements as Markdown, in a file of results and in a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent
BEGINS, ENDS = "<!-- the table of the last `make bench` -->", "<!-- end of the table -->"


def written(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of them the header, as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def publish(made: str, results: str, page: str) -> None:
    """Save measurements under a name in the folder of results, and show them in a page of the repository."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / results).write_text(made + "\n", encoding="utf-8")
    show(made, page)


def show(made: str, page: str) -> None:
    """Put measurements between the marks of a page."""
    path = ROOT / page
    before, rest = path.read_text(encoding="utf-8").split(BEGINS)
    after = rest.split(ENDS)[1]
    path.write_text(f"{before}{BEGINS}\n\n{made}\n\n{ENDS}{after}", encoding="utf-8")
