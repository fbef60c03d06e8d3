"""`flatmetric inspect`: what a file is, how it was understood, and what looks wrong in it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from flatmetric.cli import options, text
from flatmetric.cli.output import check_outputs, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.matching.protocol import Protocol
from flatmetric.quality.inspect import inspect_table


@dataclass(frozen=True)
class FieldOptions(options.Group):
    """The field of view, as in the rules of a comparison."""

    section: ClassVar[str] = "Rules"

    fov: str | None = dataclasses.field(
        default=None, metadata=options.ProtocolOptions.__dataclass_fields__["fov"].metadata
    )


@options.command
def inspect(
    file: Annotated[Path, options.Argument("FILE")],
    field: FieldOptions,
    json: options.JsonOptions,
    threads: options.ThreadOptions,
    reading: options.ReadOptionsForAll,
    how: options.FileOptions,
) -> None:
    """Say what FILE is, how it is understood, and what looks wrong in it."""
    fov = None if field.fov is None else Protocol(fov=options.parse_fov(field.fov)).fov
    check_outputs([json.json], [file])
    inspection = inspect_table(read_with_progress(file, reading.for_file(how), threads.threads), fov)
    if json.json is not None:
        warnings = [text.as_flags(warning) for warning in inspection.warnings]
        write_json(dataclasses.asdict(inspection) | {"warnings": warnings}, json.json)
    else:
        print(text.inspection_text(inspection))
