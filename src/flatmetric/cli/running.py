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
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
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
        if not equals or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name) or not command.strip():
            raise InputError(f"--program is {text!r}; give a name and a command, as mine='mine.py {{stack}} {{out}}'")
        parts = _split(command)
        if "{out}" not in parts:
            raise InputError(f"--program {name} has no {{out}}, where its result goes; write {{stack}} {{out}} into it")
        programs.append(Program(name, parts))
    for one in programs:
        if sum(other.name == one.name for other in programs) > 1:
            raise InputError(f"two participants are called {one.name}; rename one")
    return programs


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"--program is {command!r}, which can't be split into words, {error}") from error


def run_all(
    out: Path, datasets: list[Dataset], programs: list[Program], seed: int, time_limit: float, workers: int
) -> list[Run]:
    """Every participant on every data set, several at a time; what was done before is not done again."""
    for at, dataset in enumerate(datasets):
        folder = out / dataset.name
        wanted = parameters(dataset, seed + at)
        if _stored(folder / PARAMETERS).items() >= json.loads(json.dumps(wanted)).items():
            continue
        simulate_into(folder, dataset, seed + at)
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
        if result.is_file() and before.items() >= made_by.items():
            return Run(folder.name, program.name, float(before["seconds"]), None)
        unfinished = folder / "runs" / f"{program.name}.csv"
        places = {"{stack}": str((folder / STACK).resolve()), "{out}": str(unfinished.resolve())}
        start = time.monotonic()
        reason = self._failure([places.get(part, part) for part in program.command], unfinished)
        seconds = time.monotonic() - start
        if reason is None:
            unfinished.replace(result)
            write_json(made_by | {"seconds": round(seconds, 3)}, str(record))
        else:
            unfinished.unlink(missing_ok=True)
            result.unlink(missing_ok=True)
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
            last = f": {words[-1].removeprefix('flatmetric: ')}" if words else ""
            return f"ended with code {process.returncode}{last}"
        return None if result.is_file() else "ended without writing its result"


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
