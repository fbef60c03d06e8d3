"""Tables in files that are sorted into parts, so that one part at a time is in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import IntArray, chunks, on_disk


def cut_frames(frames: list[IntArray], rows: int) -> IntArray:
    """The first frame of each range, so that a range has at most `rows` rows of all tables, or one frame.

    Examples
    --------
    >>> cut_frames([np.array([1, 1, 2, 3]), np.array([2, 5])], 3).tolist()
    [1, 2, 5]
    """
    numbers, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for column in frames:
        for part in chunks(len(column)):
            more, times = np.unique(column[part], return_counts=True)
            both, place = np.unique(np.concatenate([numbers, more]), return_inverse=True)
            counts = np.bincount(place, np.concatenate([counts, times])).astype(np.int64)
            numbers = both
    ends, starts, at = np.cumsum(counts), list[int](), 0
    while at < len(numbers):
        starts.append(int(numbers[at]))
        before = int(ends[at - 1]) if at else 0
        at = max(at + 1, int(np.searchsorted(ends, before + rows, side="right")))
    return np.array(starts, dtype=np.int64)


class Parts:
    """Columns in files of a folder, sorted into parts; within a part rows keep their order."""

    def __init__(self, folder: Path, name: str, columns: tuple[str, ...], offsets: tuple[int, ...]) -> None:
        self._folder, self._name, self._columns, self._offsets = folder, name, columns, offsets

    @classmethod
    def of(
        cls,
        columns: Mapping[str, npt.NDArray[Any]],
        part_of: Callable[[slice], IntArray],
        parts: int,
        folder: Path,
        name: str,
    ) -> Parts:
        """Columns of equal length, sorted by the part, from 0, that `part_of` gives for each row of a slice.

        Examples
        --------
        >>> import tempfile
        >>> x = np.array([5.0, 1.0, 6.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     low_and_high = Parts.of({"x": x}, lambda s: (x[s] > 3).astype(int), 2, Path(folder), "t")
        ...     low_and_high.load(1)["x"].tolist()
        [5.0, 6.0]
        """
        rows = len(next(iter(columns.values())))
        counts = np.zeros(parts, dtype=np.int64)
        for chunk in chunks(rows):
            counts += np.bincount(part_of(chunk), minlength=parts)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        made = cls(folder, name, tuple(columns), tuple(offsets.tolist()))
        files = {column: made._new(column, values) for column, values in columns.items()}
        free = offsets[:-1].copy()
        for chunk in chunks(rows):
            part = part_of(chunk)
            order = np.argsort(part, kind="stable")
            present, begin = np.unique(part[order], return_index=True)
            ends = np.append(begin[1:], len(order))
            for column, values in columns.items():
                ordered = values[chunk][order]
                for at, first, end in zip(present, begin, ends, strict=True):
                    files[column][free[at] : free[at] + end - first] = ordered[first:end]
            free[present] += ends - begin
        return made

    def _new(self, column: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if len(values) == 0:
            np.save(self._path(column), values)
            return values
        path = self._path(column)
        return on_disk(np.lib.format.open_memmap(path, "w+", values.dtype, values.shape), path)

    def _path(self, column: str) -> Path:
        return self._folder / f"{self._name}-{column}.npy"

    def rows(self, part: int) -> int:
        """How many rows a part has."""
        return self._offsets[part + 1] - self._offsets[part]

    def load(self, part: int) -> dict[str, npt.NDArray[Any]]:
        """The columns of a part, in memory."""
        mode: Literal["r"] | None = "r" if self._offsets[-1] else None  # an empty file can't be mapped
        rows = slice(self._offsets[part], self._offsets[part + 1])
        return {column: np.array(np.load(self._path(column), mmap_mode=mode)[rows]) for column in self._columns}
