"""The log of who did what: rows are only added, and each holds the hash of all before it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric.server.schema import facts, log

_HEAD = "log"
_START = "0" * 64


def in_turn(connection: Connection) -> None:
    """Wait until no other transaction changes the board: a result that is handed in while a version is made must be
    seen by it.
    """
    connection.execute(sa.select(facts.c.value).where(facts.c.name == _HEAD).with_for_update()).all()


def add_to_log(connection: Connection, at: float, who: str, what: str, **content: Any) -> None:
    """Add a row, in the transaction of what it tells: `who` is "organiser", "team 3", "server" or "worker"."""
    row = sa.select(facts.c.value).where(facts.c.name == _HEAD).with_for_update()  # one row after the other
    before = connection.execute(row).scalar_one_or_none()
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    after = _hash(before or _START, at, who, what, text)
    connection.execute(
        log.insert().values(at=at, who=who, what=what, content=text, before=before or _START, hash=after)
    )
    if before is None:
        connection.execute(facts.insert().values(name=_HEAD, value=after))
    else:
        connection.execute(facts.update().where(facts.c.name == _HEAD).values(value=after))


def log_head(connection: Connection) -> dict[str, Any]:
    """How many rows there are, and the hash of the last: who has noted it can tell later whether anything before it was
    changed.
    """
    rows = connection.execute(sa.select(sa.func.count()).select_from(log)).scalar_one()
    head = connection.execute(sa.select(facts.c.value).where(facts.c.name == _HEAD)).scalar_one_or_none()
    return {"rows": rows, "sha256": head or _START}


def check_log(connection: Connection) -> int | None:
    """The number of the first row that isn't what was added; None if all are."""
    before, last = _START, 0
    for row in connection.execute(sa.select(log).order_by(log.c.id)).mappings():
        if row["before"] != before or row["hash"] != _hash(before, *(row[c] for c in ("at", "who", "what", "content"))):
            return int(row["id"])
        before, last = row["hash"], row["id"]
    return None if log_head(connection)["sha256"] == before else last + 1


def log_rows(connection: Connection) -> list[dict[str, Any]]:
    """All rows, for an archive."""
    return [dict(row) for row in connection.execute(sa.select(log).order_by(log.c.id)).mappings()]


def _hash(before: str, at: float, who: str, what: str, content: str) -> str:
    return hashlib.sha256(json.dumps([before, repr(at), who, what, content]).encode()).hexdigest()
