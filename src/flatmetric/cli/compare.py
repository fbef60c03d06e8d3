"""`flatmetric compare`: several results on one truth, which is better, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.arguments import RESAMPLES
from flatmetric.check import check_window
from flatmetric.cli import reading, rules
from flatmetric.cli.columns import aligned
from flatmetric.cli.writing import JsonOption, ReportOption, refuse_outputs, this_command, write_json, write_text
from flatmetric.errors import InputError
from flatmetric.metrics.value import Undefined, plain
from flatmetric.scoring import Score
from flatmetric.scoring import score as score_tables
from flatmetric.statistics import Comparison, Lead, lead_over
from flatmetric.statistics import compare as compare_scores
from flatmetric.version import __version__
from flatmetric.words import finding_sentence, pair_sentence

LEAD_FROM, LEAD_TO = 10.0, 250.0  # nm: the range of lam over which the lead is shared out


def compare(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="The true molecules.", show_default=False)],
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT...", help="Two or more results.", show_default=False)
    ],
    lam: rules.LamOption = 125.0,
    weights: rules.WeightsOption = "uniform",
    axis_scale: rules.AxisScaleOption = None,
    alpha_xy: rules.AlphaXyOption = 1.0,
    alpha_z: rules.AlphaZOption = 0.5,
    protocol: rules.ProtocolOption = None,
    dim: rules.DimOption = None,
    tolerance: rules.ToleranceOption = None,
    tolerance_z: rules.ToleranceZOption = None,
    matching: rules.MatchingOption = None,
    border: rules.BorderOption = None,
    fov: rules.FovOption = None,
    photon_threshold: rules.PhotonThresholdOption = None,
    photon_quantile: rules.PhotonQuantileOption = None,
    wobble: rules.WobbleOption = None,
    first_frame: rules.FirstFrameOption = None,
    last_frame: rules.LastFrameOption = None,
    ci: rules.CiOption = 95.0,
    resamples: rules.ResamplesOption = RESAMPLES,
    seed: rules.SeedOption = 0,
    block: rules.BlockOption = None,
    curves: Annotated[bool, typer.Option("--curve", help="Also for which lam which result is better.")] = False,
    pixel_size: reading.PixelSizeOption = None,
    skip_bad_rows: reading.SkipOption = False,
    threads: rules.ThreadsOption = None,
    json: JsonOption = None,
    report: ReportOption = None,
) -> None:
    """Rank results on one truth by Flat Metric, with intervals and paired differences over frames."""
    if len(results) < 2:
        raise InputError("one result can't be compared; give two or more")
    chosen = rules.rules_from_flags(
        protocol,
        dim=dim,
        tolerance=tolerance,
        tolerance_z=tolerance_z,
        matching=matching,
        border=border,
        fov=fov,
        photon_threshold=photon_threshold,
        photon_quantile=photon_quantile,
        wobble=wobble,
        first_frame=first_frame,
        last_frame=last_frame,
    )
    options = reading.options_from_flags(pixel_size=pixel_size, skip_bad_rows=skip_bad_rows)
    refuse_outputs([json, report], [truth, *results, *rules.rule_files(protocol, wobble)])
    true = reading.read_with_progress(truth, options)
    tables = [reading.read_with_progress(path, options) for path in results]
    scale = None if axis_scale is None else reading.numbers(axis_scale, "--axis-scale")
    scored = [
        score_tables(
            true,
            table,
            lam=lam,
            protocol=chosen,
            weights=weights,  # type: ignore[arg-type]
            axis_scale=scale,
            alpha_xy=alpha_xy,
            alpha_z=alpha_z,
            threads=threads,
        )
        for table in tables
    ]
    dims = {score.dim for score in scored}
    if len(dims) > 1:
        raise InputError("some results have depths and some have none; give --dim 2 to compare them all in 2D")
    found = compare_scores(
        list(zip(reading.names_of(results), scored, strict=True)),
        level=95.0 if ci is None else ci,
        resamples=resamples,
        seed=seed,
        block=block,
    )
    content = comparison_content(found)
    if curves:
        content["lead"] = lead_content(lead_over(found, LEAD_FROM, LEAD_TO))
    if report is not None:
        from flatmetric.report.score_page import Scored, comparison_page

        pages = [Scored(name, score, said=_said(score)) for name, score in zip(found.names, found.scores, strict=True)]
        write_text(comparison_page(found, pages, this_command()), report)
    reading.print_warnings(true, *tables)
    for name, score in zip(found.names, found.scores, strict=True):
        for warning in score.warnings:
            reading.print_warning(f"{name}: {warning}")
    if json is not None:
        write_json(content, json)
    if json != "-":
        print(comparison_text(found))
        if curves:
            print("\n" + lead_text(content["lead"]))
        if report is not None:
            print(f"\nwritten: {report}")


def _said(score: Score) -> tuple[str, ...]:
    """Warnings of a result and of its file, and what a short check finds wrong with it."""
    compared = score.compared
    findings = check_window(compared.truth, compared.pred, lam=score.lam)
    return (*compared.pred.provenance.warnings, *score.warnings, *map(finding_sentence, findings))


def comparison_content(found: Comparison) -> dict[str, Any]:
    """The JSON of the command."""
    entries = []
    for name, score, intervals in zip(found.names, found.scores, found.intervals, strict=True):
        parts = {part: plain(getattr(score, part)) for part in ("challenge", "rmsmd", "gospa", "ospa")}
        flat = plain(score.flat_metric)
        flat["ci"] = intervals.intervals["flat_metric.value"]
        entries.append({"name": name, "flat_metric": flat, **parts, "ci": intervals.intervals})
    first = found.intervals[0]
    return {
        "version": __version__,
        "lam_nm": found.scores[0].lam,
        "dim": found.scores[0].dim,
        "protocol": found.scores[0].protocol.described(),
        "level": first.level,
        "resamples": first.resamples,
        "seed": first.seed,
        "block": first.block,
        "entries": entries,
        "pairs": [
            {"a": p.a, "b": p.b, "difference": p.difference, "ci": list(p.ci), "p": p.p, "p_holm": p.p_holm}
            for p in found.pairs
        ],
    }


def comparison_text(found: Comparison) -> str:
    """The ranking with intervals, and one sentence for each pair."""
    level = found.intervals[0].level
    header = ["", f"Flat Metric ({level:g} %)", "Jaccard %", "RMSE xy", "efficiency"]
    rows = [header]
    for name, score, intervals in zip(found.names, found.scores, found.intervals, strict=True):
        c = score.challenge
        values = {
            "flat_metric.value": score.flat_metric.value,
            "challenge.jaccard": c.jaccard,
            "challenge.rmse_xy": c.rmse_xy,
            "challenge.efficiency": c.efficiency,
        }
        rows.append([name, *(_with_interval(value, intervals.intervals[path]) for path, value in values.items())])
    return "\n".join([*aligned(rows, "<"), "", *(pair_sentence(pair) for pair in found.pairs)])


def _with_interval(value: float | Undefined, interval: tuple[float, float] | None) -> str:
    if isinstance(value, Undefined):
        return "-"
    return f"{value:.2f}" + ("" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})")


def lead_content(lead: Lead) -> dict[str, Any]:
    """The JSON of the lead."""
    pairs = [{"a": a, "b": b, "crossings_nm": list(lam)} for (a, b), lam in lead.crossings.items()]
    return {"from_nm": lead.low, "to_nm": lead.high, "share": lead.share, "pairs": pairs}


def lead_text(lead: dict[str, Any]) -> str:
    """The shares of the lead and the crossings, in words."""
    lines = [f"best for lam from {lead['from_nm']:g} to {lead['to_nm']:g} nm:"]
    lines += [f"  {name} {100 * share:.0f} %" for name, share in lead["share"].items()]
    for pair in lead["pairs"]:
        places = ", ".join(f"{lam:.1f}" for lam in pair["crossings_nm"])
        lines.append(f"  {pair['a']} and {pair['b']} cross " + (f"at lam {places} nm" if places else "nowhere"))
    return "\n".join(lines)
