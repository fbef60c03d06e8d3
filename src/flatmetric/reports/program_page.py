"""The page of one program of a leaderboard: its places, what to do next, and how it compares with the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatmetric._escaping import escape
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.quality.findings import spoil_advice
from flatmetric.reports import parts
from flatmetric.reports.board_page import Board
from flatmetric.reports.html import Html, Section, chart, page, paragraph, table
from flatmetric.reports.page_data import rounded
from flatmetric.sentences import pair_sentence
from flatmetric.statistics.entries import Entry

_MOST_FRAMES = 600  # points of a chart: one for each pixel of its width


def program_page(board: Board, program: str, home: str) -> str:
    """The page as HTML; `home` is the address of the leaderboard.

    Examples
    --------
    >>> from flatmetric.statistics.entries import entry_of
    >>> from flatmetric.statistics.ranking import rank
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> distances = {"b": 50.0, "a": 5.0}
    >>> entries = [entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in distances.items()]
    >>> "Place 1 of 2 in d" in program_page(Board(rank(entries), entries, {}, "..."), "a", "index.html")
    True
    """
    entries = [entry for entry in board.entries if entry.program == program]
    told = [
        Section("next", "What to do next", _advice(board, entries)),
        Section("frames", "Frame by frame", "".join(_series(at, entry) for at, entry in enumerate(entries))),
    ]
    sections = [
        Section("results", "Results", _results(board, entries)),
        *([] if board.is_redacted else told),
        Section("others", "Compared with the others", _pairs(board, program)),
        Section("method", "Method", board.made_by(), printed=False),
    ]
    series = [] if board.is_redacted else [_content(at, entry) for at, entry in enumerate(entries)]
    back = f"<a href='{escape(home)}'>All programs</a>"
    content = {"kind": "program", "series": series}
    return page(
        f"{program}: Flat Metric",
        _first(board, program, entries),
        sections,
        content,
        drawer=parts.definitions(),
        bar=back,
    )


def _first(board: Board, program: str, entries: Sequence[Entry]) -> str:
    remarks = [f"{d}: {text}" for (d, p), texts in board.suspect.items() if p == program for text in texts]
    remarks += [f"{d}: not scored, {reason}" for (d, p), reason in board.failures.items() if p == program]
    sentences = []
    for entry in entries:
        standing = board.ranking.standing(entry.dataset, program)
        if standing is None:
            sentences.append(f"left out of the ranks in {entry.dataset}: {board.left_out[entry.dataset, program]}")
            continue
        of = len(board.ranking.datasets[entry.dataset])
        sentences.append(f"place {standing.place} of {of} in {entry.dataset} with {standing.flat_metric:.1f} nm")
    overall = [standing for standing in board.ranking.overall if standing.program == program]
    if overall and len(board.ranking.datasets) > 1:
        sentences.insert(0, f"place {overall[0].place} of {len(board.ranking.overall)} overall")
    summary = "; ".join(sentences)
    words = paragraph(f"{summary[:1].upper()}{summary[1:]}." if summary else "It has no score.", "verdict-line")
    return f"{parts.alerts(remarks)}<h1>{escape(program)}</h1>{words}"


def _results(board: Board, entries: Sequence[Entry]) -> str:
    rows = []
    known = {entry.dataset: board.ranking.standing(entry.dataset, entry.program) for entry in entries}
    spans = {dataset: None if one is None else one.flat_metric_interval for dataset, one in known.items()}
    longest = parts.full_width([(entry.metrics["flat_metric"], spans[entry.dataset]) for entry in entries])
    for entry in entries:
        standing, value = known[entry.dataset], entry.metrics["flat_metric"]
        values = dict(zip(parts.PARTS, entry.parts or (0.0, 0.0, 0.0), strict=True))
        bar = parts.small_bar(value, values, spans[entry.dataset], longest)
        others = [
            (LEADERBOARD[name].show(value), value) for name, value in entry.metrics.items() if name != "flat_metric"
        ]
        shown = "below" if standing is None else f"{standing.place} {standing.letters}".strip()
        place = shown, len(board.entries) if standing is None else standing.place
        rows.append([_linked(board, entry.dataset), place, (bar, value), *others])
    header: list[str | Html] = ["data set", "place", *(parts.heading(metric.key) for metric in LEADERBOARD.values())]
    return table("results", "Every data set", header, rows, sortable=True)


def _linked(board: Board, dataset: str) -> str | Html:
    if dataset not in board.dataset_links:
        return dataset
    return Html(f"<a href='{escape(board.dataset_links[dataset])}'>{escape(dataset)}</a>")


def _advice(board: Board, entries: Sequence[Entry]) -> str:
    shown = []
    for entry in entries:
        listed = "".join(f"<li>{escape(text)}</li>" for text in entry.advice)
        wrong = (entry.dataset, entry.program) in board.wrong or spoil_advice(entry.findings)
        none = "Fix the file first: advice waits for that." if wrong else "Nothing stands out."
        body = f"<ol class='advice'>{listed}</ol>" if entry.advice and not wrong else paragraph(none, "note")
        shown.append(f"<div><h3>{escape(entry.dataset)}</h3>{body}</div>")
    return f"<div class='planes'>{''.join(shown)}</div>"


def _series(at: int, entry: Entry) -> str:
    return chart(f"series-{at}", f"What each frame of {entry.dataset} costs")


def _content(at: int, entry: Entry) -> dict[str, Any]:
    together = max(1, -(-len(entry.frames) // _MOST_FRAMES))
    starts = np.arange(0, len(entry.frames), together)
    means: Any = (
        np.add.reduceat(entry.costs, starts) / np.diff(np.append(starts, len(entry.frames))) if len(starts) else []
    )
    frames = {"frame": entry.frames[starts].tolist(), "cost": rounded(np.asarray(means), 1), "together": together}
    return {"place": f"series-{at}", "dataset": entry.dataset, **frames}


def _pairs(board: Board, program: str) -> str:
    rows = []
    for dataset, pairs in board.ranking.pairs.items():
        for pair in pairs:
            if program in (pair.a, pair.b):
                other, sign = (pair.b, 1) if pair.a == program else (pair.a, -1)
                difference = sign * pair.difference
                rows.append([board.linked(other), dataset, (f"{difference:+.2f}", difference), pair_sentence(pair)])
    if not rows:
        return paragraph("It is in no comparison.", "note")
    header = ["other program", "data set", "difference [nm]", "conclusion"]
    return table("pairs", f"Flat Metric of {program} minus that of another", header, rows, sortable=True, search=True)
