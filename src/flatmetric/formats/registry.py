"""What a format is: a way to know it, a way to read it, and for some a way to write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flatmetric.formats.native import Native, ReadOptions
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
class Format:
    """One file format.

    `recognise` answers with the reason why a file is of this format, or None. `read` trusts that it is, and raises an
    `InputError` where it is not. `write` puts a table under a path that does not exist yet.
    """

    name: str
    title: str
    recognise: Callable[[Candidate], str | None]
    read: Callable[[Candidate, ReadOptions], Native]
    write: Callable[[Localizations, Path], None] | None = None
