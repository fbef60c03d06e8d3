"""What organisers do: invite, change truths and rules, score again, exclude, mark baselines, close, export, back up."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from flatmetric._files import make_folder, whole_file, write_text
from flatmetric.challenges.submissions import find_truth, may_be_table
from flatmetric.errors import InputError
from flatmetric.formats.read import read_file
from flatmetric.server import accounts
from flatmetric.server.archive import archive, backup
from flatmetric.server.asking import Ask, Endpoint, json_answer, redirect
from flatmetric.server.audit import add_to_log, check_log, in_turn, log_head
from flatmetric.server.database import DeniedError
from flatmetric.server.entering import seen_submission
from flatmetric.server.queue import add_score_job, oldest_wait_s
from flatmetric.server.rules import FILE, read_rules
from flatmetric.server.schema import jobs, log, scores, submissions, teams, versions

_MOST_ROWS = 500  # of a list: the newest
_LARGEST_TRUTH = 4_000_000_000  # bytes
_STUCK_S = 300.0  # a job that has waited so long has no worker
_NUMBER = re.compile(r"\d{1,9}")
_SUFFIX = re.compile(r"(\.\w{1,8}){1,2}")
_DATASET = re.compile(r"[\w][\w .-]{0,99}")


def _organiser(ask: Ask, link: str = "", text: str | None = None, mistake: str = "") -> Response:
    database = ask.board.database
    with database.reading() as connection:
        listed = sa.select(submissions, teams.c.name.label("team_name")).join(teams, teams.c.id == submissions.c.team)
        listed = listed.where(submissions.c.handed_in.is_not(None)).order_by(submissions.c.id.desc()).limit(_MOST_ROWS)
        rows = [dict(row) for row in connection.execute(listed).mappings()]
        version, at = ask.board.newest(connection), database.now(connection)
        for row in rows:
            own = jobs.c.submission == row["id"], jobs.c.version == version.id
            job = connection.execute(sa.select(jobs.c.state, jobs.c.reason).where(*own)).mappings().first()
            mine = scores.c.submission == row["id"], scores.c.version == version.id
            found = connection.execute(
                sa.select(scores.c.board, scores.c.value, scores.c.remarks).where(*mine)
            ).mappings()
            row |= {"job": job, "scores": [dict(one) for one in found]}
            remarks = (text for one in row["scores"] for text in json.loads(one["remarks"]))
            row["remarks"] = list(dict.fromkeys(remarks))
        waiting = sa.select(jobs.c.state, sa.func.count()).group_by(jobs.c.state)
        queue = {row[0]: row[1] for row in connection.execute(waiting)}
        people = [dict(one) for one in connection.execute(sa.select(teams).order_by(teams.c.id)).mappings()]
        history = [
            dict(one) for one in connection.execute(sa.select(versions).order_by(versions.c.id.desc())).mappings()
        ]
        waits = oldest_wait_s(connection, at)
    pending: list[str] = []
    try:
        pending = ask.board.changes()[0]
    except InputError as error:
        mistake = mistake or str(error)
    path = ask.board.folder / FILE
    rules = text if text is not None else path.read_text(encoding="utf-8") if path.is_file() else ""
    given: dict[str, Any] = {
        "rows": rows,
        "queue": queue,
        "people": people,
        "history": history,
        "link": link,
        "text": rules,
    }
    stuck = waits if waits > _STUCK_S else None
    status = 422 if text is not None else 200
    return ask.page("organiser", status=status, pending=pending, mistake=mistake, stuck=stuck, version=version, **given)


def _make_link(ask: Ask) -> Response:
    purpose = ask.form.get("purpose", "register")
    team = ask.form.get("team", "")
    if purpose not in ("register", "password", "organiser") or (purpose == "password") != bool(_NUMBER.fullmatch(team)):
        raise DeniedError(422, "a link is to register, to become organiser, or for the password of a team")
    with ask.board.database.writing() as connection:
        at = ask.board.database.now(connection)
        if team and connection.execute(sa.select(teams.c.id).where(teams.c.id == int(team))).first() is None:
            raise DeniedError(404, "there is no such team")
        secret = accounts.make_link(connection, at, purpose, int(team) if team else None)  # type: ignore[arg-type]
        add_to_log(connection, at, ask.visitor.logged, f"link: {purpose}", team=team)
    return _organiser(ask, f"{ask.site.url}/links/{secret}")


def _write_rules(ask: Ask) -> Response:
    """Keep new rules, if there is no mistake in them; they hold once they are applied."""
    text = ask.form.get("rules", "").replace("\r\n", "\n")
    try:
        with _tried(ask.board.folder / FILE, text):
            read_rules(ask.board.folder)
    except InputError as error:
        return _organiser(ask, text=text, mistake=str(error))
    _note(ask, "rules saved")
    return redirect("/organiser")


@contextmanager
def _tried(path: Path, text: str) -> Iterator[None]:
    """Write new rules; the old ones are there again if what follows fails."""
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    write_text(text, path)
    try:
        yield
    except BaseException:
        if before is None:
            path.unlink()
        else:
            write_text(before, path)
        raise


def _apply(ask: Ask) -> Response:
    reason = ask.form.get("reason", "").strip()
    if not reason:
        raise DeniedError(422, "say why; everybody will see the reason beside what moved")
    ask.board.apply_changes(ask.visitor.logged, reason)
    ask.board.import_results()
    return redirect("/organiser")


async def _put_truth(ask: Ask) -> Response:
    """Add a data set, or replace its truth, with the file in the body; it holds once it is applied."""
    dataset, name = ask.part("dataset"), ask.request.query_params.get("name", "truth.csv")
    if not _DATASET.fullmatch(dataset) or dataset == "server":
        raise DeniedError(422, "the name of a data set has letters, digits, spaces, dots and dashes")
    sha256, _ = await ask.board.files.receive(ask.request.stream(), _LARGEST_TRUTH)
    await run_in_threadpool(_place_truth, ask, dataset, sha256, "".join(Path(name).suffixes[-2:]))
    return json_answer({"dataset": dataset, "sha256": sha256}, 201)


def _place_truth(ask: Ask, dataset: str, sha256: str, suffix: str) -> None:
    path, folder = ask.board.files.path(sha256), ask.board.folder / dataset
    with ask.board.database.reading() as connection:
        options = ask.board.newest(connection).rules.options(ask.board.folder)
    try:
        read_file(path, options.truth).check_has_rows()
    except InputError as error:
        raise DeniedError(422, str(error).replace(str(path), "the truth")) from error
    make_folder(folder)
    before = find_truth(folder)
    target = folder / f"truth{suffix}"
    if not _SUFFIX.fullmatch(suffix) or not may_be_table(target):
        target = folder / "truth.csv"
    with whole_file(target) as unfinished:
        unfinished.write_bytes(path.read_bytes())
    if before is not None and before != target:
        before.unlink()
    _note(ask, "truth uploaded", dataset=dataset, sha256=sha256)


def _change(ask: Ask, what: str, **values: Any) -> Response:
    """Change what organisers decide about a submission, and rank again."""
    with ask.board.database.writing() as connection:
        in_turn(connection)
        at, one = ask.board.database.now(connection), seen_submission(connection, ask.visitor, ask.number)
        connection.execute(submissions.update().where(submissions.c.id == one["id"]).values(**values))
        if "excluded" in values:  # what was compared with it is judged again
            same = [submissions.c[name] == one[name] for name in ("team", "dataset", "program")]
            theirs = scores.c.submission.in_(sa.select(submissions.c.id).where(*same))
            both = scores.c.version.in_([ask.board.published(connection).id, ask.board.newest(connection).id])
            connection.execute(scores.update().where(theirs, both).values(accepted=None, shown=None))
        ask.board.rank_again(connection, at)
        add_to_log(connection, at, ask.visitor.logged, what, submission=one["id"], **values)
    return redirect("/organiser")


def _exclude(ask: Ask) -> Response:
    reason = ask.form.get("reason", "").strip()
    return _change(ask, "excluded" if reason else "included again", excluded=reason or None)


def _baseline(ask: Ask) -> Response:
    return _change(ask, "baseline", baseline=ask.form.get("baseline", "yes") == "yes")


def _retry(ask: Ask) -> Response:
    """Score a submission again whose job has failed."""
    with ask.board.database.writing() as connection:
        in_turn(connection)
        at, version = ask.board.database.now(connection), ask.board.newest(connection)
        own = jobs.c.submission == ask.number, jobs.c.version == version.id, jobs.c.state.in_(("failed", "dead"))
        if connection.execute(jobs.delete().where(*own)).rowcount != 1:
            raise DeniedError(409, "this submission has not failed")
        add_score_job(connection, at, ask.number, version.id)
        connection.execute(submissions.update().where(submissions.c.id == ask.number).values(refunded=None))
        add_to_log(connection, at, ask.visitor.logged, "tried again", submission=ask.number)
    return redirect("/organiser")


def _close(ask: Ask) -> Response:
    """Close the board now: the time goes into board.toml, where it can be changed again."""
    if pending := ask.board.changes()[0]:
        raise DeniedError(409, f"apply or undo first what has changed in the folder: {'; '.join(pending)}")
    path = ask.board.folder / FILE
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    tables = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")]
    head = [line for line in lines[: tables[0] if tables else len(lines)] if not re.match(r"\s*closes\s*=", line)]
    text = "\n".join([f"closes = {now.isoformat()}", *head, *(lines[tables[0] :] if tables else [])])
    with _tried(path, text):
        ask.board.apply_changes(ask.visitor.logged, "the board was closed")
    return redirect("/organiser")


def _export(ask: Ask) -> Response:
    whole = ask.request.query_params.get("whole") == "yes"
    _note(ask, "archive of everything downloaded" if whole else "archive downloaded")
    return _download(archive(ask.board, whole=whole), "board-whole.zip" if whole else "board.zip")


def _backup(ask: Ask) -> Response:
    _note(ask, "backup downloaded")
    return _download(backup(ask.board), "board-backup.zip")


def _note(ask: Ask, what: str, **content: Any) -> None:
    """Add to the log what changes nothing else in the database."""
    with ask.board.database.writing() as connection:
        add_to_log(connection, ask.board.database.now(connection), ask.visitor.logged, what, **content)


def _download(made: Any, name: str) -> Response:
    with ExitStack() as stack:
        path = stack.enter_context(made)
        keep = stack.pop_all()  # the file goes when it was sent
    return FileResponse(path, filename=name, media_type="application/zip", background=BackgroundTask(keep.close))


def _log(ask: Ask) -> Response:
    with ask.board.database.reading() as connection:
        newest = sa.select(log).order_by(log.c.id.desc()).limit(_MOST_ROWS)
        rows = [dict(row) for row in connection.execute(newest).mappings()]
        return ask.page("log", rows=rows, head=log_head(connection), broken=check_log(connection))


ENDPOINTS = [
    Endpoint("GET", "/organiser", "organiser", _organiser, "Everything at a glance"),
    Endpoint("POST", "/organiser/links", "organiser", _make_link, "Make a link"),
    Endpoint("POST", "/organiser/rules", "organiser", _write_rules, "Change board.toml"),
    Endpoint("POST", "/organiser/apply", "organiser", _apply, "Apply what changed, and score again"),
    Endpoint("POST", "/organiser/submissions/{number}/exclude", "organiser", _exclude, "Exclude an entry"),
    Endpoint("POST", "/organiser/submissions/{number}/baseline", "organiser", _baseline, "Mark a baseline"),
    Endpoint("POST", "/organiser/submissions/{number}/retry", "organiser", _retry, "Try a failed job again"),
    Endpoint("POST", "/organiser/close", "organiser", _close, "Close the board"),
    Endpoint("GET", "/organiser/export", "organiser", _export, "The board as files"),
    Endpoint("GET", "/organiser/backup", "organiser", _backup, "A backup that can be served"),
    Endpoint("GET", "/organiser/log", "organiser", _log, "The log"),
    Endpoint(
        *("PUT", "/api/datasets/{dataset}/truth", "organiser", _put_truth, "Add a data set or replace its truth"),
        api=True,
        body={"name": "name of the file"},
    ),
]
"""What organisers may ask for."""
