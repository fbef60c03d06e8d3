"""A running Dask cluster as an executor: looked over before work starts, and missed at once when it is lost."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flatmetric.errors import InputError
from flatmetric.execution.workers import GO_ON, ClusterExecutor
from flatmetric.version import __version__

_PATIENCE_S = 15  # for the scheduler, and for its first worker


class DaskExecutor(ClusterExecutor):
    """The workers of a Dask cluster; `dashboard` is the address of the page that shows what they do."""

    def __init__(self, client: Any, scheduler: str) -> None:
        self._client, self._scheduler = client, scheduler
        self._inner = client.get_executor(pure=False)
        self.dashboard: str = client.dashboard_link

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many tasks the cluster does at a time now."""
        return max(1, sum(self._client.nthreads().values())) if self._alive() else 1

    def submit(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        """Hand a task to the cluster."""
        self.check()
        future: Future[Any] = self._inner.submit(function, *values, **named)
        return future

    def check(self) -> None:
        """Raise if the scheduler is lost."""
        if not self._alive():
            raise InputError(f"the scheduler {self._scheduler} was lost; what is finished is kept: {GO_ON}")

    def lost(self, future: Future[Any]) -> bool:
        """Whether the workers of a task died as often as the scheduler allows, or one of them as its result arrived."""
        from distributed.scheduler import KilledWorker

        error = None if future.cancelled() else future.exception()
        return isinstance(error, KilledWorker) or (error is not None and _of_executor(error))

    def _alive(self) -> bool:
        comm = self._client.scheduler_comm
        return self._client.status == "running" and comm is not None and not comm.comm.closed()


def _of_executor(error: BaseException) -> bool:
    """Whether an error is that of distributed's executor, which trips over a result whose worker has just died."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_globals.get("__name__") == "distributed.cfexecutor"


@contextmanager
def dask_cluster(scheduler: str, places: Sequence[Path]) -> Iterator[DaskExecutor]:
    """The cluster of a scheduler, tcp://HOST:PORT or the path of its scheduler file, whose workers all have this
    version of the package and see all of these files and folders. What runs is cancelled when the block ends.
    """
    try:
        import distributed
    except ImportError as error:
        raise InputError("scheduler needs the package distributed, pip install 'flatmetric[dask]'") from error
    where: dict[str, Any] = {"scheduler_file": scheduler} if scheduler.endswith(".json") else {"address": scheduler}
    if "scheduler_file" in where and not Path(scheduler).is_file():
        raise InputError(f"{scheduler}: is no scheduler file; give that of a dask scheduler")
    with _without_log():
        try:
            client = distributed.Client(**where, timeout=_PATIENCE_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                f"scheduler {scheduler} does not answer; start it with dask scheduler, or check the address"
            ) from error
        try:
            try:
                client.wait_for_workers(1, timeout=_PATIENCE_S)
            except TimeoutError as error:
                raise InputError(
                    f"scheduler {scheduler} has no worker; start one with dask worker {scheduler}"
                ) from error
            _look_over(client, places)
            yield DaskExecutor(client, scheduler)
        finally:
            client.close(timeout=2)


@contextmanager
def _without_log() -> Iterator[None]:
    """Errors are reported by us; distributed's own log is silenced."""
    levels = {handler: handler.level for handler in logging.getLogger("distributed").handlers}
    try:
        for handler in levels:
            handler.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for handler, level in levels.items():
            handler.setLevel(level)


def _look_over(client: Any, places: Sequence[Path]) -> None:
    """Name the workers that would fail later: without the package, with another version, or on other folders."""
    marks, made = {}, list[Path]()
    try:
        for place in places:
            mark = place.resolve()
            if not mark.is_file():  # in a folder of the same name on another machine there is no such mark
                mark = mark / f".seen-{secrets.token_hex(8)}"
                mark.touch()
                made.append(mark)
            marks[str(mark)] = str(place)

        def look(names: list[str]) -> tuple[str, list[str]]:  # travels as code: a worker may lack the package
            from pathlib import Path

            try:
                from flatmetric.version import __version__ as version
            except ImportError:
                version = ""
            return version, [name for name in names if not Path(name).exists()]

        answers: Mapping[str, Any] = client.run(look, list(marks), on_error="return")
    except OSError as error:
        raise InputError(f"{place}: can't be written, {error.strerror or error}; give another place") from error
    finally:
        for mark in made:
            mark.unlink(missing_ok=True)
    wrong = [text for worker, answer in sorted(answers.items()) if (text := _fault(worker, answer, marks)) is not None]
    if wrong:
        raise InputError("; ".join(wrong))


def _fault(worker: str, answer: Any, marks: Mapping[str, str]) -> str | None:
    if isinstance(answer, BaseException):
        return f"worker {worker} can't be used, {type(answer).__name__}: {answer}"
    version, unseen = answer
    if not version:
        return f"worker {worker} has no flatmetric; install version {__version__} there"
    if version != __version__:
        return f"worker {worker} has flatmetric {version}; install version {__version__} there"
    return f"worker {worker} does not see {marks[unseen[0]]}; give a place that all workers share" if unseen else None
