"""A file format: how to recognise it, how to read it and, for some, how to write it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.formats.conversion import Native
from flatmetric.formats.hdf5 import Hdf5, is_hdf5
from flatmetric.formats.source import Source
from flatmetric.formats.text import TextHead
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions


@dataclass
class Candidate:
    """A file to be recognised, with what the recognisers share."""

    source: Source
    head: TextHead

    @cached_property
    def hdf5(self) -> Hdf5 | None:
        """The content of an HDF5 file; None for any other."""
        return Hdf5(self.source) if is_hdf5(self.source) else None

    @property
    def opened_hdf5(self) -> Hdf5:
        """The content of an HDF5 file; any other is an error."""
        if self.hdf5 is None:
            raise InputError(f"{self.source.name}: is not an HDF5 file; leave format= out")
        return self.hdf5

    def close(self) -> None:
        """Release what recognisers and readers opened."""
        if self.hdf5 is not None:
            self.hdf5.close()


@dataclass(frozen=True, slots=True)
class Writer:
    """How a format is written.

    `write` writes a table to the given paths: the file itself, then one for each of `side_suffixes`. `holds` are the
    columns the format can store, `fills` those written as 0 if unknown, `suffixes` the file suffixes that select this
    format when no format is named.
    """

    write: Callable[[Localizations, list[Path]], None]
    holds: frozenset[str]
    fills: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    side_suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    `recognise` returns the reason why a file is of this format, or None. `read` assumes that it is, and raises an
    `InputError` if not.
    """

    name: str
    title: str
    recognise: Callable[[Candidate], str | None]
    read: Callable[[Candidate, ReadOptions], Native]
    writer: Writer | None = None
