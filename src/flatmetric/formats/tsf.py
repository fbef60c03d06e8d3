"""Micro-Manager tagged spot files: protocol-buffer messages, or the same as text."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.options.reading import ReadOptions

_HEADER_BYTES = 12  # int32 0 and int64 offset of the SpotList, counted from here
_UNITS = ("nm", "um", "px")
_UNIT_NAMES = {"NM": "nm", "UM": "um", "PIXELS": "px", "0": "nm", "1": "um", "2": "px"}
# Field numbers of the two messages.
_PIXEL_SIZE, _LOCATION_UNITS, _INTENSITY_UNITS = 7, 22, 23
_SPOT = {1: "id", 2: "channel", 3: "frame", 7: "x", 8: "y", 9: "z", 10: "photons", 11: "background", 104: "uncertainty"}
_NEEDED, _WHOLE = ("frame", "x", "y"), ("id", "channel", "frame")
_SPOT_UNITS = 17  # number of the field `location_units` in the TSF specification
_PHOTONS = 1  # value of `intensity_units` for photons in the TSF specification
_ALL_BITS = (1 << 64) - 1  # protobuf integers have 64 bits
_NOT_PHOTONS = "the intensity is in counts or an unnamed unit, not photons, and is kept as it is"


def _is_binary(candidate: Candidate) -> str | None:
    head = candidate.source.head
    if len(head) < _HEADER_BYTES or head[:4] != b"\0\0\0\0":
        return None
    (offset,) = struct.unpack(">q", head[4:_HEADER_BYTES])
    if 0 < offset < largest_content(candidate.source.size):
        return "the file begins with the 0 and the offset of a tagged spot file"
    return None


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _ALL_BITS, at
        shift += 7
    raise ValueError("a number of more than ten bytes")


def _fields(data: memoryview, at: int, end: int) -> Iterator[tuple[int, float]]:
    """Field numbers and numeric values of one message; texts and inner messages are passed over."""
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value - (1 << 64) if value >> 63 else value  # numbers below 0 have all the upper bits
        elif wire == 5:
            yield number, struct.unpack_from("<f", data, at)[0]
            at += 4
        elif wire == 1:
            yield number, struct.unpack_from("<d", data, at)[0]
            at += 8
        elif wire == 2:
            size, at = _varint(data, at)
            at += size
        else:
            raise ValueError(f"wire type {wire}")
    if at != end:
        raise ValueError("a field reaches beyond its message")


def _read_binary(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    with candidate.source.opened() as file:
        data = memoryview(file.read(largest_content(candidate.source.size)))
    try:
        (offset,) = struct.unpack(">q", data[4:_HEADER_BYTES])
        end_of_spots = _HEADER_BYTES + offset
        size, at = _varint(data, end_of_spots)
        summary = dict(_fields(data, at, at + size))
        spots = _spots(data, end_of_spots)
    except (ValueError, IndexError, struct.error, OverflowError) as error:
        raise InputError(
            f"{name}: the tagged spot file is damaged or cut short ({error}); get the file again"
        ) from error
    return _native(spots, summary, options, name)


@dataclass(slots=True)
class _Spots:
    """All spots: a column for each field that all of them have, and the units that they name; None for those without.

    A dictionary for each spot would take fifty times the memory.
    """

    rows: int = 0
    columns: dict[int, Any] = field(default_factory=dict)
    units: set[float | None] = field(default_factory=set)

    def add(self, fields: dict[int, float]) -> None:
        if self.rows == 0:
            self.columns = {one: array("q" if _SPOT[one] in _WHOLE else "d") for one in _SPOT if one in fields}
        for one in [one for one in self.columns if one not in fields]:
            del self.columns[one]
        for one in (one for one, name in _SPOT.items() if name in _NEEDED and one not in self.columns):
            raise ValueError(f"a spot lacks {_SPOT[one]}")
        for one, column in self.columns.items():
            column.append(int(fields[one]) if column.typecode == "q" else fields[one])
        self.units.add(fields.get(_SPOT_UNITS))
        self.rows += 1


def _spots(data: memoryview, end: int) -> _Spots:
    spots = _Spots()
    at = _HEADER_BYTES
    while at < end:
        size, at = _varint(data, at)
        spots.add(dict(_fields(data, at, at + size)))
        at += size
    return spots


def _native(spots: _Spots, summary: dict[int, float], options: ReadOptions, name: str) -> Native:
    columns: dict[str, Any] = {_SPOT[one]: np.array(column) for one, column in spots.columns.items()}
    if not spots.rows:
        columns = {c: np.zeros(0, dtype=np.int64 if c in _WHOLE else np.float64) for c in (*_NEEDED, "photons")}
    code = summary.get(_LOCATION_UNITS)
    own = {code if unit is None else unit for unit in spots.units}
    if len(own) > 1:
        raise InputError(f"{name}: its spots are in different units; write it with one")
    code = own.pop() if own else code
    unit = _UNITS[int(code)] if code is not None and 0 <= code < len(_UNITS) else None
    size = summary.get(_PIXEL_SIZE, 0.0)
    native = Native(
        columns,
        unit=unit,
        z_unit=unit if unit != "px" else "nm",
        frame_base=1,
        first_pixel=None,
        pixel_size=(size, size) if 0 < size < float("inf") else None,
    )
    if "photons" in columns and summary.get(_INTENSITY_UNITS) != _PHOTONS:
        native.assumptions.append(_NOT_PHOTONS)
    return checked(native, options, name)


def _is_text(candidate: Candidate) -> str | None:
    lines = candidate.head.lines
    if len(lines) > 1 and "location_units: " in lines[0].text and candidate.head.has("frame", "x", "y"):
        return "the first line is the summary of a tagged spot file as text"
    return None


def _read_text(candidate: Candidate, options: ReadOptions) -> Native:
    head = candidate.head
    summary = dict(pair.split(": ", 1) for pair in head.lines[0].text.split("\t") if ": " in pair)
    names = {"molecule": "id", "intensity": "photons", "x_precision": "uncertainty"}
    wanted = {names.get(n, n): at for at, n in enumerate(head.names) if names.get(n, n) in _SPOT.values()}
    for column in _NEEDED:
        if column not in wanted:
            raise InputError(
                f"{head.source.name}: has no column {column}, as a tagged spot file does; leave format= out"
            )
    table = head.read(wanted, options.skip_bad_rows)
    unit = _UNIT_NAMES.get(summary.get("location_units", "").strip())
    native = Native(
        table.columns,
        unit=unit,
        z_unit=unit if unit != "px" else "nm",
        frame_base=1,
        first_pixel=None,
        dropped=table.dropped,
        notes=table.notes,
    )
    if "photons" in native.columns and summary.get("intensity_units", "").strip() not in ("PHOTONS", "1"):
        native.assumptions.append(_NOT_PHOTONS)
    try:
        size = float(summary.get("pixel_size", "nan"))
    except ValueError:
        size = float("nan")
    if 0 < size < float("inf"):
        native.pixel_size = size, size
    return native


BINARY = Format("tsf", "Micro-Manager tagged spot file", _is_binary, _read_binary)
TEXT = Format("tsf-text", "Micro-Manager tagged spot file as text", _is_text, _read_text)
