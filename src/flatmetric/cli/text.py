"""Results as text: what a person reads in ten seconds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from flatmetric.api.options import Checked, Images, ReadBoth, Scoring, Sure, options_of
from flatmetric.cli.options import NAMES
from flatmetric.metrics.table import METRICS
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
    from flatmetric.scoring.breakdown import Bin, Quantity
    from flatmetric.scoring.intervals import Intervals
    from flatmetric.scoring.scored import Scored
    from flatmetric.statistics.comparison import Comparison, Lead

_BAR_WIDTH = 40
# A metric in braces is shown in the format that the table of metrics gives it.
_DETECTION = (
    "  found      TP {challenge.tp}  FP {challenge.fp}  FN {challenge.fn}   Jaccard {challenge.jaccard} %   "
    "precision {challenge.precision}  recall {challenge.recall}  F1 {challenge.f1}",
    "  lateral    RMSE {challenge.rmse_xy} nm  MAD {challenge.mad_xy} nm  "
    "bias x {challenge.bias_x}  y {challenge.bias_y} nm  efficiency {challenge.efficiency_xy} %",
)
_IN_3D = (
    "  axial      RMSE {challenge.rmse_z} nm  MAD {challenge.mad_z} nm  "
    "bias z {challenge.bias_z} nm  efficiency {challenge.efficiency_z} %",
    "  3D         RMSE {challenge.rmse_xyz} nm  MAD {challenge.mad_xyz} nm  efficiency {challenge.efficiency} %",
)
_MOLECULES = (
    "  molecules  found {molecules.tp}  missed {molecules.fn}  recall {molecules.recall}  "
    "RMSE {molecules.rmse_xy} nm  seen in {molecules.detection_ratio} of their frames"
)
_OTHERS = (
    "  RMSMD      per frame {rmsmd.per_frame} nm (without {rmsmd.alone} points with nobody to compare in their frame)  "
    "whole set {rmsmd.whole_set} nm",
    "  GOSPA      {gospa.value} nm (p {gospa.p}, c {gospa.c} nm)   OSPA {ospa.value} nm   "
    "photons r {challenge.photon_correlation}",
)
_CALIBRATION = (
    "  claims     error / claimed uncertainty {calibration.xy} (1 is honest; x {calibration.x}, y {calibration.y})"
)
_BOUND = "  bound      RMSE lateral / Cramer-Rao bound {bound.ratio} (1 is perfect; the bound is {bound.rmse_xy} nm)"
_LINKED = (
    "  linked     {linked.linked} molecules for {linked.molecules} true ones, counting error {linked.counting_error} % "
    "Flat Metric {linked.flat_metric} nm  RMSE {linked.rmse_xy} nm"
)
_IMAGES = "  images     SNR {images.snr_xy} dB  FRC {images.frc_xy} nm (xy)"
_FRAMES = (
    "  frames     mean of the Flat Metric over frames with truth {flat_metric.frame_mean} nm   "
    "{flat_metric.frames_without_truth} frames with detections and no truth   gap to the lower bound "
)
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
    names = _option_names()
    flagged = re.sub(r"(?<![\w.'-])([a-z_]+)=(?!=)(\{[^}]*\}|\([^)]*\)|'[^']*'|-?[\w.]*\w|)", _as_flag, sentence)
    first, space, rest = flagged.partition(" ")
    if first in names and rest.startswith(("is ", "has ")):
        flagged = f"{_flag(first)}{space}{rest}"
    flagged = re.sub(r"(--[\w-]+ [^ ,;]+), (?=--)", r"\1 ", flagged)
    return flagged.replace(BY_HAND, "flatmetric check TRUTH RESULT --apply FIXED.csv")


@cache
def _option_names() -> frozenset[str]:
    of_library = {name for group in (ReadBoth, Scoring, Sure, Checked, Images) for name in options_of(group)}
    return frozenset(of_library | NAMES)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_flag(match: re.Match[str]) -> str:
    if match[1] not in _option_names():
        return match[0]
    flag, text = _flag(match[1]), match[2]
    if text.startswith("{"):
        text = ",".join(f"{name}={place}" for name, place in ast.literal_eval(text).items())
    if text == "False":
        return f"--no-{match[1]}"
    text = "" if text == "True" else text.strip("()'")
    return f"{flag} {text}" if text else flag


def aligned(rows: Sequence[Sequence[str]], align: str = ">") -> list[str]:
    """One line for each row, its cells padded to the widest of their column, to the left (<) or the right (>).

    Examples
    --------
    >>> aligned([["frame", "x"], ["1", "12.50"]])
    ['frame      x', '    1  12.50']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{align}{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def error_budget(
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
    >>> print(error_budget(65.0, 2.5, 62.5, 0.0))
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
        """What stands in place of the value."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"-[{self.reasons.index(reason) + 1}]"

    def lines(self, indent: str = "") -> list[str]:
        """The reasons, one line each."""
        return [f"{indent}[{k}] {reason}" for k, reason in enumerate(self.reasons, 1)]


def score_text(score: Scored, intervals: Intervals | None = None) -> str:
    """The error budget, one plain sentence, every family of metrics, and intervals of the main numbers."""
    notes, flat, undefined = _Footnotes(), score.flat_metric, score.undefined()

    def fill(template: str) -> str:
        def shown(match: re.Match[str]) -> str:
            value = score.get(match[1])
            return notes.mark(undefined[match[1]]) if value is None else METRICS[match[1]].show(value)

        return re.sub(r"\{([\w.]+)\}", shown, template)

    lines = [compared_sentence(score), ""]
    if flat.value is None or flat.displaced is None or flat.missed is None or flat.false is None:
        lines.append(fill("Flat Metric  {flat_metric.value}"))
    else:
        unit = "molecule" if score.weights == "uniform" else "photon"
        categories = {"merged": flat.merged or 0.0, "split": flat.split or 0.0}
        lines.append(error_budget(flat.value, flat.displaced, flat.missed, flat.false, unit, **categories))
    if score.advice:
        lines += [
            "",
            "What to do next",
            *aligned([[f"  -{one.gain:.1f} nm", one.sentence] for one in score.advice], "<"),
        ]
    lines += ["", *map(fill, _DETECTION)]
    if score.dim == 3:
        lines += map(fill, _IN_3D)
    lines.append(fill(_MOLECULES if score.molecules.tp is not None else "  molecules  {molecules.tp}"))
    lines += map(fill, _OTHERS)
    if score.calibration.xy is not None:
        lines.append(fill(_CALIBRATION))
    for part, line in ((score.bound, _BOUND), (score.linked, _LINKED), (score.images, _IMAGES)):
        if part is not None:
            lines.append(fill(line))
    if flat.gap is not None:
        lines.append(f"{fill(_FRAMES)}{abs(flat.gap):.1g} nm")
    if intervals is not None:
        lines += ["", *_certainty(intervals)]
    return "\n".join([*lines, *notes.lines("  ")])


def _certainty(intervals: Intervals) -> list[str]:
    lines = [f"  {intervals_title(intervals)}"]
    for key in _MAIN:
        metric, span = METRICS[key], intervals.intervals.get(key)
        shown = "-" if span is None else f"{metric.show_interval(span)} {metric.unit}"
        lines.append(f"    {metric.title:<13} {shown}")
    return lines if intervals.remark is None else [*lines, f"    remark: {intervals.remark}"]


def bins_text(quantity: Quantity, bins: list[Bin]) -> str:
    """Scores in bins as a table."""
    from flatmetric.scoring.breakdown import QUANTITIES

    notes = _Footnotes()
    titles = ["truth", "found", "recall", "precision", "Jaccard %", "RMSE xy"]
    titles += ["Flat Metric", "displaced", "missed", "false"]
    rows = [[QUANTITIES[quantity], *titles]]
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
        f"{name}: {score.advice[0]}"
        for name, score in zip(comparison.names, comparison.scores, strict=True)
        if score.advice
    ]
    advice = ["", "What to do next", *(f"  {text}" for text in todo)] if todo else []
    return "\n".join([*aligned(rows, "<"), "", *sentences, *advice, "", intervals_title(first), *remark])


def _with_interval(key: str, value: float | None, span: tuple[float, float] | None) -> str:
    metric = METRICS[key]
    return metric.show(value) + ("" if value is None or span is None else f" ({metric.show_interval(span)})")


def lead_text(lead: Lead) -> str:
    """Which program leads for which lam, and where the curves cross."""
    lines = [f"best for lam from {lead.low:g} to {lead.high:g} nm:"]
    lines += [f"  {name} {100 * share:.0f} %" for name, share in lead.share.items()]
    lines += [f"  {crossing_sentence(a, b, places)}" for (a, b), places in lead.crossings.items()]
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
        *((axis, f"{low:.1f} to {high:.1f} nm") for axis, (low, high) in inspection.extent.items()),
        *(("" if at else "conversions", step) for at, step in enumerate(inspection.conversions)),
    ]
    lines = [str(inspection.file), *(f"  {name:<12}{text}" for name, text in facts)]
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


def flat_values(content: dict[str, Any], parts: Iterable[str]) -> dict[str, Any]:
    """All single values of a score's JSON under their keys, for one row of a CSV."""
    flat: dict[str, Any] = {
        "truth": content["inputs"]["truth"]["name"],
        "pred": content["inputs"]["pred"]["name"],
        "lam_nm": content["lam_nm"],
        "dim": content["dim"],
    }
    for part in parts:
        for name, value in content.get(part, {}).items():
            metric = METRICS.get(f"{part}.{name}")
            unit = f" [{metric.unit}]" if metric is not None and metric.unit else ""
            flat[f"{part}.{name}{unit}"] = value
    return flat
