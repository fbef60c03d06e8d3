"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flatmetric.arguments import RESAMPLES
from flatmetric.cli import reading, rules
from flatmetric.cli.score_text import bins_text, score_text
from flatmetric.cli.writing import (
    JsonOption,
    ReportOption,
    refuse_outputs,
    this_command,
    write_columns,
    write_json,
    write_text,
)
from flatmetric.errors import InputError
from flatmetric.metrics.value import plain
from flatmetric.words import finding_sentence

if TYPE_CHECKING:
    from flatmetric.curve import FlatCurve
    from flatmetric.explanations import Bin
    from flatmetric.scoring import Score

_TRUTH = "Reading the truth"
_OUTPUT = "Output"


def score(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="The true molecules.", show_default=False)],
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="What a program found.", show_default=False)],
    lam: rules.LamOption = 125.0,
    weights: rules.WeightsOption = "uniform",
    axis_scale: rules.AxisScaleOption = None,
    alpha_xy: rules.AlphaXyOption = 1.0,
    alpha_z: rules.AlphaZOption = 0.5,
    gospa_p: rules.GospaPOption = 1.0,
    gospa_c: rules.GospaCOption = None,
    images: Annotated[bool, typer.Option("--images", help="Also SNR and FRC of rendered images.")] = False,
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
    ci: rules.CiOption = None,
    resamples: rules.ResamplesOption = RESAMPLES,
    seed: rules.SeedOption = 0,
    block: rules.BlockOption = None,
    curve: Annotated[
        float | None,
        typer.Option("--curve", metavar="LAM_MAX", help="All of lam -> Flat Metric.", rich_help_panel=_OUTPUT),
    ] = None,
    by_quantity: Annotated[
        str | None,
        typer.Option("--by", help="Bins of z, photons, density or frame.", rich_help_panel=_OUTPUT),
    ] = None,
    bins: Annotated[int, typer.Option(help="Number of bins.", rich_help_panel=_OUTPUT)] = 10,
    json: JsonOption = None,
    report: ReportOption = None,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE|-", help="All values in one row.", rich_help_panel=_OUTPUT)
    ] = None,
    frames_file: Annotated[
        str | None, typer.Option("--per-frame", metavar="FILE", help="CSV, a row a frame.", rich_help_panel=_OUTPUT)
    ] = None,
    molecules_file: Annotated[
        str | None,
        typer.Option("--per-molecule", metavar="FILE", help="CSV, a row a molecule.", rich_help_panel=_OUTPUT),
    ] = None,
    threads: rules.ThreadsOption = None,
    format: reading.FormatOption = None,
    unit: reading.UnitOption = None,
    pixel_size: reading.PixelSizeOption = None,
    frame_base: reading.FrameBaseOption = None,
    origin: reading.OriginOption = None,
    shift: reading.ShiftOption = None,
    swap_xy: reading.SwapOption = False,
    columns: reading.ColumnsOption = None,
    skip_bad_rows: reading.SkipOption = False,
    truth_format: Annotated[str | None, typer.Option(rich_help_panel=_TRUTH)] = None,
    truth_unit: Annotated[str | None, typer.Option(rich_help_panel=_TRUTH)] = None,
    truth_frame_base: Annotated[int | None, typer.Option(rich_help_panel=_TRUTH)] = None,
    truth_origin: Annotated[str | None, typer.Option(rich_help_panel=_TRUTH)] = None,
    truth_shift: Annotated[str | None, typer.Option(rich_help_panel=_TRUTH)] = None,
    truth_swap_xy: Annotated[bool, typer.Option("--truth-swap-xy", rich_help_panel=_TRUTH)] = False,
    truth_columns: Annotated[str | None, typer.Option(rich_help_panel=_TRUTH)] = None,
) -> None:
    """Score a result against the truth: Flat Metric, challenge metrics, RMSMD, GOSPA, OSPA.

    Options on how to read apply to RESULT, those with --truth- to TRUTH, --pixel-size and --skip-bad-rows to both.
    """
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
    truth_options = reading.options_from_flags(
        truth_format,
        truth_unit,
        pixel_size,
        truth_frame_base,
        truth_origin,
        truth_shift,
        truth_swap_xy,
        truth_columns,
        skip_bad_rows,
    )
    options = reading.options_from_flags(
        format, unit, pixel_size, frame_base, origin, shift, swap_xy, columns, skip_bad_rows
    )
    inputs = [truth, result, *rules.rule_files(protocol, wobble)]
    refuse_outputs([json, csv, frames_file, molecules_file, report], inputs)
    if "-" in (frames_file, molecules_file):
        raise InputError("--per-frame and --per-molecule need a file; give its name")
    if json == "-" and csv == "-":
        raise InputError("--json and --csv can't both go to standard output; give one a file")
    true, found = reading.read_both(truth, truth_options, result, options, _load)
    from flatmetric.check import check_window
    from flatmetric.scoring import score as score_tables

    scored = score_tables(
        true,
        found,
        lam=lam,
        protocol=chosen,
        weights=weights,  # type: ignore[arg-type]
        axis_scale=None if axis_scale is None else reading.numbers(axis_scale, "--axis-scale"),
        alpha_xy=alpha_xy,
        alpha_z=alpha_z,
        gospa_p=gospa_p,
        gospa_c=gospa_c,
        images=images,
        threads=threads,
    )
    binned = None if by_quantity is None else _binned(scored, by_quantity, bins)
    content = scored.to_dict()
    content["warnings"] = [
        *(f"{table.provenance.file}: {warning}" for table in (true, found) for warning in table.provenance.warnings),
        *content["warnings"],
    ]
    intervals = None
    if ci is not None:
        from flatmetric.statistics import confidence

        intervals = confidence(scored, level=ci, resamples=resamples, seed=seed, block=block)
        content["ci"] = dataclasses.asdict(intervals)
    if curve is not None:
        content["curve"] = curve_content(scored.curve(curve))
    content["warnings"] += [
        f"the result may be wrong as a whole: {finding_sentence(finding)}; see flatmetric check"
        for finding in check_window(true, found, lam=lam)
    ]
    if binned is not None:
        content["by"] = {"quantity": by_quantity, "bins": [bin_content(each) for each in binned]}
    if frames_file is not None or molecules_file is not None:
        from flatmetric.explanations import per_frame, per_molecule

        if frames_file is not None:
            write_columns(per_frame(scored), frames_file)
        if molecules_file is not None:
            write_columns(per_molecule(scored), molecules_file)
    if report is not None:
        from flatmetric.report.score_page import Scored, score_page

        page = Scored(reading.names_of([result])[0], scored, intervals, tuple(content["warnings"]))
        write_text(score_page(page, this_command()), report)
    for warning in content["warnings"]:
        reading.print_warning(warning)
    if csv is not None:
        write_columns({name: [value] for name, value in flattened(content).items()}, csv)
    if json is not None:
        write_json(content, json)
    if "-" in (json, csv):
        return
    print(score_text(scored, intervals))
    if binned is not None and by_quantity is not None:
        print("\n" + bins_text(by_quantity, binned))  # type: ignore[arg-type]
    if report is not None:
        print(f"\nwritten: {report}")


def _load() -> None:
    """What scores: loaded while the first file is being read."""
    for name in ("scoring", "check"):
        import_module(f"flatmetric.{name}")


def _binned(scored: Score, quantity: str, bins: int) -> list[Bin]:
    from flatmetric.explanations import by

    return by(scored, quantity, bins)  # type: ignore[arg-type]


def bin_content(each: Bin) -> dict[str, Any]:
    """One bin as plain values."""
    values = plain(each)
    return {name: plain(value) if name == "challenge" else value for name, value in values.items()}


def curve_content(curve: FlatCurve) -> dict[str, Any]:
    """Every breakpoint of a curve as plain values, nm."""
    return {"lam_nm": curve.lam.tolist(), "value": curve.value.tolist(), "slope": curve.slope.tolist()}


def flattened(content: dict[str, Any]) -> dict[str, Any]:
    """All single values of the score, under their path."""
    flat: dict[str, Any] = {
        "truth": content["inputs"]["truth"]["name"],
        "pred": content["inputs"]["pred"]["name"],
        "lam_nm": content["lam_nm"],
        "dim": content["dim"],
    }
    for part in ("flat_metric", "challenge", "molecules", "rmsmd", "gospa", "ospa", "images"):
        for name, value in content.get(part, {}).items():
            flat[f"{part}.{name}"] = value
    return flat
