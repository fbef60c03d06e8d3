"""`write`: a table to a file of a format that can be written, whole or not at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from flatmetric.errors import InputError
from flatmetric.formats import picasso
from flatmetric.formats.reading import FORMATS, format_named
from flatmetric.localizations import Localizations
from flatmetric.output import refuse_unwritable, whole_file

# What each format has room for; the rest is lost and said so.
_HOLDS = {
    "challenge-standard": {"frame", "x", "y", "z", "photons"},
    "thunderstorm": {"frame", "x", "y", "z", "photons", "sigma", "uncertainty", "background", "id"},
    "picasso": {"frame", "x", "y", "z", "photons", "sigma", "uncertainty", "background"},
    "parquet": {"frame", "x", "y", "z", "photons", "sigma", "uncertainty", "background", "id", "channel"},
}
_BY_SUFFIX = {".csv": "challenge-standard", ".txt": "challenge-standard", ".hdf5": "picasso", ".h5": "picasso"}
_BY_SUFFIX |= {".parquet": "parquet"}


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What was written: the files, the format, and the columns that found no place or had to be made up."""

    files: tuple[Path, ...]
    format: str
    lost: tuple[str, ...]
    filled: tuple[str, ...]


def writable_format(path: Path, format: str | None) -> str:
    """The format to write: the one named, or the usual one for the file's suffix."""
    names = ", ".join(_HOLDS)
    if format is None:
        format = _BY_SUFFIX.get(path.suffix.lower())
        if format is None:
            raise InputError(f"{path}: its suffix does not say which format to write; give --to, one of {names}")
    if format not in _HOLDS:
        known = any(entry.name == format for entry in FORMATS)
        raise InputError(f"{format!r} {'is read but not written' if known else 'is no format'}; give one of {names}")
    return format


def write(
    table: Localizations, path: Path, format: str | None = None, pixel_size: tuple[float, float] | None = None
) -> Written:
    """Write a table; `pixel_size` in nm is needed where the format counts in pixels and the table does not know it."""
    name = writable_format(path, format)
    if pixel_size is not None:
        table = dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, pixel_size=pixel_size))
    write_to = format_named(name).write
    assert write_to is not None
    files = [path]
    if name == "picasso":
        side = path.with_suffix(".yaml")
        refuse_unwritable(side)
        files.append(side)
        with whole_file(path) as unfinished, whole_file(side) as unfinished_side:
            write_to(table, unfinished)
            unfinished_side.write_text(picasso.yaml_text(table), encoding="utf-8")
    else:
        with whole_file(path) as unfinished:
            write_to(table, unfinished)
    there = set(table.columns())
    needed = {"challenge-standard": ("z", "photons"), "picasso": ("photons",)}.get(name, ())
    return Written(
        tuple(files),
        name,
        lost=tuple(column for column in table.columns() if column not in _HOLDS[name]),
        filled=tuple(column for column in needed if column not in there),
    )
