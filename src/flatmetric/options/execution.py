"""How work is done: how much at a time, for how long, and in how much memory. The answer is always the same."""

from __future__ import annotations

import os
from typing import ClassVar

from flatmetric._dataclass import dataclass
from flatmetric.options.base import check_whole, option

ROWS_AT_A_TIME = 5_000_000
"""Rows of truth and result that are scored together by default: about 1 GB of memory."""


@dataclass(frozen=True)
class Execution:
    """How work is done; a function takes those that apply to it."""

    SECTION: ClassVar[str] = "Execution"

    threads: int | None = option(
        None, "Number of threads; default: one for each core. The answer is the same.", metavar="N"
    )
    jobs: int | None = option(
        None, "Tasks that run at the same time; default: one for each core. The answer is the same.", metavar="N"
    )
    timeout: float | None = option(
        None, "Give up a task after this time, s; timed-out tasks are listed as failed.", metavar="S"
    )
    rows_at_a_time: int | None = option(
        None,
        "For files too large for memory: score by ranges of frames with about this many rows of both files, e.g. "
        f"{ROWS_AT_A_TIME}, and keep the rest on disk.",
        metavar="ROWS",
    )
    scratch: str | os.PathLike[str] | None = option(
        None,
        "Folder for what does not fit into memory; default: that of the system, on a cluster that of RESULT.",
        metavar="DIR",
    )

    def __post_init__(self) -> None:
        for name in ("threads", "jobs", "rows_at_a_time"):
            check_whole(getattr(self, name), name)
