"""A worker: takes jobs from the queue, scores in a child process, and keeps the outcome in one transaction."""

from __future__ import annotations

import base64
import json
import traceback
from threading import Event, Thread
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric.server import queue
from flatmetric.server.audit import add_to_log, in_turn
from flatmetric.server.database import DeniedError
from flatmetric.server.guard import FAULT, LostError, score_file
from flatmetric.server.queue import Job
from flatmetric.server.ranks import make_snapshot, publish_if_done
from flatmetric.server.rules import FINAL, PUBLIC
from flatmetric.server.schema import scores, submissions
from flatmetric.server.web_board import Version, WebBoard

MOST_REFUNDS = 5
"""Failures that a team gets back for each data set: whether scoring fails may depend on the truth, so that more of them
would be free questions about it.
"""
LEASE_S = 60.0
"""How long a job is a worker's without a sign of life: longer than a busy machine may pause."""
_BEATS = 4  # signs of life in a lease
_POLL_S = 0.5  # between looks at an empty queue
_AWAY_S = 5.0  # between tries while the database is away


class Worker:
    """One worker of a board."""

    def __init__(self, board: WebBoard, name: str, lease_s: float = LEASE_S) -> None:
        self._board, self._name, self._lease_s = board, name, lease_s

    def run(self, stop: Event) -> None:
        """Work until told to stop."""
        while not stop.is_set():
            try:
                worked = self.step()
            except DeniedError:
                stop.wait(_AWAY_S)
                continue
            if not worked:
                stop.wait(_POLL_S)

    def step(self) -> bool:
        """Take a job and do it; False if there was none."""
        database = self._board.database
        with database.writing() as connection:
            in_turn(connection)  # before the lock of a job: everybody locks in this order
            at = database.now(connection)
            job = queue.claim(connection, at, self._lease_s)
            if job is None:
                return False
            version = self._board.version(connection, job.version)
            if job.attempts > queue.MOST_ATTEMPTS:
                self._fail(connection, at, job, FAULT, "dead")
                return True
        done, lost = Event(), Event()
        beating = Thread(target=self._beat, args=(job, done, lost), daemon=True)
        beating.start()
        try:
            if job.kind == queue.RANK:
                self._rank(job, version)
            else:
                self._score(job, version, lost)
        except LostError:
            pass  # another worker has it
        except DeniedError:
            raise  # the lease will end
        except Exception:
            traceback.print_exc()
            with database.writing() as connection:
                queue.put_back(connection, database.now(connection), job)
        finally:
            done.set()
            beating.join()
        return True

    def _beat(self, job: Job, done: Event, lost: Event) -> None:
        while not done.wait(self._lease_s / _BEATS):
            try:
                with self._board.database.writing() as connection:
                    if not queue.beat(connection, self._board.database.now(connection), job, self._lease_s):
                        lost.set()
                        return
            except DeniedError:
                continue  # the lease says what happens

    def _score(self, job: Job, version: Version, lost: Event) -> None:
        database = self._board.database
        with database.reading() as connection:
            one = connection.execute(sa.select(submissions).where(submissions.c.id == job.submission)).mappings().one()
        truth, boards = version.truths.get(one["dataset"]), version.boards(one["dataset"])
        if truth is None:
            answer: dict[str, Any] = {"refused": "the data set was removed by the organisers"}
        else:
            files = self._board.files
            request = {"path": str(files.path(one["sha256"])), "truth": str(files.path(truth)), "boards": boards}
            request |= {"name": one["file_name"], "reading": json.loads(one["reading"])}
            request |= {"rules": version.rules.to_json(), "folder": str(self._board.folder)}
            answer = score_file(request, version.rules.limits, lambda: not lost.is_set())
            if answer.get("refused") is None and answer["sha256"] != [truth, one["sha256"]]:
                answer = {"refused": FAULT}
        with database.writing() as connection:
            in_turn(connection)  # what a team has got back already is counted once
            at = database.now(connection)
            if not queue.holds(connection, job):
                raise LostError
            if "refused" in answer:
                if answer["refused"] == FAULT and job.attempts < queue.MOST_ATTEMPTS:
                    queue.put_back(connection, at, job)
                    return
                self._fail(connection, at, job, answer["refused"], "failed")
                return
            self._keep(connection, at, job, version, one, answer["boards"])

    def _keep(self, connection: Connection, at: float, job: Job, version: Version, one: Any, found: Any) -> None:
        key, words = version.score_key(one["dataset"], one["sha256"], one["reading"]), []
        for board, outcome in found.items():
            values = {"submission": one["id"], "version": version.id, "board": board, "key": key}
            values |= {"value": outcome["value"], "entry": base64.b64decode(outcome["entry"])}
            values |= {name: json.dumps(outcome[name]) for name in ("curve", "words", "remarks", "notes")}
            connection.execute(scores.insert().values(**values))
            if board == PUBLIC:  # of the final board nothing is told before it opens
                words += outcome["words"]
        if one["refunded"] == "failed":  # under an earlier version, or before it was tried again
            connection.execute(submissions.update().where(submissions.c.id == one["id"]).values(refunded=None))
        same = submissions.c.team == one["team"], submissions.c.dataset == one["dataset"]
        used = sa.select(submissions.c.id).where(*same, submissions.c.refunded == "wrong")
        if words and one["refunded"] is None and connection.execute(used).first() is None:  # once for each data set
            connection.execute(submissions.update().where(submissions.c.id == one["id"]).values(refunded="wrong"))
        queue.finish(connection, at, job, "done")
        queue.add_rank_job(connection, at, version.id)
        content = {"submission": one["id"], "version": version.id, "sha256": one["sha256"], "score": key}
        add_to_log(connection, at, self._name, "scored", **content)

    def _fail(self, connection: Connection, at: float, job: Job, reason: str, state: str) -> None:
        """A job ends without a score: its submission costs no quota."""
        queue.finish(connection, at, job, state, reason)
        if job.submission is not None:
            failed = submissions.c.id == job.submission, submissions.c.refunded.is_(None)
            scored = sa.select(scores.c.id).where(scores.c.submission == job.submission)
            one = connection.execute(sa.select(submissions).where(submissions.c.id == job.submission)).mappings().one()
            same = submissions.c.team == one["team"], submissions.c.dataset == one["dataset"]
            before = sa.select(sa.func.count()).where(*same, submissions.c.refunded == "failed")
            few = connection.execute(before).scalar_one() < MOST_REFUNDS
            if few and connection.execute(scored).first() is None:  # under an earlier version it may have a score
                connection.execute(submissions.update().where(*failed).values(refunded="failed"))
            queue.add_rank_job(connection, at, job.version)
        add_to_log(connection, at, self._name, f"job {state}", job=job.id, submission=job.submission, reason=reason)

    def _rank(self, job: Job, version: Version) -> None:
        for which in (PUBLIC, FINAL):
            make_snapshot(self._board, version, which)
        publish_if_done(self._board, version)
        database = self._board.database
        with database.writing() as connection:
            if queue.holds(connection, job):
                queue.finish(connection, database.now(connection), job, "done")
