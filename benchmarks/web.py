"""The web board under load: 200 people who browse and 20 who upload 1 MB, and a board of 10 000 submissions."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

import flatmetric as fm
from benchmarks.tables import publish, written
from flatmetric.challenges.store import entry_from_bytes, entry_to_bytes
from flatmetric.server.queue import add_rank_job
from flatmetric.server.schema import jobs, scores, submissions, teams
from flatmetric.server.web_board import WebBoard
from flatmetric.server.worker import Worker
from tests.server.boards import RULES, Scene, make_folder, result_rows, table
from tests.server.test_serve import Server, served

_PEOPLE, _VIEWS = 200, 5
_UPLOADERS = 20
_TEAMS, _TRIES = 500, 20
_MEGABYTE = 1_000_000
_LARGE = RULES.replace("[datasets", "[quota]\nuploads_per_hour = 999\nper_day = 999\ntotal = 999\n[datasets")


async def ask(server: Server, head: str, body: bytes = b"") -> float:
    """Seconds of one request on a connection of its own, as a client far away has it."""
    start = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    more = f"Host: 127.0.0.1:{server.port}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + b"\r\n" + more.encode() + body)
    await writer.drain()
    answer = await reader.read()
    writer.close()
    status = answer.split(b" ", 2)[1]
    assert status in (b"200", b"201"), answer[:300]
    return time.perf_counter() - start


async def crowd(server: Server, token: str, file: bytes) -> tuple[list[float], list[float]]:
    """Seconds of pages and of uploads, all at the same time."""

    async def browse(person: int) -> list[float]:
        taken = []
        for view in range(_VIEWS):
            await asyncio.sleep((person % 20) / 20)  # people don't click in the same instant
            path = ("/", "/rules", "/entries/1", "/changes")[(person + view) % 4]
            taken.append(await ask(server, f"GET {path} HTTP/1.1"))
        return taken

    async def upload(person: int) -> float:
        path = f"/api/datasets/MT1/uploads?name=mine{person}.csv"
        return await ask(server, f"PUT {path} HTTP/1.1\r\nAuthorization: Bearer {token}", file)

    views = asyncio.gather(*map(browse, range(_PEOPLE)))
    uploads = await asyncio.gather(*map(upload, range(_UPLOADERS)))
    return [one for taken in await views for one in taken], list(uploads)


def large_board(place: Path) -> WebBoard:
    """A board of 10 000 scored submissions, written into its database."""
    scene = Scene(make_folder(place, _LARGE))
    board = scene.board
    first = scene.team("first").hand_in(table(result_rows(30)))
    scene.work()
    with board.database.writing() as connection:
        one = dict(connection.execute(sa.select(submissions).where(submissions.c.id == first["id"])).mappings().one())
        score = dict(connection.execute(sa.select(scores)).mappings().one())
        job = dict(connection.execute(sa.select(jobs).where(jobs.c.kind == "score")).mappings().one())
        entry, rng = entry_from_bytes(score["entry"], "", ""), np.random.default_rng(0)
        at = one["handed_in"]
        for team in range(2, _TEAMS + 2):
            values = {"id": team, "name": f"team {team}", "folded": f"team {team}", "role": "team", "created": at}
            connection.execute(teams.insert().values(**values))
            costs = entry.costs * rng.uniform(0.8, 1.5)
            value = float(costs.sum() / entry.truths.sum())
            other = dataclasses.replace(entry, costs=costs, metrics=entry.metrics | {"flat_metric": value})
            packed = entry_to_bytes(other)
            for attempt in range(_TRIES):
                number = 2 + (team - 2) * _TRIES + attempt
                more = {"id": number, "team": team, "handed_in": at + number, "sha256": f"{number:064d}"}
                connection.execute(submissions.insert().values(**one | more))
                kept = {"id": number, "submission": number, "entry": packed, "value": value}
                kept["accepted"] = attempt == 0
                connection.execute(scores.insert().values(**score | kept))
                connection.execute(jobs.insert().values(**job | {"id": 10 + number, "submission": number}))
        add_rank_job(connection, at, 1)
    return board


def milliseconds(taken: list[float]) -> list[str]:
    """The median and the 95th percentile."""
    ordered = sorted(taken)
    return [f"{1000 * statistics.median(taken):.0f} ms", f"{1000 * ordered[int(0.95 * len(ordered))]:.0f} ms"]


def main() -> None:
    """Measure and publish."""
    rows: list[list[str]] = [["what", "median", "95 %"]]
    with tempfile.TemporaryDirectory() as folder:
        lines = table(result_rows(20)).splitlines(keepends=True)
        file = lines[0] + b"".join(lines[1:]) * (_MEGABYTE // sum(map(len, lines)))
        with served(make_folder(Path(folder) / "crowd", _LARGE)) as server:
            token = server.team("Ann")
            small = Path(folder) / "mine.csv"
            small.write_bytes(table(result_rows(20)))
            fm.submit(server.url, small, dataset="MT1", program="spots", token=token, wait=True)
            pages, uploads = asyncio.run(crowd(server, token, file))
        rows.append([f"a page, while {_PEOPLE} browse and {_UPLOADERS} upload", *milliseconds(pages)])
        rows.append(["an upload of 1 MB with its preview, at the same time", *milliseconds(uploads)])
        board = large_board(Path(folder) / "large")
        start = time.perf_counter()
        while Worker(board, "worker").step():
            pass
        rows.append(
            [f"ranking {_TEAMS * _TRIES} submissions of {_TEAMS} teams", f"{time.perf_counter() - start:.1f} s", ""]
        )
        board.database.close()
        with served(Path(folder) / "large", workers=0) as server:
            taken = [_opened(f"{server.url}/") for _ in range(20)]
            rows.append(["the page of that board", *milliseconds(taken)])
            taken = [_opened(f"{server.url}/api/board") for _ in range(20)]
            rows.append(["the same as JSON, all rows", *milliseconds(taken)])
    made = written(rows)
    print(made)
    publish(made, "web.md", "docs/how-to/web.md")


def _opened(url: str) -> float:
    start = time.perf_counter()
    with urllib.request.urlopen(url) as answer:
        content: Any = answer.read()
    assert len(content) > 10_000 and (not url.endswith("board") or json.loads(content))
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
