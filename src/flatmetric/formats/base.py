"""What a format is: a way to know it, a way to read it, and for some a way to write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flatmetric.formats.conversion import Native, ReadOptions
from flatmetric.formats.source import Source
from flatmetric.formats.text import TextHead
from flatmetric.localizations import Localizations


@dataclass(slots=True)
class Candidate:
    """A file to be recognised, with what the recognisers share."""

    source: Source
    head: TextHead
    root: list[str] | None = None  # names at the root of an HDF5 file, once one has looked


@dataclass(frozen=True, slots=True)
class Writer:
    """How a format is written.

    `write` puts a table under the given paths: the file's own, then one for each of `side_suffixes`. `holds` are the
    columns it has room for, `fills` those that it writes as 0 where they are not known, `suffixes` the file names that
    mean this format when none is named.
    """

    write: Callable[[Localizations, list[Path]], None]
    holds: frozenset[str]
    fills: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    side_suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One file format.

    `recognise` answers with the reason why a file is of this format, or None. `read` trusts that it is, and raises an
    `InputError` where it is not.
    """

    name: str
    title: str
    recognise: Callable[[Candidate], str | None]
    read: Callable[[Candidate, ReadOptions], Native]
    writer: Writer | None = None
