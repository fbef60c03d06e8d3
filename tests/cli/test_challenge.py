"""`flatmetric challenge run`: all of it on few frames, participants that fail, and folders that are there already."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.challenges import runner as runner_module
from flatmetric.challenges.runner import Program
from flatmetric.formats.write import write
from flatmetric.simulation.datasets import PAPER, named
from flatmetric.simulation.folder import STACK, simulate_folder
from tests.scenes import REAL_DATA, is_alive, run, wait_until

SHARED = REAL_DATA / "gt-and-results"
FEW = ("--dataset", "ER1.N3.LD", "--dataset", "MT4.N2.HD", "--frames", "8")
TWO = ("--tune", "0", "--participant", "dog", "--participant", "log")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("challenge")
    mine = folder / "mine.sh"
    mine.write_text('test -f "$1" && printf "1,100,100,0,500\\n2,3000,3000,0,500\\n" > "$2"\n')
    programs = (
        "crash=sh -c 'echo went wrong >&2; exit 3' {out}",
        "silent=true {out}",
        "none=/no/such/program {out}",
    )
    options = [part for text in (*programs, f"mine=sh {mine} {{stack}} {{out}}") for part in ("--program", text)]
    out = run("challenge", "run", "--out", folder / "out", *FEW, *TWO, *options)
    assert out.returncode == 0, out.stderr
    (folder / "printed").write_text(out.stdout)
    return folder


def test_everything_is_simulated_run_scored_ranked_and_drawn(done: Path) -> None:
    out = done / "out"
    for name in ("fig1c.png", "fig1c.pdf", "fig4.png", "fig4.pdf", "agreement.csv", "runs.csv"):
        assert (out / name).stat().st_size > 100, name
    content = json.loads((out / "leaderboard" / "leaderboard.json").read_text())
    assert set(content["datasets"]) == {"ER1.N3.LD", "MT4.N2.HD"}
    scored = {(row["dataset"], row["program"]) for row in content["metrics"]}
    assert scored == {(d, p) for d in content["datasets"] for p in ("dog", "log", "mine")}
    truth = fm.read(out / "ER1.N3.LD" / "activations.csv")
    found = fm.read(out / "ER1.N3.LD" / "results" / "dog.csv")
    again = fm.score(
        truth, found, protocol=fm.Protocol(dim=2, border=450.0, fov=(6400.0, 6400.0), photon_threshold=0.0)
    )
    (row,) = [r for r in content["metrics"] if (r["dataset"], r["program"]) == ("ER1.N3.LD", "dog")]
    assert row["flat_metric"] == pytest.approx(again.flat_metric.value, rel=1e-12)
    assert "Too few methods to say" in (done / "printed").read_text()


def test_participants_that_fail_are_rows_with_their_reason(done: Path) -> None:
    reasons = {row["program"]: row["reason"] for row in rows(done / "out" / "leaderboard" / "leaderboard.csv")}
    assert reasons["crash"] == "ended with code 3: went wrong"
    assert reasons["silent"] == "ended without writing its result"
    assert reasons["none"].startswith("could not be started")
    assert reasons["mine"] == ""
    assert not list((done / "out").glob("*/runs/*.csv"))


@pytest.mark.usefixtures("undrawn")
def test_a_second_run_does_only_what_is_missing(done: Path) -> None:
    files = [*(done / "out").glob("*/results/*"), *(done / "out").glob("*/stack.ome.tif")]
    before = {path: path.stat().st_mtime_ns for path in files}
    out = run("challenge", "run", "--out", done / "out", *FEW, *TWO, "--participant", "daofind")
    assert out.returncode == 0, out.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (done / "out" / "ER1.N3.LD" / "results" / "daofind.csv").exists()
    board = rows(done / "out" / "leaderboard" / "leaderboard.csv")
    assert {row["program"] for row in board} == {"daofind", "dog", "log"}


@pytest.mark.usefixtures("undrawn")
def test_other_data_take_away_the_results_of_the_old(tmp_path: Path) -> None:
    options = ("--dataset", "MT4.N2.HD", "--tune", "0", "--participant", "dog")
    run("challenge", "run", "--out", tmp_path, *options, "--frames", "4")
    first = (tmp_path / "MT4.N2.HD" / "results" / "dog.csv").read_bytes()
    run("challenge", "run", "--out", tmp_path, *options, "--frames", "4", "--seed", "9")
    assert (tmp_path / "MT4.N2.HD" / "results" / "dog.csv").read_bytes() != first


@pytest.mark.usefixtures("undrawn")
def test_results_belong_to_their_images_wherever_a_run_was_killed(tmp_path: Path) -> None:
    """Killed after new images were made and before the results of the old ones were removed."""
    dataset = named("MT4.N2.HD").with_frames(4)
    options = ("--dataset", "MT4.N2.HD", "--tune", "0", "--frames", "4", "--participant")
    run("challenge", "run", "--out", tmp_path / "killed", *options, "dog", "--participant", "log")
    simulate_folder(tmp_path / "killed" / "MT4.N2.HD", dataset, 9 + PAPER.index("MT4.N2.HD"))
    for out in ("killed", "fresh"):
        done = run("challenge", "run", "--out", tmp_path / out, *options, "dog", "--seed", "9")
        assert done.returncode == 0, done.stderr
    results = [tmp_path / out / "MT4.N2.HD" / "results" for out in ("killed", "fresh")]
    assert [sorted(path.name for path in folder.iterdir()) for folder in results] == [["dog.csv"]] * 2
    assert (results[0] / "dog.csv").read_bytes() == (results[1] / "dog.csv").read_bytes()


@pytest.mark.usefixtures("undrawn")
def test_a_folder_of_the_challenges_own_files_is_scored(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "contest" / "ER1.N3.LD"
    folder.mkdir(parents=True)
    shutil.copy(done / "out" / "ER1.N3.LD" / "activations.csv", folder)
    for program in ("dog", "log"):
        table = fm.read(done / "out" / "ER1.N3.LD" / "results" / f"{program}.csv")
        write(table, folder / f"ER1.N3.LD____2D____{program}____standard.csv", "challenge-standard")
    out = run("challenge", "run", "--from", tmp_path / "contest", "--out", tmp_path / "out")
    assert out.returncode == 0, out.stderr
    mine = {row["program"]: row for row in rows(tmp_path / "out" / "leaderboard" / "leaderboard.csv")}
    theirs = {
        row["program"]: row
        for row in rows(done / "out" / "leaderboard" / "leaderboard.csv")
        if row["dataset"] == "ER1.N3.LD"
    }
    assert set(mine) == {"dog", "log"}
    for program, row in mine.items():
        assert float(row["efficiency [%]"]) == pytest.approx(float(theirs[program]["efficiency [%]"]), rel=1e-9)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not beside this checkout")
def test_real_results_of_real_programs_give_the_same_figures(tmp_path: Path) -> None:
    places = sorted(SHARED.iterdir())[::3]
    for place in places:
        (tmp_path / "in" / place.name / "results").mkdir(parents=True)
        (tmp_path / "in" / place.name / "truth.csv").symlink_to(place / "gt.csv")
        results = [*place.glob("picasso-*.csv"), *place.glob("trackpy*.csv")]
        assert len(results) == 3
        for path in results:
            (tmp_path / "in" / place.name / "results" / path.name.replace("_frames1-64", "")).symlink_to(path)
    out = run("challenge", "run", "--from", tmp_path / "in", "--out", tmp_path / "out", "--protocol", "default")
    assert out.returncode == 0, out.stderr
    board = rows(tmp_path / "out" / "leaderboard" / "leaderboard.csv")
    scored = [row for row in board if row["dataset"] != "overall"]
    assert len(scored) == 3 * len(places) and all(row["reason"] == "" for row in scored)
    assert (tmp_path / "out" / "fig1c.png").exists() and (tmp_path / "out" / "fig4.png").exists()
    ranked = [(float(row["flat_metric [nm]"]), float(row["efficiency [%]"])) for row in board if row["efficiency [%]"]]
    assert len(ranked) == len(scored)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--participant", "nobody"), "method is 'nobody'"),
        (("--program", "mine"), "program is 'mine'"),
        (("--program", "a/b=true {out}"), "program is 'a/b'; give a name of letters"),
        (("--program", "mine=true"), "program mine has no {out}"),
        (("--program", "mine=sh 'a {out}"), "can't be split into words"),
        (
            ("--program", "log=true {out}", "--participant", "log"),
            "two programs are called log",
        ),
        (("--dataset", "MT9"), "--dataset is 'MT9'"),
        (("--dataset", "MT3.N2.LD", "--dataset", "MT3.N2.LD"), "two data sets have the same name"),
        (("--time-limit", "0"), "--time-limit is 0"),
        (("--from", "/no/such/folder"), "is not a folder"),
        (("--from", ".", "--frames", "3"), "--from scores what is there"),
        (("--frames", "0"), "frames is 0"),
    ],
)
def test_wrong_options_are_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    out = run("challenge", "run", "--out", tmp_path / "a", *arguments)
    assert out.returncode == 2 and sentence in out.stderr
    assert [line for line in out.stderr.splitlines() if line.startswith("flatmetric: ")] == out.stderr.splitlines()[-1:]


@pytest.mark.usefixtures("undrawn")
def test_a_participant_is_stopped_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = tmp_path / "parent.sh"
    script.write_text(f"sh -c 'echo $$ > {pid}; exec sleep 600' &\nsleep 600\n")
    options = (
        "--dataset",
        "MT4.N2.HD",
        "--frames",
        "2",
        "--tune",
        "0",
        "--participant",
        "dog",
        "--time-limit",
        "4",
    )
    out = run("challenge", "run", "--out", tmp_path / "out", *options, "--program", f"parent=sh {script} {{out}}")
    assert out.returncode == 0 and "parent: stopped after 4 s" in out.stdout
    wait_until(lambda: not is_alive(int(pid.read_text())), "the child of the participant has ended")


def test_a_run_that_is_stopped_ends_its_participants(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = f"slow=sh -c 'echo $$ > {pid}; exec sleep 600' {{out}}"
    options = [
        "--dataset",
        "MT4.N2.HD",
        "--frames",
        "2",
        "--tune",
        "0",
        "--participant",
        "dog",
        "--program",
        program,
    ]
    command = [sys.executable, "-m", "flatmetric", "challenge", "run", "--out", str(tmp_path / "out"), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: pid.exists() and pid.read_text().strip(), "the participant runs")
        process.terminate()
        assert process.wait(timeout=900) == 143
    wait_until(lambda: not is_alive(int(pid.read_text())), "the participant has ended")


def test_participants_that_all_fail_leave_a_board_of_reasons(tmp_path: Path) -> None:
    options = ("--dataset", "MT4.N2.HD", "--frames", "2", "--participant", "log", "--time-limit", "0.01")
    out = run("challenge", "run", "--out", tmp_path, *options)
    assert out.returncode == 0, out.stderr
    assert "MT4.N2.HD, log: stopped after 0.01 s" in out.stdout and "nothing to draw" in out.stdout
    assert (tmp_path / "challenge.html").exists()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("shell", ["sh ", ""])
def test_a_program_that_was_edited_is_run_again(tmp_path: Path, shell: str) -> None:
    """Whether it is named after an interpreter or run itself, and even if its size and time stay the same."""
    script = tmp_path / "mine.sh"
    command = f"mine={shell}{script} {{stack}} {{out}}"
    places = []
    for x in (1000, 2000):
        script.write_text(f'#!/bin/sh\nprintf "1,{x},1000,0,500\\n2,{x},1000,0,500\\n" > "$2"\n')
        script.chmod(0o755)
        os.utime(script, (1e9, 1e9))
        options = (
            "--dataset",
            "MT4.N2.HD",
            "--frames",
            "2",
            "--tune",
            "0",
            "--participant",
            "dog",
            "--program",
            command,
        )
        out = run("challenge", "run", "--out", tmp_path / "out", *options)
        assert out.returncode == 0, out.stderr
        places.append(fm.read(tmp_path / "out" / "MT4.N2.HD" / "results" / "mine.csv").x[0])
    assert places == [1000, 2000]
    (tmp_path / "out" / "fig4.pdf").unlink()
    (tmp_path / "out" / "fig4.pdf").mkdir()
    out = run("challenge", "run", "--out", tmp_path / "out", *options)
    assert out.returncode == 2 and "fig4.pdf: is a folder" in out.stderr


@pytest.mark.usefixtures("undrawn")
def test_a_data_set_does_not_depend_on_which_others_take_part(tmp_path: Path) -> None:
    options = ("--frames", "2", "--tune", "0", "--participant", "dog")
    run("challenge", "run", "--out", tmp_path / "two", "--dataset", "MT3.N2.LD", "--dataset", "MT4.N2.HD", *options)
    run("challenge", "run", "--out", tmp_path / "one", "--dataset", "MT4.N2.HD", *options)
    stacks = [(tmp_path / name / "MT4.N2.HD" / "stack.ome.tif").read_bytes() for name in ("one", "two")]
    assert stacks[0] == stacks[1]


@pytest.mark.usefixtures("undrawn")
def test_what_lies_about_is_nobodys_result(tmp_path: Path) -> None:
    options = ("--dataset", "MT4.N2.HD", "--frames", "2", "--tune", "0", "--participant", "dog")
    run("challenge", "run", "--out", tmp_path, *options)
    (tmp_path / "MT4.N2.HD" / "runs" / "silent.csv").write_text("frame,x [nm],y [nm]\n1,100,100\n")
    (tmp_path / "MT4.N2.HD" / "runs" / "dog.json").write_text("{}")
    programs = ("--program", "silent=true {out}", "--program", "folder=mkdir {out}", "--program", "word=touch a-{out}")
    long_words = ("--program", "long=sh -c 'printf %09999d 7 >&2; exit 1' {out}")
    out = run("challenge", "run", "--out", tmp_path, *options, *programs, *long_words)
    assert out.returncode == 0, out.stderr
    reasons = {row["program"]: row["reason"] for row in rows(tmp_path / "leaderboard" / "leaderboard.csv")}
    assert reasons["silent"] == reasons["folder"] == "ended without writing its result"
    assert reasons["dog"] == "" and len(reasons["long"]) < 300
    assert reasons["word"].startswith("ended with code 1")


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    options = ["--dataset", "MT4.N2.HD", "--frames", "2", "--tune", "0", "--participant", "dog"]
    command = [sys.executable, "-m", "flatmetric", "challenge", "run", "--out", str(tmp_path / "out"), *options]
    started, go = tmp_path / "started", tmp_path / "go"
    waiting = f"slow=sh -c 'touch {started}; until test -f {go}; do sleep 0.1; done' {{out}}"
    with subprocess.Popen([*command, "--program", waiting], stdout=subprocess.DEVNULL) as first:
        wait_until(started.exists, "the first run is at work")
        out = run("challenge", "run", "--out", tmp_path / "out", *options)
        assert out.returncode == 2 and "another run is at work there" in out.stderr
        go.touch()
        assert first.wait(timeout=900) == 0


def test_names_with_dollars_and_odd_bytes_can_be_drawn(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "D$_$3"
    (folder / "results").mkdir(parents=True)
    shutil.copy(done / "out" / "ER1.N3.LD" / "activations.csv", folder)
    for k, name in enumerate(("a$b$", "_under", "two  spaces", os.fsdecode(b"\xff"), "e")):
        table = fm.read(done / "out" / "ER1.N3.LD" / "results" / "dog.csv")
        write(table.select(np.arange(len(table)) % (k + 2) > 0), folder / "results" / f"{name}.csv", "thunderstorm")
    out = run("challenge", "run", "--from", tmp_path / "in", "--out", tmp_path / "out")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "out" / "fig4.png").exists()


@pytest.mark.usefixtures("undrawn")
def test_replicates_give_intervals_for_structures_not_seen(tmp_path: Path) -> None:
    words = ("--dataset", "ER1.N3.LD", "--frames", "6", "--replicates", "3")
    out = run("challenge", "run", "--out", tmp_path, *words, *TWO)
    assert out.returncode == 0, out.stderr
    content = json.loads((tmp_path / "leaderboard" / "leaderboard.json").read_text())
    assert set(content["datasets"]) == {f"ER1.N3.LD-r{k}" for k in (1, 2, 3)}
    stacks = [(tmp_path / name / "activations.csv").read_bytes() for name in content["datasets"]]
    assert len(set(stacks)) == 3  # each has a structure of its own
    kind = content["kinds"]["ER1.N3.LD"]
    for standing in kind["standings"]:
        own = [s["flat_metric"] for d in content["datasets"].values() for s in d if s["program"] == standing["program"]]
        assert standing["flat_metric"] == pytest.approx(np.mean(own))
        inner, outer = standing["flat_metric_interval"], standing["next_interval"]
        assert outer[0] <= inner[0] <= standing["flat_metric"] <= inner[1] <= outer[1]
    assert "ER1.N3.LD: new structures, from 3 data sets" in out.stdout
    assert "Structures not seen" in (tmp_path / "challenge.html").read_text()
    wrong = run("challenge", "run", "--out", tmp_path / "none", "--replicates", "0")
    assert wrong.returncode == 2 and "--replicates is 0" in wrong.stderr


def test_a_program_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    """On another machine, all that tells is the lease: a file that is gone, or is not touched any more."""
    (tmp_path / "d" / "results").mkdir(parents=True)
    (tmp_path / "d" / "runs").mkdir()
    (tmp_path / "d" / STACK).touch()
    slow = Program("slow", ("sh", "-c", "sleep 600", "{out}"))
    done = runner_module.run_program(tmp_path / "d", slow, 600.0, tmp_path / "no lease")
    assert done.reason == "cancelled: the parent command ended" and done.seconds < 300


def test_a_lease_that_is_not_renewed_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "_EXPIRES_S", 0.2)
    (tmp_path / "lease").touch()
    lease = runner_module._Lease(tmp_path / "lease")
    assert lease.holds()
    wait_until(lambda: not lease.holds(), "the lease has expired")


def test_the_lease_of_a_killed_run_is_removed(tmp_path: Path) -> None:
    left = tmp_path / ".lease-killed"
    left.touch()
    with runner_module._lease(tmp_path) as lease:
        assert lease.exists() and not left.exists()
    assert not list(tmp_path.iterdir())
