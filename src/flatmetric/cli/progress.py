"""A progress bar on stderr for slow work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flatmetric._progress import Progress

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
