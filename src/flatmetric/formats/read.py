"""Recognise a file or a table by its content, read it, convert it, and record what was done."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._files import content_hash
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.formats import hdf5_table, parquet, plain
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import to_localizations
from flatmetric.formats.memory import TableHead, TableSource
from flatmetric.formats.registry import FORMATS, format_named
from flatmetric.formats.source import Source
from flatmetric.formats.text import TextHead
from flatmetric.localizations import Localizations, Provenance
from flatmetric.options.reading import ReadOptions

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")  # the first bytes, also of large files


def read_file(
    path: Path,
    options: ReadOptions,
    on_bytes: Callable[[int, int], None] | None = None,
    threads: int | None = None,
    folder: Path | None = None,
) -> Localizations:
    r"""A localization file of any known format as a table, with warnings in its provenance.

    `on_bytes(done, all)` reports progress. The columns of a text or Parquet table lie in files of `folder`, if given.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "result.csv"
    >>> _ = path.write_text("1,120.5,80.25,-10,900\n2,118.0,81.5,5,1100\n")
    >>> read_file(path, ReadOptions()).provenance.format
    'challenge-standard'
    """
    source = Source(path, on_bytes, thread_count(threads), folder, options.max_bytes, options.max_members)
    candidate = Candidate(source, TextHead(source))
    # Overflows and NaN are checked for explicitly. Binary files are hashed in parallel, text as it is read.
    with closing(candidate), np.errstate(all="ignore"), ThreadPoolExecutor(1) as aside:
        hashed = None if candidate.head.lines else aside.submit(lambda: source.sha256)
        table = _understood(candidate, options)
        sha256 = source.sha256 if hashed is None else hashed.result()
        return dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, sha256=sha256))


def read_table(table: Any, name: str, options: ReadOptions) -> Localizations:
    """A pandas, polars or Arrow table, a structured array or a dict of arrays, read as its file would be.

    An array of numbers has no names: `options.columns` says which is which. `name` is that of the argument.

    Examples
    --------
    >>> read_table({"Frame": [0, 1], "X (um)": [0.1, 0.2], "Y (um)": [0.5, 0.6]}, "pred", ReadOptions()).x
    array([100., 200.])
    """
    if isinstance(table, np.ndarray) and table.dtype.names is None and options.columns is None:
        prefix = "truth_" if name == "truth" else ""
        raise InputError(
            f"{name} is an array of shape {table.shape}, whose columns have no names; "
            f"give {prefix}columns={{'frame': 1, 'x': 2, 'y': 3}}, or use flat_metric for points alone"
        )
    source = TableSource(name)
    try:
        head = TableHead(table, source)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    with np.errstate(all="ignore"):
        read = _understood(Candidate(source, head), options)
    return dataclasses.replace(read, provenance=dataclasses.replace(read.provenance, file=None))


def _understood(candidate: Candidate, options: ReadOptions) -> Localizations:
    """A table in nm with frames from 1, and how it was understood."""
    name = candidate.source.name
    chosen, reason = _choose(candidate, options)
    with _guarded(chosen, name, options):
        native = chosen.read(candidate, options)
        native.unused = native.unused or candidate.head.unused
        rows = len(native.columns["x"]) if "x" in native.columns else 0
        if options.max_rows is not None and rows > options.max_rows:
            raise InputError(f"{name}: has {rows} rows, more than max_rows={options.max_rows}")
        provenance = Provenance(file=name, format=chosen.name, reason=reason)
        return to_localizations(native, options, provenance)


@contextmanager
def _guarded(chosen: Format, name: str, options: ReadOptions) -> Iterator[None]:
    """Turn whatever a format trips over into one sentence, so that one bad file never ends a whole run."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{name}: claims more data than fits in memory") from error
    except Exception as error:
        if options.format is not None:
            raise InputError(f"{name}: can't be read as {chosen.title}; leave format= out") from error
        raise unforeseen(error, chosen, name) from error


def unforeseen(error: Exception, chosen: Format, name: str) -> InputError:
    """The sentence for a fault that a format did not foresee; tests let such faults fail instead."""
    return InputError(f"{name}: can't be read as {chosen.title} ({type(error).__name__}); get the file again")


def read_once(path: Path, options: ReadOptions) -> Localizations:
    """`read_file` for one of the few files that are used again and again; other content is read again."""
    if not path.is_file():
        return read_file(path, options, threads=1)
    content = content_hash(path)
    table = _read_once(path, pickle.dumps(options), content)
    if table.provenance.sha256 == content:
        return table
    _read_once.cache_clear()  # the file changed between the hash and the read
    return read_file(path, options, threads=1)


@lru_cache(maxsize=4)
def _read_once(path: Path, options: bytes, content: str) -> Localizations:
    return read_file(path, pickle.loads(options), threads=1)


def _choose(candidate: Candidate, options: ReadOptions) -> tuple[Format, str]:
    if options.format is not None:
        return _taking_columns(format_named(options.format), candidate, options), "as given"
    if options.columns is not None and candidate.head.lines:
        return plain.FORMAT, "a text table whose columns were given"
    for entry in FORMATS:
        reason = entry.recognise(candidate)
        if reason is not None:
            return _taking_columns(entry, candidate, options), reason
    raise InputError(f"{candidate.source.name}: {_unknown(candidate)}")


def _taking_columns(entry: Format, candidate: Candidate, options: ReadOptions) -> Format:
    """The format itself; an error if columns were given for a format whose columns are fixed."""
    if options.columns is not None and entry not in (plain.FORMAT, parquet.FORMAT, hdf5_table.FORMAT):
        raise InputError(f"{candidate.source.name}: the columns of {entry.title} are fixed; leave columns= out")
    return entry


def _unknown(candidate: Candidate) -> str:
    head = candidate.head
    if candidate.hdf5 is not None:
        return (
            "is an HDF5 file, but not of Picasso, DECODE, storm-analysis or SMAP, and without a table with columns for "
            "x and y; give a localization file"
        )
    if candidate.source.head.lstrip()[:1] in (b"{", b"["):
        return "is JSON, which holds no table; give a localization file"
    if candidate.source.head.startswith(_TIFF):
        return "is a TIFF stack of images; find its molecules first, with localize"
    if not head.lines:
        return "is neither a text table nor a known binary format; give a localization file"
    if head.header is None:
        cells = len(head.first_row or [])
        return f"has {cells} columns and no header; say which is which with columns={{'frame': 1, 'x': 2, 'y': 3}}"
    shown = ", ".join(h.text for h in head.header[:12])
    return f"no column is known as x and y, its header has {shown:.200}; give columns={{'frame': 1, 'x': 2, 'y': 3}}"
