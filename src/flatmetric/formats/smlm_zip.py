"""SMLM zip (.smlm, version 0.2): a manifest that describes packed binary tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.formats.headers import FoundColumn, find_columns, heading
from flatmetric.formats.plain import describe_columns
from flatmetric.formats.source import ZIP
from flatmetric.options.reading import ReadOptions

_LARGEST_MANIFEST = 16 << 20  # bytes; real ones have a few kB


def _recognise(candidate: Candidate) -> str | None:
    source = candidate.source
    if source.packing is None and source.head.startswith(ZIP):
        return "a zip archive with the manifest.json of an SMLM file"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    source = candidate.source
    try:
        manifest = json.loads(source.archive_member("manifest.json", _LARGEST_MANIFEST))
        tables = [file for file in manifest["files"] if file["type"] == "table"]
        if not tables:
            raise InputError(f"{source.name}: its manifest names no table")
        layout = manifest["formats"][tables[0]["format"]]
        dtype, units = _layout(layout, source.name)
        rows = int(tables[0]["rows"])
        name = str(tables[0]["name"])
    except InputError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(f"{source.name}: its manifest.json is damaged ({error!r:.80})") from error
    content = source.archive_member(name, largest_content(source.size))
    if rows < 0 or len(content) < rows * dtype.itemsize:
        raise InputError(
            f"{source.name}: {name} holds {len(content)} bytes, too few for {rows} rows of {dtype.itemsize} bytes"
        )
    records = np.frombuffer(content, dtype=dtype, count=rows)
    names = dtype.names or ()
    named = {
        ours: FoundColumn(column.index, column.unit or units[column.index], column.text)
        for ours, column in find_columns(names).items()
    }
    for column in ("x", "y"):
        if column not in named:
            raise InputError(f"{source.name}: none of its columns {', '.join(names)} is known as {column}")
    columns = {ours: np.array(records[names[column.index]]) for ours, column in named.items()}
    for label in ("id", "channel"):
        if label in columns and columns[label].dtype.kind not in "iu":
            del columns[label]
    native = describe_columns(named, Native(columns, unit=None), source.name, options)
    if len(tables) > 1:
        native.assumptions.append(f"the file holds {len(tables)} tables, of which the first, {name}, was read")
    return checked(native, options, source.name)


def _layout(layout: dict[str, Any], name: str) -> tuple[np.dtype[Any], list[str | None]]:
    if layout["mode"] != "binary":
        raise InputError(f"{name}: its table is stored as {layout['mode']!r:.40}; only binary tables are read")
    if any(int(size) != 1 for size in layout["shape"]):
        raise InputError(f"{name}: a column of its table holds more than one number")
    kinds = [np.dtype(str(kind)).newbyteorder("<") for kind in layout["dtype"]]
    if any(kind.kind not in "fiu" for kind in kinds):
        raise InputError(f"{name}: a column of its table does not hold numbers")
    units = [heading(f"v [{unit}]").unit if unit else None for unit in layout.get("units", [])]
    headers = [str(header) for header in layout["headers"]]
    units += [None] * (len(headers) - len(units))
    return np.dtype(list(zip(headers, kinds, strict=True))), units


FORMAT = Format("smlm", "SMLM zip", _recognise, _read)
