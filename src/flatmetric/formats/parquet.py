"""Parquet and Arrow tables, through pyarrow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import COLUMNS, release
from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format, Writer
from flatmetric.formats.conversion import CORNER, Native, checked
from flatmetric.formats.headers import FoundColumn
from flatmetric.formats.plain import chosen_columns, described_table
from flatmetric.formats.source import Source
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions

if TYPE_CHECKING:
    import pyarrow

_PARQUET = b"PAR1"
_ARROW = b"ARROW1"
# The metadata key that marks our own files: in nm, frames from 1, zero at the corner of the first pixel.
_KEY = b"flatmetric"
_BATCH_ROWS = 1 << 17  # about 10 MB at a time
_Wanted = Callable[[list[str]], list[int]]
"""Which columns to read, by their places, of a table with these names."""


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
    name, every, chosen = candidate.source.name, list[str](), dict[str, FoundColumn]()

    def wanted(names: list[str]) -> list[int]:
        every.extend(names)
        chosen.update(chosen_columns(names, options, name))
        return [place.index for place in chosen.values()]

    arrays, metadata = _table(candidate, wanted)
    ours = metadata.get(_KEY)
    native = described_table(every, chosen, arrays, name, options)
    if ours is not None:
        native.unit, native.y_unit, native.z_unit, native.frame_base, native.first_pixel = "nm", "nm", "nm", 1, CORNER
        try:
            size = json.loads(ours).get("pixel_size")
            sizes = None if size is None else (float(size[0]), float(size[1]))
            native.pixel_size = sizes if sizes is not None and all(0 < s < float("inf") for s in sizes) else None
        except (ValueError, TypeError, AttributeError, LookupError):
            native.pixel_size = None
    return checked(native, options, name)


def _table(candidate: Candidate, wanted: _Wanted) -> tuple[list[npt.NDArray[Any]], dict[bytes, bytes]]:
    """The wanted columns, and the metadata of the table."""
    _pyarrow()
    from pyarrow import feather, parquet

    with candidate.source.opened() as file:
        try:
            if not candidate.source.head.startswith(_PARQUET):
                return _taken_apart(feather.read_table(file), wanted)
            opened = parquet.ParquetFile(file)
            claimed = opened.metadata
            if 8 * claimed.num_rows * claimed.num_columns <= largest_content(candidate.source.size):
                if candidate.source.on_disk:
                    return _batch_by_batch(opened, candidate.source, wanted)
                return _taken_apart(parquet.read_table(file), wanted)
        except InputError:
            raise
        except Exception as error:  # pyarrow raises many kinds on damaged files
            raise InputError(
                f"{candidate.source.name}: the Parquet or Arrow file is damaged or cut short; get the file again"
            ) from error
    raise InputError(f"{candidate.source.name}: claims more rows than a file of its size can hold; get the file again")


def _taken_apart(table: pyarrow.Table, wanted: _Wanted) -> tuple[list[npt.NDArray[Any]], dict[bytes, bytes]]:
    table.validate(full=True)
    # Columns are converted in place, so each is a copy of its own.
    columns = [np.array(table.column(at).to_numpy()) for at in wanted(list(table.column_names))]
    return columns, table.schema.metadata or {}


def _batch_by_batch(
    opened: pyarrow.parquet.ParquetFile, source: Source, wanted: _Wanted
) -> tuple[list[npt.NDArray[Any]], dict[bytes, bytes]]:
    """The same with the columns on disk, where whole numbers lie as floats: a later batch may have gaps."""
    rows, done = opened.metadata.num_rows, 0
    places = wanted(list(opened.schema_arrow.names))
    columns: list[npt.NDArray[Any]] = [source.storage.empty(rows, np.float64) for _ in places]
    for batch in opened.iter_batches(_BATCH_ROWS):
        batch.validate(full=True)
        for number, at in enumerate(places):
            values = batch.column(at).to_numpy(zero_copy_only=False)
            if values.dtype.kind not in "fiu":
                columns[number] = np.broadcast_to(
                    np.array(None, dtype=object), rows
                )  # no numbers, as `checked` will say
            elif columns[number].dtype == np.float64:
                columns[number][done : done + len(batch)] = values
        done += len(batch)
        release()
    if done != rows:
        raise ValueError("the file has fewer rows than it claims")
    return columns, opened.schema_arrow.metadata or {}


def _write(table: Localizations, paths: list[Path]) -> None:
    pyarrow = _pyarrow()
    from pyarrow import parquet

    columns = pyarrow.table(table.columns())
    metadata = {_KEY: json.dumps({"unit": "nm", "frame_base": 1, "pixel_size": table.provenance.pixel_size}).encode()}
    parquet.write_table(columns.replace_schema_metadata(metadata), paths[0])


_WRITER = Writer(_write, frozenset(COLUMNS), suffixes=(".parquet",))
FORMAT = Format("parquet", "a Parquet or Arrow table", _recognise, _read, _WRITER)
