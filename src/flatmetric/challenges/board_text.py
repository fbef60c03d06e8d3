"""A leaderboard as text: its tables, which terminal and Markdown share, and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flatmetric import _escaping
from flatmetric._dataclass import dataclass
from flatmetric.errors import printable
from flatmetric.sentences import board_title, doubtful_sentence, leader_sentences, span_of
from flatmetric.statistics.correlations import Correlation
from flatmetric.statistics.ranking import DatasetKind, Standing

if TYPE_CHECKING:
    from flatmetric.challenges.leaderboard import Leaderboard

SCOPE = "Ranks and intervals are for the structure of each data set, with new blinking and noise."
"""What the ranks are about."""
LETTERS = "Programs that share a letter can't be told apart."
"""What letters mean."""
_BELOW = "below"


@dataclass(frozen=True, slots=True)
class BoardTable:
    """A table of a leaderboard, its cells as text, and sentences below it."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def tables_of(board: Leaderboard) -> list[BoardTable]:
    """The ranks as tables: overall, for new structures, in each data set, and how metrics agree."""
    ranking = board.ranking
    tables = []
    if len(ranking.datasets) > 1 and ranking.overall:
        tables.append(_overall(ranking.overall, ranking.level))
    tables += [_kind(name, kind, ranking.level) for name, kind in ranking.kinds.items()]
    datasets = dict.fromkeys([*ranking.datasets, *sorted({dataset for dataset, _ in board.left_out})])
    tables += [_ranks(board, name) for name in datasets]
    correlations = _correlations(ranking.correlations)
    return tables if correlations is None else [*tables, correlations]


def in_markdown(board: Leaderboard) -> str:
    """The winner, tables of the ranks, and everything that looks wrong."""
    escaped = _escaping.in_markdown
    lines = [
        f"# {escaped(title_of(board))}",
        "",
        *(f"{escaped(text)}\n" for text in leader_sentences(board.ranking, board.suspects.marks)),
    ]
    for table in tables_of(board):
        lines += [f"## {escaped(table.title)}", "", f"| {' | '.join(table.header)} |", "|---" * len(table.header) + "|"]
        lines += [f"| {' | '.join(map(escaped, row))} |" for row in table.rows]
        lines += ["", *(f"{escaped(text)}\n" for text in table.notes)]
    if has_letters(board):
        lines += [LETTERS, ""]
    wrong = [f"{d}, {p}: {text}" for (d, p), texts in board.suspect.items() for text in texts]
    about = [f"{dataset}: {text}" for dataset, texts in board.suspects.shared.items() for text in texts]
    for title, texts in (
        (doubtful_sentence(len(board.suspect), len(board.entries)), wrong),
        ("About the truth and the rules", about),
        ("Not scored", [f"{d}, {p}: {reason}" for (d, p), reason in board.failures.items()]),
        ("Ignored", [f"{name}: {reason}" for name, reason in board.ignored.items()]),
    ):
        lines += _listed(title, map(escaped, texts))
    return "\n".join([*lines, SCOPE])


def _listed(title: str, texts: Iterable[str]) -> list[str]:
    items = [f"- {text}" for text in texts]
    return [f"## {title}", "", *items, ""] if items else []


def title_of(board: Leaderboard) -> str:
    """Which program is best."""
    suspect = {program for _, program in board.suspect}
    return board_title(board.ranking, len({entry.program for entry in board.entries}), suspect)


def has_letters(board: Leaderboard) -> bool:
    """Whether there are letters to explain."""
    return any(standing.letters for places in board.ranking.datasets.values() for standing in places)


def in_latex(board: Leaderboard) -> str:
    """The ranks as LaTeX tables."""
    boards = {"Overall": board.ranking.overall} if len(board.ranking.datasets) > 1 else {}
    return "\n".join(_latex_table(name, places) for name, places in (boards | board.ranking.datasets).items())


def _latex_table(title: str, standings: Sequence[Standing]) -> str:
    rows = []
    for s in standings:
        own = s.flat_metric_interval
        certain = "" if own is None else f"{own[0]:.1f}--{own[1]:.1f}"
        marks = f"$^{{{s.letters}}}$" if s.letters else ""
        cells = (str(s.place), _escaping.in_latex(s.program) + marks, f"{s.flat_metric:.1f}", certain)
        rows.append(" & ".join(cells) + r" \\")
    head = r"place & program & Flat Metric [nm] & interval \\"
    frame = [r"\begin{tabular}{rlrl}", r"\hline", head, r"\hline", *rows, r"\hline", r"\end{tabular}"]
    return "\n".join([f"% {printable(title)}", *frame, ""])


def _overall(standings: Sequence[Standing], level: float) -> BoardTable:
    rows = [
        (str(s.place), s.program, f"{s.rank:.4g}", span_of(s.rank_interval, ".4g"), f"{s.flat_metric:.2f}")
        for s in standings
    ]
    header = ("place", "program", "mean rank", f"possible ({level:g} %)", "Flat Metric [nm]")
    return BoardTable("Overall (mean rank, pooled Flat Metric)", header, tuple(rows))


def _kind(name: str, kind: DatasetKind, level: float) -> BoardTable:
    header = ("rank", f"possible ranks ({level:g} %)", "program", "Flat Metric [nm]", f"{level:g} % interval")
    rows = [
        (
            *(f"{s.rank:.4g}", span_of(s.rank_interval, ".4g"), s.program, f"{s.flat_metric:.2f}"),
            *(span_of(s.flat_metric_interval, ".2f"), span_of(s.next_interval, ".2f")),
        )
        for s in kind.standings
    ]
    title = f"{name}: new structures, from {len(kind.datasets)} data sets"
    return BoardTable(title, (*header, "one more data set"), tuple(rows))


def _ranks(board: Leaderboard, dataset: str) -> BoardTable:
    """The ranks in a data set, with a mark at each result that looks wrong; below them what was left out."""
    level, marks = f"{board.ranking.level:g} %", board.suspects.marks
    rows = []
    for s in board.ranking.datasets.get(dataset, ()):
        own = "-" if s.flat_metric_interval is None else span_of(s.flat_metric_interval, ".2f")
        mark = marks.get((dataset, s.program), "")
        ranks = span_of(s.rank_interval, ".4g")
        rows.append([str(s.place), s.program, s.letters, f"{s.flat_metric:.2f}", own, ranks, mark])
    notes = []
    for (place, program), reason in board.left_out.items():
        if place == dataset:
            value = next(e.metrics["flat_metric"] for e in board.entries if (e.dataset, e.program) == (place, program))
            rows.append([_BELOW, program, "", "-" if value is None else f"{value:.2f}", "-", "-", reason])
    if rows and rows[-1][0] == _BELOW:
        notes.append("Results marked below are in no rank, comparison or correlation.")
    header = ["place", "program", "", "Flat Metric [nm]", f"{level} interval", f"possible ranks ({level})", "suspect"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return BoardTable(dataset, tuple(header), tuple(map(tuple, rows)), tuple(notes))


def _correlations(found: Sequence[Correlation]) -> BoardTable | None:
    with_flat = {(c.b, c.kind): c for c in found if c.a == "flat_metric" and c.value is not None}
    if not with_flat:
        return None
    rows = []
    for metric in dict.fromkeys(name for name, _ in with_flat):
        cells = [cell for kind in ("spearman", "pearson") for cell in _correlation(with_flat.get((metric, kind)))]
        rows.append((metric, *cells))
    return BoardTable(
        "Correlation with the Flat Metric", ("metric", "Spearman", "95 %", "Pearson", "95 %"), tuple(rows)
    )


def _correlation(found: Correlation | None) -> tuple[str, str]:
    if found is None or found.value is None:
        return "-", "-"
    return f"{found.value:.2f}", "-" if found.interval is None else span_of(found.interval, ".2f")
