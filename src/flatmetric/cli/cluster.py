"""A command's work on a Dask cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric.options.base import option


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Other machines that do the work."""

    scheduler: str | None = option(
        None,
        "Run tasks on this Dask cluster, whose workers see the same folder.",
        section="Execution",
        metavar="tcp://HOST:PORT|FILE",
    )


@contextmanager
def cluster(scheduler: str | None, places: Sequence[Path]) -> Iterator[Executor | None]:
    """The executor of a cluster whose workers see all these files and folders, after a line with the address of its
    dashboard; None without a scheduler.
    """
    if scheduler is None:
        yield None
        return
    from flatmetric.execution.cluster import dask_cluster

    with dask_cluster(scheduler, places) as executor:
        print(f"cluster: {executor.workers} tasks at a time, dashboard {executor.dashboard}", file=sys.stderr)
        yield executor
