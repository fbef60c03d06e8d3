"""Text formats defined by a header whose column names have fixed meanings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native
from flatmetric.options.reading import ReadOptions

_REQUIRED = ("x", "y")


@dataclass(frozen=True, slots=True)
class Delimited:
    """A text format: the header names it is known by, and the names of its columns, in lower case.

    A column may have several names; the first one present is used. `valid` names a column whose zeros mark rows
    that the program itself rejected.
    """

    name: str
    title: str
    known_by: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    unit: str | None
    frame_base: int | None
    first_pixel: float | None
    has_pixels: bool = True
    ends_at_blank_line: bool = False
    valid: str | None = None
    refine: Callable[[Candidate, Native, ReadOptions], None] | None = None
    notes: Sequence[str] = field(default=())

    def format(self) -> Format:
        """The entry for the registry."""
        return Format(self.name, self.title, self._recognise, self._read)

    def _recognise(self, candidate: Candidate) -> str | None:
        if not candidate.head.has(*self.known_by):
            return None
        return f"the header has the columns {', '.join(self.known_by)} of {self.title}"

    def _read(self, candidate: Candidate, options: ReadOptions) -> Native:
        head = candidate.head
        wanted = {}
        for column, names in self.columns.items():
            place = next((head.names.index(name) for name in names if name in head.names), None)
            if place is not None:
                wanted[column] = place
        for column in _REQUIRED:
            if column not in wanted:
                raise InputError(
                    f"{candidate.source.name}: as {self.title} it lacks a column {' or '.join(self.columns[column])}"
                )
        if self.valid in head.names:
            wanted["valid"] = head.names.index(self.valid)
        table = head.read(wanted, options.skip_bad_rows, ends_at_blank_line=self.ends_at_blank_line)
        native = Native(
            columns=table.columns,
            unit=self.unit,
            frame_base=self.frame_base,
            first_pixel=self.first_pixel,
            has_pixels=self.has_pixels,
            dropped=table.dropped,
            notes=[*self.notes, *table.notes],
        )
        if "valid" in native.columns:
            drop_invalid(native, native.columns.pop("valid") != 0)
        if self.refine is not None:
            self.refine(candidate, native, options)
        return native


def drop_invalid(native: Native, valid: npt.NDArray[np.bool_]) -> None:
    """Drop and count the rows that the program itself rejected."""
    lost = int(np.count_nonzero(~valid))
    if lost:
        native.columns = {name: column[valid] for name, column in native.columns.items()}
        native.dropped["marked invalid by the program"] = lost
