"""The real thing: server, worker and client as processes; wrong input; kills."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import flatmetric as fm
from flatmetric.server.audit import check_log
from flatmetric.server.database import Database
from flatmetric.server.schema import jobs, log, scores, submissions
from tests.server.boards import PASSWORD, RULES, make_folder, new_database, result_rows, table

FEW, MANY = 11, 200
_PATIENCE_S = 300.0  # the machine may be busy


class Server:
    """A server in a process of its own, with an organiser and a token."""

    def __init__(self, folder: Path, database: str | None = None, workers: int = 1) -> None:
        self.folder, self.workers = folder, workers
        self.database = [] if database is None else ["--database", database]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "flatmetric", "serve", str(self.folder), "--port", str(self.port)]
        command += [*self.database, "--workers", str(self.workers)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.url in self.said, self.said + self.process.stdout.read()
        wait_for(self.answers, "the server answers")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=10):
                return True
        except OSError:
            return False

    def team(self, name: str) -> str:
        """The token of a new team."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.addheaders = [("Origin", self.url)]
        page = (
            opener.open(f"{self.url}/register", f"name={name}&password={PASSWORD.replace(' ', '+')}".encode())
            .read()
            .decode()
        )
        csrf = re.search('data-csrf="([^"]+)"', page)
        assert csrf is not None, page
        page = opener.open(f"{self.url}/account/tokens", f"csrf={csrf[1]}".encode()).read().decode()
        found = re.search("(fm_[^<]+)", page)
        assert found is not None
        return found[1]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def wait_for(done: Any, what: str) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.05)


@contextlib.contextmanager
def served(folder: Path, *given: Any, **more: Any) -> Iterator[Server]:
    server = Server(folder, *given, **more)
    try:
        yield server
    finally:
        server.stop()


def submit(*words: Any, token: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flatmetric", "submit", *map(str, words)]
    environment = {name: value for name, value in os.environ.items() if name != "FLATMETRIC_TOKEN"}
    given = environment | ({"FLATMETRIC_TOKEN": token} if token else {})
    return subprocess.run(command, capture_output=True, text=True, env=given, check=False)


def test_from_a_folder_to_a_rank_on_the_command_line(tmp_path: Path) -> None:
    mine, pixels = tmp_path / "mine.csv", tmp_path / "pixels.csv"
    mine.write_bytes(table(result_rows(20)))
    pixels.write_bytes(table(result_rows(20), unit=100, header="frame,x,y"))
    with served(make_folder(tmp_path / "b")) as server:
        token = server.team("Ann")
        out = submit(server.url, pixels, "--dataset", "MT1", token=token)
        assert out.returncode == 1 and "not handed in" in out.stdout and "give --unit" in out.stdout, out
        out = submit(
            server.url, pixels, "--dataset", "MT1", "--unit", "px", "--pixel-size", 100, "--dry-run", token=token
        )
        assert out.returncode == 0 and "ready to hand in" in out.stdout and "read as" in out.stdout, out
        out = submit(server.url, mine, "--dataset", "MT1", "--program", "spots", "--wait", token=token)
        assert out.returncode == 0 and "scored" in out.stdout and "place 1 on the board" in out.stdout, out
        receipt = fm.submit(server.url, mine, dataset="MT1", program="spots", token=token, dry_run=True)
        assert receipt.state == "ready to hand in" and receipt.understood["rows"] == len(result_rows(20))
        from_0 = tmp_path / "from_0.csv"
        from_0.write_bytes(table(result_rows(20) - [1, 0, 0]))
        receipt = fm.submit(server.url, from_0, dataset="MT1", token=token, frame_base=0, dry_run=True)
        assert receipt.state == "ready to hand in" and receipt.understood["frames"] == [1, 60]
        for words, sentence in (
            ([server.url, mine, "--dataset", "MT9"], "there is no data set 'MT9'; there is MT1"),
            ([server.url, tmp_path / "none.csv", "--dataset", "MT1"], "there is no such file"),
            (
                [server.url, mine, "--dataset", "MT1", "--program", "spots"],
                "this is the file of your submission 3, which counts already",
            ),
            ([server.url, mine], "submit needs --dataset"),
            ([server.url, mine, "--dataset", "MT1", "--program", "b"], "a team may have 1 program here; yours: spots"),
            (["nowhere", mine, "--dataset", "MT1"], "give the address of a board"),
            (["http://127.0.0.1:9", mine, "--dataset", "MT1"], "does not answer"),
        ):
            out = submit(*words, token=token)
            assert out.returncode == 2 and sentence in out.stderr and out.stderr.count("\n") == 1, out
        out = submit(server.url, mine, "--dataset", "MT1", token="fm_wrong")
        assert out.returncode == 2 and "the token is wrong or was revoked" in out.stderr
        out = submit(server.url, mine, "--dataset", "MT1")
        assert out.returncode == 2 and "there is no token" in out.stderr
        second = subprocess.run(
            [sys.executable, "-m", "flatmetric", "serve", str(server.folder), "--port", str(server.port)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert second.returncode == 2 and "give another --port" in second.stderr, second


def test_wrong_input_to_serve_is_one_sentence(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    wrong = make_folder(tmp_path / "wrong", "titel = 'x'\n")
    for words, sentence in (
        (["serve", tmp_path / "none"], "is not a folder"),
        (["serve", empty, "--port", "0"], "holds no data set; put a truth into DATASET/truth.csv"),
        (["serve", wrong, "--port", "0"], "board.toml: there is no titel; did you mean title?"),
        (["serve", wrong, "--host", "0.0.0.0"], "give --url too"),
        (["serve", wrong, "--port", "0", "--url", "board.example"], "give the address without a path"),
        (["serve", wrong, "--port", "0", "--database", "mysql://x"], "give postgresql://... or sqlite:///FILE"),
        (["serve", wrong, "--workers", "-1"], "give a whole number from 0"),
        (["worker", empty], "was never served; start the server first"),
    ):
        out = subprocess.run(
            [sys.executable, "-m", "flatmetric", *map(str, words)], capture_output=True, text=True, check=False
        )
        assert out.returncode == 2 and sentence in out.stderr and out.stderr.count("\n") == 1, out
    assert not list(empty.iterdir())


def test_uploads_that_are_too_large_or_cut_off_leave_nothing(tmp_path: Path) -> None:
    rules = RULES.replace("[datasets", "[limits]\nmegabytes = 2\n[datasets")
    with served(make_folder(tmp_path / "b", rules), workers=0) as server:
        token = server.team("Ann")
        large = tmp_path / "large.csv"
        large.write_bytes(b"1,2.0,3.0\n" * 400_000)
        out = submit(server.url, large, "--dataset", "MT1", token=token)
        assert out.returncode == 2 and "larger than 2 MB, the limit here" in out.stderr, out
        head = f"PUT /api/datasets/MT1/uploads HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += f"Authorization: Bearer {token}\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as wire:  # in pieces of unknown number
            wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            with contextlib.suppress(OSError):
                for _ in range(40):
                    wire.sendall(b"20000\r\n" + b"1" * 0x20000 + b"\r\n")
            assert b"413" in wire.recv(100)
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + b"1,2.0,3.0\n" * 1000)
        parts = server.folder / "server" / "parts"
        wait_for(lambda: not list(parts.iterdir()), "the part is removed")
        assert not [path for path in (server.folder / "server" / "files").glob("*/*") if path.stat().st_size == 10_000]


def test_a_full_disk_stores_nothing(tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.server.boards import scene

    with scene(tmp_path / "b") as here:
        ann = here.team("Ann")

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("flatmetric.server.files.os.fsync", full)
        said = ann.upload(table(result_rows(20)), status=507)
        assert "the disk of the server is full" in said["error"]
        monkeypatch.undo()
        assert not list((here.board.folder / "server" / "parts").iterdir())
        assert "None yet" in ann.get("/submissions")


def test_a_database_that_is_away_is_one_sentence(tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.server.boards import scene

    with scene(tmp_path / "b") as here:
        ann = here.team("Ann")

        def away(*_: Any, **__: Any) -> None:
            raise sa.exc.OperationalError("SELECT", {}, Exception("connection refused"))

        monkeypatch.setattr(here.board.database.engine, "connect", away)
        assert "The database does not answer; try again in a minute" in ann.get("/", 503)
        assert ann.client.get("/api/board").json() == {"error": "the database does not answer; try again in a minute"}


def check_after_kills(server: Server, url: str, numbers: set[int]) -> None:
    """Nothing lost, nothing scored twice, no quota wrong, the log as it was written."""
    database = Database(url)
    with database.reading() as connection:
        found = sa.select(sa.func.count()).where(jobs.c.state.in_(("queued", "running")))
        handed_in = set(
            connection.execute(sa.select(submissions.c.id).where(submissions.c.handed_in.is_not(None))).scalars()
        )
        assert numbers <= handed_in
        assert connection.execute(found).scalar_one() == 0
        states = connection.execute(sa.select(jobs.c.submission, jobs.c.state).where(jobs.c.kind == "score")).all()
        assert {number for number, _ in states} == handed_in
        done = {number for number, state in states if state == "done"}
        scored = connection.execute(sa.select(scores.c.submission)).scalars().all()
        assert sorted(scored) == sorted(done)
        told = connection.execute(sa.select(log.c.content).where(log.c.what == "scored")).scalars().all()
        assert len(told) == len(done)
        refunded = set(
            connection.execute(sa.select(submissions.c.id).where(submissions.c.refunded == "failed")).scalars()
        )
        assert refunded == handed_in - done
        assert check_log(connection) is None
    database.close()


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        ("sqlite", FEW),
        pytest.param("postgresql", FEW, marks=pytest.mark.more),
        pytest.param("sqlite", MANY, marks=pytest.mark.prove),
        pytest.param("postgresql", MANY, marks=pytest.mark.prove),
    ],
)
def test_kills_lose_nothing(tmp_path: Path, kind: str, kills: int) -> None:
    """Server and workers are killed again and again while files come in."""
    rules = RULES.replace(
        "[datasets",
        "[quota]\nper_day = 9999\ntotal = 9999\nattempts_per_day = 9999\nuploads_per_hour = 99999\n[datasets",
    )
    folder, address = make_folder(tmp_path / "b", rules), new_database(kind)
    server = Server(folder, address, workers=1 if kills == FEW else 2)
    rng, handed_in, token = random.Random(1), set[int](), server.team("Ann")
    file = tmp_path / "mine.csv"
    for k in range(kills):
        file.write_bytes(table(result_rows(20, seed=k)))
        try:
            receipt = fm.submit(server.url, file, dataset="MT1", program="spots", token=token)
            handed_in.add(int(receipt.url.rsplit("/", 1)[1]))
        except fm.InputError:
            pass  # killed before the answer came
        time.sleep(rng.uniform(0, 0.2))
        if k % 5 == 0:
            server.stop(signal.SIGKILL)
            server.start()
        else:
            found = subprocess.run(
                ["pgrep", "-f", "own_worker|server.child"], capture_output=True, text=True, check=False
            )
            mine = [int(pid) for pid in found.stdout.split() if descends(int(pid), server.process.pid)]
            if mine:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(mine), signal.SIGKILL)
    url = address or f"sqlite:///{folder / 'server' / 'board.sqlite'}"
    database = Database(url)

    def idle() -> bool:
        with database.writing() as connection:  # leases of killed workers would last a minute
            now = database.now(connection)
            old = jobs.c.state == "running", jobs.c.lease_until > now + 5.0
            waiting = connection.execute(
                sa.select(sa.func.count()).where(jobs.c.state.in_(("queued", "running")))
            ).scalar_one()
            connection.execute(jobs.update().where(*old).values(lease_until=now + 3.0))
        return not waiting

    wait_for(idle, "everything is scored")
    database.close()
    server.stop()
    check_after_kills(server, url, handed_in)
    assert len(handed_in) > kills // 2


def descends(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False
