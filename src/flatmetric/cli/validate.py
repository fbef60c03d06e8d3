"""`flatmetric validate`: are these files proper submissions, without any truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from flatmetric.api.options import only
from flatmetric.api.validate import ValidateArguments
from flatmetric.api.validate import validate as validate_files
from flatmetric.cli.options import Argument, Json, command
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, write_json
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import as_flags
from flatmetric.version import __version__


class ValidateFlags(ValidateArguments, Json, total=False):
    """The options of `validate`."""


@command
def validate(
    files: Annotated[tuple[Path, ...], Argument("FILE", "One or more localization files.", many=True)],
    options: ValidateFlags,
) -> None:
    """Is FILE a proper submission: format, unit, frames, field, repeated rows, gaps, size? No truth is needed.

    flatmetric validate mine.csv
    flatmetric validate mine.csv other.csv --against simulation.json --json report.json

    Exit code 0 if all files are proper, 1 if one is not. What it prints can be sent to whoever handed the file in.
    """
    check_outputs([options["json"]], list(files))
    with progress_bar() as progress:
        checked = validate_files(list(files), progress=progress, **only(options, ValidateArguments))
    if options["json"] is not None:
        content = [one.to_dict() for one in checked]
        write_json({"version": __version__, "ok": all(one.ok for one in checked), "files": content}, options["json"])
    if options["json"] != STANDARD_OUTPUT:
        print("\n".join(as_flags(one.message()) for one in checked))
    if not all(one.ok for one in checked):
        sys.exit(1)
