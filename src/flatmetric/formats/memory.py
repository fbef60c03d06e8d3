"""Tables in memory, of pandas, polars, Arrow and NumPy or in dicts: recognised and read as their files would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import MAY_HAVE_GAPS, WHOLE_COLUMNS
from flatmetric._validation import check_unmasked
from flatmetric.errors import InputError
from flatmetric.formats.conversion import Native, checked
from flatmetric.formats.headers import Heading, heading
from flatmetric.formats.source import Source
from flatmetric.formats.text import Line, TextColumns, TextHead, whole_columns
from flatmetric.options.reading import ReadOptions


class TableSource(Source):
    """A table in memory in the place of a file: it has a name and no bytes."""

    def __init__(self, name: str) -> None:
        """`name` is that of the argument."""
        self.name, self.packing, self.head = name, None, b""

    def pieces(self, size: int = 0) -> Iterator[bytes]:
        """Nothing."""
        del size
        return iter(())


class TableHead(TextHead):
    """The names and the first row of a table in memory, as the head of its file would have them."""

    def __init__(self, table: Any, source: TableSource) -> None:
        """The table of anything that has columns."""
        super().__init__(source)
        self._columns = _columns_of(table)

    @cached_property
    def lines(self) -> list[Line]:
        """One line, of the names."""
        return [Line(", ".join(str(name) for name, _ in self._columns), 1, 0, 0)]

    @cached_property
    def header(self) -> list[Heading] | None:
        """The names; None where the columns are only counted, as in a table that was read without a header."""
        names = [name for name, _ in self._columns]
        if all(isinstance(name, (int, np.integer)) for name in names) and names == list(range(len(names))):
            return None
        return [heading(str(name)) for name in names]

    @cached_property
    def first_row(self) -> list[str] | None:
        """The values of the first row as text, None when there is no row."""
        cells = [np.asarray(values[:1]) for _, values in self._columns]
        return None if not cells or any(len(cell) == 0 for cell in cells) else [str(cell[0]) for cell in cells]

    def read(self, wanted: Mapping[str, int], skip_bad_rows: bool, *, ends_at_blank_line: bool = False) -> TextColumns:
        """Copies of columns, since conversion works in place."""
        del ends_at_blank_line
        self._used = set(wanted.values())
        numbers = {name: self._numbers(name, at) for name, at in wanted.items()}
        columns, notes = whole_columns({n: v for n, v in numbers.items() if n in WHOLE_COLUMNS and n != "frame"})
        columns |= {name: values for name, values in numbers.items() if name not in WHOLE_COLUMNS or name == "frame"}
        in_order = {name: columns[name] for name in wanted if name in columns}
        options = ReadOptions(skip_bad_rows=skip_bad_rows)
        native = checked(Native(in_order, unit=None), options, self.source.name)
        return TextColumns(native.columns, native.dropped, notes)

    def _numbers(self, name: str, at: int) -> npt.NDArray[Any]:
        """A column as new numbers; where it may have gaps, text is one."""
        theirs, values = self._columns[at]
        check_unmasked(values, theirs)
        try:
            array = np.asarray(values)
            if array.dtype.kind in "OUS" and hasattr(values, "to_numpy"):
                array = _filled(values)
            if array.dtype.kind in "OUS":
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            if name.startswith((*MAY_HAVE_GAPS, "id", "channel")):
                return np.full(len(values), np.nan)
            text = next((one for one in values if isinstance(one, str)), None)
            what = "holds values that are not numbers" if text is None else f"has {text!r:.40}, not a number"
            raise InputError(f"{self.source.name}: the column {theirs} {what}; convert it") from error
        if array.ndim != 1:
            raise InputError(f"{self.source.name}: the column {theirs} has shape {array.shape}; give one value a row")
        if array.size and array.dtype.kind not in "fiu":
            raise InputError(f"{self.source.name}: the column {theirs} holds {array.dtype}, not numbers; convert it")
        return array.astype(np.float64) if array.dtype.kind not in "fiu" else array.copy()


def _filled(values: Any) -> npt.NDArray[Any]:
    """A column of pandas whose own kind of number has gaps."""
    try:
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    except TypeError:  # other libraries know no such argument
        return np.asarray(values.to_numpy())


def _columns_of(table: Any) -> list[tuple[Any, Any]]:
    """The names of the columns with their values, in order."""
    if isinstance(table, Mapping):
        return list(table.items())
    if isinstance(table, np.ndarray):
        return _of_array(table)
    if hasattr(table, "collect") or hasattr(table, "compute"):
        raise InputError(f"a {type(table).__name__} is not computed yet; give the table that it computes")
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas, where two columns may have one name
        columns = [(name, table.iloc[:, at]) for at, name in enumerate(table.columns)]
        named = [name for name in table.index.names if name is not None and name not in table.columns]
        return [(name, table.index.get_level_values(name)) for name in named] + columns
    for attribute in ("column_names", "columns"):
        names = getattr(table, attribute, None)
        if names is not None and not callable(names):
            return [(name, table[name]) for name in names]
    raise InputError(
        f"a {type(table).__name__} is not a table; give a file, a pandas, polars or Arrow table, or a dict of arrays"
    )


def _of_array(array: npt.NDArray[Any]) -> list[tuple[Any, Any]]:
    if array.dtype.names is not None and array.ndim == 1:
        return [(name, array[name]) for name in array.dtype.names]
    if array.dtype.names is None and array.ndim == 2:
        return [(at, array[:, at]) for at in range(array.shape[1])]
    raise InputError(f"an array of shape {array.shape} is not a table; give one row for each localization")
