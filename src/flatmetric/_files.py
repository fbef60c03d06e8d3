"""Files that appear whole or not at all: any kind, text, JSON and CSV; and TOML that is read."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flatmetric.errors import InputError


def check_writable(path: Path) -> None:
    """Fail before the work starts if a file can't be written.

    Examples
    --------
    >>> check_writable(Path("/no/such/folder/score.json"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /no/such/folder/score.json: the folder /no/such/folder does not exist; make it first
    """
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not an ordinary file; give another name, or - for standard output")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{path}: can't be written, permission denied; give another place")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; one sentence if it has none.

    Examples
    --------
    >>> read_toml(Path("/no/such/rules.toml"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /no/such/rules.toml: can't be read, No such file or directory
    """
    import tomllib

    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not valid TOML ({error})") from error


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
    path = path.resolve()  # a link stays a link: what it points to is written
    import tempfile

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        unfinished.chmod(0o666 & ~_umask())
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written, {error.strerror or error}; give another place") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
    r"""Rows as CSV; None is an empty cell.

    Examples
    --------
    >>> csv_text([["program", "nm"], ["a,b", None]])
    'program,nm\n"a,b",\n'
    """
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


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
        unfinished.write_text(text, encoding="utf-8", errors="backslashreplace")  # file names may hold any bytes


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where the file is missing or damaged.

    Examples
    --------
    >>> read_json(Path("/no/such.json"))
    {}
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
