"""The page of a score, or of several scores on one truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, get_args

from flatmetric.errors import InputError
from flatmetric.metrics.base import Metric
from flatmetric.metrics.table import METRICS
from flatmetric.pages import sampling
from flatmetric.pages.html import chart, page, paragraph, table
from flatmetric.scoring.breakdown import QUANTITIES, Bin, Quantity, score_in_bins
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score
from flatmetric.sentences import budget_sentence, intervals_title, pair_sentence
from flatmetric.statistics.comparison import LEAD_FROM, LEAD_TO, Comparison, lead_over
from flatmetric.version import __version__

Bins = dict[Quantity, list[Bin]]

_MOST_DETAILED = 8  # programs with a frame browser of their own; more would make the page too large

_RANKING = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")
_RANKING_PLAIN = ("challenge.recall", "challenge.precision")  # their intervals would make the table too wide


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A score with its name, its intervals if any, and sentences on what looks wrong with the files.

    `warnings` is None if the files were not checked.
    """

    name: str
    score: Score
    intervals: Intervals | None = None
    warnings: tuple[str, ...] | None = None


def score_page(scored: Scored, command: str) -> str:
    """The page of one score, as HTML; `command` is what makes it again.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> html = score_page(Scored("mine", score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})), "flatmetric score ...")
    >>> "On average 65.0 nm per molecule" in html
    True
    """
    binned = [_binned(scored.score)]
    sections = [
        ("summary", "Score", _summary(scored)),
        *_details([scored], binned, [scored]),
        _method([scored], command),
    ]
    return page(f"{scored.name}: Flat Metric", _answer(scored), sections, _content([scored], binned, [scored]))


def comparison_page(comparison: Comparison, scored: Sequence[Scored], command: str) -> str:
    """The page of several programs on one truth; `scored` in the order of the comparison, best first.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> from flatmetric.statistics.comparison import compare_scores
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> scores = {name: score(truth, dict(truth, x=[d] * 30)) for name, d in (("a", 5.0), ("b", 50.0))}
    >>> html = comparison_page(compare_scores(scores), [Scored(n, s) for n, s in scores.items()], "...")
    >>> "a is better than b" in html
    True
    """
    answer = f"Best of {len(comparison.names)}: {comparison.names[0]}. {_answer(scored[0])}"
    detailed = list(scored[:_MOST_DETAILED])
    binned = [_binned(one.score) for one in detailed]
    sections = [
        ("summary", "Ranking", _warnings(scored) + _ranking(comparison)),
        ("pairs", "Pairs", _pairs(comparison)),
        ("curves", "For which lam which program leads", _lead(comparison)),
        *_details(detailed, binned, scored),
        _method(list(scored), command),
    ]
    return page(f"{len(comparison.names)} programs: Flat Metric", answer, sections, _content(detailed, binned, scored))


def _answer(scored: Scored) -> str:
    flat = scored.score.flat_metric
    if flat.value is None or flat.displaced is None or flat.missed is None or flat.false is None:
        return f"The Flat Metric is undefined: {scored.score.undefined()['flat_metric.value']}."
    return budget_sentence(flat.value, flat.displaced, flat.missed, flat.false, _unit(scored.score))


def _summary(scored: Scored) -> str:
    score, intervals = scored.score, scored.intervals
    header = ["metric", "value", "unit"]
    if intervals is not None:
        header.append(f"{intervals.level:g} % interval")
    header.append("why it is undefined")
    undefined = score.undefined()
    rows = []
    for key, metric in METRICS.items():
        if not metric.shown or getattr(score, key.split(".")[0]) is None:
            continue
        row: list[Any] = [metric.title, _shown(metric, score), metric.unit]
        if intervals is not None:
            span = intervals.intervals.get(key)
            row.append("" if span is None else metric.show_interval(span))
        rows.append([*row, undefined.get(key, "")])
    counts = (
        f"{len(score.matched.truth_kept)} true molecules and {len(score.matched.pred_kept)} detections count, "
        f"{score.dim}D, lam {score.lam:g} nm."
    )
    certain = "" if intervals is None else paragraph(_certainty(intervals), "note")
    return _warnings([scored]) + paragraph(counts) + certain + table("score", "Every metric", header, rows)


def _certainty(intervals: Intervals) -> str:
    title = f"{intervals_title(intervals)}."
    return title if intervals.remark is None else f"{title} Remark: {intervals.remark}."


def _warnings(scored: Sequence[Scored]) -> str:
    """What looks wrong with the files, under its own heading; empty if they were not checked."""
    looked = [one for one in scored if one.warnings is not None]
    if not looked:
        return ""
    named = len(scored) > 1
    texts = [f"{one.name}: {text}" if named else text for one in looked for text in one.warnings or ()]
    body = "".join(paragraph(text, "warning") for text in texts) or paragraph("Nothing looks wrong.", "note")
    return f"<h3>Check of the files</h3>{body}"


def _shown(metric: Metric, score: Score) -> tuple[str, float | None]:
    value = score.get(metric.key)
    return metric.show(value), value


def _ranking(comparison: Comparison) -> str:
    columns = [METRICS[key] for key in (*_RANKING, *_RANKING_PLAIN)]
    rows = []
    for name, score, intervals in zip(comparison.names, comparison.scores, comparison.intervals, strict=True):
        row: list[Any] = [name]
        for metric in columns:
            text, value = _shown(metric, score)
            span = intervals.intervals.get(metric.key)
            if span is not None and metric.key in _RANKING:
                text += f" ({metric.show_interval(span)})"
            row.append((text, value))
        rows.append(row)
    caption = f"Best first, with {_certainty(comparison.intervals[0])}"
    return table("ranking", caption, ["program", *(metric.heading for metric in columns)], rows, sortable=True)


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
    header = [
        "pair",
        "difference [nm]",
        f"{comparison.intervals[0].level:g} % for all pairs",
        "p for all pairs",
        "in words",
    ]
    return table("pairs", "Differences of the Flat Metric on the same frames", header, rows)


def _lead(comparison: Comparison) -> str:
    if any(len(score.matched.truth_kept) == 0 for score in comparison.scores):
        return paragraph("No true molecule is left to compare with.")
    lead = lead_over(comparison, LEAD_FROM, LEAD_TO)
    rows = [[name, (f"{100 * share:.0f} %", share)] for name, share in lead.share.items()]
    crossed = [
        f"{a} and {b} cross at lam {', '.join(f'{lam:.1f}' for lam in places)} nm."
        for (a, b), places in lead.crossings.items()
        if places
    ]
    crossings = "".join(map(paragraph, crossed)) or paragraph("No two curves cross.")
    share = table(
        "lead", f"Part of lam from {lead.low:g} to {lead.high:g} nm in which it is best", ["program", "share"], rows
    )
    return chart("all-curves", "Flat Metric of every program against lam") + crossings + share


def _details(
    scored: Sequence[Scored], binned: Sequence[Bins], everyone: Sequence[Scored]
) -> list[tuple[str, str, str]]:
    """The sections that are drawn from the content, one program at a time; the budget covers all programs."""
    choice = ""
    if len(scored) > 1:
        names = "".join(f"<option value='{k}'>{escape(one.name)}</option>" for k, one in enumerate(scored))
        choice = f"<label>Program <select class='program'>{names}</select></label>"
    whose = "<p class='whose note'></p>"
    errors = "<p id='errors-text'></p>" + chart("errors-plane", "dx against dy, counted")
    errors += chart("errors-axes", "Distribution of the errors along each axis")
    curve = chart("curve-chart", "Flat Metric against lam") + "<p class='note' id='curve-note'></p>"
    few = f"Only the {len(scored)} best programs of {len(everyone)} are here, to keep the file small."
    left_out = paragraph(few, "note") if len(scored) < len(everyone) else ""
    series = chart("series", "What each frame costs: displaced, missed and false")
    return [
        ("budget", "Error budget", _budget(everyone)),
        ("frames", "Frame by frame", left_out + _frame_browser(choice) + series),
        ("field", "The whole field", whose + _field_map()),
        ("errors", "Errors of matched molecules", whose + errors),
        ("curve", "Flat Metric for every lam", whose + curve),
        ("bins", f"Against {_quantities(binned)}", whose + _bins(scored, binned)),
    ]


def _quantities(binned: Sequence[Bins]) -> str:
    words = {"z": "depth", "photons": "photons", "density": "density", "frame": "time"}
    there = [word for quantity, word in words.items() if any(quantity in bins for bins in binned)]
    return ", ".join(there) or "nothing"


def _frame_browser(choice: str) -> str:
    orders = "<option value='worst'>worst first</option><option value='frame'>by frame</option>"
    return (
        f"<div class='controls'>{choice}<label>Order <select id='order'>{orders}</select></label>"
        "<button type='button' id='previous' aria-label='Previous frame'>&larr;</button>"
        "<label class='wide'>Frame <input type='range' id='slider' min='0' max='0' value='0'></label>"
        "<button type='button' id='next' aria-label='Next frame'>&rarr;</button></div>"
        "<p id='frame-text' role='status' aria-live='polite'></p>"
        + chart("frame-map", "Map of the frame: truth, detections and the plan between them", tall=True)
        + "<p class='note' id='frame-note'></p>"
        + paragraph("Arrow keys go from frame to frame; hover over a point for its cost and its partner.", "note")
        + "<details><summary>The rows of this frame</summary><div id='frame-table'></div></details>"
    )


def _field_map() -> str:
    layers = "".join(
        f"<label><input type='radio' name='layer' value='{name}'{' checked' if name == 'missed' else ''}>{name}</label>"
        for name in ("truth", "found", "missed", "false")
    )
    shown = chart("field-map", "Where in the field molecules are, or were missed, or are false", tall=True)
    controls = f"<fieldset class='controls'><legend>Layer</legend>{layers}</fieldset>"
    return controls + shown + "<p class='note' id='field-note'></p>"


def _budget(scored: Sequence[Scored]) -> str:
    parts = [METRICS[f"flat_metric.{name}"] for name in ("value", "displaced", "missed", "false")]
    rows = [[one.name, *(_shown(part, one.score) for part in parts)] for one in scored]
    header = ["program", *(part.heading for part in parts)]
    return chart("budget-chart", "Bars of displaced, missed and false, in nm") + table(
        "budget", "Where the Flat Metric comes from", header, rows
    )


def _bins(scored: Sequence[Scored], binned: Sequence[Bins]) -> str:
    """Charts and tables of scores in bins, for every quantity that the tables have."""
    lengths = ["Flat Metric", "displaced", "missed", "false", "RMSE xy"]
    parts = []
    for at, (one, quantities) in enumerate(zip(scored, binned, strict=True)):
        for quantity, bins in quantities.items():
            rows = []
            for each in bins:
                values = (each.flat_metric, each.displaced, each.missed, each.false, each.challenge.rmse_xy)
                shares = [(each.challenge.recall, ".3f"), (each.challenge.precision, ".3f")]
                numbers = [*shares, (each.challenge.jaccard, ".1f"), *((value, ".2f") for value in values)]
                cells = [("-" if value is None else format(value, form), value) for value, form in numbers]
                rows.append([f"{each.low:g} to {each.high:g}", each.n_truth, each.n_pred, *cells])
            header = [QUANTITIES[quantity], "truth", "found", "recall", "precision", "Jaccard [%]", *lengths]
            caption = f"{one.name} against {QUANTITIES[quantity]}, lengths in nm"
            shown_table = table(f"by-{quantity}", caption, header, rows)
            title = QUANTITIES[quantity]
            shown = chart(f"bins-{at}-{quantity}", f"Flat Metric and Jaccard of {one.name} against {title}")
            body = f"{shown}<details><summary>Numbers</summary>{shown_table}</details>"
            parts.append(f"<div class='of-program' data-program='{at}'>{body}</div>")
    return "".join(parts)


def _method(scored: Sequence[Scored], command: str) -> tuple[str, str, str]:
    score = scored[0].score
    inputs = [("truth", score.matched.truth), *((one.name, one.score.matched.pred) for one in scored)]
    rows = [
        [
            name,
            None if source.provenance.file is None else Path(source.provenance.file).name,
            len(source),
            source.provenance.format,
            source.provenance.sha256,
            "; ".join(source.provenance.conversions),
        ]
        for name, source in inputs
    ]
    protocol = score.protocol.to_dict()
    rules = [[name.replace("_", " "), "-" if value is None else str(value)] for name, value in protocol.items()]
    method = (
        "The Flat Metric is the least cost of turning the detections into the true molecules: moving costs the "
        f"distance, leaving a molecule or a detection without a partner costs lam = {score.lam:g} nm, and nothing is "
        "moved further than 2 lam. Different frames never meet. It is solved exactly, and a lower bound proves it."
    )
    body = (
        paragraph(method)
        + table("inputs", "Inputs", ["input", "file", "rows", "format", "sha256", "conversions"], rows)
        + table("rules", "Rules", ["rule", "value"], rules)
        + f"<p>Made by flatmetric {escape(__version__)} with</p><pre><code>{escape(command)}</code></pre>"
    )
    return "method", "Method and inputs", body


def _binned(score: Score) -> Bins:
    """Scores in bins of every quantity that both tables have."""
    binned: Bins = {}
    for quantity in get_args(Quantity):
        try:
            bins = score_in_bins(score, quantity)
        except InputError:
            continue  # a table without depths or photons has no such bins
        if bins:
            binned[quantity] = bins
    return binned


def _content(scored: Sequence[Scored], binned: Sequence[Bins], everyone: Sequence[Scored]) -> dict[str, Any]:
    """What the script draws: everything about the detailed programs, budget and curve of all."""
    budget = sampling.ROWS // max(1, len(scored))
    return {
        "kind": "score",
        "unit": _unit(scored[0].score),
        "programs": [_program(one, bins, budget) for one, bins in zip(scored, binned, strict=True)],
        "everyone": [_overview(one) for one in everyone],
    }


def _unit(score: Score) -> str:
    return "molecule" if score.weights == "uniform" else "photon"


def _overview(one: Scored) -> dict[str, Any]:
    score = one.score
    return {
        "name": one.name,
        "budget": {part: getattr(score.flat_metric, part) for part in ("displaced", "missed", "false")},
        "curve": sampling.curve_content(score, max(LEAD_TO, 2 * score.lam)),
    }


def _program(one: Scored, binned: Bins, budget: int) -> dict[str, Any]:
    score = one.score
    return {
        "name": one.name,
        "lam": score.lam,
        "frames": sampling.frames_content(score, budget),
        "series": sampling.series_content(score),
        "field": sampling.field_content(score),
        "errors": sampling.errors_content(score),
        "bins": {quantity: _steps(bins, QUANTITIES[quantity]) for quantity, bins in binned.items()},
    }


def _steps(bins: Sequence[Bin], name: str) -> dict[str, Any]:
    return {
        "name": name,
        "edges": [bins[0].low, *(each.high for each in bins)],
        "flat_metric": [each.flat_metric for each in bins],
        "jaccard": [each.challenge.jaccard for each in bins],
    }
