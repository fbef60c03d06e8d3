"""`write`: a table to a file of a format that can be written, whole or not at all."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from flatmetric.errors import InputError
from flatmetric.formats.reading import FORMATS
from flatmetric.formats.registry import Writer
from flatmetric.localizations import Localizations
from flatmetric.output import whole_file

WRITERS: dict[str, Writer] = {entry.name: entry.writer for entry in FORMATS if entry.writer is not None}


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the files, the format, and the columns that found no place or were not known."""

    files: tuple[Path, ...]
    format: str
    lost: tuple[str, ...]
    filled: tuple[str, ...]


def writable_format(path: Path, format: str | None) -> str:
    """The format to write: the one named, or the usual one for the file's suffix."""
    names = ", ".join(WRITERS)
    if format is None:
        for name, writer in WRITERS.items():
            if path.suffix.lower() in writer.suffixes:
                return name
        raise InputError(f"{path}: its suffix does not say which format to write; give --to, one of {names}")
    if format not in WRITERS:
        known = any(entry.name == format for entry in FORMATS)
        raise InputError(f"{format!r} {'is read but not written' if known else 'is no format'}; give one of {names}")
    return format


def files_of(path: Path, format: str) -> list[Path]:
    """The files that writing a format under `path` makes: itself, and those beside it."""
    return [path, *(path.with_suffix(suffix) for suffix in WRITERS[format].side_suffixes)]


def write(table: Localizations, path: Path, format: str) -> Written:
    """Write a table in one of the `WRITERS`; several files appear together or not at all."""
    writer = WRITERS[format]
    if len(table) == 0 and format == "challenge-standard":
        raise InputError(f"{path}: without a header an empty table is no table; give --to thunderstorm")
    files = files_of(path, format)
    with ExitStack() as together:
        writer.write(table, [together.enter_context(whole_file(file)) for file in files])
    there = table.columns()
    return Written(
        tuple(files),
        format,
        lost=tuple(column for column in there if column not in writer.holds),
        filled=tuple(column for column in writer.fills if column not in there),
    )
