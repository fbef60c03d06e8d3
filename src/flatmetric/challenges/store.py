"""Scores kept between runs in one SQLite file, each under a key made from everything it depends on."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._files import check_writable, is_settled, make_folder, read_json, state_of
from flatmetric.challenges.submissions import Submission
from flatmetric.errors import InputError
from flatmetric.formats.picasso import SIDE_SUFFIXES
from flatmetric.formats.source import Source
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.reading import ReadOptions
from flatmetric.quality.findings import FINDINGS, Finding
from flatmetric.scoring.too_good import Closeness
from flatmetric.statistics.entries import CellCosts, Entry
from flatmetric.statistics.variation import Cells
from flatmetric.version import __version__

FILE = "scores.sqlite"
"""The file of the store, in the folder of a leaderboard."""
_OLD = "store"  # the folder in which earlier versions kept a JSON file for each score
_PATIENCE_S = 60.0  # while another run writes
_TABLES = """
CREATE TABLE IF NOT EXISTS scores (key TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS arrays (hash TEXT PRIMARY KEY, kind TEXT NOT NULL, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS contents (path BLOB PRIMARY KEY, state TEXT NOT NULL, sha256 TEXT NOT NULL) WITHOUT ROWID;
"""
Answer = TypeVar("Answer")


class ScoreStore:
    """Scores by key. What is saved is there after a crash; several runs may read and write it at once.

    Arrays that scores have in common, as the frames of a data set, are kept once.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]):
        make_folder(folder)
        self._path, self._old = folder / FILE, folder / _OLD
        settings = settings | {"version": __version__, "metrics": [metric.key for metric in LEADERBOARD.values()]}
        self._settings = json.dumps(settings, sort_keys=True)
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        self._identified: dict[Path, tuple[str, str]] = {}  # state and hash of what keys were made from
        self._file = sqlite3.connect(":memory:")
        self._open()

    def __enter__(self) -> ScoreStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def _open(self) -> None:
        self._file.close()
        check_writable(self._path)
        try:
            self._file = sqlite3.connect(self._path, timeout=_PATIENCE_S)
        except sqlite3.Error as error:
            raise InputError(f"{self._path}: can't be opened, {error}; give another folder") from error
        self._tried(lambda file: file.executescript(_TABLES))

    def keys(self, submissions: Sequence[Submission], reading: Sequence[ReadOptions | None]) -> list[str | None]:
        """The keys of scores: the content of both files and of the metadata beside them, and all settings; None where
        a file can't be read, or there are no options.
        """
        known = {path: row for path, *row in self._ask("SELECT path, state, sha256 FROM contents")}
        hashes: dict[Path, str] = {}

        def content(path: Path) -> str:
            if path not in hashes:
                there, name = path.stat(), os.fsencode(path.resolve())  # file names may hold any bytes
                row, state = known.get(name), state_of(there)
                if row is not None and row[0] == state:
                    hashes[path] = row[1]
                else:
                    hashes[path] = Source(path).sha256
                    if is_settled(there):
                        known[name] = [state, hashes[path]]
                        fresh.append((name, *known[name]))
                self._identified[path] = state, hashes[path]
            return hashes[path]

        fresh: list[tuple[Any, ...]] = []
        keys: list[str | None] = []
        for one, options in zip(submissions, reading, strict=True):
            try:
                parts = [content(path) for path in _used(one)]
            except (OSError, InputError):
                keys.append(None)
                continue
            text = f"{' '.join(parts)}{options}{self._settings}"
            keys.append(None if options is None else hashlib.sha256(text.encode()).hexdigest())
        self._change(lambda file: file.executemany("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", fresh))
        return keys

    def is_unchanged(self, submission: Submission, read: tuple[str | None, str | None]) -> bool:
        """Whether the files of a submission are those that its key was made from: a score of others must not be kept
        under it. `read` are the hashes of the bytes of truth and result that were read.
        """
        try:
            return read == (self._identified[submission.truth][1], self._identified[submission.result][1]) and all(
                self._identified[path][0] == state_of(path.stat()) for path in _used(submission)
            )
        except (KeyError, OSError, InputError):
            return False

    def load(self, key: str, submission: Submission) -> Entry | None:
        """The stored entry; None if it is missing or damaged."""
        row = next(iter(self._ask("SELECT content FROM scores WHERE key = ?", key)), None)
        try:
            kept = read_json(self._old / f"{key}.json") if row is None else json.loads(row[0])
            return _entry(self._with_arrays(kept), submission.dataset, submission.program)
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error):
            return None

    def save(self, key: str, entry: Entry) -> None:
        """Keep an entry."""
        arrays: dict[str, tuple[str, bytes]] = {}
        content = _plain(entry, arrays)
        del content["dataset"], content["program"]
        new = [(name, *rest) for name, rest in arrays.items() if name not in self._arrays]
        text = json.dumps(content, allow_nan=False)

        def write(file: sqlite3.Connection) -> None:
            file.executemany("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?)", new)
            file.execute("INSERT OR REPLACE INTO scores VALUES (?, ?)", (key, text))

        self._change(write)

    def _with_arrays(self, kept: Any) -> Any:
        """A stored value with its arrays in place; those that several scores have are one."""
        if isinstance(kept, dict) and set(kept) == {"array"}:
            return self._array(str(kept["array"]))
        if isinstance(kept, dict):
            return {name: self._with_arrays(value) for name, value in kept.items()}
        return kept

    def _array(self, name: str) -> npt.NDArray[Any]:
        if name not in self._arrays:
            ((kind, content),) = self._ask("SELECT kind, content FROM arrays WHERE hash = ?", name)
            raw = zlib.decompress(content)
            if _hash(kind, raw) != name:
                raise ValueError("damaged")
            self._arrays[name] = np.frombuffer(raw, dtype=kind)
        return self._arrays[name]

    def _ask(self, query: str, *values: Any) -> list[Any]:
        return self._tried(lambda file: file.execute(query, values).fetchall())

    def _change(self, change: Callable[[sqlite3.Connection], Any]) -> None:
        def whole(file: sqlite3.Connection) -> None:
            with file:
                change(file)

        self._tried(whole)

    def _tried(self, work: Callable[[sqlite3.Connection], Answer], *, again: bool = True) -> Answer:
        """The answer of the file; a damaged one is made anew, which only costs time."""
        try:
            return work(self._file)
        except sqlite3.OperationalError as error:
            raise InputError(f"{self._path}: can't be used, {error}; give another folder") from error
        except sqlite3.DatabaseError as error:
            if not again:
                raise InputError(f"{self._path}: can't be used, {error}; remove it") from error
            self._file.close()
            for name in (FILE, f"{FILE}-journal"):
                self._path.with_name(name).unlink(missing_ok=True)
            self._arrays.clear()
            self._open()
            return self._tried(work, again=False)


def entry_to_bytes(entry: Entry) -> bytes:
    """An entry with its arrays, for a database: the same bits come back from `entry_from_bytes`."""
    arrays: dict[str, tuple[str, bytes]] = {}
    content = _plain(entry, arrays)
    texts = {name: [kind, base64.b64encode(packed).decode()] for name, (kind, packed) in arrays.items()}
    return zlib.compress(json.dumps({"entry": content, "arrays": texts}, allow_nan=False).encode(), 1)


def entry_from_bytes(packed: bytes, dataset: str, program: str) -> Entry:
    """The entry in such bytes, under the names of a data set and a program.

    Examples
    --------
    >>> entry = Entry("d", "p", dict.fromkeys(LEADERBOARD, 1.0), 1, np.array([1]), np.array([2.5]), np.array([1.0]))
    >>> entry_from_bytes(entry_to_bytes(entry), "other", "name").costs
    array([2.5])
    """
    content = json.loads(zlib.decompress(packed))
    arrays = {}
    for name, (kind, text) in content["arrays"].items():
        arrays[name] = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)

    def filled(kept: Any) -> Any:
        if isinstance(kept, dict) and set(kept) == {"array"}:
            return arrays[str(kept["array"])]
        return {name: filled(value) for name, value in kept.items()} if isinstance(kept, dict) else kept

    return _entry(filled(content["entry"]), dataset, program)


def _used(one: Submission) -> list[Path]:
    """The files that a score depends on: truth, result, and the metadata beside them."""
    files = [one.truth, one.result]
    for path in (one.truth, one.result):
        names = [suffix for suffix in SIDE_SUFFIXES if path.with_suffix(suffix).is_file()]
        files += [other for suffix in names if (other := Source(path).beside(suffix)) is not None]
    return files


def _hash(kind: str, raw: bytes) -> str:
    return hashlib.sha256(kind.encode() + raw).hexdigest()


def _plain(value: Any, arrays: dict[str, tuple[str, bytes]]) -> Any:
    """Records as dicts, and arrays as their names in `arrays`."""
    if isinstance(value, np.ndarray):
        kind, raw = value.dtype.newbyteorder("<").str, value.astype(value.dtype.newbyteorder("<")).tobytes()
        name = _hash(kind, raw)
        arrays[name] = kind, zlib.compress(raw, 1)
        return {"array": name}
    if isinstance(value, tuple) and any(map(dataclasses.is_dataclass, value)):
        return [_plain(one, arrays) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one, arrays) for name, one in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), arrays) for field in dataclasses.fields(value)}
    return value


def _entry(kept: dict[str, Any], dataset: str, program: str) -> Entry:
    """An entry from what was kept of it; raises where something is missing or of the wrong kind."""
    return Entry(
        dataset,
        program,
        {name: kept["metrics"][name] for name in LEADERBOARD},
        int(kept["block"]),
        _whole(kept["frames"]),
        _numbers(kept["costs"]),
        _numbers(kept["truths"]),
        _cell_costs(kept["of_molecules"]),
        tuple(map(_finding, kept["findings"])),
        tuple((int(frame), float(x), float(y)) for frame, x, y in kept["sample"]),
        int(kept["rows"]),
        None if kept["parts"] is None else tuple(map(float, kept["parts"])),  # type: ignore[arg-type]
        tuple(map(str, kept["advice"])),
        Closeness(*(kept["closeness"][name] for name in ("exact", "error", "least"))),
        int(kept["dim"]),
        bool(kept["ids"]),
    )


def _finding(kept: dict[str, Any]) -> Finding:
    if kept["kind"] not in FINDINGS:
        raise ValueError("of another version")
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in kept["options"].items()}
    return Finding(**kept | {"options": given})


def _cell_costs(kept: dict[str, Any] | None) -> CellCosts | None:
    if kept is None:
        return None
    cells = kept["cells"]
    own = Cells(_whole(cells["molecule"]), _whole(cells["stretch"]), _numbers(cells["truths"]), int(cells["stretches"]))
    return CellCosts(own, _numbers(kept["costs"]), _numbers(kept["truths"]), _numbers(kept["alone"]))


def _whole(values: Any) -> IntArray:
    return np.asarray(values, dtype=np.int64)


def _numbers(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
