"""The queue: jobs in the database, each held by one worker at a time for as long as its lease lasts."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric._dataclass import dataclass
from flatmetric.server.schema import jobs

SCORE, RANK = "score", "rank"
MOST_ATTEMPTS = 3
"""After so many workers have died on a job, it is dead."""
_AGAIN_S = 2.0  # before the next attempt; it doubles


@dataclass(frozen=True)
class Job:
    """A job that a worker holds; `token` tells this hold from later ones."""

    id: int
    kind: str
    submission: int | None
    version: int
    token: int
    attempts: int


def add_score_job(connection: Connection, at: float, submission: int, version: int) -> None:
    """Queue the scoring of a submission."""
    _add(connection, at, SCORE, submission, version)


def add_rank_job(connection: Connection, at: float, version: int) -> None:
    """Queue a new ranking, unless one waits already."""
    waiting = sa.select(jobs.c.id).where(jobs.c.kind == RANK, jobs.c.version == version, jobs.c.state == "queued")
    if connection.execute(waiting).first() is None:
        _add(connection, at, RANK, None, version)


def _add(connection: Connection, at: float, kind: str, submission: int | None, version: int) -> None:
    values = {"kind": kind, "submission": submission, "version": version, "state": "queued", "token": 0, "attempts": 0}
    connection.execute(jobs.insert().values(**values, lease_until=0.0, due=at, created=at))


def claim(connection: Connection, at: float, lease_s: float) -> Job | None:
    """Take the first job that waits, or whose worker is gone; None if there is none. Jobs on which too many workers
    died are dead, and only one ranking runs at a time.
    """
    ranked = jobs.alias()
    ranking = sa.exists().where(ranked.c.kind == RANK, ranked.c.state == "running", ranked.c.lease_until >= at)
    waiting = sa.and_(jobs.c.state == "queued", jobs.c.due <= at)
    left = sa.and_(jobs.c.state == "running", jobs.c.lease_until < at)
    found = (
        sa.select(jobs).where(sa.or_(waiting, left), sa.or_(jobs.c.kind != RANK, ~ranking)).order_by(jobs.c.id).limit(1)
    )
    row = connection.execute(found.with_for_update(skip_locked=True)).mappings().first()
    if row is None:
        return None
    token, attempts = row["token"] + 1, row["attempts"] + 1
    values = {"state": "running", "token": token, "attempts": attempts, "lease_until": at + lease_s}
    connection.execute(jobs.update().where(jobs.c.id == row["id"]).values(**values))
    return Job(row["id"], row["kind"], row["submission"], row["version"], token, attempts)


def holds(connection: Connection, job: Job) -> bool:
    """Whether a worker still holds its job; the row stays as it is until the transaction ends."""
    mine = sa.select(jobs.c.id).where(*_mine(job)).with_for_update()
    return connection.execute(mine).first() is not None


def beat(connection: Connection, at: float, job: Job, lease_s: float) -> bool:
    """Hold a job for longer; False if it is another's by now."""
    return connection.execute(jobs.update().where(*_mine(job)).values(lease_until=at + lease_s)).rowcount == 1


def finish(connection: Connection, at: float, job: Job, state: str, reason: str | None = None) -> None:
    """End a job that is held."""
    connection.execute(jobs.update().where(jobs.c.id == job.id).values(state=state, finished=at, reason=reason))


def put_back(connection: Connection, at: float, job: Job) -> None:
    """Let a job wait for a further attempt."""
    due = at + _AGAIN_S * 2.0**job.attempts
    connection.execute(jobs.update().where(*_mine(job)).values(state="queued", due=due))


def _mine(job: Job) -> tuple[sa.ColumnElement[bool], ...]:
    return jobs.c.id == job.id, jobs.c.token == job.token, jobs.c.state == "running"


def place_in_queue(connection: Connection, submission: int) -> int | None:
    """How many scorings come before that of a submission, and its own; None if it doesn't wait."""
    own = sa.select(sa.func.max(jobs.c.id)).where(jobs.c.submission == submission, jobs.c.state == "queued")
    number = connection.execute(own).scalar_one()
    if number is None:
        return None
    before = sa.select(sa.func.count()).where(jobs.c.kind == SCORE, jobs.c.id <= number)
    return int(connection.execute(before.where(jobs.c.state.in_(("queued", "running")))).scalar_one())


def oldest_wait_s(connection: Connection, at: float) -> float:
    """For how long the oldest job has waited, s."""
    first = connection.execute(sa.select(sa.func.min(jobs.c.created)).where(jobs.c.state == "queued")).scalar_one()
    return 0.0 if first is None else max(0.0, at - float(first))
