"""The page of a leaderboard: ranks, any two programs, any metric against any other."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from flatmetric.metrics.table import LEADERBOARD
from flatmetric.pages.html import chart, page, paragraph, table
from flatmetric.sentences import pair_sentence
from flatmetric.statistics.comparison import Pair
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import Ranking, Standing
from flatmetric.version import __version__


def board_page(
    board: Ranking,
    entries: Sequence[Entry],
    failures: Mapping[tuple[str, str], str],
    command: str,
    suspect: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> str:
    """The page as HTML; `failures` are the results without a score, by data set and program, with the reason, and
    `suspect` those with which something looks wrong.

    Examples
    --------
    >>> from flatmetric.statistics.entries import entry_of
    >>> from flatmetric.statistics.ranking import rank
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> entries = [entry_of("d", name, score(truth, dict(truth, x=[d] * 30))) for name, d in (("b", 50.0), ("a", 5.0))]
    >>> "Best of 2: a." in board_page(rank(entries), entries, {}, "flatmetric leaderboard ...")
    True
    """
    answer = f"Best of {len(board.overall)}: {board.overall[0].program}." if board.overall else _no_overall(board)
    paired, note = _paired(board, entries)
    kept = {entry.program for entry in paired}
    remarks = [f"{d}, {p}: {text}" for (d, p), texts in (suspect or {}).items() for text in texts]
    warned = "".join(paragraph(text, "warning") for text in remarks)
    sections = [("ranks-section", "Ranks", warned + _ranks(board))]
    if board.kinds:
        sections.append(("kinds", "Structures not seen", "".join(_kind(name, board) for name in board.kinds)))
    sections += [("results", "All results", _results(board, entries))]
    sections += [("two", "Two programs", _two(paired) + note), ("scatter", "Metric against metric", _scatter(entries))]
    if failures:
        rows = [[dataset, program, reason] for (dataset, program), reason in failures.items()]
        body = table("failures", "Results without a score", ["data set", "program", "reason"], rows)
        sections.append(("not-scored", "Not scored", body))
    made = f"<p>Made by flatmetric {escape(__version__)} with</p><pre><code>{escape(command)}</code></pre>"
    sections.append(("method", "Method", paragraph(_METHOD) + made))
    content = {
        "kind": "board",
        "titles": {name: metric.heading for name, metric in LEADERBOARD.items()},
        "metrics": [{"dataset": e.dataset, "program": e.program, **e.metrics} for e in entries],
        "overall": [dataclasses.asdict(standing) for standing in board.overall],
        "correlations": [dataclasses.asdict(correlation) for correlation in board.correlations],
        "level": board.level,
        "pairs": [_pair(d, pair) for d, here in board.pairs.items() for pair in here if {pair.a, pair.b} <= kept],
    }
    return page("Leaderboard: Flat Metric", answer, sections, content)


def _pair(dataset: str, pair: Pair) -> dict[str, Any]:
    interval = None if pair.ci_all is None else [round(end, 4) for end in pair.ci_all]
    numbers = {"difference": round(pair.difference, 4), "ci": interval, "words": pair_sentence(pair)}
    return {"dataset": dataset, "a": pair.a, "b": pair.b, **numbers}


def _no_overall(board: Ranking) -> str:
    if not board.datasets:
        return "No result was scored."
    return "No program ran on all data sets, so there is no overall rank; the best of each data set stand below."


def _paired(board: Ranking, entries: Sequence[Entry]) -> tuple[list[Entry], str]:
    """The entries whose pairs go into the page, those of the best programs, and a note if some are left out."""
    ranked = [s.program for s in board.overall]
    ranked += sorted({entry.program for entry in entries} - set(ranked))
    most = max(2, math.isqrt(2 * _MOST_PAIRS // max(1, len(board.datasets))))
    note = (
        ""
        if len(ranked) <= most
        else paragraph(f"Only the {most} best programs are here, to keep the file small.", "note")
    )
    kept = set(ranked[:most])
    return [entry for entry in entries if entry.program in kept], note


_METHOD = (
    "Programs are ranked by Flat Metric in each data set, and overall by the mean of their ranks over all data sets. "
    "The ranks that a program may have follow from which others are told apart from it; they hold for all programs of "
    "a data set at once, for this structure with new blinking and noise, as do the intervals and p-values of pairs "
    "(step-down maxT)."
)
_MOST_PAIRS = 8_000


def _ranks(board: Ranking) -> str:
    if board.overall:
        caption = f"Overall, mean rank over {len(board.datasets)} data sets" if len(board.datasets) > 1 else "Ranks"
        shown = chart("ranks", "Rank of every program with its interval")
        return _places("ranks", caption, board.overall, board.level) + shown
    return "".join(_places("ranks", f"Ranks in {name}", places, board.level) for name, places in board.datasets.items())


def _kind(name: str, board: Ranking) -> str:
    kind = board.kinds[name]
    level = f"{board.level:g} %"
    rows = [
        [
            s.program,
            (f"{s.rank:.4g}", s.rank),
            f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}",
            (f"{s.flat_metric:.2f}", s.flat_metric),
            f"{s.flat_metric_interval[0]:.2f} to {s.flat_metric_interval[1]:.2f}",
            f"{s.next_interval[0]:.2f} to {s.next_interval[1]:.2f}",
        ]
        for s in kind.standings
    ]
    caption = f"{name}: mean over {len(kind.datasets)} data sets, and what a structure not seen may bring"
    header = ["program", "rank", level, "Flat Metric [nm]", level, "one more data set"]
    return table(f"kind-{name}", caption, header, rows, sortable=True)


def _places(name: str, caption: str, places: Sequence[Standing], level: float) -> str:
    rows = [
        [
            standing.program,
            (str(standing.place), standing.place),
            standing.letters,
            (f"{standing.rank:.4g}", standing.rank),
            f"{standing.rank_interval[0]:.4g} to {standing.rank_interval[1]:.4g}",
            (f"{standing.flat_metric:.2f}", standing.flat_metric),
            "" if (own := standing.flat_metric_interval) is None else f"{own[0]:.2f} to {own[1]:.2f}",
        ]
        for standing in places
    ]
    header = ["program", "place", "letters", "mean rank", "possible ranks", "Flat Metric [nm]", f"{level:g} % interval"]
    return table(name, caption, header, rows, sortable=True)


def _results(board: Ranking, entries: Sequence[Entry]) -> str:
    rows = []
    for entry in entries:
        standing = board.standing(entry.dataset, entry.program)
        span = f"{standing.rank_interval[0]:.4g} to {standing.rank_interval[1]:.4g}"
        values = [(LEADERBOARD[name].show(value), value) for name, value in entry.metrics.items()]
        rows.append([entry.program, entry.dataset, (f"{standing.rank:.4g}", standing.rank), span, *values])
    header = ["program", "data set", "rank", f"{board.level:g} %", *(metric.heading for metric in LEADERBOARD.values())]
    return table("results", "Every result; click a header to sort", header, rows, sortable=True)


def _two(entries: Sequence[Entry]) -> str:
    names = sorted({entry.program for entry in entries})
    chosen = [
        f"<label>{title} <select id='pair-{which}'>"
        + "".join(_option(name, name, chosen=at == k) for at, name in enumerate(names))
        + "</select></label>"
        for k, (which, title) in enumerate((("a", "First"), ("b", "second")))
    ]
    status = "<p id='pair-text' role='status' aria-live='polite'></p><div id='pair-table'></div>"
    return f"<div class='controls'>{''.join(chosen)}</div>{status}"


def _option(value: str, title: str, *, chosen: bool = False) -> str:
    # Without a value the browser would take the text, with its spaces collapsed.
    return f"<option value='{escape(value)}'{' selected' if chosen else ''}>{escape(title)}</option>"


def _scatter(entries: Sequence[Entry]) -> str:
    def options(chosen: str) -> str:
        return "".join(_option(name, metric.heading, chosen=name == chosen) for name, metric in LEADERBOARD.items())

    sets = "".join(_option(name, name) for name in sorted({entry.dataset for entry in entries}))
    return (
        f"<div class='controls'><label>Across <select id='metric-x'>{options('efficiency')}</select></label>"
        f"<label>Up <select id='metric-y'>{options('flat_metric')}</select></label>"
        f"<label>Data set <select id='metric-set'><option value=''>all</option>{sets}</select></label></div>"
        + chart("metric-scatter", "One metric against another, a mark for each result", tall=True)
        + "<p id='metric-text' role='status' aria-live='polite'></p>"
    )
