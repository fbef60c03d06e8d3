"""Claims of precision that are honest, too bold or too shy, in every output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import flatmetric as fm
from flatmetric.reports.parts import NamedScore
from flatmetric.reports.score_page import score_page
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.intervals import intervals_of
from tests.scenes import run

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


def claimed(times: float, n: int = 4000) -> tuple[dict[str, Any], dict[str, Any]]:
    """Molecules far apart, found with errors of their own; the claim is the true spread over `times`."""
    rng = np.random.default_rng(3)
    truth: dict[str, Any] = {"frame": np.arange(1, n + 1), "x": np.zeros(n), "y": np.zeros(n)}
    spread = rng.uniform(5, 40, n)
    found = {name: rng.normal(bias, spread) for name, bias in (("x", 30.0), ("y", -30.0))}  # a bias is no spread
    return truth, truth | found | {"uncertainty": spread / times}


@pytest.mark.parametrize("times", [0.5, 1.0, 2.0])
def test_the_ratio_is_how_much_too_bold_the_claim_is(times: float) -> None:
    truth, pred = claimed(times)
    errors, claim = np.stack([pred["x"], pred["y"]]), pred["uncertainty"]
    bias = np.average(errors, axis=1, weights=claim**-2.0)
    ratio = (errors - bias[:, None]) / claim
    score = fm.score(truth, pred)
    assert score.calibration.claims == 4000
    assert (score.calibration.x, score.calibration.y) == pytest.approx(tuple(np.sqrt((ratio**2).sum(axis=1) / 3999)))
    assert score.calibration.xy == pytest.approx(np.sqrt((ratio**2).sum() / 7998))
    assert score.calibration.xy == pytest.approx(times, rel=0.03)
    interval = intervals_of(score).intervals["calibration.xy"]
    assert interval is not None and interval[0] < (score.calibration.xy or 0.0) < interval[1]


def test_rows_without_a_claim_count_for_nothing() -> None:
    truth, pred = claimed(1.0, 6)
    pred["uncertainty"] = np.array([10.0, np.nan, 0.0, -5.0, 20.0, np.inf])
    rows = np.array([0, 4])
    x, claim = np.asarray(pred["x"])[rows], np.array([10.0, 20.0])
    expected = abs(x[1] - x[0]) / np.hypot(*claim)  # of two pairs: their difference over what it claims to be
    score = fm.score(truth, pred)
    assert score.calibration.claims == 2 and score.calibration.x == pytest.approx(expected)
    pred["uncertainty"] = np.array([10.0] + [np.nan] * 5)
    assert fm.score(truth, pred).calibration.xy is None
    reason = fm.score(truth, truth).undefined()["calibration.xy"]
    assert reason == "fewer than two matched detections claim an uncertainty"


def test_every_output_has_it(tmp_path: Path) -> None:
    truth, pred = claimed(2.0, 50)
    (tmp_path / "d" / "results").mkdir(parents=True)
    files = [tmp_path / "d" / "truth.csv", tmp_path / "d" / "results" / "bold.csv"]
    for path, columns in zip(files, (truth, pred), strict=True):
        pd.DataFrame(columns).to_csv(path, index=False)
    score = fm.score(truth, pred)
    shown = f"{score.calibration.xy:.3f}"
    assert f"error / claimed uncertainty {shown} (1 is well calibrated" in run("score", *files).stdout
    values = json.loads(run("score", *files, "--json", "-").stdout)["calibration"]
    assert values["xy"] == pytest.approx(score.calibration.xy) and values["claims"] == 50
    assert "calibration.xy" in run("score", *files, "--csv", "-").stdout
    assert f">{shown}<" in score_page(NamedScore("bold", score), "flatmetric score")
    assert entry_of("d", "bold", score).metrics["calibration"] == score.calibration.xy
    run("leaderboard", tmp_path, "--out", tmp_path / "board")
    assert "calibration" in (tmp_path / "board" / "leaderboard.csv").read_text()
