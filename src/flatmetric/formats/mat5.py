"""Numbers and structures of numbers from MATLAB 5 files; every length is checked before it is used."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

_HEADER_BYTES = 128  # by the MATLAB 5 specification
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_STRUCT_CLASS = 2  # mxSTRUCT_CLASS of the specification
_NUMBER_CLASSES = range(6, 16)
_DEEPEST = 8  # levels of nested structs; real files have 3


class Mat5Error(ValueError):
    """The content does not match the sizes or types that the file declares."""


def variables(content: bytes, wanted: set[str], largest: int) -> dict[str, Any]:
    """The wanted variables: arrays, or dicts of them for structures of one element.

    No variable may unpack to more than `largest` bytes. Other kinds of variables are passed over.
    """
    if len(content) < _HEADER_BYTES:
        raise Mat5Error("its header is cut short")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise Mat5Error("its header does not say the byte order")
    arrays = {}
    for kind, body in _elements(memoryview(content)[_HEADER_BYTES:], order):
        data = body
        if kind == _COMPRESSED:
            unpacker = zlib.decompressobj()
            try:
                unpacked = unpacker.decompress(body, largest)
            except zlib.error as error:
                raise Mat5Error("its compressed data is damaged") from error
            if unpacker.unconsumed_tail:
                raise Mat5Error("a variable is larger than the file's size allows")
            kind, data = next(_elements(memoryview(unpacked), order), (0, memoryview(b"")))
        if kind == _MATRIX:
            name, value = _matrix(data, order, wanted, 0)
            if name in wanted and value is not None:
                arrays[name] = value
    return arrays


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and content of one element after the other."""
    at = 0
    while at + 8 <= len(data):
        first, second = np.frombuffer(data[at : at + 8], dtype=f"{order}u4").tolist()
        if first >> 16:  # a small element holds its size, type and up to four bytes in eight
            kind, size, start = first & 0xFFFF, first >> 16, at + 4
            following = at + 8
            if size > 4:
                raise Mat5Error("a small element is too large")
        else:
            kind, size, start = first, second, at + 8
            following = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise Mat5Error("an element reaches beyond the end")
        yield kind, data[start : start + size]
        at = following


def _numbers(kind: int, data: memoryview, order: str) -> npt.NDArray[Any]:
    code = _NUMBERS.get(kind)
    if code is None:
        raise Mat5Error("an element does not hold numbers")
    dtype = np.dtype(f"{order}{code}")
    if len(data) % dtype.itemsize:
        raise Mat5Error("an element ends within a number")
    return np.frombuffer(data, dtype=dtype)


def _matrix(data: memoryview, order: str, wanted: set[str] | None, depth: int) -> tuple[str, Any]:
    """Name and value of one matrix; the value is None where it is neither numbers nor one structure."""
    if depth > _DEEPEST:
        raise Mat5Error("structures are nested too deeply")
    parts = _elements(data, order)
    try:
        flags = _numbers(*next(parts), order)
        shape = [int(size) for size in _numbers(*next(parts), order)]
        name = bytes(next(parts)[1]).decode("latin-1")
    except StopIteration as error:
        raise Mat5Error("a variable is cut short") from error
    if len(flags) < 1 or len(shape) < 2 or any(size < 0 for size in shape):
        raise Mat5Error("a variable's header is damaged")
    if wanted is not None and name not in wanted:
        return name, None
    kind = int(flags[0]) & 0xFF
    count = math.prod(shape)
    if kind in _NUMBER_CLASSES:
        values = _numbers(*next(parts, (9, memoryview(b""))), order)
        if len(values) != count:
            raise Mat5Error(f"{name!r} holds {len(values)} numbers and promises {count}")
        return name, values.reshape(shape, order="F")
    if kind == _STRUCT_CLASS and count == 1:
        return name, _structure(parts, order, depth)
    return name, None


def _structure(parts: Iterator[tuple[int, memoryview]], order: str, depth: int) -> dict[str, Any]:
    try:
        length = int(_numbers(*next(parts), order)[0])
        names = bytes(next(parts)[1])
    except (StopIteration, IndexError) as error:
        raise Mat5Error("a structure is cut short") from error
    if length <= 0 or len(names) % length:
        raise Mat5Error("the names of a structure are damaged")
    fields = [names[at : at + length].split(b"\0")[0].decode("latin-1") for at in range(0, len(names), length)]
    values = {}
    for field, (kind, data) in zip(fields, parts, strict=False):
        if kind != _MATRIX:
            raise Mat5Error("a field of a structure is damaged")
        values[field] = _matrix(data, order, None, depth + 1)[1]
    return values
