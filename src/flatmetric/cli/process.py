"""What suits a process that runs one command and ends."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn


def tune() -> None:
    """Spend no time on what only long-lived processes need."""
    gc.freeze()
    gc.set_threshold(100_000)
    # The threads of numpy's linear algebra spin for a tenth of a second, and no command has work for them.
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        import_module("numpy")
        del os.environ["OPENBLAS_NUM_THREADS"]
    from flatmetric._core import keep_freed_memory

    keep_freed_memory()


def end(code: int) -> NoReturn:
    """End the process at once: the interpreter would take down module after module."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)
