"""`flatmetric convert`: from one format to another, keeping all that the target can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric.api.check import convert as convert_file
from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, Keywords, command
from flatmetric.cli.output import check_outputs, print_assumption, print_finding, table_files, write_json
from flatmetric.cli.progress import progress_bar


@dataclass(frozen=True, kw_only=True)
class ConvertFlags(Json):
    """The flags of `convert` besides those of `fm.convert`."""


@command(convert_file, often=("to", "shift", "swap_xy", "unit", "pixel_size", "frame_base", "columns"))
def convert(
    source: Annotated[Path, Argument("IN", "The file to read.")],
    target: Annotated[Path, Argument("OUT", "The file to write.")],
    keywords: Keywords,
    flags: ConvertFlags,
) -> None:
    """Write a table in another format: ThunderSTORM (.csv), the challenge's (.txt), Picasso (.hdf5) or Parquet.

    flatmetric convert mine.csv mine.txt
    flatmetric convert mine.csv mine.hdf5 --pixel-size 100
    """
    check_outputs([*table_files(target, keywords["to"]), flags.json], [source])
    with progress_bar() as progress:
        written = convert_file(source, target, progress=progress, **keywords)
    origin = written.source
    if flags.json is not None:
        content = {
            "input": str(source),
            "format": origin.format,
            "rows": written.rows,
            "conversions": list(origin.conversions),
            "dropped": dict(origin.dropped),
            "outputs": [str(file) for file in written.files],
            "written_format": written.format,
            "lost": list(written.lost),
            "filled": list(written.zeros),
            "warnings": [text.as_flags(warning) for warning in origin.warnings],
            "assumptions": [text.as_flags(assumption) for assumption in origin.assumptions],
        }
        write_json(content, flags.json)
        return
    for warning in origin.warnings:
        print_finding(f"{origin.file}: {warning}", "note")
    if written.lost:
        print_finding(f"{written.format} has no place for {', '.join(written.lost)}", "note")
    print(f"{written.rows} rows, {origin.format} to {written.format}: {', '.join(map(str, written.files))}")
    for assumption in origin.assumed():
        print_assumption(assumption)
    if written.zeros:
        print_assumption(f"unknown, so written as 0: {', '.join(written.zeros)}")
