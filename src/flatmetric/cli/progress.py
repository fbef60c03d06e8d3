"""A progress bar on stderr for slow work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flatmetric.errors import printable
from flatmetric.execution.progress import Progress

_BAR_WIDTH = 30  # characters: fits beside the words on 80 columns
_PATIENCE_S = 1.0  # shorter work needs no bar
_REFRESH_S = 0.1  # s: looks continuous, and costs nothing


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A callback that draws a bar once the work has taken a second; None without a terminal."""
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.clear()


def time_left(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> time_left(8), time_left(400), time_left(9000)
    ('8 s', '7 min', '2.5 h')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


class _Bar:
    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE_S
        self._drawn = False
        self._begun = time.monotonic()
        self._first, self._last, self._total = 0, 0, 0

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if total != self._total or done < self._last:  # other work has begun
            self._begun, self._first, self._total = now, done, total
        self._last = done
        if now < self._next:
            return
        self._next = now + _REFRESH_S
        full = _BAR_WIDTH * done // max(total, 1)
        bar = "#" * full + "." * (_BAR_WIDTH - full)
        left = ""
        if self._first < done < total:
            left = f", {time_left((now - self._begun) * (total - done) / (done - self._first))} left"
        print(
            f"\r{printable(what)} [{bar}] {100 * done // max(total, 1):3d} %{left}\033[K",
            end="",
            file=sys.stderr,
            flush=True,
        )
        self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
