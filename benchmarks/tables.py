"""Tables of measurements as Markdown, in a file of results and in a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flatmetric._files import write_text

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent
BENCH = "<!-- the table of the last `make bench` -->", "<!-- end of the table -->"
PROVE = "<!-- the tables of the last `make prove` -->", "<!-- end of the tables -->"
"""The marks in a page around what a command puts there."""


@dataclass(frozen=True)
class Row:
    """One comparison. ratio is peer/ours; where `at_most` is set it is ours/peer, and small is good."""

    regime: str
    what: str
    size: str
    ours_s: float
    peer: str
    peer_s: float
    bar: float | None
    at_most: bool = False

    @property
    def ratio(self) -> float:
        return self.ours_s / self.peer_s if self.at_most else self.peer_s / self.ours_s

    @property
    def met(self) -> bool | None:
        if self.bar is None:
            return None
        return bool(self.ratio <= self.bar if self.at_most else self.ratio >= self.bar)  # numpy has a False of its own

    @property
    def gap(self) -> float:
        """What is missing to the bar, as a share of it."""
        assert self.bar is not None
        return self.ratio / self.bar - 1 if self.at_most else 1 - self.ratio / self.bar


def written(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of them the header, as a table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def publish(made: str, results: str, page: str) -> None:
    """Save measurements under a name in the folder of results, and show them in a page of the repository."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / results).write_text(made + "\n", encoding="utf-8")
    show(made, page)


def show(made: str, page: str, marks: tuple[str, str] = BENCH) -> None:
    """Put measurements between the marks of a page."""
    before, _, after = _parts(page, marks)
    begins, ends = marks
    write_text(f"{before}{begins}\n\n{made}\n\n{ends}{after}", ROOT / page)


def between(page: str, marks: tuple[str, str]) -> str:
    """What stands between the marks of a page."""
    return _parts(page, marks)[1].strip()


def _parts(page: str, marks: tuple[str, str]) -> tuple[str, str, str]:
    """A page before, between and after its marks."""
    before, rest = (ROOT / page).read_text(encoding="utf-8").split(marks[0])
    middle, after = rest.split(marks[1])
    return before, middle, after
