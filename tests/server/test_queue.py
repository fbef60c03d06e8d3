"""The queue: each job is done once, whatever happens to workers."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from flatmetric.server import guard, queue, worker
from flatmetric.server.audit import check_log
from flatmetric.server.schema import jobs, log, scores, submissions
from flatmetric.server.worker import Worker
from tests.server.boards import RULES, Person, Scene, result_rows, scene, table


def test_two_workers_never_take_one_job(here: Scene) -> None:
    ann, bob = here.team("Ann"), here.team("Bob")
    for seed in range(4):
        ann.hand_in(table(result_rows(20, seed=seed)))
        bob.hand_in(table(result_rows(30, seed=seed)))
    taken: list[int] = []
    barrier = threading.Barrier(4)

    def take() -> None:
        barrier.wait()
        while True:
            with here.board.database.writing() as connection:
                job = queue.claim(connection, here.board.database.now(connection), 60.0)
            if job is None:
                return
            taken.append(job.id)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) >= 8


def test_a_worker_that_slept_beyond_its_lease_changes_nothing(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a stopped process does when it goes on: its job was done by another."""
    ann = here.team("Ann")
    ann.hand_in(table(result_rows(20)))
    slow, quick_one = Worker(here.board, "slow", lease_s=0.01), Worker(here.board, "quick")
    real, inside = guard.score_file, threading.Event()

    def sleepy(*given: object) -> object:
        if not inside.is_set():
            inside.set()
            time.sleep(0.1)
            assert quick_one.step()  # takes the job, since the lease is over
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "score_file", sleepy)
    monkeypatch.setattr(worker, "_BEATS", 1e-4)  # no sign of life in time
    assert slow.step()
    with here.board.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(scores)).scalar_one() == 1
        told = connection.execute(sa.select(log.c.who).where(log.c.what == "scored")).scalars().all()
    assert told == ["quick"]


def test_a_heartbeat_keeps_a_job(here: Scene) -> None:
    here.team("Ann").hand_in(table(result_rows(20)))
    database = here.board.database
    with database.writing() as connection:
        start = database.now(connection)
        job = queue.claim(connection, start + 100.0, 10.0)
        assert job is not None and queue.beat(connection, start + 105.0, job, 10.0)
        assert queue.claim(connection, start + 112.0, 10.0) is None
        again = queue.claim(connection, start + 116.0, 10.0)
        assert again is not None and again.id == job.id and again.token == job.token + 1
        assert not queue.beat(connection, start + 117.0, job, 10.0) and not queue.holds(connection, job)
        assert queue.holds(connection, again)


def test_a_job_that_kills_its_workers_dies(here: Scene) -> None:
    ann = here.team("Ann")
    number = ann.hand_in(table(result_rows(20)))["id"]
    database = here.board.database
    for attempt in range(queue.MOST_ATTEMPTS):
        with database.writing() as connection:  # a worker that takes it and is never seen again
            job = queue.claim(connection, 1e10 + 100.0 * attempt, 10.0)
            assert job is not None and job.submission == number
    with database.writing() as connection:
        connection.execute(jobs.update().values(lease_until=0.0))
    here.work()
    seen = ann.see(number)
    assert seen["state"] == "failed" and "not the file's fault" in seen["sentence"] and seen["refunded"] == "failed"
    organiser = here.organiser()
    organiser.post(f"/organiser/submissions/{number}/retry")
    here.work()
    assert ann.see(number)["state"] == "scored"
    organiser.post(f"/organiser/submissions/{number}/retry", 409)


def test_a_fault_of_ours_is_tried_again(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = here.team("Ann")
    number = ann.hand_in(table(result_rows(20)))["id"]
    real, calls = guard.score_file, list[int]()

    def shaky(*given: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("a bug")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "score_file", shaky)
    monkeypatch.setattr(queue, "_AGAIN_S", 0.0)
    here.work()
    assert len(calls) == 2 and ann.see(number)["state"] == "scored"


def test_two_that_race_for_the_last_of_the_quota(tmp_path: Path, kind: str, quick: None) -> None:
    rules = RULES.replace("[datasets", "[quota]\nper_day = 1\n[datasets")
    with scene(tmp_path / "b", kind, rules) as here:
        ann = here.team("Ann")
        numbers = [ann.upload(table(result_rows(20, seed=seed)))["id"] for seed in range(6)]
        barrier, answers = threading.Barrier(6), list[int]()

        def hand_in(number: int) -> None:
            person = Person(here.site)
            person.client.cookies, person.csrf = ann.client.cookies, ann.csrf
            barrier.wait()
            path = f"/api/submissions/{number}/hand-in"
            sent = person.client.post(path, json={"program": "p"}, headers={"X-CSRF": person.csrf})
            answers.append(sent.status_code)

        threads = [threading.Thread(target=hand_in, args=(number,)) for number in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [202, 429, 429, 429, 429, 429]
        with here.board.database.reading() as connection:
            handed_in = sa.select(sa.func.count()).where(submissions.c.handed_in.is_not(None))
            assert connection.execute(handed_in).scalar_one() == 1
            assert check_log(connection) is None


def test_a_result_handed_in_while_a_version_is_made_is_scored_by_it(here: Scene) -> None:
    ann = here.team("Ann")
    numbers = [ann.upload(table(result_rows(20, seed=seed)))["id"] for seed in range(3)]
    rules = here.board.folder / "board.toml"
    rules.write_text(rules.read_text() + "[score]\nlam = 50\n")
    barrier = threading.Barrier(4)

    def hand_in(number: int) -> None:
        barrier.wait()
        person = Person(here.site)
        person.client.cookies = ann.client.cookies
        sent = {"X-CSRF": ann.csrf}
        answer = person.client.post(f"/api/submissions/{number}/hand-in", json={"program": "p"}, headers=sent)
        assert answer.status_code == 202

    def apply() -> None:
        barrier.wait()
        here.board.apply_changes("organiser", "lam of the paper")

    threads = [threading.Thread(target=hand_in, args=(number,)) for number in numbers]
    threads.append(threading.Thread(target=apply))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    here.work()
    with here.board.database.reading() as connection:
        scored = connection.execute(sa.select(scores.c.submission).where(scores.c.version == 2)).scalars().all()
    assert sorted(scored) == numbers


def test_the_order_of_scoring_changes_nothing(here: Scene) -> None:
    """A later submission that is scored first waits for the earlier ones of its team."""
    ann = here.team("Ann")
    numbers = [ann.hand_in(table(result_rows(sigma)))["id"] for sigma in (40, 15)]
    database = here.board.database
    with database.writing() as connection:
        first = queue.claim(connection, database.now(connection), 1e6)
        assert first is not None and first.submission == numbers[0]
    here.work()
    assert [ann.see(number)["state"] for number in numbers] == ["being scored", "being ranked"]
    with database.writing() as connection:
        connection.execute(jobs.update().where(jobs.c.id == first.id).values(lease_until=0.0))
    here.work()
    assert [one["submission"] for one in here.rows()] == [numbers[1]]
    assert all(ann.see(number)["result"] is not None for number in numbers)
