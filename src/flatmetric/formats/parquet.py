"""Parquet and Arrow tables, through pyarrow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format, Writer
from flatmetric.formats.conversion import CORNER, Native, ReadOptions, checked
from flatmetric.formats.headers import find_columns
from flatmetric.formats.plain import described, named_columns
from flatmetric.formats.source import largest_content
from flatmetric.localizations import COLUMNS, Localizations

if TYPE_CHECKING:
    import pyarrow

_PARQUET = b"PAR1"
_ARROW = b"ARROW1"
# The metadata key that marks our own files: in nm, frames from 1, zero at the corner of the first pixel.
_KEY = b"flatmetric"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise InputError(
            "Parquet and Arrow files need pyarrow; pip install '.[parquet]' in a clone of flatmetric"
        ) from error
    return pyarrow


def _recognise(candidate: Candidate) -> str | None:
    if candidate.source.head.startswith((_PARQUET, _ARROW)):
        return "the file begins as a Parquet or Arrow file does"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    names, arrays, metadata = _table(candidate)
    ours = metadata.get(_KEY)
    found = named_columns(options.columns, names, len(names), name) if options.columns else find_columns(names)
    for column in ("x", "y"):
        if column not in found:
            raise InputError(f"{name}: none of its columns {', '.join(names)} is known as {column}; give columns=")
    columns = {}
    for column, place in found.items():
        values = arrays[place.index]
        if values.dtype.kind in "fiu" or column not in ("id", "channel"):
            columns[column] = np.array(values)
    native = described(found, Native(columns, unit=None), name, options)
    if ours is not None:
        native.unit, native.y_unit, native.z_unit, native.frame_base, native.first_pixel = "nm", "nm", "nm", 1, CORNER
        try:
            size = json.loads(ours).get("pixel_size")
            sizes = None if size is None else (float(size[0]), float(size[1]))
            native.pixel_size = sizes if sizes is not None and all(0 < s < float("inf") for s in sizes) else None
        except (ValueError, TypeError, AttributeError, LookupError):
            native.pixel_size = None
    return checked(native, options, name)


def _table(candidate: Candidate) -> tuple[list[str], list[npt.NDArray[Any]], dict[bytes, bytes]]:
    """Names, columns and metadata."""
    _pyarrow()
    from pyarrow import feather, parquet

    with candidate.source.opened() as file:
        try:
            if not candidate.source.head.startswith(_PARQUET):
                return _taken_apart(feather.read_table(file))
            claimed = parquet.ParquetFile(file).metadata
            if 8 * claimed.num_rows * claimed.num_columns <= largest_content(candidate.source.size):
                return _taken_apart(parquet.read_table(file))
        except Exception as error:  # pyarrow raises many kinds on damaged files
            raise InputError(
                f"{candidate.source.name}: the Parquet or Arrow file is damaged or cut short; get the file again"
            ) from error
    raise InputError(f"{candidate.source.name}: claims more rows than a file of its size can hold; get the file again")


def _taken_apart(table: pyarrow.Table) -> tuple[list[str], list[npt.NDArray[Any]], dict[bytes, bytes]]:
    table.validate(full=True)
    return list(table.column_names), [column.to_numpy() for column in table.columns], table.schema.metadata or {}


def _write(table: Localizations, paths: list[Path]) -> None:
    pyarrow = _pyarrow()
    from pyarrow import parquet

    columns = pyarrow.table(table.columns())
    metadata = {_KEY: json.dumps({"unit": "nm", "frame_base": 1, "pixel_size": table.provenance.pixel_size}).encode()}
    parquet.write_table(columns.replace_schema_metadata(metadata), paths[0])


_WRITER = Writer(_write, frozenset(COLUMNS), suffixes=(".parquet",))
FORMAT = Format("parquet", "a Parquet or Arrow table", _recognise, _read, _WRITER)
