"""Running the participants of a challenge: each in a process of its own, with a time limit and a record."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatmetric.cli.progress import progress_bar
from flatmetric.cli.simulate import PARAMETERS, STACK, parameters, simulate_into
from flatmetric.cli.writing import make_folder, write_json
from flatmetric.errors import InputError
from flatmetric.version import __version__

if TYPE_CHECKING:
    from flatmetric.simulation.datasets import Dataset

_LONGEST_REASON = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A participant: its name, and the command that reads {stack} and writes {out}."""

    name: str
    command: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What became of a participant on a data set; `reason` says why there is no result."""

    dataset: str
    program: str
    seconds: float
    reason: str | None


def chosen_programs(names: list[str], commands: list[str]) -> list[Program]:
    """The participants that are to run: those named, or all that are installed, and the user's own."""
    from flatmetric.localizers.participants import METHODS, PARTICIPANTS, participant

    if not names:
        names = [name for name, one in PARTICIPANTS.items() if METHODS[one.method].available]
        absent = sorted({method.package for method in METHODS.values() if method.package and not method.available})
        if absent:
            print(f"not installed, so not taking part: {', '.join(absent)}", file=sys.stderr)
    for name in names:
        participant(name)
    localize = (sys.executable, "-m", "flatmetric", "localize", "{stack}", "--out", "{out}", "--method")
    programs = [Program(name, (*localize, name)) for name in names]
    for text in commands:
        name, equals, command = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name) or not command.strip():
            raise InputError(f"--program is {text!r}; give a name and a command, as mine='mine.py {{stack}} {{out}}'")
        parts = _split(command)
        if not any("{out}" in part for part in parts):
            raise InputError(f"--program {name} has no {{out}}, where its result goes; write {{stack}} {{out}} into it")
        programs.append(Program(name, parts))
    for one in programs:
        if sum(other.name == one.name for other in programs) > 1:
            raise InputError(f"two participants are called {one.name}; rename one")
    return programs


@contextlib.contextmanager
def only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep a second run out of a folder; a run that died does not stand in the way."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        yield
        return
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(f"{folder}: another run is at work there; wait for it, or give another folder") from error
        yield


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"--program is {command!r}, which can't be split into words, {error}") from error


def run_all(
    out: Path, datasets: list[Dataset], programs: list[Program], seed: int, time_limit: float, workers: int
) -> list[Run]:
    """Every participant on every data set, several at a time; what was done before is not done again."""
    from flatmetric.simulation.datasets import PAPER

    for dataset in datasets:
        folder = out / dataset.name
        own_seed = seed + _place(dataset.name, PAPER)
        wanted = json.loads(json.dumps(parameters(dataset, own_seed)))
        stored = _stored(folder / PARAMETERS)
        if stored.items() >= wanted.items() and "unfinished" not in stored:
            continue
        simulate_into(folder, dataset, own_seed)
        for record in folder.glob("runs/*.json"):  # results on the images of before
            (folder / "results" / f"{record.stem}.csv").unlink(missing_ok=True)
            record.unlink()
    todo = [(out / dataset.name, one) for dataset in datasets for one in programs]
    for folder, _ in todo:
        make_folder(folder / "results")
        make_folder(folder / "runs")
    runs: list[Run] = []
    runner = _Runner(time_limit)
    with ThreadPoolExecutor(workers) as pool, progress_bar("localizing") as progress:
        try:
            for done in pool.map(lambda work: runner.run(work[0], work[1]), todo):
                runs.append(done)
                if progress is not None:
                    progress(len(runs), len(todo))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise
    return runs


def _place(name: str, known: Sequence[str]) -> int:
    """A number for each data set, so that no two are drawn alike, whichever others take part."""
    return known.index(name) if name in known else len(known) + zlib.crc32(name.encode()) % 1_000_000


def _stored(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing if it is not there or damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


class _Runner:
    """Runs participants, each in a session of its own, so that it can be stopped with all its children."""

    def __init__(self, time_limit: float) -> None:
        self._time_limit = time_limit
        self._running: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """End all that run now."""
        for process in tuple(self._running):
            _end(process)

    def run(self, folder: Path, program: Program) -> Run:
        """One participant on one data set; its result appears whole, with a record of how it was made."""
        result, record = folder / "results" / f"{program.name}.csv", folder / "runs" / f"{program.name}.json"
        own = program.command[0] == sys.executable  # which may lie elsewhere the next time
        made_by = {
            "command": list(program.command[1 if own else 0 :]),
            "files": _files_of(program.command[1:]),
            "version": __version__,
        }
        before = _stored(record)
        seconds = before.get("seconds")
        if result.is_file() and before.items() >= made_by.items() and isinstance(seconds, float):
            return Run(folder.name, program.name, seconds, None)
        unfinished = folder / "runs" / f"{program.name}.csv"
        places = {"{stack}": str((folder / STACK).resolve()), "{out}": str(unfinished.resolve())}
        command = [_filled(part, places) for part in program.command]
        _remove(unfinished)  # what a run before this one may have left
        start = time.monotonic()
        reason = self._failure(command, unfinished)
        seconds = round(time.monotonic() - start, 3)
        _remove(result)
        if reason is None:
            unfinished.replace(result)
            write_json(made_by | {"seconds": seconds}, str(record))
        _remove(unfinished)
        return Run(folder.name, program.name, seconds, reason)

    def _failure(self, command: list[str], result: Path) -> str | None:
        """Run a command; why it gave no result, or None."""
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=os.environ | one_thread,
                start_new_session=True,
            )
        except OSError as error:
            return f"could not be started, {error.strerror or error}"
        self._running.add(process)
        try:
            _, said = process.communicate(timeout=self._time_limit)
        except subprocess.TimeoutExpired:
            return f"stopped after {self._time_limit:g} s"
        finally:
            _end(process)
            self._running.discard(process)
        if process.returncode != 0:
            words = said.decode(errors="replace").strip().splitlines()
            last = f": {words[-1].removeprefix('flatmetric: ')[:_LONGEST_REASON]}" if words else ""
            return f"ended with code {process.returncode}{last}"
        return None if result.is_file() else "ended without writing its result"


def _filled(part: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        part = part.replace(name, place)
    return part


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _files_of(command: Sequence[str]) -> dict[str, list[int]]:
    """Size and time of the files that a command names: a script that was changed is run again."""
    found = {}
    for part in command:
        if Path(part).is_file():
            there = Path(part).stat()
            found[part] = [there.st_size, there.st_mtime_ns]
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def runs_csv(runs: list[Run]) -> str:
    """One row for each run: its time, and why it gave no result."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["dataset", "participant", "seconds", "reason"])
    for one in runs:
        writer.writerow([one.dataset, one.program, f"{one.seconds:.2f}", one.reason or ""])
    return file.getvalue()
