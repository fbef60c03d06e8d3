"""`serve` and `work`: a board on the web with its worker, and further workers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import sqlalchemy as sa
import uvicorn

from flatmetric.errors import InputError
from flatmetric.options.base import takes
from flatmetric.options.serving import LOOPBACK, ServeOptions, WorkOptions
from flatmetric.server.accounts import make_link
from flatmetric.server.app import application
from flatmetric.server.asking import Site
from flatmetric.server.database import DeniedError
from flatmetric.server.rules import DAY_S, HOUR_S
from flatmetric.server.schema import sessions, submissions, teams, versions
from flatmetric.server.web_board import OWN_FOLDER, WebBoard
from flatmetric.server.worker import Worker

_AGAIN_S = 1.0  # before a worker that has ended is started again
_SCRIPT = "from flatmetric.server.serve import own_worker; own_worker()"


@takes(ServeOptions)
def serve(
    folder: str | os.PathLike[str], *, announce: Callable[[str], None] = lambda _: None, options: ServeOptions
) -> None:
    """Serve a folder of data sets as a challenge on the web, until stopped.

    Parameters
    ----------
    folder
        Holds DATASET/truth.* and, if you like, board.toml with the rules and DATASET/results/PROGRAM.* as baselines.
    announce
        Called with the address, and with the link for the organiser as long as there is none.
    """
    if options.url is None and options.host not in LOOPBACK:
        raise InputError(
            f"host is {options.host}, which others reach; give url= too, the address of the board for people"
        )
    listening = _listening(options.host, options.port)
    host = f"[{options.host}]" if ":" in options.host else options.host
    url = options.url or f"http://{host}:{listening.getsockname()[1]}"
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc or urlsplit(url).path.strip("/"):
        raise InputError(f"url is {url!r}; give the address without a path, as https://challenge.example.org")
    board = WebBoard(Path(folder), options.database)
    board.open()
    site, stop = Site(board, url.rstrip("/")), Event()
    announce(f"the board is at {site.url}; stop it with Ctrl-C")
    if (link := _organiser_link(site)) is not None:
        announce(f"become its organiser at {link}")
    threads = [Thread(target=_keep_worker, args=(board, options.database, stop)) for _ in range(options.workers)]
    threads.append(Thread(target=_keep_tidy, args=(board, stop)))
    for thread in threads:
        thread.start()
    try:
        # Addresses hold the secrets of links: they are not logged.
        config = uvicorn.Config(application(site), log_level="warning", access_log=False, server_header=False)
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        board.database.close()


@takes(WorkOptions)
def work(folder: str | os.PathLike[str], *, stop: Event | None = None, options: WorkOptions) -> None:
    """Score what is handed in to a board that another process serves, until stopped.

    Parameters
    ----------
    folder
        The folder of the board, as the server sees it.
    stop
        Ends the work once it is set, after the job in hand.
    """
    board = WebBoard(Path(folder), options.database)
    if not (board.folder / OWN_FOLDER).is_dir():
        raise InputError(f"{folder}: was never served; start the server first")
    with board.database.reading() as connection:
        if not sa.inspect(connection).has_table(versions.name):
            raise InputError(f"{folder}: was never served on this database; give the server's database=")
    Worker(board, f"worker {socket.gethostname()[:20]} {os.getpid()}").run(stop or Event())


def own_worker() -> None:
    """A worker of a server: it ends when the server does, however that ends."""
    given = json.loads(sys.stdin.readline())

    def follow() -> None:
        sys.stdin.read()  # the server never writes more: it returns when the server is gone
        os._exit(0)

    Thread(target=follow, daemon=True).start()
    work(given["folder"], database=given["database"])


def _keep_worker(board: WebBoard, database: str | None, stop: Event) -> None:
    while not stop.is_set():
        process = subprocess.Popen([sys.executable, "-c", _SCRIPT], stdin=subprocess.PIPE, text=True)
        assert process.stdin is not None
        process.stdin.write(json.dumps({"folder": str(board.folder), "database": database}) + "\n")
        process.stdin.flush()
        while not stop.is_set() and process.poll() is None:
            stop.wait(_AGAIN_S / 4)
        process.kill()
        process.wait()
        process.stdin.close()
        stop.wait(_AGAIN_S)


def _keep_tidy(board: WebBoard, stop: Event) -> None:
    while not stop.wait(HOUR_S):
        with suppress(DeniedError, OSError):  # the next hour will do
            tidy(board)


def tidy(board: WebBoard) -> None:
    """Remove uploads that nobody handed in for a day, sessions that ended, and files that nothing names."""
    with board.database.writing() as connection:
        at = board.database.now(connection)
        left = submissions.c.handed_in.is_(None), submissions.c.created < at - DAY_S
        connection.execute(submissions.delete().where(*left))
        connection.execute(sessions.delete().where(sessions.c.expires < at))
    with board.database.reading() as connection:
        known = set(connection.execute(sa.select(submissions.c.sha256)).scalars())
        for text in connection.execute(sa.select(versions.c.truths)).scalars():
            known |= set(json.loads(text).values())
    board.files.sweep(known)


def _organiser_link(site: Site) -> str | None:
    """A link to become organiser; None if there is one already."""
    database = site.board.database
    with database.writing() as connection:
        if connection.execute(sa.select(teams.c.id).where(teams.c.role == "organiser")).first() is not None:
            return None
        return f"{site.url}/links/{make_link(connection, database.now(connection), 'organiser')}"


def _listening(host: str, port: int) -> socket.socket:
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(kind, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = error.strerror if isinstance(error, OSError) else "there is no such port"
        raise InputError(f"can't listen on {host}, port {port}: {reason}; give another port=") from error
    return listening
