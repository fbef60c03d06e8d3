"""`flatmetric compare`, and the certainty of `score`, as a user runs them."""

from __future__ import annotations

import html
import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from tests.scenes import SCHEMA, draw, run


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    truth, good = draw(np.random.default_rng(0), 80, 0.9, 15)
    _, poor = draw(np.random.default_rng(0), 80, 0.5, 60)
    paths = [tmp_path / f"{name}.csv" for name in ("truth", "poor", "good")]
    for path, table in zip(paths, (truth, poor, good), strict=True):
        pd.DataFrame(table).to_csv(path, index=False)
    return paths


def test_compare(files: list[Path]) -> None:
    out = run("compare", *files, "--curve")
    assert out.returncode == 0
    assert out.stdout.index("good") < out.stdout.index("poor")
    assert "good is better than poor by " in out.stdout and "best for lam from 10 to 250 nm" in out.stdout


def test_compare_as_json(files: list[Path]) -> None:
    content = json.loads(run("compare", *files, "--json", "-", "--seed", "7", "--curve").stdout)
    assert [entry["name"] for entry in content["entries"]] == ["good", "poor"]
    low, high = content["entries"][0]["flat_metric"]["ci"]
    assert low < content["entries"][0]["flat_metric"]["value"] < high
    (pair,) = content["pairs"]
    assert {"a", "b", "difference", "ci", "p", "p_holm"} <= set(pair) and pair["difference"] < 0
    assert content["seed"] == 7 and sum(content["lead"]["share"].values()) == pytest.approx(1)


def test_score_with_intervals_and_curve(files: list[Path]) -> None:
    out = run("score", files[0], files[2], "--ci", "90", "--curve", "200", "--json", "-")
    content = json.loads(out.stdout)
    jsonschema.validate(content, SCHEMA)
    assert (content["ci"]["level"], content["ci"]["seed"]) == (90, 0)
    low, high = content["ci"]["intervals"]["flat_metric.value"]
    assert low < content["flat_metric"]["value"] < high
    curve = content["curve"]
    assert curve["lam_nm"][-1] == 200 and len(curve["lam_nm"]) == len(curve["value"])
    assert np.interp(125, curve["lam_nm"], curve["value"]) == pytest.approx(content["flat_metric"]["value"])
    assert "90 % intervals" in run("score", files[0], files[2], "--ci", "90").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("truth.csv", "good.csv"), "one result can't be compared; give two or more"),
        (("truth.csv", "good.csv", "good.csv"), "good.csv: is given twice; give each result once"),
        (("truth.csv", "good.csv", "poor.csv", "--ci", "0"), "confidence level is 0"),
        (("truth.csv", "good.csv", "missing.csv"), "missing.csv: there is no such file"),
        (
            ("truth.csv", "good.csv", "poor.csv", "--photon-quantile", "0.5"),
            "no photons, so leave the photon threshold out",
        ),
    ],
)
def test_wrong_input(words: tuple[str, ...], sentence: str, files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files[0].parent)
    out = run("compare", *words)
    assert out.returncode == 2 and sentence in out.stderr and "Traceback" not in out.stderr


def test_no_verdict_stands_alone_on_a_file_that_is_wrong(files: list[Path], tmp_path: Path) -> None:
    table = pd.read_csv(files[2])
    table[["x", "y"]] /= 100
    table.to_csv(tmp_path / "pixels.csv", index=False)
    page = tmp_path / "page.html"
    printed = run("compare", files[0], files[2], tmp_path / "pixels.csv", "--report", page).stdout
    (doubt,) = (line for line in printed.splitlines() if line.startswith("Fix pixels first: "))
    assert "its file is wrong (positions are 0.0" in doubt
    assert "times the true ones: they are not in nm), so these numbers don't reflect the program." in doubt
    assert printed.index(doubt) < printed.index("good is better than pixels")
    assert doubt in html.unescape(page.read_text(encoding="utf-8"))
    assert "Fix " not in run("compare", *files).stdout


def test_a_page_says_first_whether_the_lowest_depends_on_lam(files: list[Path], tmp_path: Path) -> None:
    page, truth = tmp_path / "page.html", tmp_path / "two.csv"
    assert run("compare", *files, "--report", page).returncode == 0
    assert "good has the lowest Flat Metric for every lam from 10 to 250 nm." in page.read_text(encoding="utf-8")
    pd.DataFrame({"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}).to_csv(truth, index=False)
    pd.DataFrame({"frame": [1], "x": [1.0], "y": [0.0]}).to_csv(tmp_path / "precise.csv", index=False)
    pd.DataFrame({"frame": [1, 2], "x": [40.0, 40.0], "y": [0.0, 0.0]}).to_csv(tmp_path / "complete.csv", index=False)
    words = (truth, tmp_path / "precise.csv", tmp_path / "complete.csv", "--no-check", "--report", page)
    done = run("compare", *words)
    assert done.returncode == 0, done.stderr
    # Half of (1 + lam) against 40 nm: the curves cross at 79 nm.
    said = (
        "Which has the lowest Flat Metric depends on lam: complete for 71 % of lam from 10 to 250 nm, precise for 29 %."
    )
    assert said in page.read_text(encoding="utf-8").split("What to do next")[0]
