"""Uploaded files and truths, each under the hash of its content: whole or not there."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from flatmetric._files import make_folder, open_ordinary
from flatmetric.server.database import DeniedError, disk_faults
from flatmetric.server.rules import DAY_S

_PIECE = 1 << 20  # bytes that are read at once


class FileStore:
    """A folder of files by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self._files, self._parts = folder / "files", folder / "parts"

    def make(self) -> None:
        """Make the folders."""
        for place in (self._files, self._parts):
            make_folder(place)

    def path(self, sha256: str) -> Path:
        """Where a file is."""
        return self._files / sha256[:2] / sha256

    async def receive(self, pieces: AsyncIterator[bytes], most: int) -> tuple[str, int]:
        """Store what is sent; its hash and its size. If it is larger than `most` bytes, nothing is stored."""
        with self._part() as part:
            async for piece in pieces:
                if part.size + len(piece) > most:
                    raise too_large(most)
                part.write(piece)
        return part.sha256, part.size

    def add(self, path: Path) -> str:
        """Store a copy of a file; its hash."""
        with self._part() as part, open_ordinary(path) as source:
            while piece := source.read(_PIECE):
                part.write(piece)
        return part.sha256

    @contextmanager
    def _part(self) -> Iterator[_Part]:
        """A file to write to, which is stored under its hash when the block ends, and vanishes if it fails."""
        path = self._parts / secrets.token_hex(16)
        try:
            with disk_faults():
                with path.open("xb") as file:
                    part = _Part(file)
                    yield part
                    file.flush()
                    os.fsync(file.fileno())
                self._keep(path, part.sha256)
        finally:
            path.unlink(missing_ok=True)

    def remove(self, sha256: str) -> None:
        """Remove a file, if it is there."""
        self.path(sha256).unlink(missing_ok=True)

    def sweep(self, known: set[str]) -> None:
        """Remove the parts of uploads that were cut off, and old files that are not among those known."""
        for path in (*self._parts.iterdir(), *self._files.glob("*/*")):
            with suppress(FileNotFoundError):  # an upload may end meanwhile
                if path.name not in known and time.time() - path.stat().st_mtime > DAY_S:
                    path.unlink()

    def _keep(self, part: Path, sha256: str) -> None:
        path = self.path(sha256)
        path.parent.mkdir(exist_ok=True)
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class _Part:
    """A file that is being written, with its size and hash so far."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hashed, self.size = file, hashlib.sha256(), 0

    @property
    def sha256(self) -> str:
        return self._hashed.hexdigest()

    def write(self, piece: bytes) -> None:
        self._hashed.update(piece)
        self._file.write(piece)
        self.size += len(piece)


def too_large(most: int) -> DeniedError:
    """A file above the limit."""
    return DeniedError(
        413, f"the file is larger than {most // 1_000_000} MB, the limit here; leave out columns or compress it"
    )
