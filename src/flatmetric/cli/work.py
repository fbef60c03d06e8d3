"""The work of a command on a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypedDict

from flatmetric.api.options import Option


class Cluster(TypedDict, total=False):
    """Other machines that do the work."""

    scheduler: Annotated[
        str | None,
        Option(
            "Do the work on this Dask cluster, whose workers see the same folder.",
            section="Work",
            metavar="tcp://HOST:PORT|FILE",
        ),
    ]


@contextmanager
def cluster(scheduler: str | None, places: Sequence[Path]) -> Iterator[Executor | None]:
    """The executor of a cluster whose workers see all files and folders, and a line that says where it can be watched;
    None without a scheduler.
    """
    if scheduler is None:
        yield None
        return
    from flatmetric._cluster import dask_cluster

    with dask_cluster(scheduler, places) as executor:
        print(f"cluster: {executor.workers} tasks at a time, dashboard {executor.dashboard}", file=sys.stderr)
        yield executor
