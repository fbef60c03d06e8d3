"""Files from strangers are read in a child process with limits of time, memory, rows and bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from flatmetric.server.rules import Limits

_MEGABYTE = 1_000_000  # bytes
_UNPACKED = 20  # times the largest upload: text packs by less
_WAIT_S = 5.0  # between looks at whether the work is still wanted
_PREVIEW_S = 60  # of computing: 20 million rows take half of it
_TOO_LONG = "takes longer than a file here may; leave out rows or columns that aren't needed"
_ENDED = "takes more memory or time than a file here may, or is damaged"
FAULT = "the scoring itself failed, which is not the file's fault; the organisers can see why"
_previews = BoundedSemaphore(max(1, os.cpu_count() or 1))


class LostError(Exception):
    """The work isn't wanted any more."""


def preview_file(
    path: Path, name: str, reading: Mapping[str, Any], limits: Limits, *, field: Any = None, frames: Any = None
) -> dict[str, Any]:
    """How a file is understood and what is wrong with it: `problems` and `inspection`, or `refused`, a sentence."""
    request = {"what": "preview", "path": str(path), "name": name, "field": field, "frames": frames}
    with _previews:
        return _ask(request | _limits(reading, limits, _PREVIEW_S), _PREVIEW_S)


def score_file(request: Mapping[str, Any], limits: Limits, wanted: Callable[[], bool]) -> dict[str, Any]:
    """The scores of a file, by board, or `refused`, a sentence; a `LostError` once nobody wants them any more."""
    reading = request["reading"]
    return _ask({"what": "score", **request, **_limits(reading, limits, limits.seconds)}, limits.seconds, wanted)


def _limits(reading: Mapping[str, Any], limits: Limits, seconds: int) -> dict[str, Any]:
    most = {"max_rows": limits.rows, "max_bytes": _UNPACKED * limits.megabytes * _MEGABYTE}
    return {"reading": {**reading, **most}, "memory": limits.memory_megabytes * _MEGABYTE, "seconds": seconds}


def _ask(request: dict[str, Any], seconds: float, wanted: Callable[[], bool] | None = None) -> dict[str, Any]:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "flatmetric.server.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # it and its children end together
        env=environment,
    )
    waited, given = 0.0, json.dumps(request)
    try:
        while True:
            try:
                out, error = child.communicate(given, timeout=min(_WAIT_S, 2 * seconds))
                break
            except subprocess.TimeoutExpired:
                waited += _WAIT_S
                if waited > 2 * seconds:  # of waiting: the machine may be busy
                    return {"refused": _TOO_LONG}
                if wanted is not None and not wanted():
                    raise LostError from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        over = child.returncode == -signal.SIGXCPU
        if child.returncode >= 0:
            sys.stderr.write(error)  # for the organisers, where the server runs
        return {"refused": _TOO_LONG if over else _ENDED if child.returncode < 0 else FAULT}
    return answer
