"""JSON and files, whole or not at all."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.errors import InputError
from flatmetric.output import refuse_unwritable, whole_file

STANDARD_OUTPUT = "-"
JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE|-", help="Write JSON to a file, or to standard output with -.")
]


ReportOption = Annotated[
    Path | None, typer.Option("--report", metavar="PAGE.html", help="Write a page with pictures, all in one file.")
]


def this_command() -> str:
    """The command line as it was given, to be shown where its output is explained."""
    return shlex.join(["flatmetric", *sys.argv[1:]])


def refuse_outputs(outputs: list[str | Path | None], inputs: list[Path]) -> None:
    """Find out before the work starts which outputs can't be written, or would destroy an input."""
    seen: set[Path] = set()
    for output in outputs:
        if output is None or str(output) == STANDARD_OUTPUT:
            continue
        path = Path(output)
        refuse_unwritable(path)
        place = path.resolve()
        # An archive that holds the input, and the metadata beside it, are inputs too.
        taken = {other.resolve() for given in inputs for other in (given, given.with_suffix(".yaml"), *given.parents)}
        if place in taken and path.exists():
            raise InputError(f"{path}: is an input; give another name for the output")
        if place in seen:
            raise InputError(f"{path}: is named for two outputs; give each its own")
        seen.add(place)


def make_folder(folder: Path) -> None:
    """The folder for outputs, made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: can't be made, {error.strerror}; give --out") from error


def write_json(content: dict[str, Any], target: str) -> None:
    """JSON without NaN, to a file or standard output."""
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if target == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_text(text, Path(target))


def write_text(text: str, path: Path) -> None:
    """A text file that appears whole or not at all."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # names may hold any bytes


def write_columns(columns: Mapping[str, Any], target: str) -> None:
    """Columns as CSV, to a file or standard output; what is missing is an empty cell."""
    import pandas as pd

    table = pd.DataFrame(dict(columns))
    if target == STANDARD_OUTPUT:
        sys.stdout.write(table.to_csv(index=False))
        return
    with whole_file(Path(target)) as unfinished:
        table.to_csv(unfinished, index=False, errors="surrogateescape")
