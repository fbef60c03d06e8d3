"""Any text table whose header uses the usual names, or whose columns the user names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import LARGEST_WHOLE, whole_numbers
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, known_length
from flatmetric.formats.headers import FoundColumn, find_columns
from flatmetric.formats.text import TextHead
from flatmetric.options.reading import ReadOptions

_TIME = "time"
_TIMES = ("t", "time", "timepoint")


def _recognise(candidate: Candidate) -> str | None:
    if not candidate.head.header:
        return None
    by_name = find_columns([h.text for h in candidate.head.header])
    if not {"x", "y"} <= set(by_name):
        return None
    return f"a table whose header names {', '.join(column.text for column in by_name.values())}"


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    head, name = candidate.head, candidate.source.name
    if not head.lines:
        raise InputError(f"{name}: is not a text table")
    header = [h.text for h in head.header or []]
    by_name = named_columns(options.columns, header, _width(head), name) if options.columns else find_columns(header)
    for column in ("x", "y"):
        if column not in by_name:
            what = f"its header has {', '.join(header)}" if header else "it has no header"
            raise InputError(
                f"{name}: no column is known as {column} ({what}); give columns={{'frame': 1, 'x': 2, 'y': 3}}"
            )
    places = {n: column.index for n, column in by_name.items()}
    time = None if "frame" in by_name or options.columns else _time_column(head)
    table = head.read(places | ({} if time is None else {_TIME: time.index}), options.skip_bad_rows)
    times = table.columns.pop(_TIME, None)
    native = Native(table.columns, unit=None, dropped=table.dropped, notes=table.notes)
    if (
        time is not None
        and times is not None
        and (times == np.floor(times)).all()
        and (np.abs(times) < LARGEST_WHOLE).all()
    ):
        native.columns["frame"] = times.astype(np.int64)
        native.assumptions.append(f"column {time.text} taken as the frame (otherwise give columns=)")
        by_name = {**by_name, "frame": time}
    return describe_columns(by_name, native, name, options)


def _time_column(head: TextHead) -> FoundColumn | None:
    """The column of a header that may be the frame under another name."""
    for at, heading in enumerate(head.header or []):
        if heading.squeezed in _TIMES:
            return FoundColumn(at, None, heading.text)
    return None


def describe_columns(by_name: Mapping[str, FoundColumn], native: Native, name: str, options: ReadOptions) -> Native:
    """Fill in what the names of the columns say about their units."""
    native.notes.insert(0, "columns: " + ", ".join(f"{n} = {c.text or c.index + 1}" for n, c in by_name.items()))
    native.unit = known_length(by_name["x"].unit, "x", name, options)
    native.y_unit = known_length(by_name["y"].unit, "y", name, options) or native.unit
    native.frame_base = None
    native.z_unit = native.unit if native.unit != "px" else "nm"
    if "z" in by_name and by_name["z"].unit is not None:
        native.z_unit = known_length(by_name["z"].unit, "z", name, options) or native.z_unit
    native.width_units = {n: by_name[n].unit or "" for n in ("sigma", "uncertainty") if n in by_name}
    if "frame" not in by_name:
        native.assumptions.append("no frame column: all rows are in frame 1 (otherwise give columns=)")
    return native


def _width(head: TextHead) -> int:
    return len(head.first_row) if head.first_row is not None else len(head.header or [])


def named_columns(columns: Mapping[str, int | str], header: list[str], width: int, name: str) -> dict[str, FoundColumn]:
    """The columns that the user names, by number from 1 or by the text of the header; others only if they must be."""
    by_text = {text.lower(): at for at, text in reversed(list(enumerate(header)))}
    units = {column.index: column.unit for column in find_columns(header).values()}
    by_name = {column: place for column, place in find_columns(header).items() if column in ("frame", "x", "y")}
    for column, place in columns.items():
        text = str(place).strip()
        at = int(text) - 1 if text.isascii() and text.isdigit() else by_text.get(text.lower(), -1)
        if not 0 <= at < width:
            there = f"{width} columns" + (f": {', '.join(header)}" if header else "")
            raise InputError(f"{name}: there is no column {text!r} for {column}; it has {there}")
        by_name[column] = FoundColumn(at, units.get(at), header[at] if at < len(header) else "")
    return by_name


def chosen_columns(names: list[str], options: ReadOptions, name: str) -> dict[str, FoundColumn]:
    """The columns of a binary table that are read: those that the user names, or those of known names."""
    chosen = named_columns(options.columns, names, len(names), name) if options.columns else find_columns(names)
    for column in ("x", "y"):
        if column not in chosen:
            raise InputError(f"{name}: none of its columns {', '.join(names):.200} is known as {column}; give columns=")
    return chosen


def described_table(
    names: list[str],
    chosen: Mapping[str, FoundColumn],
    arrays: Iterable[npt.NDArray[Any]],
    name: str,
    options: ReadOptions,
) -> Native:
    """The chosen columns of a binary table, with what their names say; ids and channels that are text are left out."""
    columns: dict[str, npt.NDArray[Any]] = {}
    for column, values in zip(chosen, arrays, strict=True):
        if values.dtype.kind in "fiu" or column not in ("id", "channel"):
            whole = whole_numbers(values) if column in ("id", "channel") else None
            columns[column] = values if whole is None else whole
    used = {column.index for column in chosen.values()}
    native = Native(columns, unit=None, unused=[text for at, text in enumerate(names) if at not in used])
    return describe_columns(chosen, native, name, options)


FORMAT = Format("plain", "a plain text table", _recognise, _read)
