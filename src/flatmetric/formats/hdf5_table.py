"""A table in an HDF5 file, as PyTables, pandas (`DataFrame.to_hdf`) and h5py store it."""

from __future__ import annotations

import pickletools
import re
from typing import Any

import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.formats.hdf5 import Hdf5
from flatmetric.formats.headers import find_columns
from flatmetric.formats.plain import chosen_columns, described_table
from flatmetric.options.reading import ReadOptions

_BLOCK = re.compile(r"^values_block_\d+$")
_INDEX = "index"  # the name of the rows' numbers in pandas' tables, which are no column
_LISTS = {"PROTO", "FRAME", "MARK", "LIST", "EMPTY_LIST", "APPEND", "APPENDS", "MEMOIZE", "STOP"}
_TEXTS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "STRING", "SHORT_BINSTRING"}
_PLACES = {"PUT", "BINPUT", "LONG_BINPUT"}
_Columns = dict[str, npt.NDArray[Any]]


def _recognise(candidate: Candidate) -> str | None:
    places = [] if candidate.hdf5 is None else _tables(candidate.hdf5.tables())
    return f"an HDF5 file with the table {places[0]!r}" if places else None


def _tables(datasets: dict[str, list[str]]) -> list[str]:
    """The tables with columns for x and y, and the frames of pandas: the path of each dataset or group."""
    tables = [path for path, names in datasets.items() if {"x", "y"} <= set(find_columns(names)) or _has_blocks(names)]
    return tables + [path.removesuffix("/block0_items") for path in datasets if path.endswith("/block0_items")]


def _has_blocks(names: list[str]) -> bool:
    """Whether these are the fields of a table of pandas that keeps several columns in one field."""
    return any(map(_BLOCK.match, names))


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    file, name = candidate.opened_hdf5, candidate.source.name
    datasets = file.tables()
    places = _tables(datasets)
    if len(places) != 1:
        what = f"several tables ({', '.join(places):.200})" if places else "no table with columns for x and y"
        raise InputError(f"{name}: the HDF5 file holds {what}; give a file with one")
    place = places[0]
    columns = _of_table(file, place) if place in datasets else _of_frame(file, place)
    names, arrays = list(columns), list(columns.values())
    chosen = chosen_columns(names, options, name)
    native = described_table(names, chosen, [arrays[c.index] for c in chosen.values()], name, options)
    return checked(native, options, name)


def _of_table(file: Hdf5, path: str) -> _Columns:
    """The columns of a table; pandas keeps several of one kind in one, and their names in an attribute."""
    table = file.array(path)
    if table is None or table.dtype.names is None or table.ndim != 1:
        raise InputError(f"{file.name}: {path!r} is not a table of named columns")
    columns: _Columns = {}
    of_pandas = file.attribute(path, "index_kind") is not None
    for field in table.dtype.names:
        if of_pandas and _BLOCK.match(field):
            names = _listed(file.attribute(path, f"{field}_kind"))
            values = table[field].reshape(len(table), -1)
            if len(names) != values.shape[1]:
                raise InputError(f"{file.name}: the names of the columns of {path!r} can't be read; {_ADVICE}")
            columns |= {name: values[:, at] for at, name in enumerate(names)}
        elif table.dtype[field].shape == () and not (of_pandas and field == _INDEX):
            columns[field] = table[field]
    return columns


def _of_frame(file: Hdf5, path: str) -> _Columns:
    """The columns of a DataFrame that pandas stored as it is ("fixed"): blocks of one kind each."""
    columns: _Columns = {}
    blocks = sum(name.endswith("_items") for name in file.members(path))
    for number in range(blocks):
        items, values = file.arrays([f"{path}/block{number}_items", f"{path}/block{number}_values"])
        if items is None or values is None or values.ndim != 2 or items.dtype.kind != "S":
            continue  # columns that are not numbers are stored as pickles, which are never loaded
        if values.shape[1] != len(items):
            raise InputError(f"{file.name}: the columns of {path!r} don't fit their names; get the file again")
        columns |= {name.decode("utf-8", "replace"): values[:, at] for at, name in enumerate(items.tolist())}
    return columns


def _listed(pickled: Any) -> list[str]:
    """The texts in a pickled list of texts, which is taken apart and not loaded; none for any other pickle."""
    if not isinstance(pickled, str):
        return []
    texts = []
    try:
        for code, argument, _ in pickletools.genops(pickled.encode("utf-8", "surrogateescape")):
            if code.name in _TEXTS:
                texts.append(str(argument))
            elif code.name not in _LISTS | _PLACES:
                return []
    except Exception:  # damaged pickles raise many kinds
        return []
    return texts


_ADVICE = "write it with format='fixed', or as a text table"
FORMAT = Format("hdf5-table", "a table in HDF5", _recognise, _read)
