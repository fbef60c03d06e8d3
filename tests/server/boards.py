"""Boards to test: a folder of data sets, a database of either kind, people, and a PostgreSQL of our own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from flatmetric.errors import InputError
from flatmetric.server import child, guard
from flatmetric.server.accounts import Passwords, make_link
from flatmetric.server.app import application
from flatmetric.server.asking import Site
from flatmetric.server.web_board import WebBoard
from flatmetric.server.worker import Worker

ADDRESS = "http://testserver"
PASSWORD = "correct horse"
CHEAP = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
FRAMES, MOLECULES = 60, 12
RULES = """
title = "Test board"
[datasets.MT1]
frames = [1, 60]
field = [6400, 6400]
"""


def table(rows: Any, *, unit: float = 1.0, header: str = "frame,x [nm],y [nm]") -> bytes:
    """Rows of frame, x and y as CSV; positions divided by a unit in nm."""
    lines = [header, *(f"{int(f)},{x / unit:.4f},{y / unit:.4f}" for f, x, y in rows)]
    return "\n".join([*lines, ""]).encode()


def truth_rows(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    frame = np.repeat(np.arange(1, FRAMES + 1), MOLECULES)
    x, y = rng.uniform(200, 6200, (2, len(frame)))
    return np.column_stack([frame, x.round(2), y.round(2)])


def result_rows(sigma: float, found: float = 0.9, seed: int = 1, truth: Any = None) -> Any:
    """What a program might find: a share of the molecules, with errors of `sigma` nm."""
    rng = np.random.default_rng(seed)
    rows = truth_rows() if truth is None else truth
    kept = rows[rng.random(len(rows)) < found].copy()
    kept[:, 1:] += rng.normal(0, sigma, (len(kept), 2))
    return kept


def make_folder(place: Path, rules: str = RULES, datasets: tuple[str, ...] = ("MT1",)) -> Path:
    for name in datasets:
        (place / name).mkdir(parents=True)
        (place / name / "truth.csv").write_bytes(table(truth_rows()))
    (place / "board.toml").write_text(rules, encoding="utf-8")
    return place


class Person:
    """Somebody with a browser: cookies, the origin, and the secret of the page."""

    def __init__(self, site: Site) -> None:
        self.client = TestClient(application(site), base_url=site.url, headers={"Origin": site.url})
        self.csrf = ""

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, (path, answer.status_code, answer.text[-600:])
        return answer.text

    def post(self, path: str, status: int = 303, **form: str) -> str:
        answer = self.client.post(path, data={"csrf": self.csrf, **form}, follow_redirects=False)
        assert answer.status_code == status, (path, answer.status_code, answer.text[-600:])
        self._learn()
        return answer.text

    def _learn(self) -> None:
        found = re.search('data-csrf="([^"]+)"', self.client.get("/rules").text)
        self.csrf = found[1] if found else ""

    def upload(self, content: bytes, dataset: str = "MT1", status: int = 201, **query: str) -> Any:
        answer = self.client.put(
            f"/api/datasets/{dataset}/uploads",
            params={"name": "mine.csv", **query},
            content=content,
            headers={"X-CSRF": self.csrf},
        )
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def hand_in(
        self, content: bytes, program: str = "prog", dataset: str = "MT1", status: int = 202, **query: str
    ) -> Any:
        number = self.upload(content, dataset, 201, **query)["id"]
        path = f"/api/submissions/{number}/hand-in"
        answer = self.client.post(path, json={"program": program}, headers={"X-CSRF": self.csrf})
        assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json()

    def see(self, number: int) -> Any:
        return self.client.get(f"/api/submissions/{number}").json()


class Scene:
    """A board with people."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        self.board = WebBoard(folder, database)
        self.board.open()
        self.site = Site(self.board, ADDRESS, CHEAP)
        self.worker = Worker(self.board, "worker")
        self.work()

    def visitor(self) -> Person:
        return Person(self.site)

    def team(self, name: str) -> Person:
        person = self.visitor()
        person.post("/register", name=name, password=PASSWORD)
        return person

    def organiser(self, name: str = "Olga") -> Person:
        with self.board.database.writing() as connection:
            secret = make_link(connection, self.board.database.now(connection), "organiser")
        person = self.visitor()
        person.post(f"/links/{secret}", name=name, password=PASSWORD)
        return person

    def work(self) -> None:
        """Do all jobs."""
        while self.worker.step():
            pass

    def rows(self, dataset: str = "MT1", which: str = "public") -> list[Any]:
        """What everybody sees of a data set."""
        boards = self.visitor().client.get("/api/board").json()["boards"]
        return list(boards[which]["datasets"][dataset])


def in_this_process(request: dict[str, Any], seconds: float, wanted: Any = None) -> dict[str, Any]:
    """What the child answers, without its limits: ten times as fast."""
    try:
        return {"preview": child._preview, "score": child._score}[request["what"]](request)
    except InputError as error:
        return {"refused": str(error).replace(request["path"], request["name"]).removeprefix(f"{request['name']}: ")}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read and scored in this process."""
    monkeypatch.setattr(guard, "_ask", in_this_process)


class Postgres:
    """A PostgreSQL server of our own, reached by a socket in a folder of ours."""

    def __init__(self, place: Path) -> None:
        self.place, own = (
            place,
            [] if os.geteuid() else ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"],
        )
        if own:
            place.chmod(0o755)
            shutil.chown(place, "postgres")
        found = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
        assert found is not None
        tools = Path(found).resolve().parent if Path(found).is_symlink() else Path(found).parent
        at_home: dict[str, Any] = {"cwd": place, "check": True, "stdout": subprocess.DEVNULL}
        data = str(place / "data")
        subprocess.run([*own, str(tools / "initdb"), "-D", data, "-A", "trust", "--no-sync", "-U", "board"], **at_home)
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={place}"]
        self.process = subprocess.Popen(
            [*own, str(tools / "postgres"), "-D", data, *settings], cwd=place, stderr=subprocess.DEVNULL
        )
        for _ in range(600):
            with contextlib.suppress(psycopg.OperationalError):
                self._run("SELECT 1")
                return
            assert self.process.poll() is None, "PostgreSQL has ended"
            subprocess.run(["sleep", "0.05"], check=True)
        raise AssertionError("PostgreSQL does not answer")

    def _run(self, what: str) -> None:
        with psycopg.connect(host=str(self.place), user="board", dbname="postgres", autocommit=True) as connection:
            connection.execute(what)

    def database(self) -> str:
        """The address of a new database."""
        name = f"board_{uuid.uuid4().hex[:12]}"
        self._run(f"CREATE DATABASE {name} TEMPLATE template0")
        return f"postgresql://board@/{name}?host={self.place}"

    def stop(self) -> None:
        """At once: nothing of it is kept."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


_running: list[Postgres] = []


def postgres() -> Postgres:
    """The server of this test process, started on first use; a loud skip where PostgreSQL is missing."""
    if not _running:
        installed = shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not installed:
            sentence = "NO POSTGRESQL: install postgresql to test the web board on it"
            if os.environ.get("FLATMETRIC_POSTGRES") == "required":
                raise RuntimeError(sentence)
            pytest.skip(sentence)
        _running.append(Postgres(Path(tempfile.mkdtemp(prefix="fm-pg-", dir="/tmp"))))
    return _running[0]


def stop_postgres() -> None:
    for server in _running:
        server.stop()
        shutil.rmtree(server.place, ignore_errors=True)
    _running.clear()


def new_database(kind: str) -> str | None:
    return postgres().database() if kind == "postgresql" else None


@contextlib.contextmanager
def scene(place: Path, kind: str = "sqlite", rules: str = RULES, **more: Any) -> Iterator[Scene]:
    """A board in a new folder, on a database of either kind."""
    made = Scene(make_folder(place, rules, **more), new_database(kind))
    try:
        yield made
    finally:
        made.board.database.close()
