"""What everybody sees: the board, an entry, the rules, what changed; and logging in."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from starlette.responses import Response

from flatmetric.metrics.table import LEADERBOARD
from flatmetric.server import accounts
from flatmetric.server.asking import Ask, Endpoint, json_answer, redirect
from flatmetric.server.audit import add_to_log, log_head
from flatmetric.server.database import DeniedError
from flatmetric.server.queue import oldest_wait_s
from flatmetric.server.ranks import name_on_board, snapshot_of
from flatmetric.server.rules import FINAL, PUBLIC, BoardRules
from flatmetric.server.schema import submissions, teams, versions
from flatmetric.version import __version__

_MOST_ROWS = 200  # of a table: more are found by the search
_MOST_CURVES = 8  # colours that can be told apart


def visible_boards(connection: Connection, ask: Ask) -> dict[str, dict[str, Any]]:
    """The snapshots that everybody may see now, the final one first."""
    version, closed = ask.board.published(connection), ask.board.is_closed(connection)
    boards = {
        which: snapshot_of(connection, version.id, which) for which in (FINAL, PUBLIC) if closed or which == PUBLIC
    }
    return {which: _allowed(one, version.rules) for which, one in boards.items() if one["datasets"]}


def _allowed(snapshot: dict[str, Any], rules: BoardRules) -> dict[str, Any]:
    """A snapshot without what the rules don't show."""
    hidden: dict[str, dict[str, Any]] = {
        "parts": {"parts": None},
        "metrics": {"metrics": {}},
        "curve": {"curve": None},
        "submissions": {"tries": None},
    }
    empty = {name: value for key, one in hidden.items() if key not in rules.show for name, value in one.items()}
    datasets = {name: [one | empty for one in rows] for name, rows in snapshot["datasets"].items()}
    return {**snapshot, "datasets": datasets}


def _board(ask: Ask) -> Response:
    words = ask.request.query_params.get("q", "").casefold().split()
    with ask.board.database.reading() as connection:
        boards = visible_boards(connection, ask)
        datasets = list(ask.board.published(connection).truths)
    tables, curves = [], {}
    for which, content in boards.items():
        for dataset, rows in content["datasets"].items():
            found = [one for one in rows if all(word in one["name"].casefold() for word in words)]
            longest = max((sum(one["parts"]) for one in rows if one["parts"]), default=0.0)
            table = {
                "board": which,
                "dataset": dataset,
                "rows": found[:_MOST_ROWS],
                "all": len(rows),
                "longest": longest,
            }
            tables.append(table | {"found": len(found), "metrics": [n for n in LEADERBOARD if _any(rows, n)]})
            best = [one for one in rows if one["place"] is not None and one["curve"]][:_MOST_CURVES]
            curves[which, dataset] = {one["name"]: tuple(one["curve"]) for one in best}
    given: dict[str, Any] = {"tables": tables, "curves": curves, "titles": LEADERBOARD, "datasets": datasets}
    overall = {which: content["overall"] for which, content in boards.items() if len(content["overall"]) > 1}
    return ask.page("board", q=ask.request.query_params.get("q", ""), overall=overall, **given)


def _any(rows: list[dict[str, Any]], metric: str) -> bool:
    return any(one["metrics"].get(metric) is not None for one in rows)


def _entry(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        boards = visible_boards(connection, ask)
        found = [
            (which, dataset, one)
            for which, content in boards.items()
            for dataset, rows in content["datasets"].items()
            for one in rows
            if one["submission"] == ask.number
        ]
        if not found:
            raise DeniedError(404, "there is no such entry on the board")
        kept = sa.select(submissions.c.handed_in, submissions.c.note).where(submissions.c.id == ask.number)
        row = connection.execute(kept).mappings().one()
    return ask.page("entry", found=found, handed_in=row["handed_in"], titles=LEADERBOARD)


def _rules(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        version = ask.board.published(connection)
    options = version.rules.options(ask.board.folder)
    return ask.page("rules", version=version, lam=options.metrics.lam, protocol=options.rules)


def _changes(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        shown = sa.select(versions).where(versions.c.published.is_not(None)).order_by(versions.c.id.desc())
        rows = [dict(row) for row in connection.execute(shown).mappings()]
        closed, head = ask.board.is_closed(connection), log_head(connection)
        who = sa.select(submissions, teams.c.name.label("team_name")).join(teams, teams.c.id == submissions.c.team)
        who = who.where(submissions.c.handed_in.is_not(None))
        named = {row["id"]: dict(row) for row in connection.execute(who).mappings()}
    for row in rows:
        moves = json.loads(row["moves"] or "{}")
        moved = [one | {"board": which} for which in (PUBLIC, FINAL) for one in moves.get(which, [])]
        moved = [one for one in moved if one["submission"] in named and (closed or one["board"] == PUBLIC)]
        row |= {"moves": [one | {"name": name_on_board(named[one["submission"]])} for one in moved]}
        row |= {"changes": json.loads(row["changes"])}
    excluded = [(name_on_board(row), row["dataset"], row["excluded"]) for row in named.values() if row["excluded"]]
    return ask.page("changes", versions=rows, head=head, excluded=excluded)


def _log_head(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        return json_answer(log_head(connection))


def _health(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        waits = oldest_wait_s(connection, ask.board.database.now(connection))
    return json_answer({"version": __version__, "oldest_job_waits_s": round(waits)})


def _login_form(ask: Ask) -> Response:
    return ask.page("login", next=_inside(ask.request.query_params.get("next", "/submissions")))


def _inside(path: str) -> str:
    """An address of this board: a link can't lead elsewhere after the login."""
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours else "/submissions"


def _address(ask: Ask) -> str:
    return ask.request.client.host if ask.request.client is not None else ""


def _login(ask: Ask) -> Response:
    name, database = ask.form.get("name", "").strip(), ask.board.database
    keys = accounts.keys_of_try(name, _address(ask))
    with database.writing() as connection:
        accounts.take_try(connection, database.now(connection), *keys)
        row = connection.execute(sa.select(teams).where(teams.c.folded == accounts.folded(name))).mappings().first()
    fits = ask.site.passwords.fits(None if row is None else row["password"], ask.form.get("password", ""))
    if not fits or row is None:
        raise DeniedError(401, "name or password is wrong; the organisers can make a link for a new password")
    with database.writing() as connection:
        accounts.give_back(connection, database.now(connection), *keys)
    return log_in(ask, int(row["id"]), _inside(ask.form.get("next", "/submissions")))


def log_in(ask: Ask, team: int, path: str) -> Response:
    """Start a new session of a team, and go on at a path."""
    database = ask.board.database
    with database.writing() as connection:
        if ask.visitor.by == "session":
            assert ask.visitor.team is not None
            accounts.end_sessions(connection, ask.visitor.team, session=ask.visitor.session)
        secret = accounts.start_session(connection, database.now(connection), team)
    response = redirect(path)
    given = {"max_age": int(accounts.SESSION_S), "path": "/", "secure": ask.site.is_secure, "httponly": True}
    response.set_cookie(ask.site.cookie, secret, samesite="lax", **given)  # type: ignore[arg-type]
    return response


def _register_form(ask: Ask) -> Response:
    return ask.page("register", secret="", purpose="register", team="")


def _register(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        if ask.board.newest(connection).rules.registration != "open":
            raise DeniedError(403, "teams are invited here; ask the organisers for a link")
    return _new_team(ask, "")


def _link_form(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        at = ask.board.database.now(connection)
        purpose, team = accounts.link_behind(connection, at, ask.part("secret"))
        name = connection.execute(sa.select(teams.c.name).where(teams.c.id == team)).scalar_one_or_none()
    return ask.page("register", secret=ask.part("secret"), purpose=purpose, team=name or "")


def _link(ask: Ask) -> Response:
    secret, database = ask.part("secret"), ask.board.database
    with database.reading() as connection:
        purpose, team = accounts.link_behind(connection, database.now(connection), secret)
    if purpose != "password" or team is None:
        return _new_team(ask, secret)
    hashed = ask.site.passwords.hash(accounts.checked_password(ask.form.get("password", "")))
    with database.writing() as connection:
        at = database.now(connection)
        accounts.link_behind(connection, at, secret)
        accounts.use_link(connection, at, secret)
        accounts.set_password(connection, team, hashed)
        add_to_log(connection, at, f"team {team}", "password set")
    return log_in(ask, team, "/submissions")


def _new_team(ask: Ask, secret: str) -> Response:
    name = accounts.checked_name(ask.form.get("name", ""))
    password = accounts.checked_password(ask.form.get("password", ""))
    role: accounts.Role = "team"
    database = ask.board.database
    with database.writing() as connection:
        accounts.take_try(connection, database.now(connection), f"register:{_address(ask)[:40]}")
    hashed = ask.site.passwords.hash(password)
    with database.writing() as connection:
        at = database.now(connection)
        if secret:
            purpose, _ = accounts.link_behind(connection, at, secret)
            accounts.use_link(connection, at, secret)
            role = "organiser" if purpose == "organiser" else "team"
        team = accounts.add_team(connection, at, name, hashed, role)
    return log_in(ask, team, "/organiser" if role == "organiser" else "/submissions")


ENDPOINTS = [
    Endpoint("GET", "/", "public", _board, "The board"),
    Endpoint("GET", "/entries/{number}", "public", _entry, "An entry of the board"),
    Endpoint("GET", "/rules", "public", _rules, "The rules"),
    Endpoint("GET", "/changes", "public", _changes, "What changed"),
    Endpoint("GET", "/log/head", "public", _log_head, "The head of the log", api=True),
    Endpoint("GET", "/health", "public", _health, "Whether the board works", api=True),
    Endpoint("GET", "/login", "public", _login_form, "Log in"),
    Endpoint("POST", "/login", "public", _login, "Log in"),
    Endpoint("GET", "/register", "public", _register_form, "Register a team"),
    Endpoint("POST", "/register", "public", _register, "Register a team"),
    Endpoint("GET", "/links/{secret}", "public", _link_form, "Open a link from the organisers"),
    Endpoint("POST", "/links/{secret}", "public", _link, "Use a link from the organisers"),
]
"""The pages that everybody may see."""
