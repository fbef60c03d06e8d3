"""Handing in: an upload is looked at, then handed in against the quota, then withdrawn or counted as final."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric.errors import InputError, printable
from flatmetric.options.base import assignments, numbers
from flatmetric.options.reading import OF_A_SUBMISSION, ReadOptions
from flatmetric.server.accounts import LONGEST_NAME, Visitor, checked_name
from flatmetric.server.audit import add_to_log, in_turn
from flatmetric.server.database import DeniedError, locked_or_new
from flatmetric.server.guard import preview_file
from flatmetric.server.queue import add_score_job
from flatmetric.server.rules import DAY_S, HOUR_S, BoardRules
from flatmetric.server.schema import failures, submissions
from flatmetric.server.web_board import Version, WebBoard

_BESIDE = ("name", "csrf")  # what is sent beside options: the name of the file, the secret of a form
_LONGEST_FILE = 200  # characters of a file's name


def reading_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Reading options from texts, as forms and addresses have them; empty ones are left out.

    Examples
    --------
    >>> reading_of({"unit": "px", "pixel_size": "100", "frame_base": ""})
    {'unit': 'px', 'pixel_size': (100.0, 100.0)}
    """
    if unknown := [name for name in given if name not in (*OF_A_SUBMISSION, *_BESIDE)]:
        raise DeniedError(422, f"there is no option {printable(unknown[0])}; there is {', '.join(OF_A_SUBMISSION)}")
    try:
        found: dict[str, Any] = {}
        for name in OF_A_SUBMISSION:
            text = given.get(name, "").strip()
            if not text:
                continue
            if name == "pixel_size":
                sizes = numbers(name)(text)
                found[name] = (sizes[0], sizes[-1])
            elif name == "columns":
                found[name] = assignments(name)(text)
            elif name in ("swap_xy", "skip_bad_rows"):
                found[name] = text not in ("0", "false", "no")
            else:
                found[name] = int(text) if name == "frame_base" and re.fullmatch(r"-?\d{1,9}", text) else text
        ReadOptions(**found)
    except InputError as error:
        raise DeniedError(422, str(error)) from error
    return found


def check_open(rules: BoardRules, at: float) -> None:
    """The one check of the dates: an error unless files are taken now."""
    state = rules.state(at)
    if state == "before":
        raise DeniedError(409, f"this board opens at {rules.opens}; come back then")
    if state == "closed":
        raise DeniedError(409, f"this board closed at {rules.closes}; no more results are accepted")


def check_may_upload(board: WebBoard, visitor: Visitor, dataset: str) -> BoardRules:
    """The rules; an error if a team may not upload to a data set now."""
    with board.database.writing() as connection:
        at, version = board.database.now(connection), board.newest(connection)
        check_open(version.rules, at)
        _check_dataset(version, dataset)
        take_look(connection, at, visitor, version.rules)
        return version.rules


def take_look(connection: Connection, at: float, visitor: Visitor, rules: BoardRules) -> None:
    """Count that a file is looked at, before it is: an error if a team has done so too often in this hour."""
    key = f"looks:{visitor.team}:{int(at // HOUR_S)}"
    row = locked_or_new(connection, failures, key=key, count=0, until=at)
    if row["count"] >= rules.quota.uploads_per_hour:
        raise DeniedError(429, "you have uploaded many files in this hour; wait for the next")
    if row["count"] == 0:
        past = failures.c.key.like(f"looks:{visitor.team}:%"), failures.c.key != key
        connection.execute(failures.delete().where(*past))
    connection.execute(failures.update().where(failures.c.key == key).values(count=failures.c.count + 1))


def _check_dataset(version: Version, dataset: str) -> None:
    if dataset not in version.truths:
        raise DeniedError(
            404, f"there is no data set {printable(dataset)!r:.60}; there is {', '.join(sorted(version.truths))}"
        )


def add_upload(
    board: WebBoard, visitor: Visitor, dataset: str, file: tuple[str, int], name: str, reading: Mapping[str, Any]
) -> int:
    """Look at an upload, given by its hash and size, and keep what was understood: its number. It costs no quota."""
    with board.database.reading() as connection:
        rules = board.newest(connection).rules
    name = printable(name.replace("\\", "/").rsplit("/", 1)[-1])[:_LONGEST_FILE] or "upload"
    seen = _look(board, rules, dataset, file[0], name, reading)
    with board.database.writing() as connection:
        at = board.database.now(connection)
        values: dict[str, Any] = {
            "team": visitor.team,
            "dataset": dataset,
            "program": "",
            "sha256": file[0],
            "size": file[1],
        }
        values |= {"file_name": name, "reading": json.dumps(reading, sort_keys=True), "created": at, "marked": False}
        row = submissions.insert().values(**values, **seen, baseline=False).returning(submissions.c.id)
        number = int(connection.execute(row).scalar_one())
        add_to_log(connection, at, visitor.logged, "uploaded", submission=number, sha256=file[0], size=file[1])
    return number


def _look(board: WebBoard, rules: BoardRules, dataset: str, sha256: str, name: str, reading: Mapping[str, Any]) -> Any:
    known = rules.dataset(dataset)
    told = {"field": known.field, "frames": known.frames}
    seen = preview_file(board.files.path(sha256), name, reading, rules.limits, **told)
    return {"preview": json.dumps(seen), "valid": "refused" not in seen and not seen["problems"]}


def look_again(board: WebBoard, visitor: Visitor, number: int, reading: Mapping[str, Any]) -> None:
    """Look at an upload again, read in another way."""
    with board.database.writing() as connection:
        rules, one = board.newest(connection).rules, own_submission(connection, visitor, number)
        at = board.database.now(connection)
        take_look(connection, at, visitor, rules)
        add_to_log(connection, at, visitor.logged, "looked again", submission=number)
        if one["handed_in"] is not None:
            raise DeniedError(409, "this was handed in already; upload the file again to read it differently")
    seen = _look(board, rules, one["dataset"], one["sha256"], one["file_name"], reading)
    with board.database.writing() as connection:
        mine = submissions.c.id == number, submissions.c.handed_in.is_(None)
        values = {"reading": json.dumps(reading, sort_keys=True), **seen}
        connection.execute(submissions.update().where(*mine).values(**values))


def hand_in(board: WebBoard, visitor: Visitor, number: int, program: str, note: str = "") -> None:
    """Hand in an upload: it counts against the quota, and waits to be scored, in one transaction."""
    with board.database.writing() as connection:
        assert visitor.team is not None
        in_turn(connection)  # also of two uploads that race for the last of the quota
        at, version = board.database.now(connection), board.newest(connection)
        check_open(version.rules, at)
        one = own_submission(connection, visitor, number)
        _check_dataset(version, one["dataset"])
        program = checked_name(program.strip() or _usual_program(connection, one))
        if one["handed_in"] is not None:
            raise DeniedError(409, "this was handed in already")
        if not one["valid"]:
            raise DeniedError(422, "the file has problems; correct how it is read, or the file itself")
        if not board.files.path(one["sha256"]).is_file():
            raise DeniedError(410, "the uploaded file is gone, as nobody handed it in for a day; upload it again")
        _check_program(connection, version.rules, visitor.team, program)
        left = quota_left(connection, at, version.rules, visitor.team, one["dataset"])
        if left["total"] <= 0:
            raise DeniedError(429, f"all {version.rules.quota.total} submissions to this data set are used")
        if left["today"] <= 0:
            raise DeniedError(429, f"{version.rules.quota.per_day} submissions in 24 hours are used; come back later")
        if left["attempts"] <= 0:
            raise DeniedError(429, "too many submissions failed in the last 24 hours; come back later")
        same = submissions.c.sha256 == one["sha256"], submissions.c.reading == one["reading"]
        before = sa.select(submissions.c.id).where(*_counted(visitor.team, one["dataset"]), *same)
        if (twin := connection.execute(before).scalars().first()) is not None:
            raise DeniedError(409, f"this is the file of your submission {twin}, which counts already")
        values = {"program": program, "handed_in": at, "note": printable(note)[:_LONGEST_FILE]}
        connection.execute(submissions.update().where(submissions.c.id == number).values(**values))
        add_score_job(connection, at, number, version.id)
        content = {"submission": number, "dataset": one["dataset"], "sha256": one["sha256"], "version": version.id}
        add_to_log(connection, at, visitor.logged, "handed in", **content)


def program_before(connection: Connection, team: int) -> str:
    """The program of a team's last submission; empty if there is none."""
    before = sa.select(submissions.c.program).where(submissions.c.team == team, submissions.c.program != "")
    return connection.execute(before.order_by(submissions.c.id.desc())).scalars().first() or ""


def _usual_program(connection: Connection, one: Any) -> str:
    """The name of a program that is not given: that of the submission before, else that of the file."""
    return program_before(connection, one["team"]) or str(one["file_name"]).partition(".")[0][:LONGEST_NAME]


def _check_program(connection: Connection, rules: BoardRules, team: int, program: str) -> None:
    used = sa.select(submissions.c.program).where(submissions.c.team == team, submissions.c.handed_in.is_not(None))
    programs = set(connection.execute(used.distinct()).scalars())
    if program not in programs and len(programs) >= rules.programs_per_team:
        most = "1 program" if rules.programs_per_team == 1 else f"{rules.programs_per_team} programs"
        raise DeniedError(409, f"a team may have {most} here; yours: {', '.join(sorted(programs))}")


def _counted(team: int, dataset: str) -> tuple[sa.ColumnElement[bool], ...]:
    columns = submissions.c
    return columns.team == team, columns.dataset == dataset, columns.handed_in.is_not(None), columns.refunded.is_(None)


def quota_left(connection: Connection, at: float, rules: BoardRules, team: int, dataset: str) -> dict[str, int]:
    """How many submissions, and attempts, a team has left for a data set: today (in the last 24 hours) and in all."""
    count = sa.select(sa.func.count()).select_from(submissions)
    today = submissions.c.handed_in > at - DAY_S
    tried = (submissions.c.team == team, submissions.c.dataset == dataset, today)
    used = {
        "total": connection.execute(count.where(*_counted(team, dataset))).scalar_one(),
        "today": connection.execute(count.where(*_counted(team, dataset), today)).scalar_one(),
        "attempts": connection.execute(count.where(*tried)).scalar_one(),
    }
    quota = rules.quota
    most = {"total": quota.total, "today": quota.per_day, "attempts": quota.attempts_per_day}
    return {name: most[name] - used[name] for name in most}


def withdraw(board: WebBoard, visitor: Visitor, number: int) -> None:
    """Take a submission out of the ranks, or an upload away. What was scored stays used of the quota; once the board
    is closed, what was handed in stays, as the final board must not be a choice.
    """
    with board.database.writing() as connection:
        in_turn(connection)
        at, one = board.database.now(connection), own_submission(connection, visitor, number)
        if one["withdrawn"] is not None:
            return
        if one["handed_in"] is None:
            connection.execute(submissions.delete().where(submissions.c.id == number))
        else:
            rules = board.newest(connection).rules
            if rules.state(at) == "closed":
                raise DeniedError(409, f"this board closed at {rules.closes}; what was handed in stays")
            connection.execute(submissions.update().where(submissions.c.id == number).values(withdrawn=at))
            board.rank_again(connection, at)
        add_to_log(connection, at, visitor.logged, "withdrawn", submission=number)


def mark_final(board: WebBoard, visitor: Visitor, number: int) -> None:
    """Let a submission be the one that counts on the final board."""
    with board.database.writing() as connection:
        in_turn(connection)
        at, one = board.database.now(connection), own_submission(connection, visitor, number)
        check_open(board.newest(connection).rules, at)
        if one["handed_in"] is None or one["withdrawn"] is not None:
            raise DeniedError(409, "only a submission that was handed in, and not withdrawn, can be final")
        siblings = [submissions.c[name] == one[name] for name in ("team", "dataset", "program")]
        connection.execute(submissions.update().where(*siblings).values(marked=submissions.c.id == number))
        board.rank_again(connection, at)
        add_to_log(connection, at, visitor.logged, "marked as final", submission=number)


def seen_submission(connection: Connection, visitor: Visitor, number: int) -> Any:
    """A submission of the visitor's team, or for organisers any; an error for those of others, as for none."""
    return _one_submission(connection, number, None if visitor.role == "organiser" else visitor.team)


def own_submission(connection: Connection, visitor: Visitor, number: int) -> Any:
    """A submission of the visitor's own team; an error for those of others, as for none."""
    return _one_submission(connection, number, visitor.team)


def _one_submission(connection: Connection, number: int, team: int | None) -> Any:
    mine = [submissions.c.id == number, *([] if team is None else [submissions.c.team == team])]
    one = connection.execute(sa.select(submissions).where(*mine)).mappings().first()
    if one is None:
        raise DeniedError(404, "there is no such submission of yours")
    return one
