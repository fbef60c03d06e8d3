"""Short ways to values, and what a notebook shows."""

from __future__ import annotations

import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.metrics.table import LEADERBOARD, METRICS, metric_named
from tests.scenes import run

DATA = Path(fm.__file__).parent / "data"
TRUTH, DOG, BASELINE = (DATA / f"demo_{name}.csv" for name in ("truth", "dog", "baseline"))


@pytest.fixture(scope="module")
def score() -> fm.Score:
    return fm.score(TRUTH, DOG, check=False)


def test_values_have_short_names(score: fm.Score) -> None:
    assert score.value == score["flat_metric"] == score["flat_metric.value"] == score.flat_metric.value
    assert score["jaccard"] == score.challenge.jaccard and score["recall"] == score.challenge.recall
    assert score["gospa"] == score.gospa.value and score["rmsmd"] == score.rmsmd.per_frame
    assert score["rmse_z"] is None
    assert list(score) == list(METRICS) and "jaccard" not in list(score) and "jaccard" in score
    assert score.get("jaccard") == score["jaccard"] and score.get("jacard") is None and "jacard" not in score
    for short, metric in LEADERBOARD.items():
        assert metric_named(short) is metric


@pytest.mark.parametrize(("key", "near"), [("jacard", "jaccard"), ("Jaccard", "jaccard"), ("rmse_xz", "rmse_xy")])
def test_an_unknown_name_lists_the_nearest(score: fm.Score, key: str, near: str) -> None:
    for kind in (KeyError, fm.InputError):
        with pytest.raises(kind) as caught:
            score[key]
        assert str(caught.value).startswith(f"there is no metric '{key}'; did you mean {near}")


def test_a_comparison_by_name_and_one_by_one() -> None:
    table = fm.read(DOG).to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.FindingWarning)
        compared = fm.compare(TRUTH, DOG, BASELINE, table)
        listed = fm.compare(TRUTH, [DOG, BASELINE, table])
    assert compared.names == listed.names == ("demo_baseline", "demo_dog", "result 3")
    assert compared.best == "demo_baseline" and list(compared) == list(compared.names)
    assert compared["result 3"].value == compared["demo_dog"].value == compared.scores[1].value
    with pytest.raises(KeyError, match="there is no program 'demo_dogs'; did you mean demo_dog"):
        compared["demo_dogs"]


def test_frames_have_shares_and_a_metric_of_their_own(score: fm.Score) -> None:
    frames = score.per_frame()
    own, share = frames["own_flat_metric_nm"], frames["flat_metric_share_nm"]
    assert share.sum() == pytest.approx(score.value)
    assert own.mean() == pytest.approx(score.flat_metric.frame_mean)  # over frames with truth
    for frame in (3, 60):
        truth, pred = (table.select(table.frame == frame) for table in (fm.read(TRUTH), fm.read(DOG)))
        alone = fm.flat_metric(truth.points(2), pred.points(2), lam=125).value
        assert own[frames["frame"] == frame].item() == pytest.approx(alone)
    empty = fm.score(
        {"frame": [1], "x": [0.0], "y": [0.0]}, {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}, check=False
    )
    assert np.isnan(empty.per_frame()["own_flat_metric_nm"][1])


def test_columns_that_were_not_read_are_named(tmp_path: Path) -> None:
    file = tmp_path / "img.csv"
    file.write_text("img,x,y,mass\n1,100,200,5\n1,300,900,5\n2,500,200,5\n")
    assert fm.inspect(file).unused == ("img", "mass")
    shown = run("inspect", file)
    assert "not used    img, mass" in shown.stdout
    assert "assumed: no frame column: all rows are in frame 1 (otherwise give --columns)" in shown.stdout
    checked = run("check", TRUTH, file)
    assert f"not used: {file}: img, mass" in checked.stderr.splitlines()
    assert fm.inspect({"frame": [1], "x": [1.0], "y": [1.0], "mass": [2.0]}).unused == ("mass",)


def test_strict_is_an_exit_code_of_score_too(tmp_path: Path) -> None:
    shifted = fm.read(BASELINE).to_pandas()
    shifted["x"] += 200
    shifted.to_csv(tmp_path / "shifted.csv", index=False)
    for command in ("score", "check"):
        assert run(command, TRUTH, tmp_path / "shifted.csv", "--strict").returncode == 1
        assert run(command, TRUTH, tmp_path / "shifted.csv").returncode == 0
        assert run(command, TRUTH, BASELINE, "--strict").returncode == 0


def test_an_inspection_is_a_small_table() -> None:
    html = fm.inspect({"frame": [1], "x": [1.0], "y": [-1.0], "<mass>": [2.0]})._repr_html_()
    assert html.count("<table") == 2 and "not used: &lt;mass&gt;" in html and "below 0" in html
    assert len(fm.inspect(DOG)._repr_html_()) < 4000


class Shell:
    execution_count = 1


def test_a_cell_shows_a_finding_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning stands above the result in the same cell, and not in a later one."""
    shell = Shell()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    shifted = fm.read(BASELINE)
    table = {"frame": shifted.frame, "x": shifted.x + 200, "y": shifted.y}
    with pytest.warns(fm.FindingWarning, match="shifted by x"):
        score = fm.score(TRUTH, table)
    with pytest.warns(fm.FindingWarning, match="shifted by x"):
        compared = fm.compare(TRUTH, {"a": table, "b": BASELINE})
    assert "shifted by x" not in score._repr_html_() and "shifted by x" not in compared._repr_html_()
    assert "shifted by x" in score.findings._repr_html_()
    shell.execution_count = 2
    assert score._repr_html_().count("shifted by x") == compared._repr_html_().count("shifted by x") == 1
