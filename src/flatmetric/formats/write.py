"""`write`: a table to a file of a format that can be written, whole or not at all."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric._files import whole_file
from flatmetric.errors import InputError
from flatmetric.formats.registry import FORMATS, WRITERS
from flatmetric.localizations import Localizations, Provenance


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: the files, the format, the number of rows, where they came from, the columns that have no place
    in the format, and those written as zeros since they are not known.
    """

    files: tuple[Path, ...]
    format: str
    rows: int
    source: Provenance
    lost: tuple[str, ...]
    zeros: tuple[str, ...]


def writable_format(path: Path, to: str | None) -> str:
    """The format to write: the one named, or the usual one for the file's suffix."""
    names = ", ".join(WRITERS)
    if to is None:
        for name, writer in WRITERS.items():
            if path.suffix.lower() in writer.suffixes:
                return name
        raise InputError(f"{path}: its suffix does not say which format to write; give to=, one of {names}")
    if to not in WRITERS:
        known = any(entry.name == to for entry in FORMATS)
        raise InputError(f"{to!r} {'is read but not written' if known else 'is not a format'}; give one of {names}")
    return to


def files_of(path: Path, format: str) -> list[Path]:
    """The files written for a format: `path` itself, and any companion files."""
    return [path, *(path.with_suffix(suffix) for suffix in WRITERS[format].side_suffixes)]


def write(table: Localizations, path: Path, format: str) -> Written:
    """Write a table in one of the `WRITERS`; several files appear together or not at all."""
    writer = WRITERS[format]
    if len(table) == 0 and format == "challenge-standard":
        raise InputError(f"{path}: this format has no header, so it can't store an empty table; give to='thunderstorm'")
    files = files_of(path, format)
    with ExitStack() as together:
        writer.write(table, [together.enter_context(whole_file(file)) for file in files])
    present = table.columns()
    return Written(
        tuple(files),
        format,
        len(table),
        table.provenance,
        lost=tuple(column for column in present if column not in writer.holds),
        zeros=tuple(column for column in writer.fills if column not in present),
    )
