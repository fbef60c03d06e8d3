"""A progress bar on stderr for slow work, and reading files with one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from flatmetric._progress import Progress
from flatmetric.errors import InputError
from flatmetric.formats.conversion import ReadOptions
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations

_BAR_WIDTH = 30
_PATIENCE_S = 1.0
_REFRESH_S = 0.1


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A callback that draws a bar once the work has taken a second; None without a terminal."""
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.clear()


class _Bar:
    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE_S
        self._drawn = False

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _REFRESH_S
        filled = _BAR_WIDTH * done // max(total, 1)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        print(f"\r{what} [{bar}] {100 * done // max(total, 1):3d} %", end="", file=sys.stderr, flush=True)
        self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def read_with_progress(path: Path, options: ReadOptions, threads: int | None = None) -> Localizations:
    """Read a file; on a terminal, with a bar after the first second."""
    with progress_bar() as progress:
        return read_file(path, options, _bytes_of(path, progress), threads)


def _bytes_of(path: Path, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(f"reading {path.name}", done, total)


def read_both(
    truth: tuple[Path, ReadOptions],
    result: tuple[Path, ReadOptions],
    threads: int | None,
    meanwhile: Callable[[], None],
) -> tuple[Localizations, Localizations]:
    """Read the truth in its own thread, call `meanwhile`, and read the result.

    If both files are bad, the error raised is the truth's.
    """
    stopped = threading.Event()
    read: dict[Path, tuple[int, int]] = {}
    with progress_bar() as progress, ThreadPoolExecutor(1) as aside:

        def listen(path: Path) -> Callable[[int, int], None]:
            def on_bytes(done: int, total: int) -> None:
                if stopped.is_set():
                    raise KeyboardInterrupt
                read[path] = (done, total)
                if progress is not None:
                    names = " and ".join(file.name for file, _ in (truth, result))
                    progress(f"reading {names}", *map(sum, zip(*read.values(), strict=True)))

            return on_bytes

        true = aside.submit(read_file, *truth, listen(truth[0]), threads)
        try:
            meanwhile()
            pred = read_file(*result, listen(result[0]), threads)
        except InputError:
            true.result()
            raise
        except BaseException:
            stopped.set()
            raise
        return true.result(), pred
