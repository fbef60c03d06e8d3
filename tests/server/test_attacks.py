"""What somebody can learn of the truth, or gain falsely, by what the board shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from flatmetric.challenges.redaction import step_of, to_step
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.certainty import Certainty
from flatmetric.server import worker
from flatmetric.server.ladder import is_new_best, shown_step
from flatmetric.server.schema import scores
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import rank
from tests.server.boards import RULES, Scene, result_rows, scene, table, truth_rows

FRAMES, TRIES = 1000, 1000
SPREAD = 20.0  # nm, of what a frame costs: the standard error of 1000 frames is 0.63 nm
LAM = 125.0
PER_FRAME = 20.0  # molecules


def entry(costs: Any) -> Entry:
    """A result with these costs of its frames, nm for each molecule."""
    truths = np.full(FRAMES, PER_FRAME)
    metrics = dict.fromkeys(LEADERBOARD) | {"flat_metric": float(costs.mean())}
    return Entry("", "", metrics, 1, np.arange(FRAMES), costs * PER_FRAME, truths)


def test_a_hill_climber_gains_next_to_nothing() -> None:
    """Each try changes some frames at random and is kept if the board shows something better: what it gains on these
    frames beyond what it gains on others is false.
    """

    def climb(shown: Callable[[Any, Any], bool]) -> float:
        rng = np.random.default_rng(3)
        noise = rng.normal(0, SPREAD, (2, FRAMES))  # of two choices for each frame, equally good on other data
        chosen = np.zeros(FRAMES, dtype=int)
        start = best = 80 + noise[chosen, np.arange(FRAMES)]
        for _ in range(TRIES):
            other = np.where(rng.random(FRAMES) < 0.05, rng.integers(0, 2, FRAMES), chosen)
            costs = 80 + noise[other, np.arange(FRAMES)]
            if shown(costs, best):
                chosen, best = other, costs
        return float(start.mean() - best.mean())

    exact = climb(lambda new, best: bool(new.mean() < best.mean()))
    gated = climb(lambda new, best: is_new_best(entry(new), entry(best), LAM))
    assert exact > 4.0  # what exact scores give away
    assert gated < 0.5


def test_a_voter_gains_next_to_nothing() -> None:
    """Many independent results, of which those that the board shows as better vote on each frame."""
    rng = np.random.default_rng(4)
    noise = rng.normal(0, SPREAD, (2, FRAMES))
    start = 80 + noise[0]

    def vote(shown: Callable[[Any], float]) -> float:
        votes = np.zeros(FRAMES)
        for _ in range(200):
            other = rng.integers(0, 2, FRAMES)
            gain = shown(start) - shown(80 + noise[other, np.arange(FRAMES)])
            votes += gain * (other - 0.5)
        return float(start.mean() - (80 + noise[(votes > 0).astype(int), np.arange(FRAMES)]).mean())

    step = shown_step(entry(start), LAM)
    exact = vote(lambda costs: float(costs.mean()))
    known = entry(start)

    def gated(costs: Any) -> float:
        return to_step(float(costs.mean()), step) if is_new_best(entry(costs), known, LAM) else to_step(80.0, step)

    false = vote(gated)
    assert exact > 2.0 and false < exact / 4


def test_exact_scores_would_find_a_molecule_and_shown_ones_do_not() -> None:
    """Four results that differ in one detection alone; its distance from the molecule follows from each score."""
    rng = np.random.default_rng(5)
    molecule, others = np.array([1000.0, 2000.0]), rng.uniform(0, 60, 1999)
    probes = np.array([[980.0, 1990], [1030, 1990], [990, 2040], [1020, 2020]])
    scores = [(others.sum() + np.hypot(*(probe - molecule))) / 2000 for probe in probes]
    distances = np.array(scores) * 2000 - others.sum()  # what the sum of the others is follows from one more score
    a = 2 * (probes[1:] - probes[0])
    b = (probes[1:] ** 2).sum(1) - (probes[0] ** 2).sum() - distances[1:] ** 2 + distances[0] ** 2
    assert np.hypot(*(np.linalg.lstsq(a, b, rcond=None)[0] - molecule)) < 1e-6
    step = step_of(scores[0], (scores[0] - 0.8, scores[0] + 0.8), 2000, LAM)
    assert len({to_step(score, step) for score in scores}) == 1


def test_the_step_covers_what_two_molecules_change() -> None:
    for molecules in (30, 500, 20_000):
        assert step_of(80.0, (79.99, 80.01), molecules, LAM) >= 2 * 2 * LAM / molecules / 2.5
    assert step_of(80.0, None, 1e9, LAM) == 1.0
    costs = 80 + np.random.default_rng(0).normal(0, SPREAD, FRAMES)
    ((standing,),) = rank([entry(costs)], Certainty(resamples=100)).datasets.values()
    assert standing.flat_metric_interval is not None
    half = (standing.flat_metric_interval[1] - standing.flat_metric_interval[0]) / 2
    assert half / 2.5 <= shown_step(entry(costs), LAM) <= half


def test_two_truths_that_differ_in_one_molecule_look_the_same(tmp_path: Path, quick: None) -> None:
    """Everything a visitor and a team see, byte for byte, but for the hash of the log, which covers the truth."""
    moved = truth_rows()
    moved[100, 1] += 8.0
    pages = []
    for k, truth in enumerate((truth_rows(), moved)):
        with scene(tmp_path / f"b{k}") as here:
            (here.board.folder / "MT1" / "truth.csv").write_bytes(table(truth))
            here.board.apply_changes("server", "start") if k else None
            ann, bob = here.team("Ann"), here.team("Bob")
            ann.hand_in(table(result_rows(20)))
            bob.hand_in(table(result_rows(45)))
            here.work()
            paths = ("/", "/api/board", "/entries/1", "/submissions", "/submissions/1", "/api/submissions", "/rules")
            pages.append([neutral(ann.get(path)) for path in paths])
    assert pages[0] == pages[1]


@pytest.mark.parametrize("column", [None, "uncertainty [nm]"])
@pytest.mark.parametrize("alone", [False, True])
def test_no_number_shows_the_distance_of_one_molecule(
    tmp_path: Path, quick: None, column: str | None, alone: bool
) -> None:
    """A bait beside a true molecule, in a file that is good otherwise, or alone: whatever a team sees stays the same
    while the bait moves, but for one step of a rounding.
    """
    with scene(tmp_path / "b") as here:
        shown = []
        for k, distance in enumerate((20.0, 45.0, 100.0, 200.0, 240.0)):
            bait, last = truth_rows()[5].copy(), truth_rows()[-1].copy()
            bait[1] += distance
            last[1:] = 10.0, 10.0
            good = result_rows(20)
            good = good[good[:, 0] > 1]  # the bait has the first frame to itself
            rows = np.vstack([bait, last] if alone else [bait, good])
            lines = table(rows).decode().splitlines()
            if column is not None:
                claims = [column, "1e-160", *["15"] * (len(rows) - 1)]
                lines = [f"{a},{b}" for a, b in zip(lines, claims, strict=True)]
            person = here.team(f"team {k}")
            number = person.hand_in("\n".join([*lines, ""]).encode())["id"]
            here.work()
            seen = person.see(number)
            assert seen["state"] == "scored", seen
            if seen["result"] is not None:
                shown.append(seen["result"])
        assert shown or alone
        for name in shown[0]["metrics"] if shown else ():
            assert len({one["metrics"][name] for one in shown}) <= 2, (name, shown)
        steps = {round(one["flat_metric"] / one["step"]) for one in shown}
        assert max(steps, default=0) - min(steps, default=0) <= 1


@pytest.mark.parametrize("final", [False, True])
def test_nothing_tells_whether_a_result_is_worse_than_an_empty_file(tmp_path: Path, quick: None, final: bool) -> None:
    """That would be an exact comparison with the truth, by which one molecule is found in forty tries."""
    few = result_rows(20)[::4]
    rng = np.random.default_rng(7)
    false = np.column_stack([rng.integers(1, 61, 300), rng.uniform(200, 6200, (300, 2))])
    with scene(tmp_path / "b", rules=RULES + ("final = true\n" if final else "")) as here:
        ann, told = here.team("Ann"), []
        numbers = [ann.hand_in(table(rows))["id"] for rows in (result_rows(20), few, np.vstack([few, false]))]
        here.work()
        with here.board.database.reading() as connection:
            values = connection.execute(sa.select(scores.c.value).order_by(scores.c.submission)).scalars().all()
        assert values[1] < LAM < values[2]
        for number in numbers[1:]:
            seen = ann.see(number)
            told.append({name: seen[name] for name in ("state", "sentence", "wrong", "notes", "refunded", "result")})
        assert told[0] == told[1]


def test_nothing_is_told_of_the_final_board_before_it_opens(tmp_path: Path, quick: None) -> None:
    swapped = result_rows(20)[:, [0, 2, 1]]
    with scene(tmp_path / "b", rules=RULES + "final = true\n") as here:
        organiser, ann = here.organiser(), here.team("Ann")
        number = ann.hand_in(table(swapped))["id"]
        here.work()
        seen = ann.see(number)
        assert seen["sentence"] == "its place is shown when the board closes"
        assert seen["wrong"] == [] and seen["notes"] == [] and seen["refunded"] is None
        organiser.post("/organiser/close")
        here.work()
        assert "exchanged" in ann.see(number)["sentence"]


def test_failures_are_not_free_for_ever(here: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether scoring fails may depend on the truth."""
    monkeypatch.setattr(worker, "score_file", lambda *_: {"refused": "no"})
    ann = here.team("Ann")
    numbers = []
    for seed in range(6):
        numbers.append(ann.hand_in(table(result_rows(20, seed=seed)))["id"])
        here.work()
    assert [ann.see(number)["refunded"] for number in numbers] == [*["failed"] * 5, None]


def neutral(text: str) -> str:
    """A page without times, secrets of its session, and the number of the version."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC|\d{10}\.\d+", "TIME", text)
    text = re.sub(r'X-CSRF": "[^"]+|data-csrf="[^"]+|name=\'csrf\' value=\'[^\']+', "CSRF", text)
    return re.sub(r'"version": \d+', "VERSION", text)


@pytest.mark.parametrize("path", ["/organiser", "/organiser/export?whole=yes", "/organiser/log", "/organiser/backup"])
def test_exact_numbers_are_for_organisers(here: Scene, path: str) -> None:
    ann = here.team("Ann")
    assert ann.client.get(path).status_code == 403
    assert here.visitor().client.get(path, follow_redirects=False).status_code == 303
