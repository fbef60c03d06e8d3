"""The workflows of the docs score and compare a folder of results."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

DATA = ROOT / "src" / "flatmetric" / "data"
WORKFLOWS = ROOT / "examples" / "workflow"
ON_PATH = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "results").mkdir()
    shutil.copy(DATA / "demo_truth.csv", tmp_path / "truth.csv")
    for name in ("baseline", "dog"):
        shutil.copy(DATA / f"demo_{name}.csv", tmp_path / "results" / f"{name}.csv")
    return tmp_path


def check_outcome(folder: Path) -> None:
    entries = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["entries"]
    assert [entry["name"] for entry in entries] == ["baseline", "dog"]
    for entry in entries:
        score = json.loads((folder / "scores" / f"{entry['name']}.json").read_text(encoding="utf-8"))
        assert score["flat_metric"]["value"] == entry["flat_metric"]["value"]
    assert (folder / "comparison.html").exists()


@pytest.mark.more
def test_snakemake(folder: Path) -> None:
    line = [sys.executable, "-m", "snakemake", "--cores", "1", "--snakefile", str(WORKFLOWS / "Snakefile")]
    run = subprocess.run(line, cwd=folder, env=ON_PATH, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    check_outcome(folder)


def test_the_commands_of_nextflow(folder: Path) -> None:
    """Nextflow is no Python package, so its commands run here with the names that it would fill in."""
    text = (WORKFLOWS / "main.nf").read_text(encoding="utf-8")
    score, compare = (command.strip() for command in re.findall(r'"""(.*?)"""', text, re.DOTALL))
    (folder / "scores").mkdir()
    for name in ("baseline", "dog"):
        filled = score.replace("${truth}", "truth.csv").replace("${result}", f"results/{name}.csv")
        filled = filled.replace("${result.baseName}", f"scores/{name}")
        subprocess.run(["bash", "-c", filled], cwd=folder, env=ON_PATH, check=True, capture_output=True)
    filled = compare.replace("${truth}", "truth.csv").replace("${results}", "results/baseline.csv results/dog.csv")
    subprocess.run(["bash", "-c", filled], cwd=folder, env=ON_PATH, check=True, capture_output=True)
    check_outcome(folder)
