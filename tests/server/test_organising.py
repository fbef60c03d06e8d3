"""What organisers do: replace a truth, change rules, exclude, close, export, back up; and what the log keeps."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

import flatmetric as fm
from flatmetric.server.audit import check_log, log_head
from flatmetric.server.schema import jobs, log, scores, versions
from flatmetric.server.web_board import WebBoard
from tests.server.boards import PASSWORD, RULES, Person, Scene, result_rows, scene, table, truth_rows


def put_truth(organiser: Person, content: bytes, dataset: str = "MT1", status: int = 201) -> None:
    headers = {"X-CSRF": organiser.csrf}
    answer = organiser.client.put(f"/api/datasets/{dataset}/truth?name=truth.csv", content=content, headers=headers)
    assert answer.status_code == status, answer.text


def test_a_new_truth_scores_everything_again_and_says_what_moved(here: Scene) -> None:
    organiser, ann, bob = here.organiser(), here.team("Ann"), here.team("Bob")
    ann.hand_in(table(result_rows(15)))
    other = truth_rows(seed=7)
    bob.hand_in(table(result_rows(15, truth=other)))
    here.work()
    before = here.rows()
    assert before[0]["name"] == "prog (Ann)"
    put_truth(organiser, table(other))
    assert "the truth of MT1 was replaced" in organiser.get("/organiser")
    organiser.post("/organiser/apply", 422, reason="")
    organiser.post("/organiser/apply", reason="the first truth was that of another movie")
    assert here.rows() == before  # nobody sees half of a new version
    assert "is being scored" in organiser.get("/organiser")
    here.work()
    assert here.rows()[0]["name"] == "prog (Bob)"
    page = here.visitor().get("/changes")
    assert "The first truth was that of another movie" in page and "the truth of MT1 was replaced" in page
    assert "prog (Ann)" in page and "What moved" in page


def test_only_what_changed_is_scored_again(tmp_path: Path, kind: str, quick: None) -> None:
    with scene(tmp_path / "b", kind, datasets=("MT1", "MT2")) as here:
        organiser, ann = here.organiser(), here.team("Ann")
        for dataset in ("MT1", "MT2"):
            ann.hand_in(table(result_rows(15)), dataset=dataset)
        here.work()
        put_truth(organiser, table(truth_rows(seed=7)), "MT2")
        organiser.post("/organiser/apply", reason="wrong truth")
        with here.board.database.reading() as connection:
            waiting = sa.select(jobs.c.submission).where(jobs.c.state == "queued", jobs.c.kind == "score")
            assert connection.execute(waiting).scalars().all() == [2]
        here.work()
        assert len(here.rows("MT1")) == 1
        rules = (here.board.folder / "board.toml").read_text().replace("Test board", "Another title")
        organiser.post("/organiser/rules", rules=rules)
        organiser.post("/organiser/apply", reason="a better title")
        with here.board.database.reading() as connection:
            assert connection.execute(waiting).scalars().all() == []
        here.work()
        assert "Another title" in here.visitor().get("/")
        organiser.post("/organiser/rules", rules=rules + "[score]\nlam = 50\n")
        organiser.post("/organiser/apply", reason="lam of the paper")
        with here.board.database.reading() as connection:
            assert len(connection.execute(waiting).scalars().all()) == 2
        here.work()
        with here.board.database.reading() as connection:
            newest = sa.select(scores.c.value).where(scores.c.version == 4).order_by(scores.c.submission)
            value = connection.execute(newest).scalars().first()
        assert (
            value
            == fm.score(table_file(tmp_path, truth_rows()), table_file(tmp_path, result_rows(15)), lam=50)[
                "flat_metric.value"
            ]
        )


def table_file(place: Path, rows: object) -> Path:
    content = table(rows)
    path = place / f"{hashlib.sha256(content).hexdigest()}.csv"
    path.write_bytes(content)
    return path


def test_rules_in_files_hold_as_they_were_applied(here: Scene) -> None:
    organiser, ann, bob = here.organiser(), here.team("Ann"), here.team("Bob")
    rules, path = here.board.folder / "p.toml", here.board.folder / "board.toml"
    rules.write_text("tolerance = 100\n")
    organiser.post("/organiser/rules", rules="[score]\nprotocol = 'p.toml'\n" + path.read_text().split("\n", 2)[2])
    organiser.post("/organiser/apply", reason="rules of our own")
    here.work()
    ann.hand_in(table(result_rows(20)))
    here.work()
    rules.write_text("tolerance = 100\nlast_frame = 20\n")
    bob.hand_in(table(result_rows(20)))
    here.work()
    with here.board.database.reading() as connection:
        assert len(set(connection.execute(sa.select(scores.c.value)).scalars())) == 1
    assert "score.protocol is server/rules/" in organiser.get("/organiser")
    rules.write_text("tolerance = 'wide'\n")
    assert here.visitor().client.get("/rules").status_code == 200


def test_an_earlier_version_never_comes_after_a_later_one(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    ann.hand_in(table(result_rows(20)))
    here.work()
    text = (here.board.folder / "board.toml").read_text()
    for lam in (50, 80):
        organiser.post("/organiser/rules", rules=text + f"[score]\nlam = {lam}\n")
        organiser.post("/organiser/apply", reason=f"lam {lam}")
    late = jobs.c.version == 2, jobs.c.kind == "score"
    with here.board.database.writing() as connection:
        connection.execute(jobs.update().where(*late).values(due=9e9))
    here.work()
    with here.board.database.writing() as connection:
        connection.execute(jobs.update().where(*late).values(due=0.0))
    here.work()
    with here.board.database.reading() as connection:
        shown = sa.select(versions.c.id).where(versions.c.published.is_not(None)).order_by(versions.c.id)
        assert connection.execute(shown).scalars().all() == [1, 3]


def test_a_truth_outlives_a_team_that_uploaded_it(here: Scene) -> None:
    ann, bob = here.team("Ann"), here.team("Bob")
    ann.upload(table(truth_rows()))
    ann.post("/account/delete", password=PASSWORD)
    bob.hand_in(table(result_rows(20)))
    here.work()
    assert here.rows()[0]["place"] == 1


def test_later_results_are_judged_again_without_an_excluded_one(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    cheat, honest = (ann.hand_in(table(result_rows(sigma)))["id"] for sigma in (3, 30))
    here.work()
    assert here.rows()[0]["submission"] == cheat
    organiser.post(f"/organiser/submissions/{cheat}/exclude", reason="trained on the truth")
    here.work()
    assert [(one["submission"], one["place"]) for one in here.rows()] == [(honest, 1)]
    assert "trained on the truth" in here.visitor().get("/changes")


def test_a_mark_on_a_withdrawn_entry_means_nothing(tmp_path: Path, kind: str, quick: None) -> None:
    rules = "entry = 'marked'\n[datasets.MT1]\nframes = [1, 60]\nfinal = true\n"
    with scene(tmp_path / "b", kind, rules) as here:
        organiser, ann = here.organiser(), here.team("Ann")
        first, second = (ann.hand_in(table(result_rows(sigma)))["id"] for sigma in (20, 40))
        here.work()
        assert ann.see(first)["sentence"] == "its place is shown when the board closes"
        ann.post(f"/submissions/{first}/final")
        ann.post(f"/submissions/{first}/withdraw")
        organiser.post("/organiser/close")
        here.work()
        assert [(one["submission"], one["place"]) for one in here.rows(which="final")] == [(second, 1)]


def test_what_teams_are_told_must_fit_the_truth(here: Scene) -> None:
    organiser = here.organiser()
    for told, sentence in (
        ("frames = [1, 50]", "the truth has frames 1 to 60"),
        ("frames = [1, 60]\nfield = [64, 64]", "the truth reaches to"),
        ("frames = [1, 60]\nfinal_frames = [21, 40]", "give the first or the last part of datasets.MT1.frames"),
        ("final_frames = [21, 40]", "needs datasets.MT1.frames"),
        ("frames = [1, 200]", "the truth ends at frame 60"),
        ("frames = [60, 1]", "give the first and the last frame"),
    ):
        (here.board.folder / "board.toml").write_text(f"[datasets.MT1]\n{told}\n")
        assert sentence in organiser.get("/organiser")


def test_closing_a_board_that_has_not_opened_changes_nothing(here: Scene) -> None:
    organiser, path = here.organiser(), here.board.folder / "board.toml"
    path.write_text("opens = 2090-01-01T00:00:00Z\n" + path.read_text())
    organiser.post("/organiser/apply", reason="later")
    before = path.read_text()
    organiser.post("/organiser/close", 422)
    assert path.read_text() == before


def test_closing_applies_nothing_else(here: Scene) -> None:
    organiser = here.organiser()
    put_truth(organiser, table(truth_rows(5)))
    assert "the truth of MT1 was replaced" in organiser.post("/organiser/close", 409)
    assert "closes" not in (here.board.folder / "board.toml").read_text()


def test_any_name_can_be_archived(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("A" * 40)
    organiser.post("/organiser/rules", rules="programs_per_team = 4\n" + RULES)
    organiser.post("/organiser/apply", reason="more programs")
    names = {"a/b": "mine.csv", "a-b": "mine.csv", ".NET": "mine.csv", "p" * 40: "x." + "a" * 190}
    for seed, (program, name) in enumerate(names.items()):
        ann.hand_in(table(result_rows(20, seed=seed)), program, name=name)
    here.work()
    answer = organiser.client.get("/organiser/export?whole=yes")
    assert answer.status_code == 200
    held = [one for one in zipfile.ZipFile(io.BytesIO(answer.content)).namelist() if "/results/" in one]
    assert len(held) == len(names) and not any(Path(one).name.startswith(".") for one in held)


def test_a_truth_of_any_name_is_the_truth(here: Scene) -> None:
    organiser = here.organiser()
    answer = organiser.client.put(
        "/api/datasets/MT1/truth",
        params={"name": "truth.json"},
        content=table(truth_rows(5)),
        headers={"X-CSRF": organiser.csrf},
    )
    assert answer.status_code == 201
    assert [path.name for path in (here.board.folder / "MT1").iterdir()] == ["truth.csv"]


def test_organisers_leave_the_submissions_of_teams_alone(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    number = ann.hand_in(table(result_rows(15)))["id"]
    waiting = ann.upload(table(result_rows(16)))["id"]
    here.work()
    organiser.post(f"/submissions/{number}/withdraw", 404)
    organiser.post(f"/submissions/{waiting}/hand-in", 404, program="prog")
    assert "Hand in</button>" not in organiser.get(f"/submissions/{waiting}") and len(here.rows()) == 1


def test_a_deleted_account_leaves_the_board_while_another_version_is_made(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    ann.hand_in(table(result_rows(15)))
    here.work()
    put_truth(organiser, table(truth_rows(5)))
    organiser.post("/organiser/apply", reason="a better truth")  # and nothing is scored yet
    ann.post("/account/delete", password=PASSWORD)
    with here.board.database.reading() as connection:
        waiting = sa.select(jobs.c.version).where(jobs.c.kind == "rank", jobs.c.state == "queued")
        assert set(connection.execute(waiting).scalars()) == {1, 2}


def test_what_changed_in_the_rules_is_told_one_by_one(here: Scene) -> None:
    organiser = here.organiser()
    organiser.post("/organiser/rules", rules=RULES.replace("[1, 60]", "[1, 61]"))
    assert "datasets.MT1.frames is [1, 61], and was [1, 60]" in organiser.get("/organiser")


def test_mistakes_in_the_rules_change_nothing(here: Scene) -> None:
    organiser = here.organiser()
    before = (here.board.folder / "board.toml").read_text()
    page = organiser.post("/organiser/rules", 422, rules="titel = 'x'\ncloses = 2027-01-01T00:00:00\n")
    assert "there is no titel; did you mean title?" in page and "closes has no offset from UTC" in page
    assert (here.board.folder / "board.toml").read_text() == before
    put_truth(organiser, b"this is no table", status=422)
    put_truth(organiser, b"frame,x,y\n", status=422)
    put_truth(organiser, table(truth_rows()), "server", 422)


def test_an_excluded_entry_shows_the_reason(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    number = ann.hand_in(table(result_rows(15)))["id"]
    here.work()
    ranked = here.rows()[0]
    organiser.post(f"/organiser/submissions/{number}/exclude", reason="trained on the truth")
    here.work()
    assert "excluded: trained on the truth" in here.visitor().get("/")
    assert here.rows()[0]["place"] is None
    for name in ("flat_metric", "step", "parts", "metrics", "curve"):  # no finer than before
        assert here.rows()[0][name] == ranked[name]
    assert "trained on the truth" in ann.get(f"/submissions/{number}")
    organiser.post(f"/organiser/submissions/{number}/exclude")
    organiser.post(f"/organiser/submissions/{number}/baseline", baseline="yes")
    here.work()
    assert here.rows()[0]["place"] == 1 and here.rows()[0]["baseline"]


def test_an_archive_holds_the_board_and_its_checksums(here: Scene) -> None:
    organiser, ann, bob = here.organiser(), here.team("Ann"), here.team("Bob")
    ann.hand_in(table(result_rows(15)))
    bob.hand_in(table(result_rows(45)))
    here.work()
    for whole in ("", "?whole=yes"):
        archive = zipfile.ZipFile(io.BytesIO(organiser.client.get(f"/organiser/export{whole}").content))
        names = archive.namelist()
        for line in archive.read("SHA256SUMS").decode().splitlines():
            sha256, name = line.split("  ")
            assert hashlib.sha256(archive.read(name)).hexdigest() == sha256
        assert {"public/leaderboard.json", "public/pages/index.html", "rules.json"} <= set(names)
        values = [row["flat_metric"] for row in json.loads(archive.read("public/leaderboard.json"))["datasets"]["MT1"]]
        shown = [row["flat_metric"] for row in here.rows()]
        assert (values == shown) == (not whole)
        assert ("data/MT1/truth.csv" in names) == bool(whole)
        page = archive.read("public/pages/index.html").decode()
        assert not any(f"{x:.2f}" in page for x in truth_rows()[:, 1])
        if whole:
            archive.extractall(here.board.folder.parent / "whole")
    board = fm.leaderboard(here.board.folder.parent / "whole" / "data")
    assert [one.flat_metric for one in board.ranking.datasets["MT1"]] == values


def test_a_backup_can_be_served(tmp_path: Path, quick: None) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "rules.toml").write_text("tolerance = 200\n")
    with scene(tmp_path / "b", rules=RULES + "[score]\nprotocol = 'rules.toml'\n") as here:
        organiser, ann = here.organiser(), here.team("Ann")
        ann.hand_in(table(result_rows(15)))
        here.work()
        rows = here.rows()
        content = organiser.client.get("/organiser/backup").content
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path / "copy")
    again = Scene(tmp_path / "copy")
    again.work()
    assert again.rows() == rows
    again.visitor().post("/login", name="Ann", password=PASSWORD)
    again.visitor().get("/rules")
    again.team("Bob").hand_in(table(result_rows(25)))
    again.work()
    assert len(again.rows()) == 2
    again.board.database.close()


def test_the_log_can_only_be_added_to(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    ann.hand_in(table(result_rows(15)))
    organiser.client.get("/organiser/export")
    here.work()
    head = here.visitor().client.get("/log/head").json()
    with here.board.database.reading() as connection:
        assert check_log(connection) is None and log_head(connection) == head
        told = connection.execute(sa.select(log.c.what)).scalars().all()
    assert {"new version", "registered", "uploaded", "handed in", "scored", "archive downloaded"} <= set(told)
    for change in (log.update().values(who="nobody"), log.delete()):
        with pytest.raises(exc.DBAPIError), here.board.database.engine.begin() as connection:
            connection.execute(change)
    with here.board.database.engine.begin() as connection:  # somebody with all rights
        if here.board.database.is_sqlite:
            connection.execute(sa.text("DROP TRIGGER log_no_update"))
        else:
            connection.execute(sa.text("DROP TRIGGER log_is_fixed ON log"))
        connection.execute(log.update().where(log.c.id == 2).values(who="nobody"))
    assert "Row 2 is not what was added" in organiser.get("/organiser/log")


def test_the_board_opens_and_closes_in_any_time_zone(
    tmp_path: Path, kind: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = 'title = "T"\nopens = 2027-01-01T00:00:00-11:00\ncloses = 2027-01-02T00:00:00+14:00\n'
    with scene(tmp_path / "b", kind, rules.replace("2027-01-02", "2027-01-03")) as here:
        ann = here.team("Ann")
        opens, closes = 1798801200.0, 1798884000.0
        for at, status in ((opens - 1, 409), (opens, 201), (closes - 1, 201), (closes, 409)):
            monkeypatch.setattr(type(here.board.database), "now", lambda *_, at=at: at)
            with here.board.database.writing() as connection:  # the clock jumps, and so do sessions
                from flatmetric.server.schema import sessions

                connection.execute(sessions.update().values(expires=9e9))
            ann.upload(table(result_rows(20)), status=status)


def test_a_database_of_the_first_schema_is_brought_up_to_date(tmp_path: Path, kind: str, quick: None) -> None:
    from alembic import command
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext

    from flatmetric.server import database as module
    from flatmetric.server.schema import METADATA, submissions
    from tests.server.boards import make_folder, new_database

    board = WebBoard(make_folder(tmp_path / "b"), new_database(kind))
    (board.folder / "server").mkdir()
    config = Config()
    config.set_main_option("script_location", str(Path(module.__file__).with_name("migrations")))
    with board.database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(sa.text("INSERT INTO teams (name, folded, role, created) VALUES ('Ann', 'ann', 'team', 1)"))
        values = "(1, 'MT1', 'prog', 'ab', 'mine.csv', 5, '{}', '{}', true, 2.0, false, false)"
        columns = "team, dataset, program, sha256, file_name, size, reading, preview, valid, created, marked, baseline"
        connection.execute(sa.text(f"INSERT INTO submissions ({columns}) VALUES {values}"))
    board.open()
    with board.database.writing() as connection:
        kept = connection.execute(sa.select(submissions.c.note, submissions.c.program)).all()
        assert [tuple(row) for row in kept] == [("", "prog")]
        differences = compare_metadata(MigrationContext.configure(connection), METADATA)
        assert [one for one in differences if "alembic_version" not in str(one)] == []
        assert connection.execute(sa.select(versions.c.id)).scalars().all() == [1]
    board.database.close()
