"""The tables of the database. Times are seconds since 1970; texts that hold several values are JSON."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()
_HASH = String(64)


def _team(**more: bool) -> Column[int]:
    return Column("team", ForeignKey("teams.id"), **more)  # type: ignore[arg-type]


# Small facts by name, as the head of the log.
facts = Table("facts", METADATA, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False))

teams = Table(
    "teams",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(60), nullable=False),
    Column("folded", String(60), unique=True),  # without case; None once the account is deleted
    Column("password", Text),
    Column("role", String(10), nullable=False),
    Column("created", Float, nullable=False),
    Column("deleted", Float),
)

# Links that work once: to register, to become organiser, to set a new password.
links = Table(
    "links",
    METADATA,
    Column("hash", _HASH, primary_key=True),
    Column("purpose", String(10), nullable=False),
    _team(),
    Column("expires", Float, nullable=False),
    Column("used", Float),
)

sessions = Table(
    "sessions",
    METADATA,
    Column("hash", _HASH, primary_key=True),
    _team(nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("expires", Float, nullable=False),
)

tokens = Table(
    "tokens",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("hash", _HASH, nullable=False, unique=True),
    _team(nullable=False),
    Column("label", String(60), nullable=False),
    Column("created", Float, nullable=False),
    Column("revoked", Float),
)

# Failed logins, by account and by address.
failures = Table(
    "failures",
    METADATA,
    Column("key", String(200), primary_key=True),
    Column("count", Integer, nullable=False),
    Column("until", Float, nullable=False),
)

# The board under rules and truths: scores belong to one of these. `truths` has the hash of each data set's truth.
versions = Table(
    "versions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("published", Float),
    Column("reason", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("rules", Text, nullable=False),
    Column("truths", Text, nullable=False),
    Column("settings", _HASH, nullable=False),
    Column("package", String(40), nullable=False),
    Column("moves", Text),
)

submissions = Table(
    "submissions",
    METADATA,
    Column("id", Integer, primary_key=True),
    _team(nullable=False),
    Column("dataset", String(200), nullable=False),
    Column("program", String(60), nullable=False),
    Column("sha256", _HASH, nullable=False),
    Column("file_name", String(200), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("reading", Text, nullable=False),
    Column("preview", Text, nullable=False),
    Column("valid", Boolean, nullable=False),
    Column("created", Float, nullable=False),
    Column("handed_in", Float),
    Column("refunded", String(10)),  # "failed" or "wrong"
    Column("marked", Boolean, nullable=False),
    Column("withdrawn", Float),
    Column("excluded", Text),
    Column("baseline", Boolean, nullable=False),
    Column("note", String(200), nullable=False, server_default=""),
    Index("submissions_of_team", "team", "dataset"),
)

jobs = Table(
    "jobs",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("submission", ForeignKey("submissions.id")),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("state", String(10), nullable=False),  # queued, running, done, failed or dead
    Column("token", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("lease_until", Float, nullable=False),
    Column("due", Float, nullable=False),
    Column("created", Float, nullable=False),
    Column("finished", Float),
    Column("reason", Text),
    UniqueConstraint("kind", "submission", "version"),
    Index("jobs_by_state", "state", "due"),
)

# `accepted` is None until the ladder has judged a score, and then `shown` are its rounded numbers; `words` is what its
# team reads if the file is wrong.
scores = Table(
    "scores",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("submission", ForeignKey("submissions.id"), nullable=False),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("board", String(10), nullable=False),
    Column("key", _HASH, nullable=False),
    Column("value", Float, nullable=False),
    Column("entry", LargeBinary, nullable=False),
    Column("curve", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("remarks", Text, nullable=False),
    Column("notes", Text, nullable=False),
    Column("accepted", Boolean),
    Column("shown", Text),
    UniqueConstraint("submission", "version", "board"),
    Index("scores_by_key", "key"),
)

# What the pages show, rounded already. `basis` is the number of the newest score in it.
snapshots = Table(
    "snapshots",
    METADATA,
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("board", String(10), primary_key=True),
    Column("basis", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("content", Text, nullable=False),
)

log = Table(
    "log",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("who", String(40), nullable=False),
    Column("what", String(40), nullable=False),
    Column("content", Text, nullable=False),
    Column("before", _HASH, nullable=False),
    Column("hash", _HASH, nullable=False),
)

__all__ = [
    *("METADATA", "facts", "failures", "jobs", "links", "log", "scores", "sessions", "snapshots", "submissions"),
    *("teams", "tokens", "versions"),
]
