"""`flatmetric convert`: from one format to another, keeping all that the target can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric.api.check import ConvertArguments
from flatmetric.api.inputs import reading, table_from
from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, command
from flatmetric.cli.output import check_outputs, print_assumption, print_finding, write_json
from flatmetric.cli.progress import progress_bar
from flatmetric.formats.write import files_of, writable_format, write


class ConvertFlags(ConvertArguments, Json, total=False):
    """The options of `convert`."""


@command
def convert(
    source: Annotated[Path, Argument("IN", "The file to read.")],
    target: Annotated[Path, Argument("OUT", "The file to write.")],
    options: ConvertFlags,
) -> None:
    """The same table in another format: ThunderSTORM (.csv), the challenge's (.txt), Picasso (.hdf5) or Parquet.

    flatmetric convert mine.csv mine.txt
    flatmetric convert mine.csv mine.hdf5 --pixel-size 100
    """
    chosen = writable_format(target, options["to"])
    check_outputs([*files_of(target, chosen), options["json"]], [source])
    with progress_bar() as progress:
        table = table_from(source, "source", reading(options), threads=options["threads"], progress=progress)
    written = write(table, target, chosen)
    said = table.provenance
    if options["json"] is not None:
        content = {
            "input": str(source),
            "format": said.format,
            "rows": len(table),
            "conversions": list(said.conversions),
            "dropped": dict(said.dropped),
            "outputs": [str(file) for file in written.files],
            "written_format": written.format,
            "lost": list(written.lost),
            "filled": list(written.filled),
            "warnings": [text.as_flags(warning) for warning in said.warnings],
            "assumptions": [text.as_flags(assumption) for assumption in said.assumptions],
        }
        write_json(content, options["json"])
        return
    for warning in said.warnings:
        print_finding(f"{said.file}: {warning}")
    if written.lost:
        print_finding(f"{written.format} has no place for {', '.join(written.lost)}")
    print(f"{len(table)} rows, {said.format} to {written.format}: {', '.join(map(str, written.files))}")
    for assumption in said.assumed():
        print_assumption(assumption)
    if written.filled:
        print_assumption(f"unknown, so written as 0: {', '.join(written.filled)}")
