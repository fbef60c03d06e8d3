"""`flatmetric convert`: one format into another, with nothing lost that the other can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatmetric.cli import reading
from flatmetric.cli.writing import JsonOption, refuse_outputs, write_json
from flatmetric.formats.writing import files_of, writable_format, write


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file to read.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.", show_default=False)],
    to: Annotated[
        str | None,
        typer.Option("--to", help="challenge-standard, thunderstorm, picasso or parquet; else by the suffix of OUT."),
    ] = None,
    format: reading.FormatOption = None,
    unit: reading.UnitOption = None,
    pixel_size: reading.PixelSizeOption = None,
    frame_base: reading.FrameBaseOption = None,
    origin: reading.OriginOption = None,
    shift: reading.ShiftOption = None,
    swap_xy: reading.SwapOption = False,
    columns: reading.ColumnsOption = None,
    skip_bad_rows: reading.SkipOption = False,
    json: JsonOption = None,
) -> None:
    """Read a file of any known format and write it in another."""
    options = reading.options_from_flags(
        format, unit, pixel_size, frame_base, origin, shift, swap_xy, columns, skip_bad_rows
    )
    chosen = writable_format(target, to)
    refuse_outputs([*files_of(target, chosen), json], [source])
    table = reading.read_with_progress(source, options)
    written = write(table, target, chosen)
    if json is not None:
        write_json(
            {
                "input": str(source),
                "format": table.provenance.format,
                "rows": len(table),
                "conversions": list(table.provenance.conversions),
                "dropped": dict(table.provenance.dropped),
                "outputs": [str(file) for file in written.files],
                "written_format": written.format,
                "lost": list(written.lost),
                "filled": list(written.filled),
                "warnings": list(table.provenance.warnings),
            },
            json,
        )
        return
    reading.print_warnings(table)
    if written.lost:
        reading.print_warning(f"{written.format} has no place for {', '.join(written.lost)}")
    if written.filled:
        reading.print_warning(f"written as 0, not known: {', '.join(written.filled)}")
    print(f"{len(table)} rows, {table.provenance.format} to {written.format}: {', '.join(map(str, written.files))}")
