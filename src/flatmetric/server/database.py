"""The database, SQLite or PostgreSQL: whole transactions, one clock, and migrations."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from flatmetric.errors import InputError

_PATIENCE_S = 20  # of a transaction for another that writes
_CONNECTIONS = 20  # at once: those of the server's threads
_AWAY = "the database does not answer; try again in a minute"
_FULL = "the disk of the server is full; nothing was stored, and the organisers need to make room"


class DeniedError(Exception):
    """Why something is not done, in one sentence, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Database:
    """Transactions on the database of a board."""

    def __init__(self, url: str) -> None:
        try:
            self.url = sa.make_url(url if not url.startswith("postgresql://") else f"postgresql+psycopg{url[10:]}")
        except exc.ArgumentError as error:
            raise InputError(f"database= is {url!r}; give postgresql://USER@HOST/NAME or sqlite:///FILE") from error
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        if not self.is_sqlite and self.url.get_backend_name() != "postgresql":
            raise InputError(f"database= is for {self.url.get_backend_name()}; give postgresql://... or sqlite:///FILE")
        more: dict[str, Any] = {"connect_args": {"timeout": _PATIENCE_S}} if self.is_sqlite else {"pool_pre_ping": True}
        try:
            self.engine = sa.create_engine(self.url, pool_size=_CONNECTIONS, max_overflow=_CONNECTIONS, **more)
        except ImportError as error:
            raise InputError(
                'PostgreSQL needs the extra "postgres"; run pip install "flatmetric[server,postgres]"'
            ) from error
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with _faults(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes: all of it happens, or nothing."""
        with _faults(), self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by the clock of the database, which all workers share."""
        if self.is_sqlite:
            return time.time()  # the database is this machine's
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def migrate(self) -> None:
        """Make the tables, or bring those of an earlier version up to date."""
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
        with self.writing() as connection:
            if not self.is_sqlite:  # two servers may start at once
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(20101342)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def locked_or_new(connection: Connection, table: sa.Table, *, key: str, **values: Any) -> Any:
    """The row of a key, which no other transaction changes until this one ends; made with these values if it is new."""
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    made = insert(table).values(key=key, **values)
    row = made.on_conflict_do_update(index_elements=["key"], set_={"key": key}).returning(*table.c)
    return connection.execute(row).mappings().one()


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and then writes would fail at once while another writes.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except exc.TimeoutError as error:
        raise DeniedError(503, _AWAY) from error
    except exc.DBAPIError as error:
        if isinstance(error, (exc.OperationalError, exc.InterfaceError)):
            if "full" in str(error.orig) or "No space left" in str(error.orig):
                raise DeniedError(507, _FULL) from error
            raise DeniedError(503, _AWAY) from error
        raise


@contextmanager
def disk_faults() -> Iterator[None]:
    """Turn a full disk into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DeniedError(507, _FULL) from error
        raise
