"""`flatmetric score`: every metric of a result against the truth."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.cli import reading
from flatmetric.cli.score_text import bins_text, score_text
from flatmetric.cli.writing import JsonOption, refuse_outputs, write_columns, write_json
from flatmetric.errors import InputError
from flatmetric.explanations import Bin, by, per_frame, per_molecule
from flatmetric.metrics.value import plain
from flatmetric.protocol import Protocol, field_of_view, read_wobble
from flatmetric.scoring import score as score_tables

_READING = "Reading the result"
_TRUTH = "Reading the truth"
_RULES = "Rules"
_FLAT = "Flat Metric and others"
_OUTPUT = "Output"


def score(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="The true molecules.", show_default=False)],
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="What a program found.", show_default=False)],
    lam: Annotated[float, typer.Option(help="Cost of a missed or false molecule, nm.", rich_help_panel=_FLAT)] = 125.0,
    weights: Annotated[str, typer.Option(help="uniform or photons.", rich_help_panel=_FLAT)] = "uniform",
    axis_scale: Annotated[
        str | None, typer.Option(metavar="SX,SY[,SZ]", help="Factors for each axis.", rich_help_panel=_FLAT)
    ] = None,
    alpha_xy: Annotated[
        float, typer.Option(help="Lateral weight of the efficiency, 1/nm.", rich_help_panel=_FLAT)
    ] = 1.0,
    alpha_z: Annotated[float, typer.Option(help="Axial weight, efficiency, 1/nm.", rich_help_panel=_FLAT)] = 0.5,
    gospa_p: Annotated[float, typer.Option(help="Order of GOSPA and OSPA.", rich_help_panel=_FLAT)] = 1.0,
    gospa_c: Annotated[
        float | None, typer.Option(help="Cutoff of GOSPA and OSPA, nm; default 2 lam.", rich_help_panel=_FLAT)
    ] = None,
    images: Annotated[bool, typer.Option("--images", help="Also SNR and FRC.", rich_help_panel=_FLAT)] = False,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.toml", help="challenge2016, or a file.", rich_help_panel=_RULES)
    ] = None,
    dim: Annotated[int | None, typer.Option(help="2 or 3; default by the files.", rich_help_panel=_RULES)] = None,
    tolerance: Annotated[float | None, typer.Option(help="Lateral, nm; 250.", rich_help_panel=_RULES)] = None,
    tolerance_z: Annotated[float | None, typer.Option(help="Axial, nm; 500.", rich_help_panel=_RULES)] = None,
    matching: Annotated[str | None, typer.Option(help="greedy or optimal.", rich_help_panel=_RULES)] = None,
    border: Annotated[float | None, typer.Option(help="Left out on every side, nm.", rich_help_panel=_RULES)] = None,
    fov: Annotated[str | None, typer.Option(metavar="NM", help="Size of the field.", rich_help_panel=_RULES)] = None,
    photon_threshold: Annotated[
        float | None, typer.Option(help="Molecules of so many photons or fewer don't count.", rich_help_panel=_RULES)
    ] = None,
    photon_quantile: Annotated[
        float | None, typer.Option(help="The same by a quantile of the true photons.", rich_help_panel=_RULES)
    ] = None,
    wobble: Annotated[
        Path | None, typer.Option(help="CSV of dx, dy, z in nm, added to the truth.", rich_help_panel=_RULES)
    ] = None,
    first_frame: Annotated[int | None, typer.Option(help="First frame compared.", rich_help_panel=_RULES)] = None,
    last_frame: Annotated[int | None, typer.Option(help="Last frame compared.", rich_help_panel=_RULES)] = None,
    by_quantity: Annotated[
        str | None,
        typer.Option("--by", help="Bins of z, photons, density or frame.", rich_help_panel=_OUTPUT),
    ] = None,
    bins: Annotated[int, typer.Option(help="Number of bins.", rich_help_panel=_OUTPUT)] = 10,
    json: JsonOption = None,
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
    threads: Annotated[int | None, typer.Option(help="Default: all cores.", rich_help_panel=_OUTPUT)] = None,
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
    rules = _rules(
        protocol,
        dim=dim,
        tolerance=tolerance,
        tolerance_z=tolerance_z,
        matching=matching,
        border=border,
        fov=None if fov is None else field_of_view(reading.numbers(fov, "--fov")),
        photon_threshold=photon_threshold,
        photon_quantile=photon_quantile,
        wobble=None if wobble is None else read_wobble(wobble),
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
    refuse_outputs([json, csv, frames_file, molecules_file], [truth, result])
    if json == "-" and csv == "-":
        raise InputError("--json and --csv can't both go to standard output; give one a file")
    true, found = reading.read_with_progress(truth, truth_options), reading.read_with_progress(result, options)
    scored = score_tables(
        true,
        found,
        lam=lam,
        protocol=rules,
        weights=weights,  # type: ignore[arg-type]
        axis_scale=None if axis_scale is None else reading.numbers(axis_scale, "--axis-scale"),
        alpha_xy=alpha_xy,
        alpha_z=alpha_z,
        gospa_p=gospa_p,
        gospa_c=gospa_c,
        images=images,
        threads=threads,
    )
    binned = None if by_quantity is None else by(scored, by_quantity, bins)  # type: ignore[arg-type]
    content = scored.to_dict()
    content["warnings"] = [
        *(f"{table.provenance.file}: {warning}" for table in (true, found) for warning in table.provenance.warnings),
        *content["warnings"],
    ]
    if binned is not None:
        content["by"] = {"quantity": by_quantity, "bins": [bin_content(each) for each in binned]}
    if frames_file is not None:
        write_columns(per_frame(scored), frames_file)
    if molecules_file is not None:
        write_columns(per_molecule(scored), molecules_file)
    for warning in content["warnings"]:
        print(f"flatmetric: warning: {warning}", file=sys.stderr)
    if csv is not None:
        write_columns({name: [value] for name, value in flattened(content).items()}, csv)
    if json is not None:
        write_json(content, json)
    if "-" in (json, csv):
        return
    print(score_text(scored))
    if binned is not None and by_quantity is not None:
        print("\n" + bins_text(by_quantity, binned))


def _rules(name: str | None, **flags: Any) -> Protocol:
    """The named rules, with what the flags say otherwise."""
    rules = Protocol()
    if name is not None:
        rules = Protocol.from_toml(name) if name.endswith(".toml") else Protocol.preset(name)
    given = {flag: value for flag, value in flags.items() if value is not None}
    if "photon_quantile" in given and "photon_threshold" not in given:
        given["photon_threshold"] = None
    elif "photon_threshold" in given and "photon_quantile" not in given:
        given["photon_quantile"] = None
    return dataclasses.replace(rules, **given)


def bin_content(each: Bin) -> dict[str, Any]:
    """One bin as plain values."""
    values = plain(each)
    return {name: plain(value) if name == "challenge" else value for name, value in values.items()}


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
