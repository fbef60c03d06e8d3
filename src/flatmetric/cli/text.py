"""Results as text: what a person reads in ten seconds."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from flatmetric.cli.options import FLAGS
from flatmetric.errors import printable
from flatmetric.metrics.table import FAMILIES, METRICS
from flatmetric.options.base import keywords_of
from flatmetric.options.scoring import ScoreOptions
from flatmetric.quality.findings import BY_HAND
from flatmetric.sentences import (
    budget_sentence,
    compared_sentence,
    crossing_sentence,
    disagreements,
    doubts,
    intervals_title,
    pair_sentence,
)

if TYPE_CHECKING:
    from flatmetric.quality.inspect import Inspection
    from flatmetric.scoring.base_score import BaseScore
    from flatmetric.scoring.breakdown import Bin
    from flatmetric.scoring.intervals import Intervals
    from flatmetric.statistics.comparison import Comparison, Lead

_BAR_WIDTH = 40  # characters for 100 %: the budget then fits on 80 columns
_LINES = (
    *("detection", "lateral", "axial", "3D", "overall", "molecules", "RMSMD", "GOSPA", "photons", "claims", "bound"),
    *("linked", "images", "more", "frames"),
)
"""The lines of a score's text, in their order; their content comes from the table of metrics."""
_QUIET = {reason.text for metric in METRICS.values() for reason in metric.undefined if reason.quiet}
_MAIN = ("flat_metric.value", "challenge.jaccard", "challenge.rmse_xy", "challenge.efficiency")


def as_flags(sentence: str) -> str:
    """A sentence of the library with its arguments as flags.

    Examples
    --------
    >>> as_flags("give pixel_size= in nm"), as_flags("shift=(1.50,-2.00)"), as_flags("unit='px', pixel_size=100")
    ('give --pixel-size in nm', '--shift 1.50,-2.00', '--unit px --pixel-size 100')
    >>> as_flags("pixel_size is 0; give a length in nm above 0")
    '--pixel-size is 0; give a length in nm above 0'
    """
    flagged = re.sub(r"(?<![\w.'-])([a-z_]+)=(?!=)(\{[^}]*\}|\([^)]*\)|'[^']*'|-?[\w.]*\w|)", _as_flag, sentence)
    first, space, rest = flagged.partition(" ")
    if first in _flags() and rest.startswith(("is ", "has ")):
        flagged = f"{_flags()[first]}{space}{rest}"
    flagged = re.sub(r"(--[\w-]+ [^ ,;]+), (?=--)", r"\1 ", flagged)
    return flagged.replace(BY_HAND, "flatmetric check TRUTH RESULT --apply FIXED.csv")


@cache
def _flags() -> dict[str, str]:
    """The flags of the commands in use and of `score`, by their keywords."""
    return {name: f"--{name.replace('_', '-')}" for name in keywords_of(ScoreOptions)} | FLAGS


def _as_flag(match: re.Match[str]) -> str:
    if match[1] not in _flags():
        return match[0]
    flag, text = _flags()[match[1]], match[2]
    if text.startswith("{"):
        text = ",".join(f"{name}={place}" for name, place in ast.literal_eval(text).items())
    if text == "False":
        return flag.replace("--", "--no-", 1)
    text = "" if text == "True" else text.strip("()'")
    return f"{flag} {text}" if text else flag


def aligned(rows: Sequence[Sequence[str]], align: str = ">") -> list[str]:
    """One line for each row, its cells padded to the widest of their column, to the left (<) or the right (>).

    Examples
    --------
    >>> aligned([["frame", "x"], ["1", "12.50"]])
    ['frame      x', '    1  12.50']
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{align}{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def budget_text(
    value: float,
    displaced: float,
    missed: float,
    false: float,
    unit: str = "molecule",
    *,
    merged: float = 0.0,
    split: float = 0.0,
) -> str:
    """The Flat Metric, its three parts in nm and percent with bars, and one plain sentence; per true `unit`.

    `merged` is the part of `missed` that has one detection for two molecules, `split` that of `false` with two for one.

    Examples
    --------
    >>> print(budget_text(65.0, 2.5, 62.5, 0.0))
    Flat Metric  65.00 nm per true molecule
      displaced   2.50 nm    4 %  ##
      missed     62.50 nm   96 %  ######################################
      false       0.00 nm    0 %
    On average 65.0 nm per molecule; 96 % of it from missed molecules.
    """
    width = len(f"{value:.2f}")
    lines = [f"Flat Metric  {value:.2f} nm per true {unit}"]
    for name, part in (("displaced", displaced), ("missed", missed), ("false", false)):
        share = part / value if value > 0 else 0.0
        bar = "#" * round(_BAR_WIDTH * share)
        lines.append(f"  {name:<9}  {part:>{width}.2f} nm  {100 * share:3.0f} %  {bar}".rstrip())
        category, part_of = {"missed": ("merged", merged), "false": ("split", split)}.get(name, ("", 0.0))
        if part_of > 0:
            lines.append(
                f"    {category:<7}  {part_of:>{width}.2f} nm  {100 * part_of / value:3.0f} %  (part of {name})"
            )
    return "\n".join([*lines, budget_sentence(value, displaced, missed, false, unit)])


class _Footnotes:
    """Reasons why values are missing, numbered as they come."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> str:
        """The text in place of the value."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"-[{self.reasons.index(reason) + 1}]"

    def lines(self, indent: str = "") -> list[str]:
        """The reasons, one line each."""
        return [f"{indent}[{k}] {reason}" for k, reason in enumerate(self.reasons, 1)]


def score_text(score: BaseScore, intervals: Intervals | None = None) -> str:
    """The error budget, one plain sentence, every family of metrics, and intervals of the main numbers."""
    notes, flat = _Footnotes(), score.flat_metric
    lines = [compared_sentence(score), ""]
    if flat.value is None or flat.displaced is None or flat.missed is None or flat.false is None:
        lines.append(f"Flat Metric  {notes.mark(score.undefined()['flat_metric.value'])}")
    else:
        unit = "molecule" if score.weights == "uniform" else "photon"
        categories = {"merged": flat.merged or 0.0, "split": flat.split or 0.0}
        lines.append(budget_text(flat.value, flat.displaced, flat.missed, flat.false, unit, **categories))
    if score.advice:
        lines += [
            "",
            "What to do next",
            *aligned([[f"  -{one.gain:.1f} nm", one.sentence] for one in score.advice], "<"),
        ]
    lines += ["", *_metric_lines(score, notes)]
    if intervals is not None:
        lines += ["", *_certainty(intervals)]
    return "\n".join([*lines, *notes.lines("  ")])


def _metric_lines(score: BaseScore, notes: _Footnotes) -> list[str]:
    """Every metric that the table gives a line, a line each; one whose metrics are all undefined is short, or left out
    where the reason goes without saying.
    """
    undefined, on_line, printed = score.undefined(), dict[str, list[str]](), set[str]()
    for key, metric in METRICS.items():
        if metric.line not in (None, "budget") and getattr(score, key.split(".")[0]) is not None:
            on_line.setdefault(metric.line or "", []).append(key)
    lines = []
    for name in sorted(on_line, key=lambda name: _LINES.index(name) if name in _LINES else len(_LINES)):
        keys = [key for key in on_line[name] if undefined.get(key) not in _QUIET]
        if not keys:
            continue
        reasons = {undefined.get(key) for key in keys}
        if len(reasons) == 1 and None not in reasons:
            shown = [notes.mark(str(reasons.pop()))]
        else:
            shown = [METRICS[key].label.format(_value(score, key, undefined, notes)) for key in keys]
        if not printed.issuperset(shown):  # in 2D the lateral efficiency is the overall one
            lines.append(f"  {name:<9}  {'  '.join(shown)}")
        printed.update(shown)
    return lines


def _value(score: BaseScore, key: str, undefined: Mapping[str, str], notes: _Footnotes) -> str:
    value = score.get(key)
    return notes.mark(undefined[key]) if value is None else METRICS[key].show(value)


def _certainty(intervals: Intervals) -> list[str]:
    lines = [f"  {intervals_title(intervals)}"]
    for key in _MAIN:
        metric, span = METRICS[key], intervals.intervals.get(key)
        shown = "-" if span is None else f"{metric.show_interval(span)} {metric.unit}"
        lines.append(f"    {metric.title:<13} {shown}")
    return lines if intervals.remark is None else [*lines, f"    remark: {intervals.remark}"]


def bins_text(quantity: str, bins: list[Bin]) -> str:
    """Scores in bins as a table."""
    from flatmetric.scoring.breakdown import QUANTITIES

    notes = _Footnotes()
    titles = ["truth", "detected", "recall", "precision", "Jaccard %", "RMSE xy"]
    titles += ["Flat Metric", "displaced", "missed", "false"]
    rows = [[QUANTITIES[quantity], *titles]]  # type: ignore[index]
    for each in bins:
        lengths = (each.challenge.rmse_xy, each.flat_metric, each.displaced, each.missed, each.false)
        shares = [(each.challenge.recall, ".3f"), (each.challenge.precision, ".3f")]
        cells = [*shares, (each.challenge.jaccard, ".1f"), *((length, ".2f") for length in lengths)]
        reason = "no detection was matched" if each.n_truth else "no true molecule in this bin"
        shown = [notes.mark(reason) if value is None else format(value, form) for value, form in cells]
        rows.append([f"{each.low:g} to {each.high:g}", str(each.n_truth), str(each.n_pred), *shown])
    return "\n".join([*aligned(rows), *notes.lines()])


def comparison_text(comparison: Comparison) -> str:
    """The ranking with intervals, and one sentence for each pair."""
    level = comparison.intervals[0].level
    rows = [["", f"Flat Metric ({level:g} %)", "Jaccard %", "RMSE xy", "efficiency"]]
    for name, score, intervals in zip(comparison.names, comparison.scores, comparison.intervals, strict=True):
        cells = [_with_interval(key, score.get(key), intervals.intervals[key]) for key in _MAIN]
        rows.append([name, *cells])
    first = comparison.intervals[0]
    remark = [] if first.remark is None else [f"remark: {first.remark}"]
    sentences = [*doubts(comparison), *(pair_sentence(pair) for pair in comparison.pairs), *disagreements(comparison)]
    todo = [
        f"{printable(name)}: {score.advice[0]}"
        for name, score in zip(comparison.names, comparison.scores, strict=True)
        if score.advice
    ]
    advice = ["", "What to do next", *(f"  {text}" for text in todo)] if todo else []
    return "\n".join(
        [*aligned(rows, "<"), "", *map(printable, sentences), *advice, "", intervals_title(first), *remark]
    )


def _with_interval(key: str, value: float | None, span: tuple[float, float] | None) -> str:
    metric = METRICS[key]
    return metric.show(value) + ("" if value is None or span is None else f" ({metric.show_interval(span)})")


def lead_text(lead: Lead) -> str:
    """Which program leads for which lam, and where the curves cross."""
    lines = [f"best for lam from {lead.low:g} to {lead.high:g} nm:"]
    lines += [f"  {printable(name)} {100 * share:.0f} %" for name, share in lead.share.items()]
    crossed = [(a, b, places) for (a, b), places in lead.crossings.items() if places]
    lines += [f"  {printable(crossing_sentence(*one))}" for one in crossed]
    return "\n".join(lines)


def inspection_text(inspection: Inspection) -> str:
    """What a file is, its first rows, and what looks wrong in it."""
    frames = "none"
    if inspection.frames is not None:
        frames = f"{inspection.frames[0]} to {inspection.frames[1]}, {inspection.frames_with_rows} with rows"
    dropped = f" ({sum(inspection.dropped.values())} dropped)" if inspection.dropped else ""
    facts = [
        ("format", f"{inspection.format}: {inspection.reason}"),
        ("sha256", inspection.sha256 or ""),
        ("rows", f"{inspection.rows}{dropped}"),
        ("frames", frames),
        ("columns", " ".join(inspection.columns)),
        *([("not used", printable(", ".join(inspection.unused)))] if inspection.unused else []),
        *((axis, f"{low:.1f} to {high:.1f} nm") for axis, (low, high) in inspection.extent.items()),
        *(("" if at else "conversions", step) for at, step in enumerate(inspection.conversions)),
    ]
    lines = [printable(str(inspection.file)), *(f"  {name:<12}{text}" for name, text in facts)]
    if inspection.first_rows:
        rows = [[_cell(row[name]) for name in inspection.columns] for row in inspection.first_rows]
        lines += ["", *(f"  {line}" for line in aligned([list(inspection.columns), *rows]))]
    lines += ["", *(f"finding: {as_flags(warning)}" for warning in inspection.warnings)] if inspection.warnings else []
    lines += ["", *(f"assumed: {as_flags(text)}" for text in inspection.assumptions)] if inspection.assumptions else []
    return "\n".join(lines)


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"


def flat_values(content: dict[str, Any]) -> dict[str, Any]:
    """All single values of a score's JSON under their keys, for one row of a CSV."""
    flat: dict[str, Any] = {
        "truth": content["inputs"]["truth"]["name"],
        "pred": content["inputs"]["pred"]["name"],
        "lam_nm": content["lam_nm"],
        "dim": content["dim"],
    }
    for part in FAMILIES:
        for name, value in content.get(part, {}).items():
            metric = METRICS.get(f"{part}.{name}")
            unit = f" [{metric.unit}]" if metric is not None and metric.unit else ""
            flat[f"{part}.{name}{unit}"] = value
    return flat
