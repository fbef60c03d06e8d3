"""`flatmetric inspect`: what a file is, how it was understood, and what looks wrong in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from flatmetric.api.check import InspectArguments
from flatmetric.api.check import inspect as inspect_file
from flatmetric.api.options import only
from flatmetric.cli import text
from flatmetric.cli.options import Argument, Json, command
from flatmetric.cli.output import check_outputs, write_json
from flatmetric.cli.progress import progress_bar


class InspectFlags(InspectArguments, Json, total=False):
    """The options of `inspect`."""


@command
def inspect(file: Annotated[Path, Argument("FILE", "A localization file.")], options: InspectFlags) -> None:
    """What is FILE, how is it understood, and what looks wrong in it? No truth is needed.

    flatmetric inspect mine.csv
    flatmetric inspect mine.csv --unit px --pixel-size 100 --fov 6400
    """
    check_outputs([options["json"]], [file])
    with progress_bar() as progress:
        inspection = inspect_file(file, progress=progress, **only(options, InspectArguments))
    if options["json"] is not None:
        warnings = [text.as_flags(warning) for warning in inspection.warnings]
        write_json(dataclasses.asdict(inspection) | {"warnings": warnings}, options["json"])
    else:
        print(text.inspection_text(inspection))
