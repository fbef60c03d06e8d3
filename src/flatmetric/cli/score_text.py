"""A score as text: what a person reads in ten seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flatmetric.cli.budget import error_budget_of
from flatmetric.cli.columns import aligned
from flatmetric.metrics.value import Undefined, Value

if TYPE_CHECKING:
    from flatmetric.explanations import Bin, Quantity
    from flatmetric.scoring import Score
    from flatmetric.statistics import Intervals


class _Footnotes:
    """Reasons why values are missing, numbered as they come."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def show(self, value: Value, form: str) -> str:
        if not isinstance(value, Undefined):
            return format(value, form)
        if value.reason not in self.reasons:
            self.reasons.append(value.reason)
        return f"-[{self.reasons.index(value.reason) + 1}]"


def score_text(score: Score, intervals: Intervals | None = None) -> str:
    """The table, the error budget, one plain sentence, and how sure the main numbers are."""
    notes = _Footnotes()
    flat = score.flat_metric
    n_truth, n_pred = len(score.compared.truth_counts), len(score.compared.pred_counts)
    lines = [f"{n_truth} true molecules, {n_pred} detections, {score.dim}D, {_rules(score)}", ""]
    if isinstance(flat.value, Undefined):
        lines.append(f"Flat Metric  {notes.show(flat.value, '')}")
    else:
        parts = [part for part in (flat.displaced, flat.missed, flat.false) if not isinstance(part, Undefined)]
        lines.append(error_budget_of(flat.value, parts[0], parts[1], parts[2], score.weights))
    lines += ["", *_detection(score, notes), *_precision(score, notes), *_others(score, notes)]
    if not isinstance(flat.value, Undefined):
        lines.append(
            f"  frame mean of the Flat Metric {notes.show(flat.frame_mean, '.2f')} nm; frames without truth "
            f"{flat.frames_without_truth}; proved to {_size(flat.gap):.1g} nm"
        )
    if intervals is not None:
        lines += ["", *_certainty(intervals)]
    lines += [f"  [{k}] {reason}" for k, reason in enumerate(notes.reasons, 1)]
    return "\n".join(lines)


_MAIN = {
    "flat_metric.value": ("Flat Metric", "nm"),
    "challenge.jaccard": ("Jaccard", "%"),
    "challenge.rmse_xy": ("RMSE lateral", "nm"),
    "challenge.efficiency": ("efficiency", "%"),
}


def _certainty(intervals: Intervals) -> list[str]:
    lines = [
        f"  {intervals.level:g} % intervals ({intervals.resamples} resamples of blocks of {intervals.block} frames, "
        f"seed {intervals.seed})"
    ]
    for path, (name, unit) in _MAIN.items():
        found = intervals.intervals.get(path)
        lines.append(f"    {name:<13} " + ("-" if found is None else f"{found[0]:.2f} to {found[1]:.2f} {unit}"))
    return lines


def _size(value: Value) -> float:
    return 0.0 if isinstance(value, Undefined) else abs(value)


def _rules(score: Score) -> str:
    rules = score.protocol
    axial = f" / {rules.tolerance_z:g}" if score.dim == 3 else ""
    said = [f"lam {score.lam:g} nm", f"{rules.matching} matching within {rules.tolerance:g}{axial} nm"]
    if rules.border is not None:
        said.append(f"border {rules.border:g} nm")
    if score.compared.photon_threshold is not None:
        said.append(f"photons > {score.compared.photon_threshold:g}")
    if rules.wobble is not None:
        said.append("wobble")
    return f"protocol {rules.name}: " + ", ".join(said)


def _detection(score: Score, notes: _Footnotes) -> list[str]:
    c = score.challenge
    fractions = [notes.show(value, ".3f") for value in (c.precision, c.recall, c.f1)]
    return [
        f"  found      TP {c.tp}  FP {c.fp}  FN {c.fn}   Jaccard {notes.show(c.jaccard, '.2f')} %   "
        f"precision {fractions[0]}  recall {fractions[1]}  F1 {fractions[2]}"
    ]


def _precision(score: Score, notes: _Footnotes) -> list[str]:
    c = score.challenge
    lines = [
        f"  lateral    RMSE {notes.show(c.rmse_xy, '.2f')} nm  MAD {notes.show(c.mad_xy, '.2f')} nm  "
        f"bias x {notes.show(c.bias_x, '+.2f')}  y {notes.show(c.bias_y, '+.2f')} nm  "
        f"efficiency {notes.show(c.efficiency_xy, '.2f')} %"
    ]
    if score.dim == 3:
        lines += [
            f"  axial      RMSE {notes.show(c.rmse_z, '.2f')} nm  MAD {notes.show(c.mad_z, '.2f')} nm  "
            f"bias z {notes.show(c.bias_z, '+.2f')} nm  efficiency {notes.show(c.efficiency_z, '.2f')} %",
            f"  3D         RMSE {notes.show(c.rmse_xyz, '.2f')} nm  MAD {notes.show(c.mad_xyz, '.2f')} nm  "
            f"efficiency {notes.show(c.efficiency, '.2f')} %",
        ]
    return lines


def _others(score: Score, notes: _Footnotes) -> list[str]:
    m, r, g, o = score.molecules, score.rmsmd, score.gospa, score.ospa
    molecules = notes.show(m.tp, "d")
    if not isinstance(m.tp, Undefined):
        molecules = (
            f"found {molecules}  missed {m.fn}  recall {notes.show(m.recall, '.3f')}  "
            f"RMSE {notes.show(m.rmse_xy, '.2f')} nm  "
            f"seen in {notes.show(m.detection_ratio, '.1%')} of their frames"
        )
    lines = [
        f"  molecules  {molecules}",
        f"  RMSMD      per frame {notes.show(r.per_frame, '.2f')} nm  whole set {notes.show(r.whole_set, '.2f')} nm",
        f"  GOSPA      {g.value:.6g} nm (p {g.p:g}, c {g.c:g} nm)   OSPA {notes.show(o.value, '.2f')} nm   "
        f"photons r {notes.show(score.challenge.photon_correlation, '.3f')}",
    ]
    if score.images is not None:
        i = score.images
        lines.append(f"  images     SNR {notes.show(i.snr_xy, '.2f')} dB  FRC {notes.show(i.frc_xy, '.1f')} nm (xy)")
    return lines


def bins_text(quantity: Quantity, bins: list[Bin]) -> str:
    """Scores in bins as a table."""
    from flatmetric.explanations import QUANTITIES

    notes = _Footnotes()
    header = [
        QUANTITIES[quantity],
        "truth",
        "found",
        "Jaccard %",
        "RMSE xy",
        "Flat Metric",
        "displaced",
        "missed",
        "false",
    ]
    rows = [header]
    for each in bins:
        lengths = (each.challenge.rmse_xy, each.flat_metric, each.displaced, each.missed, each.false)
        rows.append(
            [
                f"{each.low:g} to {each.high:g}",
                str(each.n_truth),
                str(each.n_pred),
                notes.show(each.challenge.jaccard, ".1f"),
                *(notes.show(value, ".2f") for value in lengths),
            ]
        )
    return "\n".join([*aligned(rows), *(f"[{k}] {reason}" for k, reason in enumerate(notes.reasons, 1))])
