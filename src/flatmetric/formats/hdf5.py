"""HDF5 files of localizations: no links are followed, and no dataset may claim more than the file can hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy.typing as npt

from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate
from flatmetric.formats.hdf5_layout import DamagedError, GroupLink, Layout, UnsupportedError
from flatmetric.formats.source import Source

SIGNATURE = b"\x89HDF\r\n\x1a\n"
# MATLAB 7.3 puts half a kilobyte of text before it.
_SIGNATURE_PLACES = (0, 512)


def _signature_place(source: Source) -> int | None:
    return next((at for at in _SIGNATURE_PLACES if source.head[at : at + 8] == SIGNATURE), None)


def is_hdf5(source: Source) -> bool:
    """Whether the content begins as an HDF5 file does."""
    return _signature_place(source) is not None


class Hdf5:
    """An open HDF5 file, read without following links."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.name = name
        self._layout = layout
        self._members: dict[int, dict[str, GroupLink]] = {}

    def __contains__(self, path: str) -> bool:
        return self._find(path) is not None

    def members(self, path: str = "/") -> list[str]:
        """The names in a group."""
        address = self._find(path)
        return [] if address is None else list(self._members_of(address))

    def attribute(self, path: str, name: str) -> Any:
        """An attribute of a group or dataset; None where it is missing. Text of any length is bytes."""
        address = self._find(path)
        return None if address is None else self._layout.attribute(address, name)

    def array(self, path: str) -> npt.NDArray[Any] | None:
        """A dataset as an array; None where it is missing or null."""
        address = self._find(path)
        try:
            return None if address is None else self._layout.array(address)
        except UnsupportedError as error:
            raise InputError(f"{self.name}: the dataset {path!r} {error}; {_ADVICE}") from error

    def _members_of(self, address: int) -> dict[str, GroupLink]:
        if address not in self._members:
            self._members[address] = self._layout.members(address)
        return self._members[address]

    def _find(self, path: str) -> int | None:
        address: int | None = self._layout.root
        for part in path.strip("/").split("/") if path != "/" else ():
            link = None if address is None else self._members_of(address).get(part)
            if link is None:
                return None
            if link.address is None:
                raise InputError(f"{self.name}: {part!r} is a link, which is not followed; give a whole file")
            address = link.address
        return address


_ADVICE = "give a whole file, as the program writes it by default, or a text table"


@contextmanager
def opened(source: Source) -> Iterator[Hdf5]:
    """Open an HDF5 file; damage becomes one `InputError`."""
    start = _signature_place(source)
    assert start is not None
    with source.opened() as content:
        try:
            yield Hdf5(Layout(content, start, largest_content(source.size)), source.name)
        except DamagedError as error:
            raise InputError(f"{source.name}: the HDF5 file is damaged or cut short ({error}); get it again") from error
        except UnsupportedError as error:
            raise InputError(f"{source.name}: the HDF5 file {error}; {_ADVICE}") from error
        except MemoryError as error:
            raise InputError(f"{source.name}: claims more data than fits in memory") from error


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
