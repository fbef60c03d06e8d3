"""`flatmetric validate`: are these files proper submissions, without any truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric.api.validate import validate as validate_files
from flatmetric.cli.options import Argument, Json, Keywords, command
from flatmetric.cli.output import STANDARD_OUTPUT, check_outputs, write_json
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import as_flags
from flatmetric.version import __version__


@dataclass(frozen=True, kw_only=True)
class ValidateFlags(Json):
    """The flags of `validate` besides those of `fm.validate`."""


@command(validate_files, often=("against", "json", "unit", "pixel_size", "frame_base", "columns"))
def validate(
    files: Annotated[tuple[Path, ...], Argument("FILE", "One or more localization files.", many=True)],
    keywords: Keywords,
    flags: ValidateFlags,
) -> None:
    """Check a submission without the truth: format, unit, frames, field, repeated rows, gaps, size.

    flatmetric validate mine.csv
    flatmetric validate mine.csv other.csv --against simulation.json --json report.json

    Exit code 0 if all files are valid, 1 if one is not. The output can be sent to the submitter.
    """
    check_outputs([flags.json], list(files))
    with progress_bar() as progress:
        checked = validate_files(list(files), progress=progress, **keywords)
    if flags.json is not None:
        content = [one.to_dict() for one in checked]
        write_json({"version": __version__, "ok": all(one.ok for one in checked), "files": content}, flags.json)
    if flags.json != STANDARD_OUTPUT:
        print("\n".join(as_flags(one.message()) for one in checked))
    if not all(one.ok for one in checked):
        sys.exit(1)
