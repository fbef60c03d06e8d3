"""The page of a leaderboard: places, budgets and intervals in one table, any two programs, and metrics."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric._escaping import escape
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.reports import parts
from flatmetric.reports.html import SHORT, Html, Section, chart, choice, page, paragraph, table
from flatmetric.sentences import board_title, leader_sentences, pair_sentence, span_of
from flatmetric.statistics.comparison import Pair
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import Ranking, Standing

Result = tuple[str, str]
_METHOD = (
    "Programs are ranked by Flat Metric in each data set, and overall by the mean of their ranks over all data sets. "
    "The ranks that a program may have follow from the significant pairs; they hold for all programs of a data set at "
    "once, for this structure with new blinking and noise, as do the intervals and p-values of pairs "
    "(step-down maxT). Programs of a data set that share a letter don't differ significantly."
)
_MOST_PAIRS = 8_000  # keeps a page below 8 MB


@dataclass(frozen=True, slots=True)
class Background:
    """What a challenge adds to its leaderboard: sentences on what was concluded, and further sections with the content
    that they are drawn from.
    """

    conclusions: Sequence[str] = ()
    sections: Sequence[Section] = ()
    samples: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """A leaderboard as its pages need it.

    `suspect` are sentences on results that look wrong, `marks` the same in a word or two, `shared` remarks on the truth
    and the rules of data sets; `wrong` are the results that certainly are, and `left_out` says why results are below
    the line. `links` and `dataset_links` are the addresses of the pages of programs and data sets, if there are any.
    """

    ranking: Ranking
    entries: Sequence[Entry]
    failures: Mapping[tuple[str, str], str]
    command: str
    suspect: Mapping[Result, Sequence[str]] = field(default_factory=dict)
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    marks: Mapping[Result, str] = field(default_factory=dict)
    wrong: Set[Result] = frozenset()
    left_out: Mapping[Result, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    dataset_links: Mapping[str, str] = field(default_factory=dict)
    is_redacted: bool = False

    def made_by(self) -> str:
        """How the page was made, for those who may know."""
        return "" if self.is_redacted else parts.made_by(self.command)

    def entry(self, dataset: str, program: str) -> Entry:
        """The result of a program on a data set."""
        return next(one for one in self.entries if (one.dataset, one.program) == (dataset, program))

    @property
    def programs(self) -> list[str]:
        """All programs, best first."""
        ranked = [standing.program for standing in self.ranking.overall]
        return ranked + sorted({entry.program for entry in self.entries} - set(ranked))

    def linked(self, program: str) -> str | Html:
        """The name of a program, as a link to its page where it has one."""
        if program not in self.links:
            return program
        kind = " class='short'" if len(program) <= SHORT else ""
        return Html(f"<a{kind} href='{escape(self.links[program])}'>{escape(program)}</a>")


def board_page(board: Board, background: Background | None = None) -> str:
    """The page as HTML.

    Examples
    --------
    >>> from flatmetric.statistics.entries import entry_of
    >>> from flatmetric.statistics.ranking import rank
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> distances = {"b": 50.0, "a": 5.0}
    >>> entries = [entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in distances.items()]
    >>> "Best of 2: a" in board_page(Board(rank(entries), entries, {}, "flatmetric leaderboard ..."))
    True
    """
    more = background or Background()
    paired, note = _paired(board)
    sections = [Section("places", "Places", _places(board))]
    sections += [one for one in more.sections if one.printed]
    if board.ranking.kinds:
        kinds = "".join(_kind(name, board.ranking) for name in board.ranking.kinds)
        sections.append(Section("kinds", "Structures not seen", kinds, printed=False))
    sections += [
        Section("two", "Two programs", _two(board, paired) + note, printed=False),
        Section("scatter", "Metric against metric", _scatter(board.entries), printed=False),
        Section("results", "All results", _results(board), printed=False),
    ]
    sections += [one for one in more.sections if not one.printed]
    if board.failures:
        rows = [[dataset, program, reason] for (dataset, program), reason in board.failures.items()]
        body = table("failures", "Results without a score", ["data set", "program", "reason"], rows)
        sections.append(Section("not-scored", "Not scored", body, printed=False))
    sections.append(Section("method", "Method", paragraph(_METHOD) + board.made_by(), printed=False))
    kept = {entry.program for entry in paired}
    content = {
        "kind": "board",
        "titles": {name: metric.heading for name, metric in LEADERBOARD.items()},
        "metrics": [
            {"dataset": e.dataset, "program": e.program, **e.metrics}
            for e in board.entries
            if (e.dataset, e.program) not in board.left_out
        ],
        "correlations": [dataclasses.asdict(correlation) for correlation in board.ranking.correlations],
        "level": board.ranking.level,
        "pairs": [
            _pair(dataset, pair)
            for dataset, here in board.ranking.pairs.items()
            for pair in here
            if {pair.a, pair.b} <= kept
        ],
        "samples": list(more.samples),
    }
    return page("Leaderboard: Flat Metric", _first(board, more), sections, content, drawer=parts.definitions())


def _first(board: Board, background: Background) -> str:
    ranking = board.ranking
    sentences = [
        paragraph(text, "verdict-line") for text in (*leader_sentences(ranking, board.marks), *background.conclusions)
    ]
    title = board_title(ranking, len(board.programs), {program for _, program in board.marks})
    return f"<h1>{escape(title)}</h1>{''.join(sentences)}"


def _remarks(board: Board) -> str:
    """How many results look wrong, which opens; and remarks on the truth and the rules of data sets."""
    remarks = {f"{dataset}, {program}": texts for (dataset, program), texts in board.suspect.items()}
    about = [paragraph(f"{dataset}: {text}.", "note") for dataset, texts in board.shared.items() for text in texts]
    return parts.doubtful(remarks, len(board.entries)) + "".join(about)


def _pair(dataset: str, pair: Pair) -> dict[str, Any]:
    interval = None if pair.ci_all is None else [round(end, 4) for end in pair.ci_all]
    numbers = {"difference": round(pair.difference, 4), "ci": interval, "words": pair_sentence(pair)}
    return {"dataset": dataset, "a": pair.a, "b": pair.b, **numbers}


def _paired(board: Board) -> tuple[list[Entry], str]:
    """The entries whose pairs go into the page, those of the best programs, and a note if some are left out."""
    ranked = board.programs
    most = max(2, math.isqrt(2 * _MOST_PAIRS // max(1, len(board.ranking.datasets))))
    few = f"Only the {most} best programs are here, to keep the file small."
    note = "" if len(ranked) <= most else paragraph(few, "note")
    kept = set(ranked[:most])
    return [entry for entry in board.entries if entry.program in kept], note


def _places(board: Board) -> str:
    ranking = board.ranking
    tables = []
    if len(ranking.datasets) > 1 and ranking.overall:
        caption = f"Overall, mean rank over {len(ranking.datasets)} data sets"
        tables.append(_place_table("ranks", caption, board, ranking.overall, None))
    if ranking.no_overall and len(ranking.datasets) > 1:
        tables.append(paragraph(f"There are no overall ranks: {ranking.no_overall}.", "note"))
    datasets = dict.fromkeys([*ranking.datasets, *sorted({dataset for dataset, _ in board.left_out})])
    for name in datasets:
        places = ranking.datasets.get(name, ())
        caption = f"Ranks in {name}"
        first = not any("data-name='ranks'" in one for one in tables)
        tables.append(_place_table("ranks" if first else f"ranks-{name}", caption, board, places, name))
        if name in board.dataset_links:
            link = f"<a href='{escape(board.dataset_links[name])}'>Frames, pictures and errors on {escape(name)}</a>"
            tables.append(f"<p>{link}, the best programs side by side</p>")
    return "".join([*tables[:1], _remarks(board), *tables[1:]])


def _place_table(name: str, caption: str, board: Board, places: Sequence[Standing], dataset: str | None) -> str:
    level = f"{board.ranking.level:g} %"
    longest = parts.full_width([(s.flat_metric, s.flat_metric_interval) for s in places])
    rows = []
    for standing in places:
        place = f"{standing.place} {standing.letters}".strip()
        row: list[Any] = [
            _flagged(board, standing.program, dataset),
            (place, standing.place),
            _bar(board, standing.program, standing.flat_metric, standing.flat_metric_interval, dataset, longest),
        ]
        if dataset is None:
            row.append((f"{standing.rank:.4g}", standing.rank))
        row.append(span_of(standing.rank_interval, ".4g"))
        row.append(_mark(board, standing.program, dataset))
        rows.append(row)
    for (where, program), reason in board.left_out.items():
        if where == dataset:
            value = board.entry(where, program).metrics["flat_metric"]
            bar = ("-", 0.0) if value is None else _bar(board, program, value, None, dataset, longest)
            why = Html(f"<span class='suspect'>{escape(reason)}</span>")
            rows.append([_flagged(board, program, dataset), ("below", len(board.entries) + 1), bar, "-", why])
    header: list[str | Html] = ["program", "place", parts.heading("flat_metric.value")]
    header += [*(["mean rank"] if dataset is None else []), f"possible ranks ({level})", "suspect"]
    return table(name, caption, header, rows, sortable=True, search=True)


def _flagged(board: Board, program: str, dataset: str | None) -> str | Html:
    """The name of a program, with a sign where its result is suspect, which is in sight on a narrow screen too."""
    name = board.linked(program)
    if not any(program == own and dataset in (None, place) for place, own in board.marks):
        return name
    return Html(f"<span class='flagged'>{name.text if isinstance(name, Html) else escape(name)}</span>")


def _mark(board: Board, program: str, dataset: str | None) -> str | Html:
    """What looks wrong with a result in a word or two; overall, in how many data sets something does."""
    if dataset is not None:
        text = board.marks.get((dataset, program), "")
    else:
        marks = [mark for (_, name), mark in board.marks.items() if name == program]
        text = marks[0] if len(set(marks)) == 1 else f"in {len(marks)} data sets" if marks else ""
    return Html(f"<span class='suspect'>{escape(text)}</span>") if text else ""


def _bar(
    board: Board,
    program: str,
    value: float,
    interval: tuple[float, float] | None,
    dataset: str | None,
    longest: float,
) -> tuple[Html, float]:
    """The Flat Metric of a result, with its budget and interval; overall, of all that are ranked."""
    own = [
        entry
        for entry in board.entries
        if entry.program == program and entry.parts is not None and dataset in (None, entry.dataset)
    ]
    # Overall, each data set weighs as much as it has molecules.
    weights = [float(entry.truths.sum()) for entry in own]
    total = sum(weights) or 1.0
    budget = {
        part: sum(w * (entry.parts or (0.0,) * 3)[k] for w, entry in zip(weights, own, strict=True)) / total
        for k, part in enumerate(parts.PARTS)
    }
    return parts.small_bar(value, budget, interval, longest), value


def _kind(name: str, ranking: Ranking) -> str:
    kind = ranking.kinds[name]
    level = f"{ranking.level:g} %"
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


def _results(board: Board) -> str:
    rows = []
    for entry in board.entries:
        standing = board.ranking.standing(entry.dataset, entry.program)
        span = "-" if standing is None else span_of(standing.rank_interval, ".4g")
        rank = ("below", float(len(board.entries))) if standing is None else (f"{standing.rank:.4g}", standing.rank)
        values = [(LEADERBOARD[name].show(value), value) for name, value in entry.metrics.items()]
        rows.append([board.linked(entry.program), entry.dataset, rank, span, *values])
    header: list[str | Html] = ["program", "data set", "rank", f"{board.ranking.level:g} %"]
    header += [parts.heading(metric.key) for metric in LEADERBOARD.values()]
    return table("results", "Every result; click a header to sort", header, rows, sortable=True, search=True)


def _two(board: Board, entries: Sequence[Entry]) -> str:
    """Two programs to choose; at first the two best."""
    kept = {entry.program for entry in entries}
    best = [name for name in board.programs if name in kept]
    names = sorted(kept)
    chosen = [
        f"<label>{title} <select id='pair-{which}'>"
        + "".join(choice(name, name, chosen=name == best[min(at, len(best) - 1)]) for name in names)
        + "</select></label>"
        for at, (which, title) in enumerate((("a", "First"), ("b", "second")))
    ]
    status = "<p id='pair-text' role='status' aria-live='polite'></p><div id='pair-table'></div>"
    return f"<div class='controls'>{''.join(chosen)}</div>{status}"


def _scatter(entries: Sequence[Entry]) -> str:
    def options(chosen: str) -> str:
        return "".join(choice(name, metric.heading, chosen=name == chosen) for name, metric in LEADERBOARD.items())

    sets = "".join(choice(name, name) for name in sorted({entry.dataset for entry in entries}))
    return (
        f"<div class='controls'><label>x axis <select id='metric-x'>{options('efficiency')}</select></label>"
        f"<label>y axis <select id='metric-y'>{options('flat_metric')}</select></label>"
        f"<label>Data set <select id='metric-set'><option value=''>all</option>{sets}</select></label></div>"
        + chart("metric-scatter", "One metric against another, a mark for each result")
        + "<p id='metric-text' role='status' aria-live='polite'></p>"
    )
