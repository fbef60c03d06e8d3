"""Teams, passwords, sessions, tokens and links that work once. Secrets are kept as hashes."""

from __future__ import annotations

import hashlib
import json
import secrets
import unicodedata
from threading import BoundedSemaphore
from typing import Literal

import sqlalchemy as sa
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from flatmetric._dataclass import dataclass
from flatmetric.server.audit import add_to_log
from flatmetric.server.database import DeniedError, locked_or_new
from flatmetric.server.rules import DAY_S
from flatmetric.server.schema import failures, links, sessions, submissions, teams, tokens, versions

Role = Literal["public", "team", "organiser"]
Purpose = Literal["organiser", "register", "password"]
SESSION_S = 14 * DAY_S
"""How long a login lasts, s."""
_LINK_S = {"organiser": 7 * DAY_S, "register": 30 * DAY_S, "password": 2 * DAY_S}
_FREE_TRIES = {"account": 5, "address": 30, "register": 60}  # before each costs a wait; a course may share an address
_AT_ONCE_S = 0.5  # two tries may come at the same time, and wait for each other
_LONGEST_WAIT_S = 900.0  # an attacker must not lock a team out for a day
_MOST_TOKENS = 20  # of a team
LONGEST_NAME = 40
"""Characters of the name of a team or program: fits a column of the board."""
_LONGEST_FOLDED = 60  # characters: without case some letters become two or three
_PASSWORD = (10, 200)  # characters: short ones are guessed, and long ones cost time to hash
_SECRET_BYTES = 32  # 256 bits, which nobody guesses


@dataclass(frozen=True)
class Visitor:
    """Who asks: a team by its number, its role, and how it has shown that ("session" or "token")."""

    team: int | None = None
    name: str = ""
    role: Role = "public"
    by: Literal["", "session", "token"] = ""
    csrf: str = ""
    session: str = ""

    @property
    def logged(self) -> str:
        """Who this is in the log."""
        return "organiser" if self.role == "organiser" else f"team {self.team}"


class Passwords:
    """Hashes of passwords; few are computed at once, since each takes 64 MB."""

    def __init__(self, hasher: PasswordHasher | None = None, at_once: int = 2) -> None:
        self._hasher = hasher or PasswordHasher()
        self._few = BoundedSemaphore(at_once)
        self._nobody = self.hash(secrets.token_hex())

    def hash(self, password: str) -> str:
        """The hash of a password, to be stored."""
        with self._few:
            return self._hasher.hash(password)

    def fits(self, stored: str | None, password: str) -> bool:
        """Whether a password is the one that was stored; takes as long where there is none."""
        with self._few:
            try:
                self._hasher.verify(stored or self._nobody, password)
            except (VerificationError, InvalidHashError):
                return False
        return stored is not None


def digest(secret: str) -> str:
    """What is stored of a secret that nobody can guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


def checked_name(name: str) -> str:
    """A team's name as it is shown; an error if it has no letters, is too long, or has invisible characters.

    Examples
    --------
    >>> checked_name("  Team A ")
    'Team A'
    """
    name = _plain(name)
    if not name or not name.isprintable() or not any(letter.isalnum() for letter in name):
        raise DeniedError(422, "the name is empty or has characters that can't be shown; give another")
    if len(name) > LONGEST_NAME:
        raise DeniedError(422, f"the name has {len(name)} characters; give at most {LONGEST_NAME}")
    return name


def folded(name: str) -> str:
    """A name as names are compared: however it was typed, without case, and as long as the database takes.

    Examples
    --------
    >>> folded("Team\u00b2  A") == folded("team2 a")
    True
    """
    return _plain(_plain(name).casefold())[:_LONGEST_FOLDED]


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).split())


def checked_password(password: str) -> str:
    """The password; an error if it is too short or too long."""
    least, most = _PASSWORD
    if not least <= len(password) <= most:
        raise DeniedError(422, f"the password has {len(password)} characters; give {least} to {most}")
    return password


def add_team(connection: Connection, at: float, name: str, hashed: str | None, role: Role = "team") -> int:
    """The number of a new team; an error if the name is taken."""
    row = teams.insert().values(name=name, folded=folded(name), password=hashed, role=role, created=at)
    try:
        number = int(connection.execute(row.returning(teams.c.id)).scalar_one())
    except IntegrityError as error:
        raise DeniedError(409, "there is a team of that name; give another, or log in") from error
    add_to_log(connection, at, "organiser" if role == "organiser" else f"team {number}", "registered", team=number)
    return number


def make_link(connection: Connection, at: float, purpose: Purpose, team: int | None = None) -> str:
    """The secret of a new link."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    row = {"hash": digest(secret), "purpose": purpose, "team": team, "expires": at + _LINK_S[purpose]}
    connection.execute(links.insert().values(**row))
    return secret


def link_behind(connection: Connection, at: float, secret: str) -> tuple[Purpose, int | None]:
    """What a link is for, and for which team; an error if it was used, has expired, or never was."""
    row = (
        connection.execute(sa.select(links).where(links.c.hash == digest(secret)).with_for_update()).mappings().first()
    )
    if row is None or row["used"] is not None or row["expires"] < at:
        raise DeniedError(404, "this link was used, has expired or never existed; ask the organisers for another")
    return row["purpose"], row["team"]


def use_link(connection: Connection, at: float, secret: str) -> None:
    """Let a link work no more."""
    connection.execute(links.update().where(links.c.hash == digest(secret)).values(used=at))


def start_session(connection: Connection, at: float, team: int) -> str:
    """The secret of a new session."""
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    row = {
        "hash": digest(secret),
        "team": team,
        "csrf": secrets.token_urlsafe(_SECRET_BYTES),
        "expires": at + SESSION_S,
    }
    connection.execute(sessions.delete().where(sessions.c.expires < at))
    connection.execute(sessions.insert().values(**row))
    return secret


def visitor_of_session(connection: Connection, at: float, secret: str) -> Visitor:
    """Who a session is of."""
    found = sa.select(sessions.c.csrf, sessions.c.hash, teams).join(teams, teams.c.id == sessions.c.team)
    right = (sessions.c.hash == digest(secret), sessions.c.expires > at, teams.c.deleted.is_(None))
    row = connection.execute(found.where(*right)).mappings().first()
    if row is None:
        return Visitor()
    return Visitor(row["id"], row["name"], row["role"], "session", row["csrf"], row["hash"])


def end_sessions(connection: Connection, team: int, *, session: str | None = None) -> None:
    """End one session of a team, or all."""
    which = [sessions.c.team == team] + ([] if session is None else [sessions.c.hash == session])
    connection.execute(sessions.delete().where(*which))


def make_token(connection: Connection, at: float, visitor: Visitor, label: str) -> str:
    """A new token of a team, shown once."""
    mine = sa.select(sa.func.count()).where(tokens.c.team == visitor.team, tokens.c.revoked.is_(None))
    if connection.execute(mine).scalar_one() >= _MOST_TOKENS:
        raise DeniedError(409, f"you have {_MOST_TOKENS} tokens; revoke one first")
    secret = f"fm_{secrets.token_urlsafe(_SECRET_BYTES)}"
    row = {"hash": digest(secret), "team": visitor.team, "label": label[:LONGEST_NAME] or "token", "created": at}
    connection.execute(tokens.insert().values(**row))
    add_to_log(connection, at, visitor.logged, "token made")
    return secret


def revoke_token(connection: Connection, at: float, visitor: Visitor, number: int) -> None:
    """Let a token of the visitor's team work no more."""
    mine = (tokens.c.id == number, tokens.c.team == visitor.team)
    connection.execute(tokens.update().where(*mine).values(revoked=at))
    add_to_log(connection, at, visitor.logged, "token revoked")


def visitor_of_token(connection: Connection, secret: str) -> Visitor:
    """Who a token is of."""
    found = sa.select(teams).join(tokens, teams.c.id == tokens.c.team)
    right = (tokens.c.hash == digest(secret), tokens.c.revoked.is_(None), teams.c.deleted.is_(None))
    row = connection.execute(found.where(*right)).mappings().first()
    return Visitor() if row is None else Visitor(row["id"], row["name"], row["role"], "token")


def take_try(connection: Connection, at: float, *keys: str) -> None:
    """Count a try before it is made, as of "account:..." and "address:...": an error while one of them has to wait.

    After some tries each doubles the wait for the next; those that succeed are given back.
    """
    for key in keys:
        row = locked_or_new(connection, failures, key=key, count=0, until=at)
        if row["until"] > at + _AT_ONCE_S:
            raise DeniedError(429, f"too many tries; try again in {row['until'] - at:.0f} s")
        count = 1 if at - row["until"] > DAY_S else row["count"] + 1  # a quiet day ends the count
        over = count - _FREE_TRIES[key.partition(":")[0]]
        values = {"count": count, "until": at + (0.0 if over < 0 else min(_LONGEST_WAIT_S, 2.0**over))}
        connection.execute(failures.update().where(failures.c.key == key).values(**values))


def give_back(connection: Connection, at: float, *keys: str) -> None:
    """A try has succeeded: it counts no more, and those of the account are forgotten."""
    for key in keys:
        if key.startswith("account:"):
            connection.execute(failures.delete().where(failures.c.key == key))
        else:
            back = {"count": failures.c.count - 1, "until": at}
            connection.execute(failures.update().where(failures.c.key == key).values(**back))


def keys_of_try(account: str, address: str) -> tuple[str, ...]:
    """What tries of a login are counted by."""
    return (f"account:{digest(folded(account))}", *((f"address:{address[:LONGEST_NAME]}",) if address else ()))


def set_password(connection: Connection, team: int, hashed: str) -> None:
    """Give a team a new password; its sessions and tokens end."""
    connection.execute(teams.update().where(teams.c.id == team).values(password=hashed))
    connection.execute(tokens.update().where(tokens.c.team == team, tokens.c.revoked.is_(None)).values(revoked=0.0))
    end_sessions(connection, team)


def delete_account(connection: Connection, at: float, visitor: Visitor) -> list[str]:
    """Delete a team: its name, password, sessions and tokens go; its entries stay as withdrawn. The hashes of the files
    that nobody else has handed in.
    """
    team = visitor.team
    assert team is not None
    mine = submissions.c.team == team
    files = set(connection.execute(sa.select(submissions.c.sha256).where(mine)).scalars())
    others = sa.select(submissions.c.sha256).where(submissions.c.team != team, submissions.c.sha256.in_(files))
    files -= set(connection.execute(others).scalars())
    for truths in connection.execute(sa.select(versions.c.truths)).scalars():
        files -= set(json.loads(truths).values())
    connection.execute(submissions.delete().where(mine, submissions.c.handed_in.is_(None)))
    connection.execute(submissions.update().where(mine, submissions.c.withdrawn.is_(None)).values(withdrawn=at))
    connection.execute(submissions.update().where(mine).values(file_name="", preview="{}", note=""))
    connection.execute(tokens.update().where(tokens.c.team == team).values(revoked=at))
    connection.execute(links.delete().where(links.c.team == team))
    connection.execute(
        teams.update().where(teams.c.id == team).values(name="deleted", folded=None, password=None, deleted=at)
    )
    end_sessions(connection, team)
    add_to_log(connection, at, visitor.logged, "account deleted", team=team)
    return sorted(files)
