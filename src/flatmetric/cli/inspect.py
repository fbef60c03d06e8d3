"""`flatmetric inspect`: what a file is, how it was understood, and what looks wrong in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric.api.check import inspect as inspect_file
from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, Keywords, command
from flatmetric.cli.output import check_outputs, write_json
from flatmetric.cli.progress import progress_bar


@dataclass(frozen=True, kw_only=True)
class InspectFlags(Json):
    """The flags of `inspect` besides those of `fm.inspect`."""


@command(inspect_file, often=("fov", "json", "unit", "pixel_size", "frame_base", "columns"))
def inspect(
    file: Annotated[Path, Argument("FILE", "A localization file.")], keywords: Keywords, flags: InspectFlags
) -> None:
    """Show what FILE contains, how it is read, and what looks wrong; no truth is needed.

    flatmetric inspect mine.csv
    flatmetric inspect mine.csv --unit px --pixel-size 100 --fov 6400
    """
    check_outputs([flags.json], [file])
    with progress_bar() as progress:
        inspection = inspect_file(file, progress=progress, **keywords)
    if flags.json is not None:
        warnings = [text.as_flags(warning) for warning in inspection.warnings]
        write_json(dataclasses.asdict(inspection) | {"warnings": warnings}, flags.json)
    else:
        print(text.inspection_text(inspection))
