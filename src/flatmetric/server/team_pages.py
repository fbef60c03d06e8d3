"""What a team does: upload, look, hand in, withdraw; its history, its tokens, its account. As pages and as JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import sqlalchemy as sa
from anyio import to_thread
from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.reading import OF_A_SUBMISSION
from flatmetric.server import accounts
from flatmetric.server.asking import Ask, Endpoint, json_answer, redirect
from flatmetric.server.audit import add_to_log, in_turn
from flatmetric.server.database import DeniedError
from flatmetric.server.entering import (
    add_upload,
    check_may_upload,
    hand_in,
    look_again,
    mark_final,
    program_before,
    quota_left,
    reading_of,
    seen_submission,
    withdraw,
)
from flatmetric.server.files import too_large
from flatmetric.server.public_pages import visible_boards
from flatmetric.server.queue import place_in_queue
from flatmetric.server.rules import PUBLIC
from flatmetric.server.schema import jobs, scores, submissions, teams, tokens
from flatmetric.server.show import state_of

_MOST_LISTED = 500  # submissions of a team on its page
_NOT_BETTER = "not significantly better than your best before"
_LATER = "its place is shown when the board closes"


def _seen(connection: Connection, ask: Ask, one: Any, boards: Any = None) -> dict[str, Any]:
    """A submission as its team may see it: every number in it is rounded, and shown only where the ladder lets it."""
    version = ask.board.newest(connection)
    job = sa.select(jobs).where(jobs.c.submission == one["id"]).order_by(jobs.c.id.desc()).limit(1)
    state = connection.execute(job).mappings().first()
    found = sa.select(scores.c.board, scores.c.accepted, scores.c.shown, scores.c.words, scores.c.notes)
    mine = scores.c.submission == one["id"], scores.c.version == version.id
    rows = {row["board"]: row for row in connection.execute(found.where(*mine)).mappings()}
    own, hidden = rows.get(PUBLIC), PUBLIC not in rows and bool(rows)
    told = [row for board, row in rows.items() if board == PUBLIC or ask.board.is_closed(connection)]
    words = list(dict.fromkeys(text for row in told for text in json.loads(row["words"])))
    notes = list(dict.fromkeys(text for row in told for text in json.loads(row["notes"])))
    content = {
        name: one[name] for name in ("id", "dataset", "program", "file_name", "size", "sha256", "note", "refunded")
    }
    content |= {name: one[name] for name in ("created", "handed_in", "withdrawn", "excluded", "marked", "baseline")}
    content |= {"job_state": None if state is None else state["state"], "hidden": hidden}
    content["accepted"] = None if own is None else own["accepted"]
    content["state"] = state_of(content)
    content |= {
        "queue": place_in_queue(connection, one["id"]),
        "result": None,
        "sentence": "",
        "wrong": words,
        "notes": notes,
    }
    if content["state"] == "failed" and state is not None:
        content["sentence"] = state["reason"]
    elif content["state"] in ("scored", "withdrawn") and words:
        content["sentence"] = "the file looks wrong: " + "; ".join(words)
    elif own is not None and own["accepted"]:
        content["result"] = json.loads(own["shown"])
    elif own is not None and own["accepted"] is False:
        content["sentence"] = _NOT_BETTER
    content["place"] = None
    for board in (visible_boards(connection, ask) if boards is None else boards).values():
        for row in board["datasets"].get(one["dataset"], []):
            if row["submission"] == one["id"]:
                content["place"] = {name: row[name] for name in ("place", "ranks", "letters")}
    if hidden and content["place"] is None and not content["sentence"]:
        content["sentence"] = _LATER
    return content


def _listed(connection: Connection, ask: Ask) -> list[dict[str, Any]]:
    light = [column for column in submissions.c if column.name != "preview"]
    order = sa.func.coalesce(submissions.c.handed_in, submissions.c.created).desc()
    mine = sa.select(*light).where(submissions.c.team == ask.visitor.team).order_by(order).limit(_MOST_LISTED)
    boards = visible_boards(connection, ask)
    return [_seen(connection, ask, one, boards) for one in connection.execute(mine).mappings().all()]


def _history(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        listed = _listed(connection, ask)
        at, version = ask.board.database.now(connection), ask.board.newest(connection)
        assert ask.visitor.team is not None
        left = {name: quota_left(connection, at, version.rules, ask.visitor.team, name) for name in version.truths}
    progress: dict[tuple[str, str], Any] = {}
    number = dict.fromkeys(left, 0)
    for one in reversed(listed):
        if one["handed_in"] is None or one["dataset"] not in number:
            continue
        number[one["dataset"]] += 1
        if one["result"] is not None:
            x, y = progress.setdefault((one["dataset"], one["program"]), ([], []))
            if y:  # a step: the best before holds until then
                x.append(number[one["dataset"]])
                y.append(y[-1])
            x.append(number[one["dataset"]])
            y.append(one["result"]["flat_metric"])
    curves = {f"{dataset}, {program}": lines for (dataset, program), lines in progress.items()}
    return ask.page("submissions", listed=listed, left=left, curves=curves)


def _submit(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        version = ask.board.newest(connection)
    return ask.page("submit", datasets=list(version.truths))


async def _upload(ask: Ask) -> Response:
    query, dataset = ask.request.query_params, ask.part("dataset")
    reading = reading_of(query)
    rules = await run_in_threadpool(check_may_upload, ask.board, ask.visitor, dataset)
    most = rules.limits.megabytes * 1_000_000
    announced = ask.request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
        raise too_large(most)
    file = await ask.board.files.receive(ask.request.stream(), most)
    if file[1] == 0:
        raise DeniedError(422, "the file is empty")
    name = query.get("name", "upload")
    look = partial(add_upload, ask.board, ask.visitor, dataset, file, name, reading)
    number = await to_thread.run_sync(look, limiter=ask.site.slow_threads)
    return await run_in_threadpool(_answer, ask, number, 201)


def _answer(ask: Ask, number: int, status: int = 200) -> Response:
    with ask.board.database.reading() as connection:
        one = seen_submission(connection, ask.visitor, number)
        content = _seen(connection, ask, one)
    if one["handed_in"] is None:
        content |= {"valid": one["valid"], "preview": json.loads(one["preview"])}
    return json_answer(content | {"url": f"/submissions/{number}"}, status)


def _submission_json(ask: Ask) -> Response:
    return _answer(ask, ask.number)


def _submissions_json(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        return json_answer(_listed(connection, ask))


def _board_json(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        version = ask.board.published(connection)
        content = {"title": version.rules.title, "version": version.id, "datasets": list(version.truths)}
        return json_answer(content | {"boards": visible_boards(connection, ask)})


def _look_json(ask: Ask) -> Response:
    look_again(ask.board, ask.visitor, ask.number, reading_of(ask.form))
    return _answer(ask, ask.number)


def _hand_in_json(ask: Ask) -> Response:
    hand_in(ask.board, ask.visitor, ask.number, ask.form.get("program", ""), ask.form.get("note", ""))
    return _answer(ask, ask.number, 202)


def _withdraw_json(ask: Ask) -> Response:
    withdraw(ask.board, ask.visitor, ask.number)
    return json_answer({"id": ask.number, "state": "withdrawn"})


def _submission(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        one = seen_submission(connection, ask.visitor, ask.number)
        seen = _seen(connection, ask, one)
        at, version = ask.board.database.now(connection), ask.board.newest(connection)
        left = quota_left(connection, at, version.rules, one["team"], one["dataset"])
        program = program_before(connection, one["team"])
    given = {
        "one": seen,
        "reading": json.loads(one["reading"]),
        "left": left,
        "program": program,
        "is_own": one["team"] == ask.visitor.team,
    }
    given |= {"preview": json.loads(one["preview"]), "valid": one["valid"], "titles": LEADERBOARD}
    return ask.page("submission", **given)


def _status(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        seen = _seen(connection, ask, seen_submission(connection, ask.visitor, ask.number))
    return ask.page("status", one=seen, titles=LEADERBOARD)


def _look(ask: Ask) -> Response:
    look_again(ask.board, ask.visitor, ask.number, reading_of(ask.form))
    return redirect(f"/submissions/{ask.number}")


def _hand_in(ask: Ask) -> Response:
    hand_in(ask.board, ask.visitor, ask.number, ask.form.get("program", ""), ask.form.get("note", ""))
    return redirect(f"/submissions/{ask.number}")


def _withdraw(ask: Ask) -> Response:
    withdraw(ask.board, ask.visitor, ask.number)
    return redirect("/submissions")


def _final(ask: Ask) -> Response:
    mark_final(ask.board, ask.visitor, ask.number)
    return redirect(f"/submissions/{ask.number}")


def _account(ask: Ask, secret: str = "") -> Response:
    with ask.board.database.reading() as connection:
        mine = sa.select(tokens).where(tokens.c.team == ask.visitor.team, tokens.c.revoked.is_(None))
        rows = [dict(row) for row in connection.execute(mine.order_by(tokens.c.id)).mappings()]
    return ask.page("account", tokens=rows, secret=secret, address=ask.site.url)


def _make_token(ask: Ask) -> Response:
    with ask.board.database.writing() as connection:
        at = ask.board.database.now(connection)
        secret = accounts.make_token(connection, at, ask.visitor, ask.form.get("label", "").strip())
    return _account(ask, secret)


def _revoke_token(ask: Ask) -> Response:
    with ask.board.database.writing() as connection:
        accounts.revoke_token(connection, ask.board.database.now(connection), ask.visitor, ask.number)
    return redirect("/account")


def _new_password(ask: Ask) -> Response:
    _check_password(ask, ask.form.get("old", ""))
    hashed = ask.site.passwords.hash(accounts.checked_password(ask.form.get("password", "")))
    with ask.board.database.writing() as connection:
        assert ask.visitor.team is not None
        accounts.set_password(connection, ask.visitor.team, hashed)
        add_to_log(connection, ask.board.database.now(connection), ask.visitor.logged, "password changed")
    return redirect("/login")


def _check_password(ask: Ask, password: str) -> None:
    database, keys = ask.board.database, accounts.keys_of_try(ask.visitor.name, "")
    with database.writing() as connection:
        accounts.take_try(connection, database.now(connection), *keys)
        stored = connection.execute(sa.select(teams.c.password).where(teams.c.id == ask.visitor.team)).scalar_one()
    if not ask.site.passwords.fits(stored, password):
        raise DeniedError(403, "the password is wrong")
    with database.writing() as connection:
        accounts.give_back(connection, database.now(connection), *keys)


def _delete(ask: Ask) -> Response:
    _check_password(ask, ask.form.get("password", ""))
    if ask.visitor.role != "team":
        raise DeniedError(403, "organisers can't delete their account")
    with ask.board.database.writing() as connection:
        in_turn(connection)
        at = ask.board.database.now(connection)
        files = accounts.delete_account(connection, at, ask.visitor)
        ask.board.rank_again(connection, at)
    for sha256 in files:
        ask.board.files.remove(sha256)
    return redirect("/")


def _logout(ask: Ask) -> Response:
    with ask.board.database.writing() as connection:
        assert ask.visitor.team is not None
        accounts.end_sessions(connection, ask.visitor.team, session=ask.visitor.session)
    response = redirect("/")
    response.delete_cookie(ask.site.cookie, secure=ask.site.is_secure, httponly=True, samesite="lax")
    return response


_FILE = {"program": "name of the program on the board", "note": "what is new, for your own history"}
_OPTIONS = dict.fromkeys(OF_A_SUBMISSION, "how the file is read, as in flatmetric score")
ENDPOINTS = [
    Endpoint("GET", "/submit", "team", _submit, "Upload a result"),
    Endpoint("GET", "/submissions", "team", _history, "The submissions of a team"),
    Endpoint("GET", "/submissions/{number}", "team", _submission, "One submission"),
    Endpoint("GET", "/submissions/{number}/status", "team", _status, "Where a submission stands"),
    Endpoint("POST", "/submissions/{number}/look", "team", _look, "Read an upload in another way", slow=True),
    Endpoint("POST", "/submissions/{number}/hand-in", "team", _hand_in, "Hand in an upload"),
    Endpoint("POST", "/submissions/{number}/withdraw", "team", _withdraw, "Withdraw a submission"),
    Endpoint("POST", "/submissions/{number}/final", "team", _final, "Mark a submission as final"),
    Endpoint("GET", "/account", "team", _account, "The account of a team"),
    Endpoint("POST", "/account/tokens", "team", _make_token, "Make a token"),
    Endpoint("POST", "/account/tokens/{number}/revoke", "team", _revoke_token, "Revoke a token"),
    Endpoint("POST", "/account/password", "team", _new_password, "Change the password"),
    Endpoint("POST", "/account/delete", "team", _delete, "Delete the account"),
    Endpoint("POST", "/logout", "team", _logout, "Log out"),
    Endpoint("GET", "/api/board", "public", _board_json, "The board, rounded as on its page", api=True),
    Endpoint(
        *(
            "PUT",
            "/api/datasets/{dataset}/uploads",
            "team",
            _upload,
            "Upload a file, which is the body; costs no quota",
        ),
        api=True,
        body={"name": "name of the file"} | _OPTIONS,
    ),
    Endpoint("GET", "/api/submissions", "team", _submissions_json, "The submissions of a team", api=True),
    Endpoint("GET", "/api/submissions/{number}", "team", _submission_json, "One submission", api=True),
    Endpoint(
        *("POST", "/api/submissions/{number}/look", "team", _look_json, "Read an upload in another way"),
        api=True,
        slow=True,
        body=_OPTIONS,
    ),
    Endpoint(
        *("POST", "/api/submissions/{number}/hand-in", "team", _hand_in_json, "Hand in an upload"),
        api=True,
        body=_FILE,
    ),
    Endpoint("DELETE", "/api/submissions/{number}", "team", _withdraw_json, "Withdraw a submission", api=True),
]
"""What teams may ask for."""
