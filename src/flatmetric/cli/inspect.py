"""`flatmetric inspect`: what a file is, how it was understood, and what looks wrong in it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from flatmetric.cli import text
from flatmetric.cli.options import Argument, FieldOfView, Json, Reading, command, parse_fov
from flatmetric.cli.output import check_outputs, write_json
from flatmetric.cli.progress import read_with_progress
from flatmetric.matching.protocol import Protocol
from flatmetric.quality.inspect import inspect_table


class InspectFlags(Reading, Json, FieldOfView):
    """The options of `inspect`."""


@command
def inspect(file: Annotated[Path, Argument("FILE", "A localization file.")], options: InspectFlags) -> None:
    """Say what FILE is, how it is understood, and what looks wrong in it."""
    fov = None if options.fov is None else Protocol(fov=parse_fov(options.fov)).fov
    check_outputs([options.json], [file])
    inspection = inspect_table(read_with_progress(file, options.reading(), options.threads), fov)
    if options.json is not None:
        warnings = [text.as_flags(warning) for warning in inspection.warnings]
        write_json(dataclasses.asdict(inspection) | {"warnings": warnings}, options.json)
    else:
        print(text.inspection_text(inspection))
