"""Files that appear whole or not at all: any kind, text, JSON and CSV; and TOML that is read."""

from __future__ import annotations

import csv
import errno
import glob
import hashlib
import io
import json
import math
import os
import platform
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from flatmetric._escaping import in_cell
from flatmetric.errors import InputError, nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Limits on unpacked size. Tables of numbers compress to a third, constant columns to a twentieth.
_ALWAYS_ALLOWED = 16 << 20
LARGEST_RATIO = 100  # times: text packs by 20 at most, a bomb by 1000 and more
MOST_MEMBERS = 10_000  # of an archive, by default
_LARGEST_TOML = 1 << 20  # bytes: a thousand submissions take a tenth of it
_LARGEST_JSON = 1 << 28  # bytes: a board of ten thousand results takes a tenth of it
_ROWS_AT_ONCE = 1 << 16  # of a table that is written: many for a call, few for the memory
_FRESH_S = 2.0  # several times the resolution of the times of common file systems
_HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
"""Tells the machines apart that write into one folder."""


def largest_content(stored_bytes: int) -> int:
    """How many bytes may come out of a file of `stored_bytes`, so that a small file can't fill the memory.

    Examples
    --------
    >>> largest_content(0) >> 20
    16
    """
    return _ALWAYS_ALLOWED + LARGEST_RATIO * stored_bytes


def check_writable(path: Path) -> None:
    """Fail before the work starts if a file can't be written.

    Examples
    --------
    >>> check_writable(Path("/no/such/folder/score.json"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /no/such/folder/score.json: the folder /no/such/folder does not exist; make it first
    """
    folder = path.parent
    if "\0" in str(path):
        raise InputError(f"{path}: is not a file name")
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if path.is_symlink() and path.parent.is_dir() and _goes_in_circles(path):
        raise InputError(f"{path}: is a link that leads to itself; remove it")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not an ordinary file; give another name, or - for standard output")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{path}: can't be written, permission denied; give another place")


def _goes_in_circles(link: Path) -> bool:
    try:
        link.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _meant(path: Path) -> str:
    """A question for the file of the same folder whose name is nearly that of a path; empty if there is none."""
    try:
        near = nearest(path.name, islice((one.name for one in path.parent.iterdir()), _MOST_NAMES))
    except OSError:
        return ""
    return f"; did you mean {near[0]}?" if near else ""


_MOST_NAMES = 10_000  # of a folder, that a wrong name is compared with


def check_readable(path: Path) -> None:
    """Fail if a path is not an ordinary file that can be opened: a pipe would be waited for, a device never ends.

    Examples
    --------
    >>> check_readable(Path("/dev/null"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /dev/null: is not an ordinary file; save it to a file first
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder; give a file")
        if not path.exists():
            # A link in circles is there, but can't be followed.
            what = "is a link that leads nowhere" if path.is_symlink() else f"there is no such file{_meant(path)}"
            raise InputError(f"{path}: {what}")
        if not path.is_file():
            raise InputError(f"{path}: is not an ordinary file; save it to a file first")
        open_ordinary(path).close()
    except PermissionError as error:
        raise InputError(f"{path}: can't be read, permission denied") from error
    except OSError as error:
        raise InputError(f"{path}: can't be opened, {error.strerror}") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is not a file name") from error


def open_ordinary(path: Path, largest: int | None = None) -> io.BufferedReader:
    """Open a file to read, at once or not at all: a pipe, a device or a folder is an error, and so is a file of more
    than `largest` bytes.

    Examples
    --------
    >>> open_ordinary(Path("/dev/null"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /dev/null: is not an ordinary file; remove it, or save it to a file first
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe would be waited for
    file = open(os.open(path, flags), "rb")  # noqa: SIM115, PTH123
    there = os.fstat(file.fileno())
    if not stat.S_ISREG(there.st_mode):
        file.close()
        raise InputError(f"{path}: is not an ordinary file; remove it, or save it to a file first")
    if largest is not None and there.st_size > largest:
        file.close()
        raise InputError(f"{path}: is larger than {largest >> 20} MB, which can't be right; remove it")
    return file


def state_of(there: os.stat_result) -> str:
    """What changes whenever the content of a file does: the time of the last change can't be set back, unlike the one
    that programs that copy files set.

    Examples
    --------
    >>> state_of(Path("/").stat()) == state_of(Path("/").stat())
    True
    """
    return f"{there.st_size} {there.st_mtime_ns} {there.st_ctime_ns} {there.st_ino}"


def is_settled(there: os.stat_result) -> bool:
    """Whether the state of a file identifies its content: one that has just changed may change again within the
    resolution of its times.
    """
    return time.time() - max(there.st_mtime, there.st_ctime) > _FRESH_S


def content_hash(path: Path) -> str:
    """The SHA-256 of the content of a file; it is computed again whenever anything about the file has changed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "empty"
    >>> path.touch()
    >>> content_hash(path)[:8]
    'e3b0c442'
    """
    there = path.stat()
    return _hash_of_state(path, state_of(there)) if is_settled(there) else _hash_of(path)


@lru_cache(maxsize=64)
def _hash_of_state(path: Path, _state: str) -> str:
    return _hash_of(path)


def _hash_of(path: Path) -> str:
    with open_ordinary(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; one sentence if it has none.

    Examples
    --------
    >>> read_toml(Path("/no/such/rules.toml"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /no/such/rules.toml: there is no such file
    """
    import tomllib

    check_readable(path)
    if path.stat().st_size > _LARGEST_TOML:
        raise InputError(f"{path}: is larger than {_LARGEST_TOML >> 20} MB; give a TOML file with settings")
    try:
        with open_ordinary(path) as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror}") from error
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deeply; give plain settings") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not valid TOML ({error})") from error
    except ValueError as error:
        raise InputError(f"{path}: is not valid TOML (a number of thousands of digits)") from error


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` when the block ends, and vanishes if it fails.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as unfinished:
    ...     _ = unfinished.write_text("done")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    check_writable(path)
    path = Path(os.path.realpath(path))  # a link stays a link: what it points to is written
    _remove_leftovers(path)
    unfinished = path.with_name(f".{path.name}.{_HOST}-{os.getpid()}-{os.urandom(4).hex()}{path.suffix}")
    try:
        # Made by the system with the rights that the user's mask leaves; no other thread's files are touched.
        os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield unfinished
        with unfinished.open("r+b") as file:  # Windows lets only a writer ask for it
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written, {error.strerror or error}; give another place") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _remove_leftovers(path: Path) -> None:
    """Remove what processes of this machine that were killed have left of earlier attempts to write a file."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.{_HOST}-*"):
        made_by = leftover.name[len(f".{path.name}.{_HOST}-") :].split("-")[0]
        if made_by.isdecimal() and not _is_alive(int(made_by)):
            with suppress(OSError):
                leftover.unlink()


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere a signal of 0 would end the process
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # somebody else's
    return True


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, unless it is there.

    Examples
    --------
    >>> make_folder(Path("/dev/null/out"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /dev/null/out: can't be made, Not a directory; give another folder
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: can't be made, {error.strerror}; give another folder") from error


def json_text(content: Any) -> str:
    r"""JSON as text, indented; NaN is an error.

    Examples
    --------
    >>> json_text({"value": None})
    '{\n  "value": null\n}\n'
    """
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Rows as CSV; None is an empty cell, and no text a formula.

    Examples
    --------
    >>> csv_text([["program", "nm"], ["a,b", None]])
    'program,nm\n"a,b",\n'
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([in_cell(value) for value in row] for row in rows)
    return file.getvalue()


def write_rows(columns: Iterable[NDArray[Any]], file: TextIO, form: str | None = None, missing: str = "") -> None:
    r"""Write columns of numbers as rows of CSV: floats in full, or in the `form` of a % operator; NaN is `missing`.

    Examples
    --------
    >>> import numpy as np
    >>> file = io.StringIO()
    >>> write_rows([np.array([1, 2]), np.array([0.1, np.nan])], file)
    >>> file.getvalue()
    '1,0.1\n2,\n'
    """
    whole = list(columns)
    writer = csv.writer(file, lineterminator="\n")
    for first in range(0, len(whole[0]), _ROWS_AT_ONCE):
        cells = []
        for column in whole:
            part = column[first : first + _ROWS_AT_ONCE].tolist()
            if column.dtype.kind == "f" and (form is not None or any(map(math.isnan, part))):
                part = [missing if math.isnan(cell) else cell if form is None else form % cell for cell in part]
            cells.append(part)
        writer.writerows(zip(*cells, strict=True))


def columns_table(columns: Any) -> Any:
    """Columns, or a DataFrame, as a DataFrame whose texts no spreadsheet runs as formulas."""
    import pandas as pd

    table = pd.DataFrame(columns).rename(columns=in_cell)
    for name in table.select_dtypes(exclude="number").columns:
        table[name] = table[name].map(in_cell)
    return table


def write_columns(columns: Any, path: Path) -> None:
    """Write columns, or a DataFrame, as CSV, whole or not at all; missing values are empty cells."""
    with whole_file(path) as unfinished:
        columns_table(columns).to_csv(unfinished, index=False, errors="surrogateescape")


def write_text(text: str, path: Path) -> None:
    """Write a text file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_text("done", path)
    >>> path.read_text()
    'done'
    """
    with whole_file(path) as unfinished:
        unfinished.write_text(
            text, encoding="utf-8", errors="backslashreplace", newline="\n"
        )  # file names may hold any bytes


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file that this package wrote; empty where it is missing, damaged or no file of that kind.

    Examples
    --------
    >>> read_json(Path("/no/such.json"))
    {}
    """
    try:
        with open_ordinary(path, _LARGEST_JSON) as file:
            content = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
