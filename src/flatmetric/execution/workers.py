"""Run tasks on threads, processes or any executor, with the same outcome."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Literal

from flatmetric._dataclass import dataclass
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

GO_ON = "run the same command again to go on from here"
"""What to do after work that was broken off."""
_ATTEMPTS = 3  # of a task, alone, after its worker died beside others
_KILLED = "its worker died every time that it was tried, perhaps for lack of memory"
_TICK_S = 0.5  # between looks at whether the executor is still there


@dataclass(frozen=True, slots=True)
class Failed:
    """The outcome of a task that has no result: why."""

    reason: str


Task = tuple[Any, ...]
"""The arguments of a task: paths and settings that can be sent to another process or machine."""
Done = Callable[[int, Any], None]
"""Called with the number of a task, from 0, and its outcome as soon as it is there."""


class ClusterExecutor(Executor):
    """An executor on other machines, which can be lost, and whose workers can be lost."""

    workers = 1

    def check(self) -> None:
        """Raise if the cluster is lost."""

    def lost(self, future: Future[Any]) -> bool:
        """Whether a task has no outcome because its worker died, again and again."""
        return False


class Workers:
    """Who does the work: `executor`, or `jobs` threads or processes of this machine (default one for each core).

    `kind` is what is faster: threads, or processes, where tasks spend their time in Python and are the `fewest` or more
    that make up for the start of processes. A task that takes longer than `timeout` seconds, or whose worker dies three
    times while it runs alone, ends as `Failed`.
    """

    def __init__(
        self,
        jobs: int | None = None,
        executor: Executor | None = None,
        *,
        kind: Literal["threads", "processes"] = "threads",
        fewest: int = 2,
        timeout: float | None = None,
    ) -> None:
        if timeout is not None and not 0 < timeout < threading.TIMEOUT_MAX:
            raise InputError(f"timeout is {timeout}; give seconds above 0")
        if executor is not None and not hasattr(executor, "submit"):
            raise InputError(f"executor is a {type(executor).__name__}; give a concurrent.futures.Executor")
        self._executor, self._kind, self._fewest, self._timeout = executor, kind, fewest, timeout
        self._own = thread_count(jobs)

    @property
    def elsewhere(self) -> bool:
        """Whether the workers may be in other folders, so that paths must be absolute."""
        return self._executor is not None

    @property
    def here(self) -> int:
        """How many threads of this machine may be used."""
        return self._own

    def of_kind(self, kind: Literal["threads", "processes"]) -> Workers:
        """The same workers, or on this machine others of them.

        Examples
        --------
        >>> Workers(2).of_kind("processes").jobs
        2
        """
        return Workers(self._own, self._executor, kind=kind, timeout=self._timeout)

    @property
    def jobs(self) -> int:
        """How many tasks are done at a time, as far as it is known."""
        if self._executor is None:
            return self._own
        known = getattr(self._executor, "workers", None) or getattr(self._executor, "_max_workers", None)
        return known if isinstance(known, int) else 1

    def run(
        self,
        function: Callable[..., Any],
        tasks: Sequence[Task],
        *,
        what: str = "working",
        progress: Progress | None = None,
        done: Done | None = None,
        stop: Callable[[], None] | None = None,
    ) -> list[Any]:
        """What `function` returns for each task, in their order, or `Failed`; an error that it raises is raised.

        When the work is broken off, `stop` tells tasks that run in threads to end, and these are waited for.

        Examples
        --------
        >>> Workers(2).run(pow, [(2, 3), (3, 2)])
        [8, 9]
        """
        outcomes: list[Any] = [None] * len(tasks)
        failed = 0
        with closing(self._outcomes(function, tasks, stop)) as outcomes_of_tasks:
            for finished, (at, outcome) in enumerate(outcomes_of_tasks, start=1):
                outcomes[at] = outcome
                failed += isinstance(outcome, Failed)
                if done is not None:
                    done(at, outcome)
                if progress is not None:
                    running = min(self.jobs, len(tasks) - finished)
                    state = f" ({running} running, {failed} failed)" if failed else f" ({running} running)"
                    progress(what + state if running and self.jobs > 1 else what, finished, len(tasks))
        return outcomes

    def _outcomes(
        self, function: Callable[..., Any], tasks: Sequence[Task], stop: Callable[[], None] | None
    ) -> Generator[tuple[int, Any], None, None]:
        call = _Timed(function, self._timeout) if self._timeout is not None else function
        if self._executor is not None:
            yield from _on_borrowed(self._executor, call, tasks)
        elif self._own == 1 or len(tasks) <= 1:
            yield from ((at, call(*task)) for at, task in enumerate(tasks))
        elif self._kind == "threads" or len(tasks) < self._fewest:
            yield from _on_threads(call, tasks, self._own, stop)
        else:
            yield from _on_processes(call, tasks, min(self._own, len(tasks)))


class _Timed:
    """A function that gives up after some seconds; what it was doing goes on in the worker and is not waited for."""

    def __init__(self, function: Callable[..., Any], timeout: float) -> None:
        self._function, self._timeout = function, timeout

    def __call__(self, *values: Any) -> Any:
        answer: Future[Any] = Future()

        def work() -> None:
            try:
                answer.set_result(self._function(*values))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        if not wait([answer], self._timeout).done:
            return Failed(f"took longer than {self._timeout:g} s")
        return answer.result()


def _on_threads(
    call: Callable[..., Any], tasks: Sequence[Task], jobs: int, stop: Callable[[], None] | None
) -> Iterator[tuple[int, Any]]:
    pool = ThreadPoolExecutor(jobs)
    try:
        futures = {pool.submit(call, *task): at for at, task in enumerate(tasks)}
        for future in _as_completed(futures, ClusterExecutor()):
            yield futures[future], future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        if stop is not None:
            stop()
            pool.shutdown()
        raise
    pool.shutdown()


def _on_borrowed(executor: Executor, call: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[tuple[int, Any]]:
    """On an executor that belongs to somebody else: it is left as it is, and what was not begun is cancelled."""
    cluster = executor if isinstance(executor, ClusterExecutor) else ClusterExecutor()
    futures: dict[Future[Any], int] = {}
    try:
        for at, task in enumerate(tasks):
            futures[executor.submit(call, *task)] = at
        suspects = []  # others may have been the reason that their workers died
        for future in _as_completed(futures, cluster):
            if cluster.lost(future):
                suspects.append(futures[future])
            else:
                yield futures[future], future.result()
        for at in suspects:
            (future,) = _as_completed({executor.submit(call, *tasks[at]): at}, cluster)
            yield at, Failed(_KILLED) if cluster.lost(future) else future.result()
    except BrokenExecutor as error:
        raise InputError(f"the executor that was given is broken, {error}") from error
    finally:
        for future in futures:
            future.cancel()


def _as_completed(futures: Mapping[Future[Any], int], cluster: ClusterExecutor) -> Iterator[Future[Any]]:
    waiting = set(futures)
    while waiting:
        ready, waiting = wait(waiting, timeout=_TICK_S, return_when=FIRST_COMPLETED)
        cluster.check()
        yield from sorted(ready, key=futures.__getitem__)


def _on_processes(call: Callable[..., Any], tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Any]]:
    """On processes of our own. Where one dies, whatever ran then is tried again alone: that tells whose fault it is."""
    left = list(enumerate(tasks))[::-1]
    while left:
        suspects: dict[int, Task] = {}
        with _processes(jobs) as pool:
            running: dict[Future[Any], tuple[int, Task]] = {}
            while (left or running) and not suspects:
                while left and len(running) < jobs:
                    at, task = left.pop()
                    try:
                        with _main_left_out():
                            running[pool.submit(call, *task)] = at, task
                    except BrokenExecutor:
                        left.append((at, task))
                        break
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(ready, key=lambda one: running[one][0]):
                    at, task = running.pop(future)
                    if isinstance(future.exception(), BrokenExecutor):
                        suspects[at] = task
                    else:
                        yield at, future.result()
            suspects |= dict(running.values())
        for at, task in sorted(suspects.items()):
            yield at, _alone(call, task)


def _alone(call: Callable[..., Any], task: Task) -> Any:
    for _ in range(_ATTEMPTS):
        with _processes(1) as pool:
            try:
                with _main_left_out():
                    future = pool.submit(call, *task)
                return future.result()
            except BrokenExecutor:
                continue
    return Failed(_KILLED)


@contextmanager
def _main_left_out() -> Iterator[None]:
    """Start processes that don't run the user's script again: they need nothing of it, and it may have no guard."""
    main = sys.modules["__main__"]
    kept = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
    try:
        if "__file__" in kept:
            del main.__file__
        main.__spec__ = None
        yield
    finally:
        for name, value in kept.items():
            setattr(main, name, value)


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes, which share no locks with this one; they end with the block, at once if something is wrong."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    except BaseException:
        for process in tuple((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
