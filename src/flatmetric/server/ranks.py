"""Ranks as everybody may see them: who has climbed the ladder, ranked, rounded, and kept as one snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from flatmetric.challenges.leaderboard import Leaderboard
from flatmetric.challenges.redaction import shown_steps, to_step
from flatmetric.challenges.store import entry_from_bytes
from flatmetric.options.ranking import RankOptions
from flatmetric.server.ladder import is_new_best
from flatmetric.server.rules import FINAL, PUBLIC
from flatmetric.server.schema import jobs, scores, snapshots, submissions, teams, versions
from flatmetric.server.web_board import Version, WebBoard
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import rank

_AT_ONCE = 20  # scores that are judged in one transaction: others write in between
_NONE = "[]"  # no words: nothing is wrong with a file


def climb(connection: Connection, version: Version, options: RankOptions) -> int:
    """Judge some scores of a version that the ladder has not judged, in the order in which they were handed in; how
    many were judged.

    A score waits while an earlier submission of its team is not done, so that the order of scoring changes nothing.
    """
    waiting = sa.select(scores.c.id, submissions).join(submissions, submissions.c.id == scores.c.submission)
    found = waiting.where(scores.c.version == version.id, scores.c.board == PUBLIC, scores.c.accepted.is_(None))
    judged = 0
    for row in connection.execute(found.order_by(submissions.c.handed_in, submissions.c.id)).mappings().all():
        if judged == _AT_ONCE:
            break
        same = [submissions.c[name] == row[name] for name in ("team", "dataset", "program")]
        earlier = [*same, submissions.c.handed_in < row["handed_in"]]
        open_jobs = jobs.c.state.in_(("queued", "running")), jobs.c.version == version.id
        undone = (
            sa.select(jobs.c.id).join(submissions, submissions.c.id == jobs.c.submission).where(*earlier, *open_jobs)
        )
        if connection.execute(undone).first() is not None:
            continue
        best = sa.select(scores.c.entry).join(submissions, submissions.c.id == scores.c.submission)
        best = best.where(*earlier, scores.c.version == version.id, scores.c.board == PUBLIC, scores.c.accepted)
        best = best.where(submissions.c.excluded.is_(None))
        before = connection.execute(best.order_by(submissions.c.handed_in.desc()).limit(1)).scalars().first()
        own = connection.execute(sa.select(scores).where(scores.c.id == row["id"])).mappings().one()
        values: dict[str, Any] = {"accepted": False}
        if own["words"] == _NONE:  # a wrong file is no result
            entry = entry_from_bytes(own["entry"], row["dataset"], "")
            known = None if before is None else entry_from_bytes(before, "", "")
            if is_new_best(entry, known, options.metrics.lam):
                values = {"accepted": True, "shown": json.dumps(shown_alone(entry, options))}
        connection.execute(scores.update().where(scores.c.id == row["id"]).values(**values))
        judged += 1
    return judged


def shown_alone(entry: Entry, options: RankOptions) -> dict[str, Any]:
    """The numbers of one result as its team may see them."""
    board = Leaderboard(rank([entry], options.certainty), (entry,), {}, options.settings())
    return _numbers(board.redacted(), 0, *shown_steps(board).values())


def _numbers(told: Leaderboard, at: int, step: float) -> dict[str, Any]:
    """The rounded numbers of an entry, with the step of the rounding."""
    shown = told.entries[at]
    place = told.ranking.standing(shown.dataset, shown.program)
    return {
        "flat_metric": shown.metrics["flat_metric"],
        "interval": None if place is None else place.flat_metric_interval,
        "step": step,
        "parts": shown.parts,
        "metrics": {name: one for name, one in shown.metrics.items() if name != "flat_metric"},
    }


def representatives(connection: Connection, version: Version, board: str) -> list[dict[str, Any]]:
    """The scores that stand for each team's programs, withdrawn and excluded ones too: on the public board the last
    that climbed the ladder, on the final one the last that was handed in, or the one that was marked.
    """
    light = [column for column in scores.c if column.name != "entry"]
    columns = [*light, *(c for c in submissions.c if c.name not in scores.c), teams.c.name.label("team_name")]
    found = sa.select(*columns).join(submissions, submissions.c.id == scores.c.submission)
    found = found.join(teams, teams.c.id == submissions.c.team)
    found = found.where(scores.c.version == version.id, scores.c.board == board, scores.c.words == _NONE)
    if board == PUBLIC:
        found = found.where(sa.or_(scores.c.accepted, submissions.c.baseline))
    chosen: dict[tuple[Any, ...], dict[str, Any]] = {}
    by_marks = board == FINAL and version.rules.entry == "marked"
    for row in connection.execute(found.order_by(submissions.c.handed_in, submissions.c.id)).mappings():
        name = row["team"], row["dataset"], row["program"]
        before = chosen.get(name)
        if before is not None and not _is_gone(before) and (_is_gone(row) or (by_marks and before["marked"])):
            continue
        chosen[name] = dict(row)
    for one in chosen.values():
        one["entry"] = connection.execute(sa.select(scores.c.entry).where(scores.c.id == one["id"])).scalar_one()
    return list(chosen.values())


def _is_gone(row: Any) -> bool:
    return row["withdrawn"] is not None or row["excluded"] is not None


def name_on_board(row: Mapping[str, Any]) -> str:
    """How an entry is called: the program, and whose it is."""
    return str(row["program"]) if row["baseline"] else f"{row['program']} ({row['team_name']})"


def ranked(
    rows: Sequence[Mapping[str, Any]], options: RankOptions
) -> tuple[Leaderboard, dict[tuple[str, str], Mapping[str, Any]]]:
    """The leaderboard of such scores, exact, and its rows by data set and name."""
    named: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        name = name_on_board(row)
        if (row["dataset"], name) in named:  # two teams may have chosen names that look alike
            name = f"{name} [{row['submission']}]"
        named[row["dataset"], name] = row
    entries = tuple(entry_from_bytes(row["entry"], *key) for key, row in named.items())
    out = {}
    for key, row in named.items():
        if row["excluded"] is not None:
            out[key] = f"excluded: {row['excluded']}"
        elif row["withdrawn"] is not None:
            out[key] = "withdrawn"
    ranking = rank([one for one in entries if (one.dataset, one.program) not in out], options.certainty)
    return Leaderboard(ranking, entries, {}, options.settings(), left_out=out), named


def make_snapshot(board: WebBoard, version: Version, which: str) -> None:
    """Climb, rank and store what may be seen; an older snapshot never replaces a newer one."""
    options = version.rules.options(board.folder)
    judged = which == PUBLIC
    while judged:
        with board.database.writing() as connection:
            judged = climb(connection, version, options) > 0
    with board.database.reading() as connection:
        rows = representatives(connection, version, which)
        basis = connection.execute(sa.select(sa.func.coalesce(sa.func.max(scores.c.id), 0))).scalar_one()
        tries = dict(_tries(connection))
    exact, named = ranked(rows, options)
    content = _shown(exact, named, tries)
    with board.database.writing() as connection:
        here = snapshots.c.version == version.id, snapshots.c.board == which
        known = connection.execute(sa.select(snapshots.c.basis).where(*here).with_for_update()).scalar_one_or_none()
        values = {"basis": basis, "created": board.database.now(connection), "content": json.dumps(content)}
        if known is None:
            connection.execute(snapshots.insert().values(version=version.id, board=which, **values))
        elif known <= basis:
            connection.execute(snapshots.update().where(*here).values(**values))


def _tries(connection: Connection) -> list[tuple[tuple[int, str, str], int]]:
    key = submissions.c.team, submissions.c.dataset, submissions.c.program
    found = sa.select(*key, sa.func.count()).where(submissions.c.handed_in.is_not(None)).group_by(*key)
    return [((team, dataset, program), count) for team, dataset, program, count in connection.execute(found)]


def _shown(board: Leaderboard, named: Mapping[tuple[str, str], Mapping[str, Any]], tries: Mapping[Any, int]) -> Any:
    """What may leave the server, by the redactor of leaderboards; the steps are those of its numbers."""
    told, steps = board.redacted(), shown_steps(board)
    datasets: dict[str, list[dict[str, Any]]] = {name: [] for name in sorted({dataset for dataset, _ in named})}
    for at, entry in enumerate(board.entries):
        key = entry.dataset, entry.program
        row, place, numbers = named[key], told.ranking.standing(*key), _numbers(told, at, steps[key])
        lam, curve = json.loads(row["curve"])
        datasets[entry.dataset].append(
            {
                "submission": row["submission"],
                "name": entry.program,
                "baseline": row["baseline"],
                "place": None if place is None else place.place,
                "ranks": None if place is None else place.rank_interval,
                "letters": "" if place is None else place.letters,
                **numbers,
                "curve": [lam, [to_step(one, numbers["step"]) for one in curve]],
                "left_out": board.left_out.get(key, ""),
                "tries": tries.get((row["team"], row["dataset"], row["program"]), 1),
            }
        )
    for rows in datasets.values():
        rows.sort(key=lambda one: (one["place"] is None, one["place"] or 0, one["name"]))
    overall = [
        {"name": one.program, "place": one.place, "rank": one.rank, "ranks": one.rank_interval}
        for one in told.ranking.overall
    ]
    return {"datasets": datasets, "overall": overall if len(datasets) > 1 else []}


def snapshot_of(connection: Connection, version: int, which: str) -> dict[str, Any]:
    """What everybody may see of a board; empty before anything was ranked."""
    here = snapshots.c.version == version, snapshots.c.board == which
    text = connection.execute(sa.select(snapshots.c.content).where(*here)).scalar_one_or_none()
    empty: dict[str, Any] = {"datasets": {}, "overall": []}
    return empty if text is None else json.loads(text)


def publish_if_done(board: WebBoard, version: Version) -> bool:
    """Show a version once everything that was handed in has its outcome under it; whether that is so now. What moved
    against the version before is kept with it.
    """
    with board.database.writing() as connection:
        at = board.database.now(connection)
        row = (
            connection.execute(sa.select(versions).where(versions.c.id == version.id).with_for_update())
            .mappings()
            .one()
        )
        if row["published"] is not None or version.id < board.published(connection).id:
            return False
        undone = jobs.c.version == version.id, jobs.c.kind == "score", jobs.c.state.in_(("queued", "running"))
        newest = sa.select(sa.func.max(scores.c.id)).where(scores.c.version == version.id).scalar_subquery()
        late = snapshots.c.version == version.id, snapshots.c.basis < newest  # another ranking will come
        for some in (sa.select(jobs.c.id).where(*undone), sa.select(snapshots.c.basis).where(*late)):
            if connection.execute(some).first() is not None:
                return False
        before = board.published(connection)
        moves = {which: _moves(connection, before.id, version.id, which) for which in (PUBLIC, FINAL)}
        values = {"published": at, "moves": json.dumps(moves)}
        connection.execute(versions.update().where(versions.c.id == version.id).values(**values))
    return True


def _moves(connection: Connection, before: int, after: int, which: str) -> list[dict[str, Any]]:
    """The entries whose place or shown value is another."""
    places: list[dict[Any, Any]] = []
    for number in (before, after):
        content = snapshot_of(connection, number, which)["datasets"]
        places.append({(dataset, one["submission"]): one for dataset, rows in content.items() for one in rows})
    moved = []
    for dataset, number in sorted({*places[0], *places[1]}):
        then, now = (one.get((dataset, number)) for one in places)
        told = [None if one is None else [one["place"], one["flat_metric"]] for one in (then, now)]
        if told[0] != told[1]:
            moved.append({"dataset": dataset, "submission": number, "before": told[0], "after": told[1]})
    return moved
