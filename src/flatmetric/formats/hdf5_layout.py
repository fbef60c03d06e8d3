"""The layout of HDF5 files, read in plain Python: every address, size and count is checked before it is used.

No library sees the bytes, so that a damaged or hostile file ends in one sentence at worst. Read are the files that
h5py, MATLAB 7.3 and their like write by default: groups, tables of numbers and text, compact, contiguous or in chunks,
packed by deflate. What only `libver="latest"` writes (large groups and growing chunks in new indexes) is rejected.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

UNDEFINED = 0xFFFF_FFFF_FFFF_FFFF  # the address that means none, by the HDF5 specification
_MOST_DIMENSIONS = 32  # the limit of the HDF5 library
_MOST_MEMBERS = 4096  # of a compound type; tables of localizations have about 50
_DEEPEST_TYPE = 8  # levels of nested types; real files have 3
_MOST_NODES = 1 << 22  # of a tree
_LARGEST_BLOCK = 1 << 26  # of metadata, bytes
_FLOATS = {  # where sign, exponent and mantissa are, by size
    2: (15, 10, 5, 0, 10, 15),
    4: (31, 23, 8, 0, 23, 127),
    8: (63, 52, 11, 0, 52, 1023),
}
_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3


class DamagedError(Exception):
    """The file contradicts itself."""


class UnsupportedError(Exception):
    """The file is sound as far as it was read, but what it holds is not read here; the message names it."""


@dataclass(frozen=True, slots=True)
class Type:
    """A datatype: as NumPy has it, and whether its values are text kept in a global heap."""

    dtype: np.dtype[Any]
    is_text_elsewhere: bool = False


@dataclass(slots=True)
class Header:
    """The messages of an object: pairs of kind and content, with whether the content is shared."""

    messages: list[tuple[int, bytes, bool]] = field(default_factory=list)

    def first(self, kind: int) -> bytes | None:
        """The content of the first message of a kind."""
        return next((content for what, content, _ in self.messages if what == kind), None)


@dataclass(frozen=True, slots=True)
class GroupLink:
    """Where a member of a group is; None where it is a link to elsewhere."""

    address: int | None


@dataclass(frozen=True, slots=True)
class Space:
    """The shape of a dataset or attribute; None for one that holds nothing at all."""

    shape: tuple[int, ...] | None

    @property
    def count(self) -> int:
        """How many values."""
        return 0 if self.shape is None else math.prod(self.shape)


_DATASPACE, _LINK_INFO, _DATATYPE, _FILL, _LINK, _EXTERNAL = 0x01, 0x02, 0x03, 0x05, 0x06, 0x07
_LAYOUT, _FILTERS, _ATTRIBUTE, _CONTINUATION, _SYMBOL_TABLE = 0x08, 0x0B, 0x0C, 0x10, 0x11


class Layout:
    """An HDF5 file in its parts; `limit` is how many bytes a dataset may claim."""

    def __init__(self, file: BinaryIO, start: int, limit: int) -> None:
        self._file, self.limit = file, limit
        self._size = file.seek(0, 2)
        self._start = 0
        self._headers: dict[int, Header] = {}
        self._heaps: dict[int, dict[int, bytes]] = {}
        self.root = self._superblock(start)

    def _superblock(self, start: int) -> int:
        """The address of the root group."""
        block = self._at(start, 96)
        version = block[8]
        if version in (0, 1):
            sizes, places = block[13:15], 24 + (4 if version == 1 else 0)
            base, root = _number(block, places), _number(block, places + 40)
        elif version in (2, 3):
            sizes, base, root = block[9:11], _number(block, 12), _number(block, 36)
        else:
            raise UnsupportedError("is of a version of HDF5 that is not known")
        if sizes != b"\x08\x08":
            raise UnsupportedError("has addresses that are not 8 bytes long")
        if base not in (0, start):
            raise DamagedError("base address")
        self._start = base if base else start if version in (0, 1) and start else 0
        return root

    def _at(self, address: int, size: int) -> bytes:
        """Some bytes of the file."""
        place = address + self._start
        if not (place >= 0 and size >= 0 and place + size <= self._size):
            raise DamagedError("an address beyond the end")
        self._file.seek(place)
        content = self._file.read(size)
        if len(content) < size:
            raise DamagedError("cut short")
        return content

    def _block(self, address: int, size: int) -> bytes:
        if size > _LARGEST_BLOCK:
            raise DamagedError("a block of metadata that is too large")
        return self._at(address, size)

    # Objects

    def header(self, address: int) -> Header:
        """The messages of the object at an address."""
        if address not in self._headers:
            start = self._at(address, 16)
            read = self._header_2 if start[:4] == b"OHDR" else self._header_1
            self._headers[address] = read(address, start)
        return self._headers[address]

    def _header_1(self, address: int, start: bytes) -> Header:
        version, _, _, _, size = struct.unpack_from("<BBHII", start)
        if version != 1:
            raise DamagedError("object header")
        return self._messages((address + 16, size), "<HHB", 8, lambda place, length: (place, length))

    def _header_2(self, address: int, start: bytes) -> Header:
        if start[4] != 2:
            raise DamagedError("object header")
        flags = start[5]
        skipped = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
        width = 1 << (flags & 3)
        size = int.from_bytes(self._at(address + skipped, width), "little")
        return self._messages((address + skipped + width, size), "<BHB", 6 if flags & 4 else 4, self._continued_2)

    def _continued_2(self, place: int, length: int) -> tuple[int, int]:
        """The messages of a continuation, between its signature and its checksum."""
        if self._at(place, 4) != b"OCHK" or length < 8:
            raise DamagedError("continuation")
        return place + 4, length - 8

    def _messages(
        self, first: tuple[int, int], start: str, step: int, continued: Callable[[int, int], tuple[int, int]]
    ) -> Header:
        """The messages of a header, in its first block and those that it names: each begins with kind, size and flags,
        in `step` bytes.
        """
        header = Header()
        blocks, seen = [first], set[int]()
        while blocks:
            place, length = blocks.pop(0)
            if place in seen:
                raise DamagedError("object header that goes in circles")
            seen.add(place)
            content, at = self._block(place, length), 0
            while at + step <= len(content):
                kind, size, flags = struct.unpack_from(start, content, at)
                body = content[at + step : at + step + size]
                if len(body) < size:
                    raise DamagedError("message beyond its header")
                at += step + size
                if kind == _CONTINUATION:
                    blocks.append(continued(*_pair(body)))
                else:
                    header.messages.append((kind, body, bool(flags & 2)))
        return header

    # Groups

    def members(self, address: int) -> dict[str, GroupLink]:
        """The names in a group."""
        header = self.header(address)
        found: dict[str, GroupLink] = {}
        for kind, content, _ in header.messages:
            if kind == _SYMBOL_TABLE:
                found |= self._symbol_table(*_pair(content))
            elif kind == _LINK:
                found |= _link(content)
            elif kind == _LINK_INFO:
                at = 2 + (8 if content[1:2] and content[1] & 1 else 0)
                if _number(content, at) != UNDEFINED:
                    raise UnsupportedError("has a large group as libver='latest' writes it")
        return found

    def _symbol_table(self, tree: int, heap: int) -> dict[str, GroupLink]:
        start = self._at(heap, 32)
        if start[:4] != b"HEAP":
            raise DamagedError("local heap")
        names = self._block(_number(start, 24), _number(start, 8))
        found: dict[str, GroupLink] = {}
        for place, _ in self._leaves(tree, 0, 8):
            head = self._at(place, 8)
            if head[:4] != b"SNOD":
                raise DamagedError("symbol table")
            count = struct.unpack_from("<H", head, 6)[0]
            entries = self._at(place + 8, 40 * count)
            for at in range(0, 40 * count, 40):
                name, address, cached = struct.unpack_from("<QQI", entries, at)
                end = names.find(b"\0", name) if name < len(names) else -1
                if end < 0:
                    raise DamagedError("name")
                found[names[name:end].decode("utf-8", "replace")] = GroupLink(None if cached == 2 else address)
        return found

    def _leaves(self, root: int, kind: int, key_size: int) -> Iterator[tuple[int, bytes]]:
        """What the leaves of a tree point to, each with the key before it."""
        waiting, seen = [root], set[int]()
        while waiting:
            place = waiting.pop()
            if place == UNDEFINED:
                continue
            if place in seen or len(seen) > _MOST_NODES:
                raise DamagedError("tree that goes in circles")
            seen.add(place)
            head = self._at(place, 24)
            if head[:4] != b"TREE" or head[4] != kind:
                raise DamagedError("tree")
            level, count = struct.unpack_from("<BH", head, 5)
            step = key_size + 8
            entries = self._at(place + 24, step * count)
            children = []
            for at in range(0, step * count, step):
                child = _number(entries, at + key_size)
                if level == 0:
                    yield child, entries[at : at + key_size]
                else:
                    children.append(child)
            waiting += reversed(children)

    # Types and shapes

    def type_of(self, content: bytes, shared: bool) -> Type:
        """The type in a message, which may be kept elsewhere."""
        if shared:
            other = self.header(_number(content, 8 if content[:1] == b"\1" else 2)).messages
            own = next((body for kind, body, again in other if kind == _DATATYPE and not again), None)
            if own is None:
                raise DamagedError("shared type")
            content = own
        return _type(content, 0, 0)[0]

    def attribute(self, address: int, name: str) -> Any:
        """The value of an attribute; None where it is missing."""
        for kind, content, shared in self.header(address).messages:
            if kind != _ATTRIBUTE or shared:
                continue
            version = content[0] if content else 0
            if version not in (1, 2, 3) or len(content) < 9:
                raise DamagedError("attribute")
            sizes = struct.unpack_from("<HHH", content, 2)
            at = 9 if version == 3 else 8
            parts = []
            for size in sizes:
                parts.append(content[at : at + size])
                at += size + (-size % 8 if version == 1 else 0)
            if parts[0].rstrip(b"\0") != name.encode():
                continue
            kind_of_value = self.type_of(parts[1], version > 1 and bool(content[1] & 1))
            space = _space(parts[2])
            if space.shape is None:
                return None
            value = self._values(content[at:], kind_of_value, space)
            return value[()] if value.ndim == 0 else value
        return None

    # Datasets

    def array(self, address: int) -> npt.NDArray[Any] | None:
        """A dataset; None where the object is none, or holds nothing."""
        header = self.header(address)
        layout, shape = header.first(_LAYOUT), header.first(_DATASPACE)
        described = next(((body, shared) for kind, body, shared in header.messages if kind == _DATATYPE), None)
        if layout is None or shape is None or described is None:
            return None
        if header.first(_EXTERNAL) is not None:
            raise UnsupportedError("keeps its data in another file")
        kind, space = self.type_of(*described), _space(shape)
        if space.shape is None:
            return None
        if space.count * kind.dtype.itemsize > self.limit:
            raise UnsupportedError("claims more data than the file can hold")
        return self._stored(layout, header, kind, space)

    def _stored(self, layout: bytes, header: Header, kind: Type, space: Space) -> npt.NDArray[Any]:
        size = space.count * kind.dtype.itemsize
        if len(layout) < 2 or not 3 <= layout[0] <= 5:
            raise UnsupportedError("has a layout that is not known")
        where = layout[1]
        if where == 0:
            (length,) = struct.unpack_from("<H", layout.ljust(4, b"\0"), 2)
            return self._values(layout[4 : 4 + length], kind, space)
        if where == 1:
            address, length = _pair(layout[2:])
            if address == UNDEFINED:
                return self._values(_filling(header, kind) * space.count, kind, space)
            if length < size:
                raise DamagedError("data shorter than its shape")
            return self._values(self._at(address, size), kind, space)
        if where == 2:
            return self._chunked(layout, header, kind, space)
        raise UnsupportedError("keeps its data in another file")

    def _chunked(self, layout: bytes, header: Header, kind: Type, space: Space) -> npt.NDArray[Any]:
        assert space.shape is not None
        rank = len(space.shape)
        if layout[0] > 3:
            chunk, listed = self._chunks_4(layout, rank)
        else:
            if layout[2] != rank + 1 or len(layout) < 11 + 4 * (rank + 1):
                raise DamagedError("chunks")
            chunk = struct.unpack_from(f"<{rank}I", layout, 11)
            listed = self._chunks_3(_number(layout, 3), rank)
        if rank == 0 or min(chunk) == 0:
            raise DamagedError("chunks")
        bytes_of_one = math.prod(chunk) * kind.dtype.itemsize
        most = math.prod(-(-have // one) for have, one in zip(space.shape, chunk, strict=True))
        if bytes_of_one * max(1, most) > 2**rank * self.limit or bytes_of_one > self.limit:
            raise UnsupportedError("claims more data than the file can hold")
        filters = _filters(header.first(_FILTERS))
        raw = np.frombuffer(bytearray(_filling(header, kind) * space.count), dtype=kind.dtype).reshape(space.shape)
        for number, (address, stored, skipped, offset) in enumerate(listed):
            if number >= most:
                raise DamagedError("more chunks than fit")
            if any(at >= have or at % one for at, have, one in zip(offset, space.shape, chunk, strict=True)):
                raise DamagedError("chunk outside of its data")
            packed = self._at(address, bytes_of_one if stored is None else stored)
            content = _unfiltered(packed, filters, skipped, bytes_of_one, kind.dtype.itemsize)
            block = np.frombuffer(content, dtype=kind.dtype).reshape(chunk)
            kept = tuple(
                slice(0, min(one, have - at)) for at, have, one in zip(offset, space.shape, chunk, strict=True)
            )
            raw[tuple(slice(at, at + one) for at, one in zip(offset, chunk, strict=True))] = block[kept]
        return self._values(raw, kind, space)

    def _chunks_3(self, tree: int, rank: int) -> Iterator[tuple[int, int | None, int, tuple[int, ...]]]:
        for address, key in self._leaves(tree, 1, 8 + 8 * (rank + 1)):
            stored, skipped = struct.unpack_from("<II", key)
            yield address, stored, skipped, struct.unpack_from(f"<{rank}Q", key, 8)

    def _chunks_4(
        self, layout: bytes, rank: int
    ) -> tuple[tuple[int, ...], Iterator[tuple[int, int | None, int, tuple[int, ...]]]]:
        """The one chunk of a dataset that `libver="latest"` writes whole."""
        if len(layout) < 5 or layout[3] != rank + 1 or not 1 <= layout[4] <= 8:
            raise DamagedError("chunks")
        width, at = layout[4], 5 + layout[4] * (rank + 1)
        chunk = tuple(int.from_bytes(layout[5 + width * k : 5 + width * (k + 1)], "little") for k in range(rank))
        if layout[at : at + 1] != b"\x01":
            raise UnsupportedError("has chunks as libver='latest' writes them")
        stored, skipped, at = None, 0, at + 1
        if layout[2] & 2:
            stored, skipped = struct.unpack_from("<QI", layout.ljust(at + 12, b"\0"), at)
            at += 12
        address = _number(layout, at)
        return chunk, iter([] if address == UNDEFINED else [(address, stored, skipped, (0,) * rank)])

    def _values(self, content: Any, kind: Type, space: Space) -> npt.NDArray[Any]:
        """Values from their bytes, or an array of them; text from the heap that it is kept in."""
        assert space.shape is not None
        if not isinstance(content, np.ndarray):
            if len(content) < space.count * kind.dtype.itemsize:
                raise DamagedError("data shorter than its shape")
            content = np.frombuffer(content, dtype=kind.dtype, count=space.count).reshape(space.shape)
        if not kind.is_text_elsewhere:
            return np.asarray(content)
        texts = np.empty(space.shape, dtype=object)
        total = 0
        for at, (length, heap, index) in zip(np.ndindex(space.shape), content.ravel().tolist(), strict=True):
            texts[at] = self._heap(heap).get(index, b"")[:length] if heap not in (0, UNDEFINED) else b""
            total += len(texts[at])
            if total > self.limit:
                raise UnsupportedError("claims more data than the file can hold")
        return texts

    def _heap(self, address: int) -> dict[int, bytes]:
        """The objects of a global heap."""
        if address not in self._heaps:
            head = self._at(address, 16)
            if head[:5] != b"GCOL\x01":
                raise DamagedError("global heap")
            heap, at = self._block(address, _number(head, 8)), 16
            found: dict[int, bytes] = {}
            while at + 16 <= len(heap):
                index, _, _, length = struct.unpack_from("<HHIQ", heap, at)
                if index == 0:
                    break  # what follows is free
                if at + 16 + length > len(heap):
                    raise DamagedError("global heap")
                found[index] = heap[at + 16 : at + 16 + length]
                at += 16 + length + -length % 8
            self._heaps[address] = found
        return self._heaps[address]


def _number(content: bytes, at: int) -> int:
    if at < 0 or at + 8 > len(content):
        raise DamagedError("cut short")
    return int.from_bytes(content[at : at + 8], "little")


def _pair(content: bytes) -> tuple[int, int]:
    return _number(content, 0), _number(content, 8)


def _link(content: bytes) -> dict[str, GroupLink]:
    if len(content) < 3 or content[0] != 1:
        raise DamagedError("link")
    flags, at = content[1], 2
    kind = 0
    if flags & 8:
        kind, at = content[at], at + 1
    at += (8 if flags & 4 else 0) + (1 if flags & 16 else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(content[at : at + width], "little")
    name = content[at + width : at + width + length]
    if len(name) < length:
        raise DamagedError("link")
    address = _number(content, at + width + length) if kind == 0 else None
    return {name.decode("utf-8", "replace"): GroupLink(address)}


def _space(content: bytes) -> Space:
    if len(content) < 4 or content[0] not in (1, 2):
        raise DamagedError("shape")
    version, rank = content[0], content[1]
    if version == 2 and content[3] == 2:
        return Space(None)
    at = 8 if version == 1 else 4
    if rank > _MOST_DIMENSIONS or len(content) < at + 8 * rank:
        raise DamagedError("shape")
    return Space(struct.unpack_from(f"<{rank}Q", content, at))


def _type(content: bytes, at: int, depth: int) -> tuple[Type, int]:
    """The type at a place, and the place behind it."""
    if at + 8 > len(content) or depth > _DEEPEST_TYPE:
        raise DamagedError("type")
    kind, version = content[at] & 15, content[at] >> 4
    bits = int.from_bytes(content[at + 1 : at + 4], "little")
    size = int.from_bytes(content[at + 4 : at + 8], "little")
    at += 8
    if not 0 < size <= _LARGEST_BLOCK:
        raise DamagedError("type")
    order = ">" if bits & 1 else "<"
    if kind == 0:
        offset, precision = struct.unpack_from("<HH", content.ljust(at + 4, b"\0"), at)
        if size not in (1, 2, 4, 8) or offset != 0 or precision != 8 * size:
            raise UnsupportedError("holds whole numbers of an unusual size")
        return Type(np.dtype(f"{order}{'i' if bits & 8 else 'u'}{size}")), at + 4
    if kind == 1:
        fields = struct.unpack_from("<HHBBBBI", content.ljust(at + 12, b"\0"), at)
        offset, precision, exponent, exponent_size, mantissa, mantissa_size, bias = fields
        given = ((bits >> 8) & 255, exponent, exponent_size, mantissa, mantissa_size, bias)
        if bits & 0x40 or offset != 0 or precision != 8 * size or _FLOATS.get(size) != given:
            raise UnsupportedError("holds floating-point numbers of an unusual size")
        return Type(np.dtype(f"{order}f{size}")), at + 12
    if kind == 3:
        return Type(np.dtype(f"S{size}")), at
    if kind == 6:
        return _compound(content, at, depth, version, bits & 0xFFFF, size)
    if kind == 8:
        return _enumeration(content, at, depth, version, bits & 0xFFFF)
    if kind == 9:
        _, end = _type(content, at, depth + 1)
        if size != 16 or bits & 15 != 1:
            raise UnsupportedError("holds lists of varying length")
        return Type(np.dtype([("length", "<u4"), ("heap", "<u8"), ("index", "<u4")]), True), end
    if kind == 10:
        return _array_type(content, at, depth, version, size)
    if kind in (5, 7):  # opaque, or a reference
        return Type(np.dtype(f"V{size}")), at + ((bits & 255) + -(bits & 255) % 8 if kind == 5 else 0)
    raise UnsupportedError("holds values that are neither numbers nor text")


def _compound(content: bytes, at: int, depth: int, version: int, members: int, size: int) -> tuple[Type, int]:
    if not 0 < members <= _MOST_MEMBERS or not 1 <= version <= 5:
        raise DamagedError("table")
    names, formats, offsets = [], [], []
    for _ in range(members):
        end = content.find(b"\0", at)
        if end < 0:
            raise DamagedError("table")
        names.append(content[at:end].decode("utf-8", "replace"))
        at = end + 1 if version >= 3 else at + (end - at) // 8 * 8 + 8
        width = 4 if version < 3 else max(1, (size.bit_length() + 7) // 8)
        offsets.append(int.from_bytes(content[at : at + width], "little"))
        at += width
        shape: tuple[int, ...] = ()
        if version == 1:
            if at + 28 > len(content) or content[at] > 4:
                raise DamagedError("table")
            shape = struct.unpack_from(f"<{content[at]}I", content, at + 12)
            at += 28
        inner, at = _type(content, at, depth + 1)
        if inner.is_text_elsewhere:
            raise UnsupportedError("is a table with text of varying length")
        formats.append(_with_shape(inner.dtype, shape, size))
    last = 0
    for offset, length in sorted(zip(offsets, (one.itemsize for one in formats), strict=True)):
        if offset < last or offset + length > size:
            raise DamagedError("columns of a table that overlap")
        last = offset + length
    if len(set(names)) < len(names):
        raise DamagedError("columns of the same name")
    table = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    return Type(np.dtype(table)), at  # type: ignore[call-overload]


def _with_shape(inner: np.dtype[Any], shape: tuple[int, ...], size: int) -> np.dtype[Any]:
    if math.prod(shape) * inner.itemsize > size or 0 in shape:
        raise DamagedError("array")
    return np.dtype((inner, shape)) if shape else inner


def _enumeration(content: bytes, at: int, depth: int, version: int, members: int) -> tuple[Type, int]:
    """The numbers behind the names; a boolean is a number here."""
    inner, at = _type(content, at, depth + 1)
    for _ in range(members):
        end = content.find(b"\0", at)
        if end < 0:
            raise DamagedError("enumeration")
        at = end + 1 if version >= 3 else at + (end - at) // 8 * 8 + 8
    return inner, at + members * inner.dtype.itemsize


def _array_type(content: bytes, at: int, depth: int, version: int, size: int) -> tuple[Type, int]:
    rank = content[at] if at < len(content) else 0
    at += 1 if version >= 3 else 4
    if not 0 < rank <= _MOST_DIMENSIONS or at + 4 * rank > len(content):
        raise DamagedError("array")
    shape = struct.unpack_from(f"<{rank}I", content, at)
    at += 4 * rank * (1 if version >= 3 else 2)
    inner, at = _type(content, at, depth + 1)
    if inner.is_text_elsewhere:
        raise UnsupportedError("holds arrays of text of varying length")
    return Type(_with_shape(inner.dtype, shape, size)), at


def _filling(header: Header, kind: Type) -> bytes:
    """The value where nothing was written."""
    content, size = header.first(_FILL) or b"", kind.dtype.itemsize
    at = 4 if content[:1] in (b"\1", b"\2") and content[3:4] == b"\1" else 0
    if content[:1] == b"\3" and content[1:2] and content[1] & 0x20:
        at = 2
    if at and int.from_bytes(content[at : at + 4], "little") == size and len(content) >= at + 4 + size:
        return content[at + 4 : at + 4 + size]
    return bytes(size)


def _filters(content: bytes | None) -> list[int]:
    """The filters of chunks, in the order in which they were applied."""
    if not content:
        return []
    version, count = content[0], content[1] if len(content) > 1 else 0
    if version not in (1, 2) or count > 32:
        raise DamagedError("filters")
    at, found = 8 if version == 1 else 2, list[int]()
    for _ in range(count):
        if at + 8 > len(content):
            raise DamagedError("filters")
        (kind,) = struct.unpack_from("<H", content, at)
        named = version == 1 or kind >= 256
        length = struct.unpack_from("<H", content, at + 2)[0] if named else 0
        values = struct.unpack_from("<H", content.ljust(at + 8, b"\0"), at + (6 if named else 4))[0]
        at += (8 if named else 6) + length + (-length % 8 if version == 1 else 0)
        at += 4 * values + (4 if version == 1 and values % 2 else 0)
        if kind not in (_DEFLATE, _SHUFFLE, _FLETCHER32):
            raise UnsupportedError(f"is packed by filter {kind}, not by deflate")
        found.append(kind)
    return found


def _unfiltered(content: bytes, filters: list[int], skipped: int, size: int, item: int) -> bytes:
    """A chunk of `size` bytes as it was before it was packed; bits of `skipped` are filters that were left out."""
    for at, kind in reversed(list(enumerate(filters))):
        if skipped >> at & 1:
            continue
        if kind == _DEFLATE:
            try:
                content = zlib.decompressobj().decompress(content, size + 4)  # 4 of a checksum, if there is one
            except zlib.error as error:
                raise DamagedError("packed data") from error
        elif kind == _FLETCHER32:
            content = content[:-4]
        elif item > 1 and len(content) % item == 0:
            content = np.frombuffer(content, dtype=np.uint8).reshape(item, -1).T.tobytes()
    if len(content) != size:
        raise DamagedError("chunk of another size")
    return content
