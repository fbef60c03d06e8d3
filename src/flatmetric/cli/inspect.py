"""`flatmetric inspect`: what a file is, how it was understood, and what looks wrong in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from flatmetric.cli import reading
from flatmetric.cli.columns import aligned
from flatmetric.cli.writing import JsonOption, refuse_outputs, write_json
from flatmetric.inspection import Inspection
from flatmetric.inspection import inspect as inspect_table
from flatmetric.protocol import Protocol, field_of_view


def inspect(
    file: Annotated[Path, typer.Argument(help="The localization file.", show_default=False)],
    format: reading.FormatOption = None,
    unit: reading.UnitOption = None,
    pixel_size: reading.PixelSizeOption = None,
    frame_base: reading.FrameBaseOption = None,
    origin: reading.OriginOption = None,
    shift: reading.ShiftOption = None,
    swap_xy: reading.SwapOption = False,
    columns: reading.ColumnsOption = None,
    skip_bad_rows: reading.SkipOption = False,
    fov: Annotated[
        str | None, typer.Option("--fov", metavar="NM", help="Size of the field in nm; NM,NM where x and y differ.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Say what a file is, how it is understood, and what looks wrong in it."""
    options = reading.options_from_flags(
        format, unit, pixel_size, frame_base, origin, shift, swap_xy, columns, skip_bad_rows
    )
    field = None if fov is None else Protocol(fov=field_of_view(reading.numbers(fov, "--fov"))).fov
    refuse_outputs([json], [file])
    found = inspect_table(reading.read_with_progress(file, options), field)
    if json is not None:
        write_json(dataclasses.asdict(found), json)
    else:
        print(described(found))


def described(found: Inspection) -> str:
    """The summary as text."""
    frames = (
        "none"
        if found.frames is None
        else f"{found.frames[0]} to {found.frames[1]}, {found.frames_with_rows} with rows"
    )
    dropped = f" ({sum(found.dropped.values())} dropped)" if found.dropped else ""
    facts = [
        ("format", f"{found.format}: {found.reason}"),
        ("sha256", found.sha256 or ""),
        ("rows", f"{found.rows}{dropped}"),
        ("frames", frames),
        ("columns", " ".join(found.columns)),
        *((axis, f"{low:.1f} to {high:.1f} nm") for axis, (low, high) in found.extent.items()),
        *(("" if at else "conversions", step) for at, step in enumerate(found.conversions)),
    ]
    lines = [str(found.file), *(f"  {name:<12}{text}" for name, text in facts)]
    if found.first_rows:
        lines += ["", *_table(found)]
    if found.warnings:
        lines += ["", *(f"warning: {warning}" for warning in found.warnings)]
    return "\n".join(lines)


def _table(found: Inspection) -> list[str]:
    cells = [list(found.columns)]
    for row in found.first_rows:
        cells.append([_cell(row[name]) for name in found.columns])
    return [f"  {line}" for line in aligned(cells)]


def _cell(value: float | int | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.2f}"
