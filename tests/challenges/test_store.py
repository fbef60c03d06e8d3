"""A stored score is used again only if nothing that it depends on has changed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric import _files
from flatmetric.challenges import leaderboard
from flatmetric.challenges.leaderboard import write_leaderboard
from flatmetric.challenges.store import FILE, ScoreStore
from flatmetric.challenges.submissions import Submission, Submissions, find_submissions
from flatmetric.formats.read import read_file
from flatmetric.formats.write import write
from flatmetric.options.ranking import RankOptions
from flatmetric.options.reading import ReadOptions
from flatmetric.options.rules import Wobble
from tests.scenes import run, scene


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth, pred = scene(frames=12)
    (tmp_path / "one" / "results").mkdir(parents=True)
    write(truth, tmp_path / "one" / "truth.csv", "thunderstorm")
    write(pred, tmp_path / "one" / "results" / "mine.csv", "thunderstorm")
    return tmp_path


def stored(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "board" / FILE)) as file:
        return [content for (content,) in file.execute("SELECT content FROM scores")]


def flat_metric(folder: Path, **changes: Any) -> float:
    (entry,) = fm.leaderboard(folder, **{"out": folder / "board", "replace": True, **changes}).entries
    value = entry.metrics["flat_metric"]
    assert value is not None
    return value


def wobble(step: float) -> fm.Protocol:
    return fm.Protocol(wobble=Wobble(dx=np.array([step]), dy=np.zeros(1), z=np.zeros(1)))


@pytest.mark.parametrize(
    "changes",
    [
        {"lam": 60.0},
        {"protocol": wobble(90.0)},
        {"protocol": fm.Protocol(first_frame=3)},
        {"weights": "photons"},
        {"axis_scale": (1.0, 1.0, 0.1)},
    ],
)
def test_other_settings_are_scored_anew(folder: Path, changes: dict[str, Any]) -> None:
    before = flat_metric(folder)
    assert flat_metric(folder, **changes) != before
    assert flat_metric(folder) == before
    assert len(stored(folder)) == 2


def test_an_edited_wobble_table_is_scored_anew(folder: Path) -> None:
    table = folder / "wobble.csv"
    values = []
    for step in (0.0, 90.0, 0.0):
        table.write_text(f"dx,dy,z\n{step},0,0\n")
        out = run("leaderboard", folder, "--wobble", table, "--dim", "3", "--out", folder / "board", "--replace")
        assert out.returncode == 0, out.stderr
        content = json.loads((folder / "board" / "leaderboard.json").read_text())
        values.append(content["metrics"][0]["flat_metric"])
    assert values[0] == values[2] and values[1] > values[0] + 20


def test_corrected_metadata_beside_a_result_are_read_anew(folder: Path) -> None:
    _, pred = scene(frames=12)
    (folder / "one" / "results" / "mine.csv").unlink()
    pixels = dataclasses.replace(pred.provenance, pixel_size=(100.0, 100.0))
    write(dataclasses.replace(pred, provenance=pixels), folder / "one" / "results" / "mine.hdf5", "picasso")
    right = flat_metric(folder)
    side = folder / "one" / "results" / "mine.yaml"
    text = side.read_text()
    side.write_text(text.replace("Pixelsize: 100.0", "Pixelsize: 130.0"))
    assert side.read_text() != text and flat_metric(folder) > right + 20


@pytest.mark.parametrize("content", ["{", "[]", '{"metrics": {}}', '{"frames": {"array": "none"}}'])
def test_a_damaged_score_is_scored_anew(folder: Path, content: str) -> None:
    before = flat_metric(folder)
    with closing(sqlite3.connect(folder / "board" / FILE)) as file, file:
        file.execute("UPDATE scores SET content = ?", (content,))
    assert flat_metric(folder) == before and stored(folder) != [content]


def test_a_damaged_array_is_scored_anew(folder: Path) -> None:
    before = flat_metric(folder)
    with closing(sqlite3.connect(folder / "board" / FILE)) as file, file:
        file.execute("UPDATE arrays SET content = ?", (zlib.compress(np.full(12, 7.0).tobytes()),))
    assert flat_metric(folder) == before


@pytest.mark.parametrize("damage", [lambda content: b"no database" * 50, lambda content: content[:4096] + bytes(20000)])
def test_a_damaged_store_is_made_anew(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    before, path = flat_metric(folder), folder / "board" / FILE
    path.write_bytes(damage(path.read_bytes()))
    assert flat_metric(folder) == before and len(stored(folder)) == 1
    assert flat_metric(folder) == before


def test_scores_of_earlier_versions_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = flat_metric(folder)
    found = find_submissions(folder)
    settings = RankOptions().settings()
    with ScoreStore(folder / "board", settings) as store:
        (key,) = store.keys(found.results, [ReadOptions()])
        assert key is not None
        entry = store.load(key, found.results[0])
    assert entry is not None
    old = folder / "board" / "store"
    old.mkdir()
    plain = json.loads(json.dumps(dataclasses.asdict(entry), default=np.ndarray.tolist))
    (old / f"{key}.json").write_text(json.dumps(plain))
    (folder / "board" / FILE).unlink()
    monkeypatch.setattr("flatmetric.challenges.leaderboard._score_one", None)  # nothing is scored again
    assert flat_metric(folder) == before


def test_what_data_sets_share_is_kept_once(folder: Path) -> None:
    _, pred = scene(frames=12)
    for k in range(5):
        moved = dataclasses.replace(pred, x=pred.x + k + 1)
        write(moved, folder / "one" / "results" / f"p{k}.csv", "thunderstorm")
    fm.leaderboard(folder, out=folder / "board")
    with closing(sqlite3.connect(folder / "board" / FILE)) as file:
        kept = file.execute("SELECT COUNT(*) FROM arrays").fetchone()[0]
        hashes = dict(file.execute("SELECT path, sha256 FROM contents"))
    assert len(stored(folder)) == 6 and kept <= 3 * 6 + 6  # costs of each, and what all have
    assert all(hashlib.sha256(Path(os.fsdecode(name)).read_bytes()).hexdigest() == own for name, own in hashes.items())


def test_a_file_that_changes_with_its_size_and_within_a_second_is_read_anew(folder: Path) -> None:
    flat_metric(folder)
    path = folder / "one" / "results" / "mine.csv"
    text = path.read_text()
    path.write_text(text[:-6] + text[-6:].replace("0", "1").replace("2", "3"))
    (entry,) = fm.leaderboard(folder, out=folder / "board").entries
    (anew,) = fm.leaderboard(folder, out=folder / "other").entries
    assert entry.metrics == anew.metrics


def test_a_file_of_the_same_size_and_an_old_time_is_read_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As programs that copy files leave it."""
    monkeypatch.setattr(_files, "_FRESH_S", -1.0)
    path = folder / "one" / "results" / "mine.csv"
    text, times = path.read_text(), path.stat()
    before = flat_metric(folder)
    path.write_text(text.replace("x [nm]", "Z [nm]").replace("y [nm]", "x [nm]").replace("Z [nm]", "y [nm]"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_size == times.st_size and path.stat().st_mtime_ns == times.st_mtime_ns
    (entry,) = fm.leaderboard(folder, out=folder / "other").entries
    assert flat_metric(folder) == entry.metrics["flat_metric"] != before


def test_a_file_that_changes_while_it_is_scored_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "one" / "results" / "mine.csv"
    text = path.read_text()
    right = flat_metric(folder, out=folder / "right")

    def changed(*given: Any, **more: Any) -> Any:
        path.write_text("\n".join(text.splitlines()[:4]) + "\n")
        return read_file(*given, **more)

    monkeypatch.setattr(leaderboard, "read_file", changed)
    assert flat_metric(folder) != right
    monkeypatch.undo()
    path.write_text(text)
    assert flat_metric(folder) == right


def test_two_runs_at_once_write_one_store(folder: Path) -> None:
    _, pred = scene(frames=12)
    for k in range(5):
        write(dataclasses.replace(pred, x=pred.x + k + 1), folder / "one" / "results" / f"p{k}.csv", "thunderstorm")
    words = [sys.executable, "-m", "flatmetric", "leaderboard", str(folder), "--out", str(folder / "board")]
    both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=600)[1] for process in both] == [b"", b""]
    assert [process.returncode for process in both] == [0, 0] and len(stored(folder)) == 6
    content = (folder / "board" / "leaderboard.json").read_bytes()
    fm.leaderboard(folder, out=folder / "alone")
    assert (folder / "alone" / "leaderboard.json").read_bytes() == content


WRITER = """
import sys
from pathlib import Path
import numpy as np
from flatmetric.challenges.store import ScoreStore
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import Entry
store = ScoreStore(Path(sys.argv[1]), {})
for k in range(int(sys.argv[2]), 10**6):
    values = np.arange(2000.0) + k
    metrics = dict.fromkeys(LEADERBOARD, float(k))
    store.save(str(k), Entry("d", "p", metrics, 1, np.arange(2000), values, np.ones(2000)))
    print(k, flush=True)
"""


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.prove)])
def test_kills_at_any_moment_lose_nothing_that_was_finished(tmp_path: Path, kills: int) -> None:
    rng, finished = np.random.default_rng(0), 0
    one = Submission("d", "p", tmp_path, tmp_path)
    for _ in range(kills):
        words = [sys.executable, "-c", WRITER, str(tmp_path), str(finished)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(float(rng.exponential(0.03)))
        process.kill()
        said = process.communicate()[0].split()
        finished = max(finished, *(int(k) for k in said)) + 1 if said else finished + 1
        with ScoreStore(tmp_path, {}) as store:
            entries = [store.load(str(k), one) for k in range(max(0, finished - 50), finished)]
            partial = store.load(str(finished), one)
        for k, entry in enumerate(entries, start=max(0, finished - 50)):
            assert entry is not None and entry.costs[0] == k and len(entry.costs) == 2000
        assert partial is None or partial.costs[0] == finished


def test_one_bad_truth_is_the_reason_of_all_its_results(folder: Path) -> None:
    (folder / "one" / "truth.csv").write_text("nothing,of,use\n")
    scored = fm.leaderboard(folder, out=folder / "board")
    assert not scored.entries and "no column is known as x" in scored.failures["one", "mine"]
    nowhere = Submissions((Submission("two", "mine", folder / "none.csv", folder / "none.csv"),), {})
    assert "no such file" in write_leaderboard(nowhere, folder / "b", RankOptions()).failures["two", "mine"]


def test_results_are_read_as_asked(folder: Path) -> None:
    (entry,) = fm.leaderboard(folder, out=folder / "board", shift=(90.0, 0.0)).entries
    assert (entry.metrics["flat_metric"] or 0.0) > flat_metric(folder) + 20


def test_a_truth_rewritten_with_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    """Once the old truth was used for the new one in the same process, and stored under the key of the new one."""
    truth, results = tmp_path / "one" / "truth.csv", tmp_path / "one" / "results"
    results.mkdir(parents=True)
    rows = "".join(f"{frame},{{}},100.0\n" for frame in range(1, 31))
    header = '"frame","x [nm]","y [nm]"\n'
    (results / "mine.csv").write_text(header + rows.replace("{}", "105.0"))
    truth.write_text(header + rows.replace("{}", "100.0"))
    then = truth.stat()
    assert flat_metric(tmp_path, check=False) == pytest.approx(5)
    truth.write_text(header + rows.replace("{}", "200.0"))
    os.utime(truth, ns=(then.st_atime_ns, then.st_mtime_ns))
    assert truth.stat().st_size == then.st_size
    assert fm.score(truth, results / "mine.csv", check=False).flat_metric.value == pytest.approx(95)
    assert flat_metric(tmp_path, check=False) == pytest.approx(95)
    both = {"a": results / "mine.csv", "b": results / "mine.csv"}
    assert fm.compare(truth, both, check=False).scores[0].flat_metric.value == pytest.approx(95)
    assert float(run("leaderboard", tmp_path, "--out", tmp_path / "board", "--no-check").returncode) == 0
    (entry,) = json.loads((tmp_path / "board" / "leaderboard.json").read_text())["metrics"]
    assert entry["flat_metric"] == pytest.approx(95)
