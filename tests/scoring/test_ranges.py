"""Scores by ranges of frames: the answer of the whole, with the memory of a range."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

import flatmetric as fm
from flatmetric.execution.workers import Workers
from flatmetric.localizations import Localizations
from flatmetric.options.rules import Protocol, Wobble
from flatmetric.options.scoring import Imaging, MetricOptions
from flatmetric.scoring.ranges import score_ranges
from flatmetric.scoring.score import Score, score_tables
from tests.scenes import run


def world(
    seed: int, *, dim: int = 3, ids: str | None = "molecules", ordered: bool = False
) -> tuple[Localizations, Localizations]:
    """A blinking truth and a result with misses, false detections, and frames that only one of them has."""
    rng = np.random.default_rng(seed)
    rows, molecules = 1500, 300
    places = rng.uniform(0, 6400, (molecules, 3)) * (1, 1, 0.1)
    who, frame = rng.integers(0, molecules, rows), rng.integers(1, 121, rows)
    frame[(frame > 40) & (frame < 50)] = 50
    truth: dict[str, Any] = {"frame": frame, "x": places[who, 0], "y": places[who, 1], "z": places[who, 2]}
    truth["photons"] = rng.gamma(2, 500, rows)
    found = rng.random(rows) < 0.7
    pred: dict[str, Any] = {
        name: values[found] + rng.normal(0, 30, found.sum()) for name, values in truth.items() if name != "frame"
    }
    pred["frame"] = frame[found]
    pred["photons"] = np.abs(pred["photons"])
    pred["uncertainty"] = rng.uniform(10, 40, found.sum())
    false: dict[str, Any] = {name: rng.uniform(0, 6400, 200) for name in pred}
    false["frame"] = rng.integers(1, 121, 200)
    false["frame"][:5] = 45
    pred = {name: np.concatenate([values, false[name]]) for name, values in pred.items()}
    if ids is not None:
        truth["id"] = who * 7 + 3 if ids == "molecules" else rng.permutation(rows)
    if ordered:
        order = np.argsort(frame, kind="stable")
        truth = {name: values[order] for name, values in truth.items()}
    if dim == 2:
        del truth["z"], pred["z"]
    return Localizations(**truth), Localizations(**pred)


def assert_same(whole: Any, ranged: Any, place: str = "") -> None:
    """Counts and texts to the bit, other numbers to 1e-12."""
    if isinstance(whole, dict):
        assert whole.keys() == ranged.keys()
        for key in whole.keys() - {"advice"}:
            assert_same(whole[key], ranged[key], f"{place}.{key}")
    elif isinstance(whole, float) and isinstance(ranged, float):
        assert math.isclose(whole, ranged, rel_tol=1e-12, abs_tol=1e-12), (place, whole, ranged)
    else:
        assert whole == ranged, place


WOBBLE = Wobble(np.array([0.0, 20.0]), np.array([0.0, -10.0]), np.array([-700.0, 700.0]))
OPTIONS: list[dict[str, Any]] = [
    {},
    {"weights": "photons"},
    {"protocol": Protocol(photon_quantile=0.25, wobble=WOBBLE)},
    {"protocol": Protocol(border=450, fov=(6400, 6400), photon_threshold=300)},
    {"gospa_p": 2.0, "bound": Imaging(pixel_size=100, sigma=130, background=20)},
    {"protocol": Protocol(first_frame=30, last_frame=100, matching="optimal"), "gospa_c": 200.0},
    {"protocol": Protocol(dim=2, first_frame=200)},
    {"protocol": Protocol(photon_threshold=1e9)},
]


def split(options: dict[str, Any]) -> tuple[MetricOptions, Protocol]:
    """Options of the metrics, and the rules."""
    others = {name: value for name, value in options.items() if name != "protocol"}
    return MetricOptions(**others), options.get("protocol", Protocol())


def score(truth: Localizations, pred: Localizations, **options: Any) -> Score:
    return score_tables(truth, pred, *split(options))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(options))
@pytest.mark.parametrize("ids", ["molecules", "rows", None])
def test_ranges_give_the_answer_of_the_whole(options: dict[str, Any], ids: str | None, tmp_path: Path) -> None:
    truth, pred = world(len(options), ids=ids, ordered=ids is None)
    whole = score(truth, pred, **options)
    ranged, warnings = score_ranges(truth, pred, *split(options), tmp_path, rows=500, workers=Workers(1))
    assert_same(whole.to_dict(), ranged.to_dict())
    assert warnings == whole.matched.warnings
    assert ranged.assumptions() == whole.assumptions()


@pytest.mark.parametrize("rows", [1, 60, 100_000])
def test_the_size_of_a_range_does_not_matter(rows: int, tmp_path: Path) -> None:
    truth, pred = world(5, dim=2)
    truth, pred = truth.select(truth.frame <= 12), pred.select(pred.frame <= 15)
    ranged, _ = score_ranges(truth, pred, *split({}), tmp_path, rows=rows, workers=Workers(1))
    assert_same(score(truth, pred).to_dict(), ranged.to_dict())


def test_no_detection_and_photons_that_add_up_to_nothing(tmp_path: Path) -> None:
    truth, pred = world(6)
    nothing = pred.select(np.zeros(len(pred), dtype=bool))
    ranged, warnings = score_ranges(truth, nothing, *split({}), tmp_path, rows=400, workers=Workers(1))
    assert_same(score(truth, nothing).to_dict(), ranged.to_dict())
    assert warnings == ("there is no detection at all",)
    dark = dataclasses.replace(truth, photons=np.zeros(len(truth)))
    with pytest.raises(fm.InputError, match="the true photons add up to 0"):
        score_ranges(dark, pred, *split({"weights": "photons"}), tmp_path, rows=400, workers=Workers(1))
    assert truth.photons is not None
    half = dataclasses.replace(truth, photons=np.where(truth.frame < 60, 0.0, truth.photons))
    ranged, _ = score_ranges(half, pred, *split({"weights": "photons"}), tmp_path, rows=400, workers=Workers(1))
    assert_same(score(half, pred, weights="photons").to_dict(), ranged.to_dict())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path, Path]:
    """A truth and a result as CSV, in which the numbers of a column change their looks, and as Parquet."""
    truth, pred = world(7)
    names = [tmp_path / name for name in ("truth.csv", "pred.csv", "truth.parquet", "pred.parquet")]
    for at, table in enumerate((truth, pred)):
        rows = table.to_pandas()
        rows["frame"] -= 1  # frames from 0, which only the least of all rows tells
        rows.to_csv(names[at], index=False)
        rows.to_parquet(names[at + 2], row_group_size=200)
    return names[0], names[1], names[2], names[3]


def test_files_are_read_as_by_score(files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatmetric.formats.parquet._BATCH_ROWS", 300)
    monkeypatch.setattr("flatmetric._arrays._CHUNK", 128)
    for truth, pred in (files[:2], files[2:]):
        whole = fm.score(truth, pred)
        ranged = fm.score_in_ranges(truth, pred, rows_at_a_time=400, jobs=1)
        assert_same(whole.to_dict(), ranged.to_dict())
        assert ranged.name == whole.name and "+1" in " ".join(ranged.basis.truth.provenance.conversions)
        with ThreadPoolExecutor(2) as executor:
            again = fm.score_in_ranges(truth, pred, rows_at_a_time=400, executor=executor)
        assert again.to_dict() == ranged.to_dict()
        assert sorted(path.name for path in truth.parent.iterdir()) == sorted(path.name for path in files)


def test_processes_and_the_command_give_the_same(files: tuple[Path, ...], tmp_path: Path) -> None:
    truth, pred = map(str, files[:2])
    alone = fm.score_in_ranges(truth, pred, rows_at_a_time=1000, jobs=1).to_dict()
    out = tmp_path / "score.json"
    assert (
        "Flat Metric" in run("score", truth, pred, "--rows-at-a-time", "1000", "--jobs", "2", "--json", str(out)).stdout
    )
    assert json.loads(out.read_text(encoding="utf-8")) == json.loads(json.dumps(alone))


def test_a_wrong_file_is_found_in_a_sample() -> None:
    rng = np.random.default_rng(0)
    frame = np.repeat(np.arange(1, 2001), 10)
    truth: dict[str, Any] = {"frame": frame, "x": rng.uniform(0, 6400, 20_000), "y": rng.uniform(0, 6400, 20_000)}
    for wrong, kind in (
        (dict(truth, frame=frame + 3), "frame_offset"),
        (dict(truth, x=truth["y"], y=truth["x"]), "swapped_axes"),
        ({name: values[frame < 700] for name, values in truth.items()}, "truncated"),
    ):
        with pytest.warns(fm.FindingWarning):
            ranged = fm.score_in_ranges(truth, wrong, rows_at_a_time=9000, jobs=1)
        assert [finding.kind for finding in ranged.findings] == [kind]
        with pytest.warns(fm.FindingWarning):
            assert [finding.kind for finding in fm.score(truth, wrong).findings] == [kind]
    assert not fm.score_in_ranges(truth, truth, rows_at_a_time=9000, jobs=1).findings


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rows-at-a-time", "0"], "--rows-at-a-time is 0; give a whole number from 1"),
        (["--rows-at-a-time", "9", "--ci", "95"], "--ci needs all rows at once"),
        (["--rows-at-a-time", "9", "--per-molecule", "rows.csv"], "--per-molecule needs all rows at once"),
        (["--rows-at-a-time", "9", "--link", "50,1"], "--link needs all rows at once"),
        (["--rows-at-a-time", "9", "--scratch", "nowhere"], "nowhere: the scratch folder does not exist"),
    ],
)
def test_what_needs_all_rows_is_one_sentence(
    words: list[str], sentence: str, files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files[0].parent)
    failed = run("score", str(files[0]), str(files[1]), *words)
    assert failed.returncode == 2
    assert sentence in failed.stderr and len(failed.stderr.strip().splitlines()) == 1


def test_a_full_disk_is_one_sentence(files: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("flatmetric._arrays.os.posix_fallocate", full)
    with pytest.raises(fm.InputError, match=r"a column of 0\.0 GB can't be kept there, No space left on device; give"):
        fm.score_in_ranges(files[0], files[1], scratch=tmp_path, jobs=1)
    assert sorted(tmp_path.iterdir()) == before


_PEAK = """
import sys, threading, time
import flatmetric as fm
peak = 0
def watch():
    global peak
    while True:
        with open("/proc/self/status", encoding="ascii") as status:
            peak = max(peak, next(int(line.split()[1]) for line in status if line.startswith("RssAnon")))
        time.sleep(0.002)
threading.Thread(target=watch, daemon=True).start()
time.sleep(0.05)
before = peak
function = getattr(fm, sys.argv[1])
function(*sys.argv[2:4], **({"rows_at_a_time": 50_000, "jobs": 1} if sys.argv[1] == "score_in_ranges" else {}))
print(peak - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the memory statistics of Linux")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_memory_is_that_of_a_range(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = 800_000
    truth: dict[str, Any] = {
        "frame": np.arange(rows) // 50 + 1,
        "x": rng.uniform(0, 50_000, rows),
        "y": rng.uniform(0, 50_000, rows),
    }
    table = Localizations(**truth, photons=rng.gamma(2, 500, rows), id=rng.integers(0, rows // 10, rows))
    names = [tmp_path / f"{name}{suffix}" for name in ("truth", "pred")]
    columns = pyarrow.Table.from_pandas(table.to_pandas().round(1), preserve_index=False)
    if suffix == ".csv":
        pyarrow.csv.write_csv(columns, names[0])
    else:
        pyarrow.parquet.write_table(columns, names[0], row_group_size=50_000)
    shutil.copy(*names)
    peaks = [
        int(
            subprocess.run(
                [sys.executable, "-c", _PEAK, how, *names], capture_output=True, check=True, text=True
            ).stdout
        )
        for how in ("score", "score_in_ranges")
    ]
    assert peaks[1] < peaks[0] / 2, peaks  # PyArrow alone takes 100 MB
