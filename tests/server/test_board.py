"""A challenge as people use it: upload, look, hand in, rank, withdraw, close."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import flatmetric as fm
from flatmetric.server import guard, worker
from flatmetric.server.audit import check_log
from flatmetric.server.schema import jobs, log, scores, submissions
from tests.server.boards import RULES, Scene, in_this_process, new_database, result_rows, scene, table, truth_rows


def test_two_teams_are_ranked(here: Scene) -> None:
    ann, bob = here.team("Ann"), here.team("Bob")
    first = ann.hand_in(table(result_rows(20)), "spots")
    assert first["state"] == "waiting" and first["queue"] == 1
    bob.hand_in(table(result_rows(60, 0.6)), "peaks")
    here.work()
    rows = here.rows()
    assert [(one["place"], one["name"]) for one in rows] == [(1, "spots (Ann)"), (2, "peaks (Bob)")]
    seen = ann.see(first["id"])
    assert seen["state"] == "scored" and seen["place"]["place"] == 1
    assert seen["result"]["flat_metric"] == rows[0]["flat_metric"]
    page = here.visitor().get("/")
    assert page.index("spots (Ann)") < page.index("peaks (Bob)")
    assert "Place 1" in here.visitor().get(f"/entries/{first['id']}")


def test_scores_are_those_of_a_leaderboard(here: Scene, tmp_path: Path) -> None:
    content = {f"p{k}": table(result_rows(10 + 15 * k, seed=k)) for k in range(3)}
    for name, one in content.items():
        here.team(name).hand_in(one, name)
    here.work()
    folder = tmp_path / "folder" / "MT1"
    (folder / "results").mkdir(parents=True)
    (folder / "truth.csv").write_bytes(table(truth_rows()))
    for name, one in content.items():
        (folder / "results" / f"{name}.csv").write_bytes(one)
    board = fm.leaderboard(folder.parent)
    expected = {entry.program: entry.metrics["flat_metric"] for entry in board.entries}
    with here.board.database.reading() as connection:
        joined = sa.select(submissions.c.program, scores.c.value).join(scores, scores.c.submission == submissions.c.id)
        assert {row[0]: row[1] for row in connection.execute(joined)} == expected
    ranks = [(one.place, one.program) for one in board.ranking.datasets["MT1"]]
    assert [(one["place"], one["name"].split()[0]) for one in here.rows()] == ranks


def test_pixels_are_seen_in_the_preview_and_corrected(here: Scene) -> None:
    ann = here.team("Ann")
    seen = ann.upload(table(result_rows(20), unit=100, header="frame,x,y"))
    assert not seen["valid"] and "not in nm" in seen["preview"]["problems"][0]
    page = ann.get(f"/submissions/{seen['id']}")
    assert "not in nm" in page and "Hand in</button>" not in page
    ann.post(f"/submissions/{seen['id']}/hand-in", 422, program="spots")
    ann.post(f"/submissions/{seen['id']}/look", unit="px", pixel_size="100")
    page = ann.get(f"/submissions/{seen['id']}")
    assert "Hand in</button>" in page and "left in 24 hours: 5 of 5" in page
    ann.post(f"/submissions/{seen['id']}/hand-in", program="spots")
    here.work()
    assert here.rows()[0]["flat_metric"] < 60


def test_nothing_that_is_free_looks_at_the_truth(here: Scene) -> None:
    """A probe of one frame, moved by 30 nm: everything that can be had without quota stays the same."""
    ann = here.team("Ann")
    answers = []
    for step in (0.0, 30.0):
        probe = truth_rows()[-10:].copy()  # of the last frame
        probe[0, 1:] += step
        seen = ann.upload(table(probe))
        page = ann.get(f"/submissions/{seen['id']}")
        changed = {name: seen["preview"]["inspection"].pop(name) for name in ("first_rows", "extent", "sha256")}
        assert changed and "truth" not in page.lower() and str(here.board.folder) not in json.dumps(seen)
        answers.append({name: seen[name] for name in ("preview", "valid", "state", "sentence", "result", "wrong")})
    assert answers[0] == answers[1]
    with here.board.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).where(jobs.c.kind == "score")).scalar_one() == 0


def test_a_new_result_is_shown_only_if_it_is_significantly_better(here: Scene) -> None:
    ann = here.team("Ann")
    first = ann.hand_in(table(result_rows(40)))
    here.work()
    worse = ann.hand_in(table(result_rows(60)))
    nearly = result_rows(40)
    nearly[0, 1] += 5  # a copy, moved by a hair
    copy = ann.hand_in(table(nearly))
    here.work()
    for one in (worse, copy):
        seen = ann.see(one["id"])
        assert seen["result"] is None and "not significantly better" in seen["sentence"]
    assert [one["submission"] for one in here.rows()] == [first["id"]]
    better = ann.hand_in(table(result_rows(10)))
    here.work()
    assert [one["submission"] for one in here.rows()] == [better["id"]]
    assert here.rows()[0]["tries"] == 4
    page = ann.get("/submissions")
    assert "polyline" in page and page.count("not significantly better") == 2


def test_a_file_that_is_wrong_is_named_in_words_and_refunded_once(here: Scene) -> None:
    ann = here.team("Ann")
    for sigma, refunded in ((20, "wrong"), (25, None)):
        rows = result_rows(sigma)
        rows[:, [1, 2]] = rows[:, [2, 1]]
        number = ann.hand_in(table(rows))["id"]
        here.work()
        seen = ann.see(number)
        assert seen["refunded"] == refunded and seen["result"] is None and seen["place"] is None
        assert "x and y are exchanged" in seen["sentence"] and not any(letter.isdigit() for letter in seen["sentence"])
    assert "left in 24 hours 4, in total" in ann.get("/submissions")
    assert here.visitor().client.get("/api/board").json()["boards"] == {}


def test_a_failure_has_its_reason_and_costs_no_quota(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = here.team("Ann")
    number = ann.hand_in(table(result_rows(20)))["id"]
    monkeypatch.setattr(worker, "score_file", lambda *_: {"refused": "takes more memory than a file here may"})
    here.work()
    seen = ann.see(number)
    assert seen["state"] == "failed" and seen["refunded"] == "failed"
    assert seen["sentence"] == "takes more memory than a file here may"
    assert "left in 24 hours 5, in total" in ann.get("/submissions")
    assert "did not count" in ann.get(f"/submissions/{number}")


def test_quota_and_attempts_have_limits(
    tmp_path: Path, kind: str, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = RULES.replace("[datasets", "[quota]\nper_day = 2\nattempts_per_day = 3\n[datasets")
    with scene(tmp_path / "b", kind, rules) as here:
        ann = here.team("Ann")
        monkeypatch.setattr(worker, "score_file", lambda *_: {"refused": "no"})
        for seed in range(3):
            ann.hand_in(table(result_rows(20, seed=seed)))
            here.work()
        said = ann.hand_in(table(result_rows(20, seed=9)), status=429)
        assert "too many submissions failed" in said["error"]
        bob = here.team("Bob")
        monkeypatch.undo()
        monkeypatch.setattr(guard, "_ask", in_this_process)
        numbers = [bob.hand_in(table(result_rows(20, seed=seed)))["id"] for seed in range(2)]
        assert "2 submissions in 24 hours are used" in bob.hand_in(table(result_rows(20, seed=8)), status=429)["error"]
        here.work()
        bob.client.delete(f"/api/submissions/{numbers[0]}", headers={"X-CSRF": bob.csrf})  # scored: not given back
        bob.hand_in(table(result_rows(20, seed=7)), status=429)


def test_a_withdrawn_entry_leaves_the_ranks_and_stays_in_the_ladder(here: Scene) -> None:
    ann, bob = here.team("Ann"), here.team("Bob")
    number = ann.hand_in(table(result_rows(15)))["id"]
    bob.hand_in(table(result_rows(50)))
    here.work()
    ann.post(f"/submissions/{number}/withdraw")
    again = ann.hand_in(table(result_rows(15, seed=5)))
    here.work()
    assert [(one["name"], one["place"], one["left_out"]) for one in here.rows()] == [
        ("prog (Bob)", 1, ""),
        ("prog (Ann)", None, "withdrawn"),
    ]
    assert "not significantly better" in ann.see(again["id"])["sentence"]


def test_a_deleted_account_leaves_only_its_withdrawn_entries(here: Scene) -> None:
    ann = here.team("Ann")
    seen = ann.hand_in(table(result_rows(15)), "spots")
    here.work()
    assert here.board.files.path(seen["sha256"]).is_file()
    ann.post("/account/delete", 403, password="another one")
    ann.post("/account/delete", password="correct horse")
    here.work()
    assert not here.board.files.path(seen["sha256"]).exists()
    ((row,),) = [here.rows()]
    assert (row["name"], row["left_out"]) == ("spots (deleted)", "withdrawn")
    visitor = here.visitor()
    visitor.post("/login", 401, name="Ann", password="correct horse")
    with here.board.database.reading() as connection:
        assert "Ann" not in json.dumps([tuple(row) for row in connection.execute(sa.select(log))], default=str)
        assert check_log(connection) is None


def test_the_final_board_opens_when_the_challenge_closes(tmp_path: Path, kind: str, quick: None) -> None:
    rules = RULES + "final_frames = [31, 60]\n"
    with scene(tmp_path / "b", kind, rules) as here:
        organiser, ann, bob = here.organiser(), here.team("Ann"), here.team("Bob")
        good, bad = result_rows(15), result_rows(50)
        early = good[:, 0] <= 30
        mixed = np.concatenate([good[early], bad[bad[:, 0] > 30]])  # better on the public frames alone
        ann.hand_in(table(mixed))
        bob.hand_in(table(result_rows(25)))
        here.work()
        boards = here.visitor().client.get("/api/board").json()["boards"]
        assert list(boards) == ["public"] and [one["name"] for one in here.rows()] == ["prog (Ann)", "prog (Bob)"]
        assert "final" not in here.visitor().get("/")
        organiser.post("/organiser/close")
        here.work()
        assert [one["name"] for one in here.rows(which="final")] == ["prog (Bob)", "prog (Ann)"]
        assert "closed at" in ann.upload(table(result_rows(9)), status=409)["error"]
        answer = ann.client.delete("/api/submissions/1", headers={"X-CSRF": ann.csrf})
        assert answer.status_code == 409 and "what was handed in stays" in answer.json()["error"]
        assert "MT1, final" in here.visitor().get("/")


def test_results_in_the_folder_are_baselines(tmp_path: Path, kind: str, quick: None) -> None:
    place = tmp_path / "b"
    (place / "MT1" / "results").mkdir(parents=True)
    (place / "MT1" / "results" / "simple.csv").write_bytes(table(result_rows(30)))
    (place / "MT1" / "truth.csv").write_bytes(table(truth_rows()))
    here = Scene(place, new_database(kind))
    here.work()
    here.board.open()  # a second start takes nothing over again
    assert not here.worker.step()
    ((row,),) = [here.rows()]
    assert row["name"] == "simple" and row["baseline"]
    here.board.database.close()
