"""The page of several programs on one truth: which is better, why, and any two of them side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flatmetric._display import wording
from flatmetric._escaping import escape
from flatmetric.metrics.table import METRICS
from flatmetric.reports import parts
from flatmetric.reports.camera import Movie
from flatmetric.reports.details import detail_content, detail_sections
from flatmetric.reports.html import Html, Section, choice, page, paragraph, table
from flatmetric.reports.parts import NamedScore
from flatmetric.reports.picture import shared_content
from flatmetric.sentences import crossing_sentence, disagreements, doubts, lead_sentence, pair_sentence
from flatmetric.statistics.comparison import Comparison, Lead

_MOST_DETAILED = 8  # programs that can be shown side by side; more would make the page too large
_RANKING = ("challenge.jaccard", "challenge.recall", "challenge.precision", "challenge.rmse_xy", "challenge.efficiency")
_PLACES = ("a", "b")


def comparison_page(
    comparison: Comparison,
    command: str,
    movie: Movie | None = None,
    programs: int | None = None,
    suspect: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The page of several programs on one truth, best first.

    They may be the best of more `programs`, of a leaderboard that says what looks wrong with them (`suspect`, by name).

    Examples
    --------
    >>> import flatmetric as fm
    >>> from flatmetric.statistics.comparison import compare_scores
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> scores = {name: fm.score(truth, dict(truth, x=[d] * 30)) for name, d in (("a", 5.0), ("b", 50.0))}
    >>> compared = compare_scores(scores)
    >>> html = comparison_page(compared, "...")
    >>> "a is better than b" in html
    True
    """
    own = comparison.remarks.own
    together = zip(comparison.names, comparison.scores, comparison.intervals, strict=True)
    scored = [NamedScore(name, score, intervals, own[name]) for name, score, intervals in together]
    detailed = scored[:_MOST_DETAILED]
    content, binned = detail_content(detailed, scored, movie)
    few = f"The {len(detailed)} best of {len(scored)} programs can be shown side by side, to keep the file small."
    left_out = paragraph(few, "note") if len(detailed) < len(scored) else ""
    # The curves of a truth without molecules say nothing.
    lead = comparison.lead() if all(len(score.matched.truth_kept) for score in comparison.scores) else None
    sections = [
        Section("beside", "Side by side", left_out + parts.picture(_PLACES)),
        Section("shared", "Molecules that only one detects", _shared(), short="Detected by one"),
        *detail_sections(detailed, binned, _PLACES),
        Section("pairs", "Every pair", _pairs(comparison) + _lead(lead), printed=False, short="Pairs"),
        parts.method(scored[0].score, {one.name: one.score for one in scored}, command),
    ]
    content["shared"] = shared_content([one.score for one in detailed])
    title = f"{len(comparison.names)} programs: Flat Metric"
    return page(
        title,
        _first(comparison, scored, lead, programs or len(scored), suspect),
        sections,
        content,
        drawer=parts.definitions(),
        bar=_choice(detailed),
    )


def _choice(detailed: Sequence[NamedScore]) -> str:
    """The one selector, which drives all that is below."""
    selects = []
    for at, (place, title) in enumerate(zip(_PLACES, ("Show", "beside"), strict=True)):
        names = "".join(choice(str(k), one.name, chosen=k == at) for k, one in enumerate(detailed))
        selects.append(f"<label>{title} <select id='program-{place}'>{names}</select></label>")
    return f"<div class='choice'>{''.join(selects)}<span class='note'>in all pictures and charts below</span></div>"


def _first(
    comparison: Comparison,
    scored: Sequence[NamedScore],
    lead: Lead | None,
    programs: int,
    suspect: Mapping[str, Sequence[str]] | None,
) -> str:
    best, remarks = scored[0], comparison.remarks
    disagree = "".join(paragraph(text, "disagree") for text in disagreements(comparison))
    doubt = "".join(paragraph(text, "disagree") for text in doubts(comparison))
    verdict = paragraph(_best_and_next(comparison), "verdict-line")
    verdict += "" if lead is None else paragraph(lead_sentence(lead), "verdict-line")
    fewer = f"The {len(scored)} best of {programs} programs are on this page."
    shown = paragraph(fewer, "note") if len(scored) < programs else ""
    graded = {
        name: [(one.severity, wording().say(one.for_one_file())) for one in found]
        for name, found in remarks.own.items()
    }
    if suspect is None:
        serious = {name: [text for grade, text in found if grade != "note"] for name, found in graded.items()}
        suspect = {name: texts for name, texts in serious.items() if texts}
    noted = [f"{name}: {text}" for name, found in graded.items() for grade, text in found if grade == "note"]
    shared = [wording().say(text) for text in remarks.shared]
    about = "".join(paragraph(f"Note: {text}.", "note") for text in (*shared, *noted))
    sign = " (suspect)" if best.name in suspect else ""
    return (
        f"<div class='first'><div class='words'><h1>Best of {programs}: {escape(best.name)}{sign}</h1>"
        f"{shown}{doubt}{verdict}{parts.verdict(best)}{disagree}</div>"
        f"<div>{_ranking(comparison, scored)}{parts.doubtful(suspect, len(scored))}{about}</div></div>"
        "<section id='advice' aria-labelledby='advice-title'><h2 id='advice-title'>What to do next</h2>"
        f"{_advice(scored)}</section>"
    )


def _best_and_next(comparison: Comparison) -> str:
    """How the best compares with the next, as a sentence."""
    first, second = comparison.names[:2]
    return next(f"{pair_sentence(pair)}." for pair in comparison.pairs if {pair.a, pair.b} == {first, second})


def _advice(scored: Sequence[NamedScore]) -> str:
    shown = []
    for one in scored[:_MOST_DETAILED]:
        shown.append(f"<div><h3>{escape(one.name)}</h3>{parts.advice(one)}</div>")
    return f"<div class='planes'>{''.join(shown)}</div>"


def _ranking(comparison: Comparison, scored: Sequence[NamedScore]) -> str:
    columns = [METRICS[key] for key in _RANKING]
    longest = parts.full_width([(one.score.flat_metric.value, one.interval("flat_metric.value")) for one in scored])
    rows = []
    for one in scored:
        row: list[Any] = [one.name, small_budget(one, longest)]
        row += [(metric.show(one.score.get(metric.key)), one.score.get(metric.key)) for metric in columns]
        rows.append(row)
    header: list[str | Html] = ["program", parts.heading("flat_metric.value")]
    header += [parts.heading(metric.key) for metric in columns]
    caption = f"Best first, with {parts.certainty(comparison.intervals[0])}"
    return table("ranking", caption, header, rows, sortable=True)


def small_budget(one: NamedScore, longest: float) -> tuple[Html, float | None]:
    """The Flat Metric with its interval, and both as a small bar."""
    flat, span = one.score.flat_metric, one.interval("flat_metric.value")
    values = {part: getattr(flat, part) or 0.0 for part in parts.PARTS}
    return parts.small_bar(flat.value, values, span, longest), flat.value


def _pairs(comparison: Comparison) -> str:
    rows = [
        [
            f"{pair.a} - {pair.b}",
            (f"{pair.difference:+.2f}", pair.difference),
            "" if pair.ci_all is None else f"{pair.ci_all[0]:+.2f} to {pair.ci_all[1]:+.2f}",
            (f"{'<= ' if pair.p_smallest else ''}{pair.p_adjusted:.2g}", pair.p_adjusted),
            pair_sentence(pair),
        ]
        for pair in comparison.pairs
    ]
    level = f"{comparison.intervals[0].level:g} % for all pairs"
    header = ["pair", "difference [nm]", level, "p for all pairs", "conclusion"]
    return table("pairs", "Differences of the Flat Metric on the same frames", header, rows)


def _lead(lead: Lead | None) -> str:
    if lead is None:
        return paragraph("No true molecule is left to compare with.")
    rows = [[name, (f"{100 * share:.0f} %", share)] for name, share in lead.share.items()]
    crossed = [f"{crossing_sentence(a, b, places)}." for (a, b), places in lead.crossings.items() if places]
    crossings = "".join(map(paragraph, crossed)) or paragraph("No two curves cross.")
    share = f"Part of lam from {lead.low:g} to {lead.high:g} nm in which it is best"
    return crossings + table("lead", share, ["program", "share"], rows)


def _shared() -> str:
    return (
        "<p id='shared-text' role='status' aria-live='polite'></p><div class='planes'>"
        f"<figure>{parts.plane('shared-map', 'Molecules that only one of the two programs finds.')}</figure>"
        "<div><div id='shared-table'></div><p class='note' id='shared-note'></p></div></div>"
    )
