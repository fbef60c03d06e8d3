"""`flatmetric check`, and its short run inside `score`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenes import run, world


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    truth, pred = world()
    paths = tmp_path / "truth.csv", tmp_path / "result.csv"
    truth.to_pandas().to_csv(paths[0], index=False)
    shifted = pred.to_pandas()
    shifted["frame"] += 3
    shifted["x"] += 70
    shifted.to_csv(paths[1], index=False)
    return paths


def test_check_finds_and_mends(files: tuple[Path, Path], tmp_path: Path) -> None:
    out = run("check", *files)
    assert (
        out.returncode == 0 and "frames are off by +3: --frame-base 4" in out.stdout and "shifted by x +" in out.stdout
    )
    before = files[1].read_bytes()
    mended = tmp_path / "mended.csv"
    assert run("check", *files, "--apply", mended).returncode == 0
    assert files[1].read_bytes() == before  # nothing is changed but on request, and never in place
    assert run("check", files[0], mended).stdout == "Nothing looks wrong.\n"
    assert run("check", *files, "--frame-base", "4", "--shift", "-70,0").stdout == "Nothing looks wrong.\n"


def test_check_as_json(files: tuple[Path, Path]) -> None:
    findings = json.loads(run("check", *files, "--json", "-").stdout)["findings"]
    keys = {"kind", "estimate", "flat_metric_before", "flat_metric_after", "certainty", "mend"}
    assert [finding["kind"] for finding in findings] == ["frame_offset", "shift"]
    assert all(keys <= set(finding) for finding in findings)
    assert findings[1]["estimate"]["x"] == pytest.approx(70, abs=2)


def test_score_warns(files: tuple[Path, Path]) -> None:
    content = json.loads(run("score", *files, "--json", "-").stdout)
    assert any("frames are off by +3" in warning for warning in content["warnings"])
    right = json.loads(run("score", *files, "--frame-base", "4", "--shift", "-70,0", "--json", "-").stdout)
    assert not any("wrong as a whole" in warning for warning in right["warnings"])


def test_wrong_input(files: tuple[Path, Path]) -> None:
    out = run("check", files[0], files[1], "--apply", files[1])
    assert out.returncode == 2 and "is an input" in out.stderr
    out = run("check", files[0], files[1].with_name("no.csv"))
    assert out.returncode == 2 and "no such file" in out.stderr
