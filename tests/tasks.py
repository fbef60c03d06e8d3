"""What worker processes do in tests; they load this file alone, so it imports little."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Container
from pathlib import Path

from flatmetric.errors import InputError


def squared(value: int) -> int:
    return value * value


def killed(value: int, victims: Container[int], place: Path) -> int:
    """Counts its tries, and kills its worker if it is one of the victims."""
    with (place / str(value)).open("a") as file:
        file.write("x")
    if value in victims:
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def killed_once(value: int, place: Path) -> int:
    mark = place / "killed"
    if value == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def failing(value: int) -> int:
    raise InputError(f"{value} is wrong")


def slow(value: int, place: Path) -> int:
    (place / str(value)).touch()
    time.sleep(0.5)
    return value
