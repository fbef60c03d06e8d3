"""An input file: its content, unpacked from gzip, zstd or zip within a size limit, and its hash."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from flatmetric._arrays import Storage
from flatmetric._files import LARGEST_RATIO, MOST_MEMBERS, check_readable, largest_content, open_ordinary
from flatmetric.errors import InputError

if TYPE_CHECKING:
    import zipfile  # compression modules are imported only when needed

HEAD_BYTES = 1 << 18  # enough for every header that a format is recognised by
_PIECE = 2 << 20  # bytes read at a time: many for a call, few for the memory

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_ABOUT = (".md", ".pdf", "readme.txt", "license.txt")  # lies beside a table


class Source:
    """One input file, opened again for each pass over it."""

    def __init__(
        self,
        path: Path,
        on_bytes: Callable[[int, int], None] | None = None,
        threads: int = 1,
        folder: Path | None = None,
        max_bytes: int | None = None,
        max_members: int | None = None,
    ) -> None:
        """`on_bytes(done, all)` is called as the file is read; up to `threads` threads parse its content, whose columns
        lie in memory, or in files of `folder`. More than `max_bytes` of it, and archives of more than
        `max_members` files, are rejected.
        """
        self._max_bytes, self._max_members = max_bytes, MOST_MEMBERS if max_members is None else max_members
        self.threads, self.on_disk, self.storage = threads, folder is not None, Storage(folder)
        self.path, self.member = _zip_member(path)
        self.name = str(path)
        self._on_bytes = on_bytes
        check_readable(self.path)
        self.size = self.path.stat().st_size
        if self.size == 0:
            raise InputError(f"{self.name}: the file has no bytes; write it again")
        self._check_bytes(self.size)
        with self._raw() as file:
            start = file.read(8)
        self.packing = _packing(start)
        if self.packing == "zip":
            self.member = self.member or self._only_member()
            if self.member is None:
                self.packing = None

    @cached_property
    def head(self) -> bytes:
        """The first quarter of a megabyte of the content."""
        for piece in self.pieces(HEAD_BYTES):
            return piece
        raise InputError(f"{self.name}: there is nothing in it once unpacked; write it again")

    @cached_property
    def sha256(self) -> str:
        """Of the file as it is stored."""
        with self._raw() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def pieces(self, size: int = _PIECE) -> Iterator[bytes]:
        """The content in order, `size` bytes at a time."""
        limit = largest_content(self.size)
        done = 0
        digest = hashlib.sha256()
        with self._raw() as file, self._unpacked(file) as content:
            while piece := self._read(content, size):
                done += len(piece)
                self._check_bytes(done)
                if self.packing and done > limit:
                    raise InputError(
                        f"{self.name}: unpacks to more than {LARGEST_RATIO} times its size; "
                        "if that is right, unpack it and give the unpacked file"
                    )
                if self._on_bytes:
                    self._on_bytes(min(file.tell(), self.size), self.size)
                if self.packing is None:
                    digest.update(piece)
                yield piece
        if self.packing is None:
            self.__dict__["sha256"] = digest.hexdigest()  # hashed while reading, so no second pass

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The content as a seekable file."""
        if self.packing is None:
            with self._raw() as file:
                yield file
        else:
            yield io.BytesIO(b"".join(self.pieces()))

    def _check_bytes(self, count: int) -> None:
        if self._max_bytes is not None and count > self._max_bytes:
            raise InputError(f"{self.name}: holds more than max_bytes={self._max_bytes}")

    def beside(self, suffix: str) -> Path | None:
        """The file of the same name with another suffix, if there is one."""
        other = self.path.with_suffix(suffix)
        return other if self.packing is None and other.is_file() else None

    def _raw(self) -> io.BufferedReader:
        try:
            return open_ordinary(self.path)
        except OSError as error:
            raise InputError(f"{self.name}: can't be opened, {error.strerror}") from error

    @contextmanager
    def _unpacked(self, file: BinaryIO) -> Iterator[BinaryIO]:
        if self.packing == "gzip":
            import gzip

            with gzip.GzipFile(fileobj=file) as content:
                yield content  # type: ignore[misc]
        elif self.packing == "zstd":
            import zstandard

            window = zstandard.ZstdDecompressor(max_window_size=1 << 27)
            with window.stream_reader(file, read_across_frames=True) as content:
                yield content
        elif self.packing == "zip":
            assert self.member is not None
            with self._zip(file) as archive, self._open_member(archive, self.member) as content:
                yield content
        else:
            yield file

    def _open_member(self, archive: zipfile.ZipFile, name: str) -> BinaryIO:
        try:
            return archive.open(name)  # type: ignore[return-value]
        except Exception as error:  # a damaged entry may raise anything
            raise self._damaged() from error

    def _read(self, content: BinaryIO, size: int) -> bytes:
        try:
            return content.read(size)
        except (OSError, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
            raise self._damaged() from error
        except Exception as error:
            if type(error).__name__ in ("BadZipFile", "ZstdError"):
                raise self._damaged() from error
            raise

    def _damaged(self) -> InputError:
        what = f"the {self.packing} packing is damaged or cut short" if self.packing else "it can't be read to its end"
        return InputError(f"{self.name}: {what}; get the file again")

    @contextmanager
    def _zip(self, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
        import zipfile

        try:
            archive = zipfile.ZipFile(file)
        except Exception as error:  # a damaged directory may raise anything
            raise self._damaged() from error
        with archive:
            yield archive

    def _only_member(self) -> str | None:
        """The one data file of a zip archive; None where the archive itself is the format."""
        with self._raw() as file, self._zip(file) as archive:
            entries = {entry.filename: entry for entry in archive.infolist() if not entry.filename.endswith("/")}
        if len(entries) > self._max_members:
            raise InputError(
                f"{self.name}: the zip archive holds {len(entries)} files, more than max_members={self._max_members}"
            )
        if "manifest.json" in entries:
            return None
        if "[Content_Types].xml" in entries:
            raise InputError(f"{self.name}: is an office document, not a table; save the sheet as CSV")
        names = [name for name in entries if not name.startswith("__MACOSX/") and not name.lower().endswith(_ABOUT)]
        if not names:
            raise InputError(f"{self.name}: the zip archive holds no file")
        if len(names) > 1:
            shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
            raise InputError(
                f"{self.name}: the zip archive holds {len(names)} files ({shown}); give one, as {self.name}/{names[0]}"
            )
        _check_packing(entries[names[0]], self.name)
        return names[0]

    def archive_member(self, name: str, largest: int) -> bytes:
        """One member of a zip archive that is itself the format, of at most `largest` bytes."""
        with self._raw() as file, self._zip(file) as archive:
            try:
                entry = archive.getinfo(name)
            except KeyError as error:
                raise InputError(
                    f"{self.name}: the archive has no member {name!r}, which its manifest names"
                ) from error
            _check_packing(entry, self.name)
            try:
                with archive.open(entry) as content:
                    content_bytes = content.read(largest + 1)
            except Exception as error:  # damaged content may raise anything
                raise self._damaged() from error
        self._check_bytes(len(content_bytes))
        if len(content_bytes) > largest:
            raise InputError(f"{self.name}: the member {name!r} is larger than its manifest or the file's size allow")
        return content_bytes


def _check_packing(entry: zipfile.ZipInfo, name: str) -> None:
    import zipfile

    # Only deflate can be unpacked in pieces of bounded size.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        raise InputError(f"{name}: {entry.filename} is encrypted or not packed by deflate; unpack it first")


def _packing(start: bytes) -> str | None:
    if start.startswith(_GZIP):
        return "gzip"
    if start.startswith(_ZSTD):
        return "zstd"
    if start.startswith((ZIP, _EMPTY_ZIP)):
        return "zip"
    return None


def _zip_member(path: Path) -> tuple[Path, str | None]:
    """Splits archive.zip/member.npy, where the archive is a file."""
    if "\0" in str(path):
        return path, None
    for parent in path.parents:
        if parent.is_file() and not path.exists():
            with parent.open("rb") as file:
                if file.read(4) != ZIP:
                    return path, None
            import zipfile

            member = path.relative_to(parent).as_posix()
            try:
                with zipfile.ZipFile(parent) as archive:
                    _check_packing(archive.getinfo(member), str(parent))
            except KeyError as error:
                raise InputError(f"{parent}: the zip archive has no member {member!r}") from error
            except InputError:
                raise
            except Exception as error:  # a damaged directory may raise anything
                raise InputError(f"{parent}: the zip packing is damaged or cut short; get the file again") from error
            return parent, member
    return path, None
