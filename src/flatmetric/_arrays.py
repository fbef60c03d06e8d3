"""Names for the arrays that the package works with, and where large ones lie."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

COLUMNS = ("frame", "x", "y", "z", "photons", "sigma", "uncertainty", "background", "id", "channel")
"""The columns of a table of localizations."""
WHOLE_COLUMNS = ("frame", "id", "channel")
"""Those that hold whole numbers."""
MAY_HAVE_GAPS = ("sigma", "uncertainty", "background")
"""Those that programs may leave out for some molecules; a gap does not make the row bad.

Where a format has one for each axis, the second is read as `sigma/y`.
"""

LARGEST_WHOLE = 2**53
"""From here on floating-point numbers leave out whole ones, so that a frame or an id may be another one."""
_CHUNK = 1 << 20  # rows


class Storage:
    """Where large arrays lie: in memory, or in files of a folder, of which the system keeps in memory what fits."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array of any content.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Storage(Path(folder)).empty((3, 2), np.float64).shape
        (3, 2)
        """
        if self._folder is None or np.prod(shape) == 0:
            return np.empty(shape, dtype)
        with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
            return on_disk(np.memmap(file, dtype, "w+", shape=shape), Path(file.name))


_MAPS: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def on_disk(mapped: np.memmap[Any, Any], path: Path) -> npt.NDArray[Any]:
    """An array in a new file, whose pages leave the memory of this process with every chunk that `chunks` gives."""
    if hasattr(os, "posix_fallocate"):  # to write where there is no room would end the process
        try:
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            size = f"{path.stat().st_size / 1e9:.1f} GB"
            raise InputError(
                f"{path.parent}: a column of {size} can't be kept there, {error.strerror}; give another scratch="
            ) from error
    _MAPS.add(mapped._mmap)  # type: ignore[attr-defined]
    return mapped.view(np.ndarray)  # the subclass is slow where many small parts are taken


def release() -> None:
    """Let go of what is in memory of arrays in files; it is read again where it is needed."""
    for one in list(_MAPS):
        if hasattr(one, "madvise"):
            one.madvise(mmap.MADV_DONTNEED)  # the files are shared, so nothing is lost


def chunks(rows: int) -> Iterator[slice]:
    """Slices of about a million rows, so that what is computed of them takes little memory.

    Examples
    --------
    >>> list(chunks(5))
    [slice(0, 5, None)]
    """
    for start in range(0, rows, _CHUNK):
        yield slice(start, min(start + _CHUNK, rows))
        release()


def whole_numbers(values: npt.NDArray[Any]) -> IntArray | None:
    """Numbers as integers, in the same memory where that is possible; None if one is not whole or beyond 2^53.

    Examples
    --------
    >>> whole_numbers(np.array([1.0, 2.0])), whole_numbers(np.array([1.5]))
    (array([1, 2]), None)
    """
    parts = chunks(len(values))
    if values.dtype.kind != "f":
        small = all(
            len(values[part]) == 0 or np.abs(values[part].astype(np.float64)).max() < LARGEST_WHOLE for part in parts
        )
        return values.astype(np.int64, copy=False) if small else None
    for part in parts:
        chunk = values[part]
        if not (
            np.isfinite(chunk).all() and (chunk == np.floor(chunk)).all() and (np.abs(chunk) < LARGEST_WHOLE).all()
        ):
            return None
    if values.dtype != np.float64 or not values.flags.writeable:
        return values.astype(np.int64)
    same: IntArray = values.view(np.int64)
    for part in chunks(len(values)):
        same[part] = values[part].astype(np.int64)
    return same
