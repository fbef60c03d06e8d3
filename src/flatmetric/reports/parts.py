"""The parts that pages share: verdict, budget bar, tiles, findings, advice, pictures, and the definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric._display import wording
from flatmetric._escaping import escape
from flatmetric.metrics.table import METRICS
from flatmetric.quality.findings import Finding
from flatmetric.reports.html import Html, Section, paragraph, table
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score
from flatmetric.sentences import budget_sentence, compared_sentence, doubtful_sentence, gain_sentence, intervals_title
from flatmetric.version import __version__

PARTS = ("displaced", "missed", "false")
_ROOMY = 0.3  # of the bar: room for the numbers of a part


@dataclass(frozen=True, slots=True, eq=False)
class NamedScore:
    """A score with its name, its intervals if any, and what looks wrong with the files."""

    name: str
    score: Score
    intervals: Intervals | None = None
    findings: tuple[Finding, ...] = ()

    def interval(self, key: str) -> tuple[float, float] | None:
        """The interval of a metric, if there is one."""
        return None if self.intervals is None else self.intervals.intervals.get(key)

    @property
    def unit(self) -> str:
        """What the Flat Metric is given for."""
        return "molecule" if self.score.weights == "uniform" else "photon"


def term(key: str, title: str | None = None) -> Html:
    """The name of a metric, which shows its definition on hover and focus."""
    shown = escape(METRICS[key].title if title is None else title)
    return Html(f"<span class='term' tabindex='0' aria-describedby='def-{key}'>{shown}</span>")


def heading(key: str) -> Html:
    """Name and unit of a metric for the head of a column, with its definition on hover."""
    metric = METRICS[key]
    return Html(term(key).text + (f" [{escape(metric.unit)}]" if metric.unit else ""))


def answer(scored: NamedScore) -> str:
    """The Flat Metric in one sentence."""
    flat = scored.score.flat_metric
    if flat.value is None or flat.displaced is None or flat.missed is None or flat.false is None:
        return f"The Flat Metric is undefined: {scored.score.undefined()['flat_metric.value']}."
    return budget_sentence(flat.value, flat.displaced, flat.missed, flat.false, scored.unit)


def verdict(scored: NamedScore) -> str:
    """The number, large, with its interval, one sentence, and the budget."""
    value = scored.score.flat_metric.value
    span = scored.interval("flat_metric.value")
    shown = "undefined" if value is None else f"{value:.1f} nm"
    interval = "" if span is None or scored.intervals is None else f"{span[0]:.1f} to {span[1]:.1f} nm"
    level = "" if scored.intervals is None else f"{scored.intervals.level:g} %"
    certain = f"<span class='interval'>{escape(interval)} <small>({level} interval)</small></span>" if interval else ""
    bar = "" if value is None else budget_bar(scored.score)
    return (
        f"<p class='verdict'><span class='what'>{term('flat_metric.value').text}</span> "
        f"<strong id='value'>{escape(shown)}</strong> {certain}</p>{paragraph(answer(scored), 'answer')}{bar}"
        f"{paragraph(f'{compared_sentence(scored.score)}.', 'note')}"
    )


def budget_bar(score: Score, styles: Mapping[str, str] | None = None) -> str:
    """The three parts of the Flat Metric as one bar. A page shows nm and percent below it; where there are no style
    sheets, as in a notebook, `styles` of the parts are given, and the numbers are in the bar.
    """
    flat, total = score.flat_metric, score.flat_metric.value or 0.0
    values = {part: getattr(flat, part) or 0.0 for part in PARTS}
    shares = {part: value / total if total > 0 else 0.0 for part, value in values.items()}
    texts = {part: f"{part} {values[part]:.1f} nm, {100 * shares[part]:.0f} %" for part in PARTS}
    if styles is not None:
        roomy = {
            part: texts[part] if shares[part] > _ROOMY else part if shares[part] > _ROOMY / 3 else "" for part in PARTS
        }
        cells = "".join(
            f"<span style='flex:{shares[part]:.5f} 0 0;{styles[part]}' title='{texts[part]}'>{roomy[part]}&nbsp;</span>"
            for part in PARTS
            if shares[part] > 0
        )
        return f"<div style='display:flex;max-width:46em;border-radius:3px;overflow:hidden'>{cells}</div>"
    cells = "".join(f"<span class='{part}' style='flex:{shares[part]:.5f} 0 0'></span>" for part in PARTS)
    legend = "".join(
        f"<li class='{part}'>{term(f'flat_metric.{part}').text} <b>{values[part]:.1f} nm</b> "
        f"{100 * shares[part]:.0f} %</li>"
        for part in PARTS
    )
    empty = "" if total > 0 else " empty"
    label = f"Error budget: {', '.join(texts.values())}"
    bar = f"<div class='budget{empty}' role='img' aria-label='{label}'>{cells}</div>"
    return f"<div id='budget-bar'>{bar}<ul class='legend'>{legend}</ul></div>"


def small_bar(
    value: float | None, values: Mapping[str, float], span: tuple[float, float] | None, longest: float
) -> Html:
    """A number in nm with its interval, and below it both to scale; `longest` fills the width."""
    if value is None:
        return Html("-")
    scale = 100 / longest if longest > 0 else 0.0
    cells = "".join(f"<i class='{part}' style='width:{scale * values[part]:.2f}%'></i>" for part in PARTS)
    interval, whisker = "", ""
    if span is not None:
        low, width = scale * max(span[0], 0.0), scale * (span[1] - max(span[0], 0.0))
        interval = f" <small>{span[0]:.1f} to {span[1]:.1f}</small>"
        whisker = f"<u style='left:{low:.2f}%;width:{width:.2f}%'></u>"
    cut = " cut" if value > longest else ""
    return Html(f"<b>{value:.2f}</b>{interval}<span class='small-bar{cut}' aria-hidden='true'>{cells}{whisker}</span>")


def full_width(places: Sequence[tuple[float | None, tuple[float, float] | None]]) -> float:
    """The value of a full bar, nm: the largest value or end of an interval, unless it would dwarf all others.

    Examples
    --------
    >>> full_width([(50.0, (40.0, 60.0)), (52.0, None), (900.0, None)])
    130.0
    """
    values = sorted(value for value, _ in places if value is not None)
    if not values:
        return 1.0
    ends = [max(value or 0.0, 0.0 if span is None else span[1]) for value, span in places]
    return min(max(ends), 2.5 * values[len(values) // 2])


def tiles(scored: NamedScore) -> str:
    """Recall, precision, RMSE and bias, each with its interval and what is good."""
    counts, matched = scored.score.challenge, f"matched within {scored.score.protocol.tolerance:g} nm"
    axes = "xyz"[: scored.score.dim]
    words = {
        "challenge.recall": f"{counts.tp} of {counts.tp + counts.fn} molecules {matched}; 1 is perfect",
        "challenge.precision": f"{counts.tp} of {counts.tp + counts.fp} detections {matched}; 1 is perfect",
        "challenge.rmse_xy": "error of what was matched; 0 is perfect" + _in_depth(scored),
    }
    shown = [_tile(scored, [key], note) for key, note in words.items()]
    shown.append(_tile(scored, [f"challenge.bias_{axis}" for axis in axes], _bias_words(scored, axes)))
    return f"<ul class='tiles'>{''.join(shown)}</ul>"


def _in_depth(scored: NamedScore) -> str:
    depth, span = scored.score.challenge.rmse_z, scored.interval("challenge.rmse_z")
    interval = "" if span is None else f" ({METRICS['challenge.rmse_z'].show_interval(span)})"
    return "" if depth is None else f"; in depth {depth:.1f} nm{interval}"


def _tile(scored: NamedScore, keys: Sequence[str], note: str) -> str:
    parts = []
    for key in keys:
        metric, span = METRICS[key], scored.interval(key)
        name = f"{key[-1]} " if len(keys) > 1 else ""
        value = f"{name}{metric.show(scored.score.get(key))}"
        interval = "" if span is None else f"<small>{escape(metric.show_interval(span))}</small>"
        parts.append(f"<span class='value'>{escape(value)}{interval}</span>")
    unit = f" [{METRICS[keys[0]].unit}]" if METRICS[keys[0]].unit else ""
    title = term(keys[0], "bias" if len(keys) > 1 else None).text
    name = f"<span class='name'>{title}{escape(unit)}</span>"
    return f"<li>{name}{''.join(parts)}<span class='good'>{escape(note)}</span></li>"


def _bias_words(scored: NamedScore, axes: str) -> str:
    """Whether everything is significantly shifted."""
    spans = [scored.interval(f"challenge.bias_{axis}") for axis in axes]
    if any(span is None for span in spans):
        return "mean shift; 0 is perfect"
    off = [axis for axis, span in zip(axes, spans, strict=True) if span is not None and not span[0] <= 0 <= span[1]]
    if off:
        return f"significantly shifted in {' and '.join(off)}; 0 is perfect"
    return "not significantly different from 0, which is perfect"


def findings(scored: NamedScore) -> str:
    """What looks wrong with the files of one score, in colour; empty where nothing does."""
    return alerts([wording().say(str(one)) for one in scored.findings if one.severity != "note"])


def notes(scored: NamedScore) -> str:
    """What is worth knowing about the files of one score, and no more than that."""
    texts = [f"Note: {wording().say(str(one))}." for one in scored.findings if one.severity == "note"]
    return "".join(paragraph(text, "note") for text in texts)


def doubtful(remarks: Mapping[str, Sequence[str]], results: int) -> str:
    """One line on how many results look wrong, which opens to what looks wrong with each, by name."""
    if not remarks:
        return ""
    rows = "".join(f"<li>{escape(f'{name}: {text}')}</li>" for name, texts in remarks.items() for text in texts)
    line = doubtful_sentence(len(remarks), results)
    return f"<details class='alert' id='doubtful'><summary>{line}</summary><ul>{rows}</ul></details>"


def alerts(texts: Sequence[str]) -> str:
    """Sentences in colour above everything else."""
    if not texts:
        return ""
    listed = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<div class='alert' role='note' aria-label='Findings'><h2>Check this first</h2><ul>{listed}</ul></div>"


def advice(scored: NamedScore) -> str:
    """What to do next, with the gain of each; a plain word where there is nothing."""
    given = scored.score.advice
    if not given:
        return paragraph(gain_sentence(scored.score), "note")
    rows = "".join(
        f"<li data-kind='{one.kind}'><b class='gain'>&minus;{one.gain:.1f} nm</b> {escape(one.sentence)}</li>"
        for one in given
    )
    return f"<ol class='advice'>{rows}</ol>{paragraph(gain_sentence(scored.score), 'note')}"


def plane(name: str, label: str) -> str:
    """A place for a picture that can be moved and zoomed."""
    hint = "Arrow keys move it, plus and minus zoom, 0 shows all."
    return (
        f"<div class='plane' id='{name}'>"
        f"<canvas tabindex='0' role='application' aria-label='{escape(f'{label} {hint}')}'></canvas>"
        "<div class='zoom'><button type='button' data-zoom='in' aria-label='Zoom in'>+</button>"
        "<button type='button' data-zoom='out' aria-label='Zoom out'>&minus;</button>"
        "<button type='button' data-zoom='all' aria-label='Show all'>all</button></div></div>"
    )


def picture(places: Sequence[str]) -> str:
    """The super-resolved picture, one for each of the places, and the switches of its layers."""
    layers = (("truth", "truth"), ("found", "result"), ("missed", "missed"), ("false", "false"))
    switches = "".join(
        f"<label class='layer {name}'><input type='checkbox' name='layer' value='{name}'"
        f"{' checked' if name in ('truth', 'found') else ''}> {title}</label>"
        for name, title in layers
    )
    planes = "".join(
        f"<figure>{plane(f'picture-{place}', 'Truth and result overlaid.')}"
        f"<figcaption id='picture-{place}-caption'></figcaption></figure>"
        for place in places
    )
    return (
        f"<div id='picture'><fieldset class='controls'><legend>Layers</legend>{switches}</fieldset>"
        f"<div class='planes'>{planes}</div><p class='note' id='picture-note'></p></div>"
    )


def certainty(intervals: Intervals) -> str:
    """What intervals are for, what they rest on, and what to keep in mind."""
    title = f"{intervals_title(intervals)}."
    return title if intervals.remark is None else f"{title} Remark: {intervals.remark}."


def all_metrics(scored: NamedScore) -> Section:
    """Every metric that was computed, with its interval and, if it has no value, why."""
    score = scored.score
    header: list[str | Html] = ["metric", "value", "unit"]
    if scored.intervals is not None:
        header.append(f"{scored.intervals.level:g} % interval")
    header.append("good is")
    undefined, rows, missing = score.undefined(), [], dict[str, list[str]]()
    for key, metric in METRICS.items():
        if getattr(score, key.split(".")[0]) is None:
            continue
        value = score.get(key)
        if value is None:
            missing.setdefault(undefined[key], []).append(metric.title)
            continue
        span = scored.interval(key)
        between = [] if scored.intervals is None else ["" if span is None else metric.show_interval(span)]
        rows.append([term(key), (metric.show(value), value), metric.unit, *between, metric.direction])
    counts = (
        f"{len(score.matched.truth_kept)} true molecules and {len(score.matched.pred_kept)} detections count, "
        f"{score.dim}D, lam {score.lam:g} nm."
    )
    left_out = "".join(
        paragraph(f"Undefined, since {reason}: {', '.join(titles)}.", "note") for reason, titles in missing.items()
    )
    note = "" if scored.intervals is None else paragraph(certainty(scored.intervals), "note")
    body = paragraph(counts) + note + table("score", "Every metric", header, rows) + left_out
    return Section("metrics", "All numbers", body, printed=False, short="Numbers")


def definitions() -> str:
    """The drawer: every metric with its definition, formula and direction."""
    rows = [
        [
            Html(f"<span id='name-{key}'>{escape(metric.heading)}</span>"),
            Html(f"<span id='def-{key}'>{escape(metric.meaning)}; {escape(metric.direction)}</span>"),
            Html(f"<code id='formula-{key}'>{escape(metric.equation)}</code>"),
        ]
        for key, metric in METRICS.items()
    ]
    reading = "".join(map(paragraph, HOW_TO_READ))
    listed = table("definitions", "Every metric", ["metric", "definition", "formula"], rows)
    return (
        "<dialog id='drawer' aria-labelledby='drawer-title'>"
        f"<h2 id='drawer-title' tabindex='-1' autofocus>How to read this page</h2>{reading}"
        f"<h2>Definitions</h2>{listed}"
        "<button type='button' id='close-drawer'>Close</button></dialog>"
    )


HOW_TO_READ = (
    "The Flat Metric is the answer in one number: how far, on average, a true molecule is from what was found, in nm. "
    "A molecule that was found costs the distance to its detection (displaced); one that was missed, and a detection "
    "that is false, cost lam each. The bar shows which of the three it is.",
    "What to do next shows where most of it is lost, and by how much each remedy would lower it.",
    "Recall, precision, RMSE and bias are those of the challenge: detections and molecules are matched one to one "
    "within a tolerance. In pictures, budget and advice, missed and false are those of the transport plan: what has no "
    "partner within 2 lam.",
    "In every picture truth is magenta or a ring, the result green or a dot; a plus is missed, a cross is false. Blue "
    "is displaced, red-orange missed, yellow false; programs have colours of their own.",
    "Names with a dotted line show their definition when you hover over them or tab to them.",
)


def method(score: Score, inputs: Mapping[str, Score], command: str) -> Section:
    """What was compared by which rules, and the command that makes the page again."""
    tables = [("truth", score.matched.truth), *((name, one.matched.pred) for name, one in inputs.items())]
    rows = [
        [
            name,
            None if source.provenance.file is None else Path(source.provenance.file).name,
            len(source),
            source.provenance.format,
            source.provenance.sha256,
            "; ".join(source.provenance.conversions),
        ]
        for name, source in tables
    ]
    protocol = score.protocol.to_dict()
    rules = [[name.replace("_", " "), "-" if value is None else str(value)] for name, value in protocol.items()]
    words = (
        "The Flat Metric is the least cost of turning the detections into the true molecules: moving costs the "
        f"distance, leaving a molecule or a detection without a partner costs lam = {score.lam:g} nm, and nothing is "
        "moved further than 2 lam. Each frame is solved separately. It is solved exactly, and a lower bound proves it."
    )
    header = ["input", "file", "rows", "format", "sha256", "conversions"]
    body = (
        paragraph(words) + table("inputs", "Inputs", header, rows) + table("rules", "Rules", ["rule", "value"], rules)
    )
    return Section("method", "Method and inputs", body + made_by(command), printed=False, short="Method")


def made_by(command: str) -> str:
    """The command that makes the page again."""
    return f"<p>Made by flatmetric {escape(__version__)} with</p><pre><code>{escape(command)}</code></pre>"
