"""A stored score is used again only if nothing that it depends on has changed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.api.leaderboard import board_options
from flatmetric.challenge.leaderboard import write_leaderboard
from flatmetric.challenge.submissions import Found, Submission
from flatmetric.formats.write import write
from flatmetric.matching.protocol import Wobble
from tests.scenes import run, scene


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    truth, pred = scene(frames=12)
    (tmp_path / "one" / "results").mkdir(parents=True)
    write(truth, tmp_path / "one" / "truth.csv", "thunderstorm")
    write(pred, tmp_path / "one" / "results" / "mine.csv", "thunderstorm")
    return tmp_path


def flat_metric(folder: Path, **changes: Any) -> float:
    (entry,) = fm.leaderboard(folder, out=folder / "board", replace=True, **changes).entries
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
    assert len(list((folder / "board" / "store").iterdir())) == 2


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


def test_a_damaged_store_is_scored_anew(folder: Path) -> None:
    before = flat_metric(folder)
    (file,) = (folder / "board" / "store").iterdir()
    for content in ("{", "[]", '{"metrics": {}}'):
        file.write_text(content)
        assert flat_metric(folder) == before


def test_one_bad_truth_is_the_reason_of_all_its_results(folder: Path) -> None:
    (folder / "one" / "truth.csv").write_text("nothing,of,use\n")
    scored = fm.leaderboard(folder, out=folder / "board")
    assert not scored.entries and "no column is known as x" in scored.failures["one", "mine"]
    nowhere = Found((Submission("two", "mine", folder / "none.csv", folder / "none.csv"),), {})
    assert "no such file" in write_leaderboard(nowhere, folder / "b", board_options({})).failures["two", "mine"]


def test_results_are_read_as_asked(folder: Path) -> None:
    (entry,) = fm.leaderboard(folder, out=folder / "board", shift=(90.0, 0.0)).entries
    assert (entry.metrics["flat_metric"] or 0.0) > flat_metric(folder) + 20
