"""Safe reading of HDF5 files: no links are followed, and no dataset may claim more than the file can hold."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate
from flatmetric.formats.source import Source, largest_content

if TYPE_CHECKING:
    import h5py

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# MATLAB 7.3 puts half a kilobyte of text before it.
_SIGNATURE_PLACES = (0, 512)
# A global heap: its signature and version, its size, then entries of index, count, reserve, size and content.
_HEAP = b"GCOL\x01\0\0\0"
_HEAP_HEADER = 16
_HEAP_ENTRY = 16
_LARGEST_HEAP = 1 << 30
_PIECE = 1 << 20


def is_hdf5(source: Source) -> bool:
    """Whether the content begins as an HDF5 file does."""
    return any(source.head[at : at + 8] == SIGNATURE for at in _SIGNATURE_PLACES)


class Hdf5:
    """An open HDF5 file, read without following links or trusting the sizes it claims."""

    def __init__(self, file: h5py.File, source: Source) -> None:
        self.name = source.name
        self._file = file
        self._limit = largest_content(source.size)

    def __contains__(self, path: str) -> bool:
        return self._find(path) is not None

    def members(self, path: str = "/") -> list[str]:
        """The names in a group."""
        import h5py

        group = self._file if path == "/" else self._find(path)
        return list(group) if isinstance(group, h5py.Group) else []

    def attribute(self, path: str, name: str) -> Any:
        """An attribute of a group or dataset; None where it is missing."""
        item = self._file if path == "/" else self._find(path)
        return None if item is None else item.attrs.get(name)

    def array(self, path: str) -> npt.NDArray[Any] | None:
        """A dataset as an array; None where it is missing or null."""
        import h5py

        dataset = self._find(path)
        if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
            return None
        if dataset.external or dataset.is_virtual:
            raise InputError(f"{self.name}: the dataset {path!r} keeps its data in another file; give a whole file")
        if dataset.nbytes > self._limit:
            raise InputError(f"{self.name}: the dataset {path!r} claims more data than the file can hold; get it again")
        return np.asarray(dataset[()])

    def _find(self, path: str) -> Any:
        import h5py

        item: Any = self._file
        for part in path.strip("/").split("/"):
            if not isinstance(item, h5py.Group):
                return None
            link = item.get(part, getlink=True)
            if link is None:
                return None
            if not isinstance(link, h5py.HardLink):
                raise InputError(f"{self.name}: {part!r} is a link, which is not followed; give a whole file")
            item = item[part]
        return item


@contextmanager
def opened(source: Source) -> Iterator[Hdf5]:
    """Open an HDF5 file; any error that the library raises on damage becomes one `InputError`."""
    import h5py

    with source.opened() as content:
        if not _heaps_are_sound(content):
            raise InputError(f"{source.name}: the HDF5 file is damaged (in a global heap); get the file again")
        try:
            with h5py.File(content, "r") as file:
                yield Hdf5(file, source)
        except InputError:
            raise
        except MemoryError as error:
            raise InputError(f"{source.name}: claims more data than fits in memory") from error
        except Exception as error:  # the HDF5 library raises nearly every kind on damaged files
            raise InputError(f"{source.name}: the HDF5 file is damaged or cut short; get the file again") from error


def _heaps_are_sound(file: BinaryIO) -> bool:
    """Whether the entry lengths in every global heap are consistent; if not, the HDF5 library may hang."""
    file.seek(0)
    overlap = b""
    start = 0  # of the overlap, in the file
    while piece := file.read(_PIECE):
        window = overlap + piece
        at = window.find(_HEAP)
        while at >= 0:
            if not _heap_is_sound(file, start + at):
                return False
            at = window.find(_HEAP, at + 1)
        start += len(window) - len(_HEAP)
        overlap = window[-len(_HEAP) :]
        file.seek(start + len(_HEAP))
    file.seek(0)
    return True


def _heap_is_sound(file: BinaryIO, at: int) -> bool:
    file.seek(at + len(_HEAP))
    (size,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
    if size > _LARGEST_HEAP:
        return True  # the library itself rejects a heap that extends beyond the end of the file
    heap = file.read(max(0, size - _HEAP_HEADER))
    here = 0
    while here + _HEAP_ENTRY <= len(heap):
        index, _, _, length = struct.unpack_from("<HHIQ", heap, here)
        step = length if index == 0 else _HEAP_ENTRY + length + -length % 8
        if step < _HEAP_ENTRY or here + step > len(heap):
            return False
        here += step
    return True


def recognised(candidate: Candidate, *paths: str) -> bool:
    """Whether the file is HDF5 and holds all these paths. A damaged file is an error."""
    if not is_hdf5(candidate.source):
        return False
    if candidate.root is None:
        with opened(candidate.source) as file:
            candidate.root = file.members()
    if not all(path.split("/")[0] in candidate.root for path in paths):
        return False
    with opened(candidate.source) as file:
        return all(path in file for path in paths)
