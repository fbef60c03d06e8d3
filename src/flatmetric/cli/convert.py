"""`flatmetric convert`: from one format to another, keeping all that the target can hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, Reading, command, option
from flatmetric.cli.output import check_outputs, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.formats.write import files_of, writable_format, write


class ConvertFlags(Reading, Json):
    """The options of `convert`."""

    section: ClassVar[str] = "Output"

    to: str | None = option(None, "challenge-standard, thunderstorm, picasso or parquet; default by the suffix of OUT.")


@command
def convert(
    source: Annotated[Path, Argument("IN", "The file to read.")],
    target: Annotated[Path, Argument("OUT", "The file to write.")],
    options: ConvertFlags,
) -> None:
    """Read IN, a file of any known format, and write it as OUT in another."""
    chosen = writable_format(target, options.to)
    check_outputs([*files_of(target, chosen), options.json], [source])
    table = read_with_progress(source, options.reading(), options.threads)
    written = write(table, target, chosen)
    source_info = table.provenance
    if options.json is not None:
        content = {
            "input": str(source),
            "format": source_info.format,
            "rows": len(table),
            "conversions": list(source_info.conversions),
            "dropped": dict(source_info.dropped),
            "outputs": [str(file) for file in written.files],
            "written_format": written.format,
            "lost": list(written.lost),
            "filled": list(written.filled),
            "warnings": [text.as_flags(warning) for warning in source_info.warnings],
        }
        write_json(content, options.json)
        return
    text.print_warnings(table)
    if written.lost:
        text.print_warning(f"{written.format} has no place for {', '.join(written.lost)}")
    if written.filled:
        text.print_warning(f"unknown, so written as 0: {', '.join(written.filled)}")
    print(f"{len(table)} rows, {source_info.format} to {written.format}: {', '.join(map(str, written.files))}")
