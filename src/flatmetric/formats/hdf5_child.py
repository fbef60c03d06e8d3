"""Read HDF5 files with h5py for another process, which survives whatever a file does to the HDF5 library.

`hdf5.py` runs this file as a script, with the file that arrays are put into (its number if it is open already).
Requests and answers are lines of JSON. Every file is read in a fork of this process, under limits on time and memory,
so no file can do harm to the next.
"""

from __future__ import annotations

import gc
import io
import json
import math
import mmap
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5s, h5t, h5z

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

_ALIGNMENT = 64  # bytes: arrays begin at multiples of a cache line
_LARGEST_ATTRIBUTE = 1 << 20  # bytes; real ones have a few kB
_MOST_TABLES = 1000  # datasets that are listed
_DEEPEST = 4  # levels of groups that are listed
_NO_MORE = 3  # the exit code of a fork that was not asked for anything: no more files are to be read


class RefusedError(Exception):
    """The file is sound as far as it was read, but something in it is not read; the message names it."""


class File:
    """An open HDF5 file. Links are not followed, and all arrays together take at most `limit` bytes."""

    def __init__(self, path: str, limit: int) -> None:
        if not Path(path).is_file():
            raise RefusedError("is not an ordinary file")
        self._groups = {"": h5g.open(h5f.open(os.fsencode(path), h5f.ACC_RDONLY), b"/")}
        self._left = limit

    def members(self, path: str) -> list[str]:
        """The names in a group; none where it is missing or no group."""
        found = self._find(path)
        names: list[bytes] = []
        if isinstance(found, h5g.GroupID):
            found.links.iterate(names.append)
        return [_text(name) for name in names]

    def holds(self, paths: list[str]) -> bool:
        """Whether there are all these objects."""
        return all(self._find(path) is not None for path in paths)

    def tables(self) -> list[tuple[str, list[str]]]:
        """The datasets of the upper levels: path and names of columns, if it has any."""
        found: list[tuple[str, list[str]]] = []
        groups = [("", 0)]
        while groups and len(found) < _MOST_TABLES:
            path, depth = groups.pop(0)
            for name in self.members(path)[:_MOST_TABLES]:
                place = f"{path}/{name}" if path else name
                link = self._groups[path].links.get_info(_name(name))
                member = self._find(place) if link.type == h5l.TYPE_HARD else None
                if isinstance(member, h5g.GroupID) and depth < _DEEPEST and len(groups) < _MOST_TABLES:
                    groups.append((place, depth + 1))
                elif isinstance(member, h5d.DatasetID):
                    found.append((place, _column_names(member)))
        return found

    def attributes(self, wanted: list[tuple[str, str]]) -> list[Any]:
        """The values of attributes, each given by the path of its object and its name; None where there is none."""
        return [self._attribute(path, name) for path, name in wanted]

    def arrays(self, paths: list[str], shared: io.FileIO) -> list[Any]:
        """Puts datasets into the shared file; where each lies, with its type and shape, or None where it is missing."""
        places: list[dict[str, Any] | None] = []
        shared.seek(0)
        for path in paths:
            values = self._values(path)
            if values is None:
                places.append(None)
                continue
            at = shared.seek(-(-shared.tell() // _ALIGNMENT) * _ALIGNMENT)
            _put(values, shared)
            places.append({"at": at, "dtype": _described(values.dtype, path), "shape": values.shape})
        return places

    def _values(self, path: str) -> Any:
        dataset = self._find(path)
        if not isinstance(dataset, h5d.DatasetID) or dataset.get_space().get_simple_extent_type() == h5s.NULL:
            return None
        self._check_storage(dataset, path)
        dtype = _dtype(dataset, path)
        if dtype.kind == "O":
            values = _texts(dataset, path)
            self._take(values.nbytes, path)
            return values
        base, extra = dtype.subdtype or (dtype, ())
        _described(base, path)  # refuses references and lists before they are read
        self._take(math.prod(dataset.shape) * dtype.itemsize, path)
        values = np.empty(dataset.shape + extra, base)
        if values.size:
            dataset.read(h5s.ALL, h5s.ALL, values, h5t.py_create(dtype) if extra else None)
        return values

    def _take(self, count: int, path: str) -> None:
        """Count bytes that are read, before there are too many."""
        self._left -= count
        if self._left < 0:
            raise RefusedError(f"the dataset {path!r} claims more data than the file can hold")

    def _check_storage(self, dataset: Any, path: str) -> None:
        """Refuse data that lies in other files, and packing that can't be undone."""
        made = dataset.get_create_plist()
        if made.get_external_count():
            raise RefusedError(f"the dataset {path!r} lies in another file")
        if made.get_layout() == h5d.VIRTUAL:
            for number in range(made.get_virtual_count()):
                file, name = made.get_virtual_filename(number), made.get_virtual_dsetname(number)
                source = None if "%" in name else self._find(name)
                if file != "." or not isinstance(source, h5d.DatasetID):
                    raise RefusedError(f"the dataset {path!r} is made of data in other files")
                if source.get_create_plist().get_layout() == h5d.VIRTUAL:
                    raise RefusedError(f"the dataset {path!r} is made of other virtual datasets")
                self._check_storage(source, name)
        for number in range(made.get_nfilters()):
            code, _, _, name = made.get_filter(number)
            if not h5z.filter_avail(code):
                _load_filters()
            if not h5z.filter_avail(code):
                packing = _text(name) or f"filter {code}"
                raise RefusedError(
                    f"the dataset {path!r} is packed by {packing:.60}, which needs the Python package hdf5plugin"
                )

    def _attribute(self, path: str, name: str) -> Any:
        found = self._find(path)
        if found is None or not h5a.exists(found, _name(name)):
            return None
        attribute = h5a.open(found, _name(name))
        if attribute.get_storage_size() > _LARGEST_ATTRIBUTE:
            raise RefusedError(f"the attribute {name!r} is too large")
        if attribute.dtype.kind in "fiu" and attribute.get_space().get_simple_extent_type() != h5s.NULL:
            number = np.empty(attribute.shape, attribute.dtype)
            attribute.read(number)
            return _plain(number)
        owner = h5py.Dataset(found) if isinstance(found, h5d.DatasetID) else h5py.Group(found)
        return _plain(owner.attrs[name])

    def _find(self, path: str) -> Any:
        """The object at a path; None where there is none."""
        path = path.strip("/")
        if path in self._groups:
            return self._groups[path]
        parent, _, name = path.rpartition("/")
        group = self._find(parent)
        if not isinstance(group, h5g.GroupID) or not group.links.exists(_name(name)):
            return None
        if group.links.get_info(_name(name)).type != h5l.TYPE_HARD:
            raise RefusedError(f"{path!r} is a link, which is not followed")
        found = h5o.open(group, _name(name))
        if isinstance(found, h5g.GroupID):
            self._groups[path] = found
        return found


def _name(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _load_filters() -> None:
    with suppress(ImportError):
        import hdf5plugin  # noqa: F401


def _dtype(dataset: Any, path: str) -> Any:
    """The type of a dataset as NumPy has it."""
    try:
        return dataset.dtype
    except (TypeError, ValueError) as error:
        raise RefusedError(f"the dataset {path!r} holds values of a kind that NumPy does not have") from error


def _column_names(dataset: Any) -> list[str]:
    kind = dataset.get_type()
    if not isinstance(kind, h5t.TypeCompoundID):
        return []
    return [_text(kind.get_member_name(number)) for number in range(kind.get_nmembers())]


def _described(dtype: Any, path: str) -> Any:
    """A type as JSON: text, or its fields with their places."""
    if dtype.names is not None:
        fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        return {
            "fields": [[name, _described(kind, path), at] for name, kind, at in fields],
            "bytes": dtype.itemsize,
        }
    if dtype.subdtype is not None:
        return {"of": _described(dtype.subdtype[0], path), "shape": dtype.subdtype[1]}
    if dtype.hasobject:
        raise RefusedError(f"the dataset {path!r} holds references or lists, not numbers or text")
    return dtype.str


def _texts(dataset: Any, path: str) -> Any:
    """Text of any length as text of one length, in bytes."""
    if h5py.check_string_dtype(dataset.dtype) is None:
        raise RefusedError(f"the dataset {path!r} holds references or lists, not numbers or text")
    values = np.asarray(h5py.Dataset(dataset)[()], dtype=object)
    longest = max((len(value) for value in values.flat), default=0)
    return values.astype(f"S{max(longest, 1)}")


def _put(values: Any, shared: io.FileIO) -> None:
    """Write an array at the end of the shared file."""
    content = memoryview(values.reshape(-1).view(np.uint8)) if values.nbytes else memoryview(b"")
    while content:
        content = content[shared.write(content) :]


def _plain(value: Any) -> Any:
    """The value of an attribute as JSON; None where it has none that could be read."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, (np.bool_, np.integer)):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    return value if isinstance(value, (str, int, float)) else None


def _limit(seconds: float, memory: int) -> None:
    """Bound what this process may take from now on, where the system can."""
    if resource is None:
        return
    for what, most in ((resource.RLIMIT_CPU, math.ceil(seconds)), (resource.RLIMIT_AS, memory + _address_space())):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


@cache
def _address_space() -> int:
    """The bytes of memory that this process takes already, data and code."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 1 << 40  # a system without /proc does not hold processes to such limits either


def _answered(file: File, request: dict[str, Any], shared: io.FileIO) -> Any:
    what = request["what"]
    if what == "arrays":
        return file.arrays(request["paths"], shared)
    if what == "attributes":
        return file.attributes(request["wanted"])
    if what == "members":
        return file.members(request["path"])
    if what == "holds":
        return file.holds(request["paths"])
    return file.tables()


def _read_one(shared: io.FileIO) -> bool:
    """Answer all requests about a file, from that which opens it to that which closes it; False if there are none."""
    file: File | None = None
    is_asked = False
    for line in iter(sys.stdin.buffer.readline, b""):
        is_asked = is_asked or line.startswith(b'{"what": "open"')
        if not is_asked:
            continue  # the rest of what was asked of a fork that ended before it heard it
        request = json.loads(line)
        if request["what"] == "close":
            return True
        try:
            if file is None:
                _limit(request["seconds"], request["memory"])
                file, answer = File(request["path"], request["limit"]), None
            else:
                answer = _answered(file, request, shared)
            _say({"answer": answer})
        except RefusedError as error:
            _say({"refused": str(error)})
        except MemoryError:
            _say({"refused": "claims more data than fits in memory"})
        except Exception as error:
            _say({"damaged": type(error).__name__})
    return False


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Serve until nobody asks any more."""
    shared = io.FileIO(int(sys.argv[1]) if sys.argv[1].isdecimal() else sys.argv[1], "r+")
    if resource is not None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no file behind
    if not hasattr(os, "fork"):
        while _read_one(shared):
            _say({"ended": 0})
        return
    _address_space()
    gc.freeze()  # else every fork would copy what its first collection touches
    code = 0
    while code != _NO_MORE:
        code = os.waitstatus_to_exitcode(os.waitpid(_fork(shared), 0)[1])
        _say({"ended": code})


def _fork(shared: io.FileIO) -> int:
    """Start the process that waits for the next file and reads it."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = 0 if _read_one(shared) else _NO_MORE
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
