"""HDF5 files, read by h5py in a child process: no file can crash, block or fill this one."""

from __future__ import annotations

import atexit
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.source import Source

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SECONDS = 2.5  # of computing that any file may take; a million rows take 0.1
_BYTES_PER_SECOND = 1_000_000  # what large files may take beside; many small datasets take a quarter of it
_EXTRA_MEMORY = 256 << 20  # bytes beside the data: what the library itself needs, several times over
_PATIENCE_S = 60.0  # beside the computing: for disks and busy machines
_MOST_IDLE = 4  # children that are kept for the next files
_SCRIPT = Path(__file__).with_name("hdf5_child.py")
_ADVICE = "give a whole file, as the program writes it by default, or a text table"
_DAMAGED = "the HDF5 file is damaged or cut short; get it again"


def is_hdf5(source: Source) -> bool:
    """Whether the content begins as an HDF5 file does; other content may precede it, of 512 bytes, 1024, 2048, ..."""
    head, at = source.head, 0
    while at < len(head) and head[at : at + 8] != _SIGNATURE:
        at = max(512, 2 * at)
    return at < len(head)


class Hdf5:
    """An HDF5 file. Links are not followed."""

    def __init__(self, source: Source) -> None:
        self._source, self.name = source, source.name
        self._child: _Child | None = _Child.borrowed()
        self._is_open = False
        self._unpacked: tempfile.TemporaryDirectory[str] | None = None

    def holds(self, *paths: str) -> bool:
        """Whether there are all these groups or datasets."""
        return bool(self._ask("holds", paths=paths))

    def members(self, path: str = "/") -> list[str]:
        """The names in a group."""
        return list(self._ask("members", path=path))

    def tables(self) -> dict[str, list[str]]:
        """The datasets of the upper levels, with the names of their columns, if they have any."""
        return dict(self._ask("tables"))

    def attribute(self, path: str, name: str) -> Any:
        """An attribute of a group or dataset: a number, text or list; None where it is missing."""
        return self.attributes([(path, name)])[0]

    def attributes(self, wanted: Sequence[tuple[str, str]]) -> list[Any]:
        """The same for many at once, each given by the path of its object and its name."""
        return list(self._ask("attributes", wanted=wanted))

    def array(self, path: str) -> npt.NDArray[Any] | None:
        """A dataset; None where it is missing or null. Text of any length is bytes."""
        return self.arrays([path])[0]

    def arrays(self, paths: Sequence[str]) -> list[npt.NDArray[Any] | None]:
        """The same for many at once."""
        places = self._ask("arrays", paths=paths)
        assert self._child is not None
        content = self._child.shared_content()
        return [None if place is None else _array(content, **place) for place in places]

    def close(self) -> None:
        """Let the child read other files."""
        if self._child is not None:
            if self._is_open:
                self._child.close_file()
            self._child.give_back()
            self._child = None
        if self._unpacked is not None:
            self._unpacked.cleanup()
            self._unpacked = None

    def _ask(self, what: str, **arguments: Any) -> Any:
        if not self._is_open:
            self._is_open = True
            size = self._source.size
            limit, seconds = largest_content(size), _SECONDS + size / _BYTES_PER_SECOND
            # Data is held twice where it is unpacked or converted.
            opening = {"path": self._path(), "limit": limit, "seconds": seconds, "memory": _EXTRA_MEMORY + 3 * limit}
            self._answer({"what": "open", **opening})
        return self._answer({"what": what, **arguments})

    def _answer(self, request: dict[str, Any]) -> Any:
        assert self._child is not None
        said = self._child.ask(request, _PATIENCE_S + self._source.size / _BYTES_PER_SECOND)
        if "answer" in said:
            return said["answer"]
        if "refused" in said:
            raise InputError(f"{self.name}: {said['refused']}; {_ADVICE}")
        if "damaged" in said:
            raise InputError(f"{self.name}: {_DAMAGED}")
        # The process that read the file is gone: the limit of time, or a crash of the library.
        child, self._child = self._child, None
        child.give_back()
        if "late" in said or said.get("ended") == -getattr(signal, "SIGXCPU", 0):
            raise InputError(f"{self.name}: reading takes longer than a file of its size should; get it again")
        raise InputError(f"{self.name}: {_DAMAGED}")

    def _path(self) -> str:
        if self._source.packing is None:
            return str(self._source.path.absolute())
        self._unpacked = tempfile.TemporaryDirectory(prefix="flatmetric-")
        path = Path(self._unpacked.name) / "content.h5"
        try:
            with path.open("wb") as file:
                for piece in self._source.pieces():
                    file.write(piece)
        except OSError as error:
            raise InputError(f"{self.name}: can't be unpacked to {path}, {error.strerror}") from error
        return str(path)


def _array(content: npt.NDArray[np.uint8], at: int, dtype: Any, shape: list[int]) -> npt.NDArray[Any]:
    kind = _dtype(dtype)
    return content[at : at + math.prod(shape) * kind.itemsize].view(kind).reshape(shape)


def _dtype(described: Any) -> np.dtype[Any]:
    if isinstance(described, str):
        return np.dtype(described)
    if "of" in described:
        return np.dtype((_dtype(described["of"]), tuple(described["shape"])))
    names, formats, offsets = zip(*described["fields"], strict=True)
    kinds = [_dtype(one) for one in formats]
    return np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": described["bytes"]})


_idle: dict[int, list[_Child]] = {}
"""Children that wait for a file, by the process that started them: a fork does not talk to its parent's."""


class _Child:
    """A process of `hdf5_child.py`, with the file through which arrays come back."""

    def __init__(self) -> None:
        self._is_closing = False
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if hasattr(os, "memfd_create"):
            self._shared = io.FileIO(os.memfd_create("flatmetric"), "r+")
            shared, inherited = str(self._shared.fileno()), [self._shared.fileno()]
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="flatmetric-")
            shared, inherited = str(Path(self._folder.name) / "arrays"), []
            self._shared = io.FileIO(shared, "w+")
        settings = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        settings |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        settings |= {"HDF5_USE_FILE_LOCKING": "FALSE", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        line = [sys.executable, "-s", "-S", "-P", "-X", "utf8", str(_SCRIPT), shared]
        self._process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=settings,
            pass_fds=inherited,
            start_new_session=True,  # it and its forks are ended together
        )

    @staticmethod
    def borrowed() -> _Child:
        """A child that nobody else uses."""
        idle = _idle.setdefault(os.getpid(), [])
        while True:
            try:
                child = idle.pop()
            except IndexError:
                return _Child()
            if child.has_closed():
                return child

    def give_back(self) -> None:
        """Keep it for the next file."""
        idle = _idle.setdefault(os.getpid(), [])
        if self._process.poll() is None and len(idle) < _MOST_IDLE:
            idle.append(self)
        else:
            self.end()

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; without one if the child ended, or took longer than `seconds`."""
        try:
            self._tell(request)
            return self._heard(seconds)
        except BaseException:  # such as Ctrl-C: this answer would be taken for that to the next question
            self.end()
            raise

    def close_file(self) -> None:
        """Let go of the file."""
        self._tell({"what": "close"})
        self._is_closing = True

    def has_closed(self) -> bool:
        """Whether it let go of the file it had last; only then can it be asked about another."""
        if self._is_closing:
            self._is_closing = "ended" not in self._heard(_PATIENCE_S)
        return not self._is_closing

    def _tell(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # a child that ended hears nothing
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def _heard(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill()

        watch = threading.Timer(seconds, end)
        watch.daemon = True
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        with suppress(ValueError):  # a fork may end within its answer
            return dict(json.loads(line))
        self.end()
        return {"late": True} if late.is_set() else {}

    def shared_content(self) -> npt.NDArray[np.uint8]:
        """What the shared file holds, which is emptied."""
        content = np.empty(self._shared.seek(0, os.SEEK_END), dtype=np.uint8)
        self._shared.seek(0)
        done = 0
        while done < len(content) and (got := self._shared.readinto(content[done:].data)):
            done += got
        self._shared.truncate(0)
        return content

    def _kill(self) -> None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def end(self) -> None:
        """End the process and its forks."""
        if self._process.returncode is None:
            self._kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._shared):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        if self._folder is not None:
            self._folder.cleanup()


@atexit.register
def end_children() -> None:
    """End the processes that wait for HDF5 files."""
    for child in _idle.pop(os.getpid(), []):
        child.end()
