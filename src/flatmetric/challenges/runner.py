"""Running the programs of a challenge: each in a process of its own, with a time limit and a record."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric._files import check_writable, content_hash, csv_text, json_text, make_folder, read_json, write_text
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.formats.read import read_file
from flatmetric.formats.write import write
from flatmetric.localizers.registry import METHODS, Method, participant
from flatmetric.options.reading import ReadOptions
from flatmetric.simulation.datasets import PAPER, Dataset
from flatmetric.simulation.folder import STACK, is_simulated, simulate_folder
from flatmetric.simulation.optics import Gaussian, Optics, channels_of
from flatmetric.simulation.pupil import Pupil
from flatmetric.version import __version__

_LONGEST_REASON = 200  # characters: a reason is one cell of a table
_LOOK_S, _RENEWED_S, _EXPIRES_S = 0.2, 2.0, 30.0  # how often a program is looked at, and its lease renewed or given up
OURS = ("{python}", "-m", "flatmetric")
LOCALIZE = (*OURS, "localize", "{stack}", "--jobs", "1", "--out", "{out}", "--method")
"""The command of a localizer, up to its name; the others need the other cores."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that takes part: its name, and the command that reads {stack} and writes {out}.

    One that chooses the place of its result gets a {folder} instead, and `output` says where the result lies in it.
    With reading options, `read`, the result is converted as they say.
    """

    name: str
    command: tuple[str, ...]
    output: str | None = None
    read: Mapping[str, Any] | None = None

    @classmethod
    def parse(cls, text: str) -> Program:
        """A program from "NAME=COMMAND".

        Examples
        --------
        >>> Program.parse("mine=python mine.py {stack} {out}").command
        ('python', 'mine.py', '{stack}', '{out}')
        """
        name, equals, command = text.partition("=")
        if not equals or not command.strip():
            raise InputError(f"program is {text!r}; give a name and a command, as mine='mine.py {{stack}} {{out}}'")
        try:
            parts = tuple(shlex.split(command))
        except ValueError as error:
            raise InputError(f"program is {command!r}, which can't be split into words, {error}") from error
        return cls.checked(name, parts)

    @classmethod
    def checked(
        cls,
        name: str,
        command: tuple[str, ...],
        output: str | None = None,
        read: Mapping[str, Any] | None = None,
    ) -> Program:
        """A program whose name can name a file, and whose command says where the result goes."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name):
            raise InputError(f"program is {name!r}; give a name of letters, digits and dashes")
        place = "{out}" if output is None else "{folder}"
        if not any(place in part for part in command):
            raise InputError(f"program {name} has no {place}, where its result goes; write {{stack}} {place} into it")
        return cls(name, command, output, read)


@dataclass(frozen=True, slots=True)
class Run:
    """How a program fared on a data set; `reason` says why there is no result."""

    dataset: str
    program: str
    seconds: float
    reason: str | None


def taking_part(names: Sequence[str], pupils: Sequence[Optics]) -> list[str]:
    """The localizers that take part: those named, or all that are installed and fit the optics of the data sets.

    Where depth is asked for, these are the ones that find it; else the ones that don't need to.

    Examples
    --------
    >>> taking_part(["baseline"], [])
    ['baseline']
    """
    for name in names:
        participant(name)  # raises for an unknown or uninstalled name
    return list(names) or [
        name for name, method in METHODS.items() if method.available and all(_fits(method, optics) for optics in pupils)
    ]


def _fits(method: Method, optics: Optics) -> bool:
    if (isinstance(optics, Pupil) and optics.is_round) or (isinstance(optics, Gaussian) and optics.astigmatism == 0):
        return method.shape != "needed"
    if isinstance(optics, Pupil) and (optics.helix or channels_of(optics) > 1):
        return method.shape == "depth"
    return method.shape in ("depth", "needed")


def localizer_programs(methods: Sequence[str]) -> list[Program]:
    """Localizers of this package as programs, with their defaults."""
    return [Program(name, (*LOCALIZE, name)) for name in methods]


def absent_packages() -> list[str]:
    """Packages of localizers that are not installed."""
    return sorted({method.package for method in METHODS.values() if method.package and not method.available})


@contextlib.contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Allow one run at a time in a folder; a crashed run does not block it."""
    place = folder / ".lock"
    check_writable(place)
    with place.open("w") as file:
        try:
            _lock(file.fileno())
        except OSError as error:
            raise InputError(f"{folder}: another run is at work there; wait for it, or give another folder") from error
        yield


def _lock(file: int) -> None:
    """Lock a file until it is closed; OSError if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def check_names(names: Iterable[str]) -> None:
    """Raise if two programs have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"two programs are called {name}; rename one")


def run_programs(
    out: Path,
    datasets: Sequence[Dataset],
    programs: Sequence[Program],
    *,
    of_dataset: Mapping[str, Sequence[Program]] | None = None,
    time_limit: float,
    seed: int = 0,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Simulate every data set into a folder of `out` and run every program on it, several at a time, each for at most
    `time_limit` seconds; and those in `of_dataset` on the one of that name. What was done before is not done again.

    Programs run wherever `workers` are, and end when this function does.
    """
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    if not 0 < time_limit < 1e9:
        raise InputError(f"time_limit is {time_limit}; give seconds above 0")
    everywhere = {dataset.name: [*programs, *(of_dataset or {}).get(dataset.name, ())] for dataset in datasets}
    for there in everywhere.values():
        check_names([one.name for one in there])
    make_folder(out)
    with only_one_at_a_time(out):
        for dataset in datasets:
            _simulate(out / dataset.name, dataset, seed + _seed_of(dataset.name), progress, workers or Workers())
        todo = [(out / dataset.name, one) for dataset in datasets for one in everywhere[dataset.name]]
        for folder, _ in todo:
            make_folder(folder / "results")
            make_folder(folder / "runs")
        with _lease(out) as lease:
            tasks = [(folder.absolute(), one, time_limit, lease) for folder, one in todo]
            outcomes = (workers or Workers()).run(
                run_program,
                tasks,
                what="localizing",
                progress=progress,
                stop=lambda: lease.unlink(missing_ok=True),
            )
    return [
        Run(folder.name, one.name, 0.0, outcome.reason) if isinstance(outcome, Failed) else outcome
        for (folder, one), outcome in zip(todo, outcomes, strict=True)
    ]


@contextlib.contextmanager
def _lease(folder: Path) -> Iterator[Path]:
    """A file that is touched every few seconds while the block runs; programs end without it, wherever they are.

    Only one run is at work in a folder, so what is there before is of a run that was killed.
    """
    for left in folder.glob(".lease-*"):
        left.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(prefix=".lease-", dir=folder.absolute())
    os.close(handle)
    lease, over = Path(name), threading.Event()

    def renew() -> None:
        while not over.wait(_RENEWED_S):
            with contextlib.suppress(OSError):
                lease.touch()

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield lease
    finally:
        over.set()
        renewing.join()
        lease.unlink(missing_ok=True)


class _Lease:
    """Whether the command that wants a result is still there. Clocks of machines differ, so only changes count."""

    def __init__(self, path: Path) -> None:
        self._path, self._touched, self._since = path, -1, time.monotonic()

    def holds(self) -> bool:
        """False once the file is gone, or was not touched for a while."""
        try:
            touched = self._path.stat().st_mtime_ns
        except OSError:
            return False
        if touched != self._touched:
            self._touched, self._since = touched, time.monotonic()
        return time.monotonic() - self._since < _EXPIRES_S


def _simulate(folder: Path, dataset: Dataset, seed: int, progress: Progress | None, workers: Workers) -> None:
    if not is_simulated(folder, dataset, seed):
        simulate_folder(folder, dataset, seed, progress, workers.of_kind("processes"))
    images = content_hash(folder / STACK)
    for record in folder.glob("runs/*.json"):
        if read_json(record).get("images") != images:  # a result on other images
            (folder / "results" / f"{record.stem}.csv").unlink(missing_ok=True)
            record.unlink()


def _seed_of(name: str) -> int:
    """A seed offset that is unique to each data set and independent of which others take part."""
    return PAPER.index(name) if name in PAPER else len(PAPER) + zlib.crc32(name.encode()) % 1_000_000


def run_on_movie(movie: Path, program: Program, folder: Path, time_limit: float) -> tuple[Run, Path]:
    """One program on a movie that was not simulated, and where its result lies in a folder of its own."""
    for name in ("results", "runs"):
        make_folder(folder / name)
    with only_one_at_a_time(folder), _lease(folder) as lease:
        run = run_program(folder, program, time_limit, lease, movie)
    return run, folder / "results" / f"{program.name}.csv"


def run_program(folder: Path, program: Program, time_limit: float, lease: Path, movie: Path | None = None) -> Run:
    """One program on the stack of one data set, or on a `movie`; its result appears whole, with a record of how it was
    made.
    """
    stack = folder / STACK if movie is None else movie
    result, record = folder / "results" / f"{program.name}.csv", folder / "runs" / f"{program.name}.json"
    own = program.command[0] in (OURS[0], sys.executable)  # its path may differ next time
    made_by: dict[str, Any] = {
        "command": list(program.command[1 if own else 0 :]),
        "files": _files_of(program.command[1 if own else 0 :]),
        "version": __version__,
        "images": content_hash(stack),
    }
    if program.output is not None or program.read is not None:
        made_by |= {"output": program.output, "read": None if program.read is None else dict(program.read)}
    before = read_json(record)
    seconds = before.get("seconds")
    if result.is_file() and before.items() >= made_by.items() and isinstance(seconds, float):
        return Run(folder.name, program.name, seconds, None)
    unfinished, own_folder = folder / "runs" / f"{program.name}.csv", folder / "runs" / f"{program.name}.work"
    places = {"{stack}": stack, "{data}": folder, "{out}": unfinished, "{folder}": own_folder}
    resolved = {name: str(place.resolve()) for name, place in places.items()} | {"{python}": sys.executable}
    command = [_with_places(part, resolved) for part in program.command]
    for left in (unfinished, own_folder):  # by an earlier run
        _remove(left)
    if program.output is not None:
        make_folder(own_folder)
    written = unfinished if program.output is None else Path(_with_places(program.output, resolved))
    start = time.monotonic()
    reason = _failure(command, written, time_limit, _Lease(lease))
    seconds = round(time.monotonic() - start, 3)
    for made_before in (record, result):  # the record first: it must never speak of another result
        _remove(made_before)
    if reason is None:
        reason = _move_result(written, program.read, result)
    if reason is None:
        write_text(json_text(made_by | {"seconds": seconds}), record)
    for left in (unfinished, own_folder):
        _remove(left)
    return Run(folder.name, program.name, seconds, reason)


def _failure(command: list[str], result: Path, time_limit: float, lease: _Lease) -> str | None:
    """Run a command, which ends with all that it started; return why it gave no result, or None."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env=os.environ | one_thread,
                start_new_session=True,
            )
        except OSError as error:
            return f"could not be started, {error.strerror or error}"
        try:
            _limit_memory(process.pid)
            reason = _stopped(process, time_limit, lease)
        finally:
            _end(process)
        if reason is not None:
            return reason
        if process.returncode != 0:
            complaints.seek(0)
            lines = complaints.read().decode(errors="replace").strip().splitlines()
            last = f": {lines[-1].removeprefix('flatmetric: ')[:_LONGEST_REASON]}" if lines else ""
            return f"ended with code {process.returncode}{last}"
    return None if result.is_file() else "ended without writing its result"


def _stopped(process: subprocess.Popen[bytes], time_limit: float, lease: _Lease) -> str | None:
    """Wait for a process; return why it must be stopped, or None once it has ended."""
    end = time.monotonic() + time_limit
    while True:
        try:
            process.wait(timeout=min(_LOOK_S, max(0.0, end - time.monotonic())))
            return None
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                return f"stopped after {time_limit:g} s"
            if not lease.holds():
                return "cancelled: the parent command ended"


def _limit_memory(process: int) -> None:
    """Give a program the memory limit of the Dask worker that runs it, if any: else it would take what others need."""
    if "distributed.worker" not in sys.modules:
        return
    from distributed import get_worker

    # No such limits on this system, no worker, or the program has already ended.
    with contextlib.suppress(ImportError, ValueError, OSError, AttributeError):
        import resource

        limit = get_worker().memory_manager.memory_limit
        if limit:
            resource.prlimit(process, resource.RLIMIT_DATA, (limit, limit))


def _move_result(written: Path, read: Mapping[str, Any] | None, result: Path) -> str | None:
    """Put what a program wrote where results lie, converted if it says how; return why that can't be, or None."""
    if read is None:
        written.replace(result)
        return None
    try:
        write(read_file(written, ReadOptions(**read)), result, "thunderstorm")
    except InputError as error:
        return f"its result can't be read: {error}"[:_LONGEST_REASON]
    return None


def _with_places(part: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        part = part.replace(name, place)
    return part


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _files_of(command: Sequence[str]) -> dict[str, str]:
    """The hashes of the program itself and of the files that a command names, so that what was changed runs again."""
    places = {part: Path(part) for part in command}
    if command and (program := shutil.which(command[0])) is not None:
        places[command[0]] = Path(program)
    return {part: content_hash(place) for part, place in places.items() if place.is_file()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it started."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def runs_csv(runs: Sequence[Run]) -> str:
    """One row for each run: its time, and why it gave no result.

    Examples
    --------
    >>> print(runs_csv([Run("d", "p", 1.25, None)]), end="")
    dataset,participant,seconds,reason
    d,p,1.25,
    """
    rows = [[run.dataset, run.program, f"{run.seconds:.2f}", run.reason or ""] for run in runs]
    return csv_text([["dataset", "participant", "seconds", "reason"], *rows])
