"""README and docs say what is true: snippets run, commands print what they are said to print, links lead somewhere."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

import flatmetric as fm
from benchmarks.shown import PEERS, highlights, read_table, speedup
from benchmarks.tables import BENCH, RESULTS, Row, between
from examples import make_demo_data
from examples.make_docs import SHOWN
from flatmetric.scoring.base_score import SCHEMA
from tests.docs.pages import PAGES, ROOT, WITH_COMMANDS, WITH_PYTHON, commands, name


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_snippets_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failures, tests = doctest.testfile(str(page), module_relative=False)
    assert tests > 0 and failures == 0


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    (tmp_path / "src").symlink_to(ROOT / "src")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in commands(page):
        run = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            env=os.environ | {"PATH": path},
        )
        assert run.returncode == 0, run.stderr
        wanted = ".*".join(re.escape(part.strip("\n")) for part in "\n".join(expected).split("..."))
        assert not expected or re.fullmatch(wanted, run.stdout.strip("\n"), re.DOTALL), f"{command}\n{run.stdout}"


@pytest.mark.parametrize(
    "page", [*PAGES, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"))], ids=name
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http", "#", "mailto:")) and "gallery/" not in target:
            assert (page.parent / target.split("#")[0]).exists(), target


def test_the_picture_of_the_readme_is_what_its_command_writes() -> None:
    data, first = ROOT / "src" / "flatmetric" / "data", ROOT / "docs" / "how-to" / "report" / "first.png"
    score = fm.score(data / "demo_truth.csv", data / "demo_baseline.csv")
    with Image.open(first) as picture:
        assert picture.info[SHOWN] == repr(score), "run python -m examples.make_docs"
    for page, command in ((ROOT / "README.md", "src/flatmetric/data/"), (ROOT / "docs" / "index.md", "")):
        asked = f"$ flatmetric score {command}demo_truth.csv {command}demo_baseline.csv --report page.html"
        assert asked in page.read_text("utf-8") and "how-to/report/first.png" in page.read_text("utf-8")


def test_the_example_is_of_todays_simulator_and_localizers(tmp_path: Path) -> None:
    make_demo_data.main(tmp_path)
    for made in sorted(tmp_path.iterdir()):
        bundled = make_demo_data.DATA / made.name
        if made.suffix == ".csv":
            ours, theirs = fm.read(made), fm.read(bundled)
            # Another processor rounds otherwise, which may tip a few pixels and a spot at the threshold.
            assert abs(len(ours) - len(theirs)) <= 3, "run python -m examples.make_demo_data"
            assert fm.flat_metric(
                ours.points(2), theirs.points(2), lam=10, truth_frames=ours.frame, pred_frames=theirs.frame
            ).value == pytest.approx(0, abs=0.1)
        else:
            ours_images, theirs_images = (tifffile.imread(path) for path in (made, bundled))
            assert (ours_images != theirs_images).mean() < 1e-3


def test_the_gallery_has_what_pages_show() -> None:
    scripts = {script.stem for script in (ROOT / "examples" / "gallery").rglob("plot_*.py")}
    assert len(scripts) >= 15
    for page in PAGES:
        named = re.findall(
            r"gallery/\w+/(?:images/sphx_glr_)?(plot_[a-z_]+?)(?:_001\.png|\.rst)", page.read_text("utf-8")
        )
        assert set(named) <= scripts, page.name


@pytest.mark.parametrize(
    ("results", "page"),
    [
        ("table", "docs/benchmarks.md"),
        ("work", "docs/how-to/cluster.md"),
        ("training", "docs/how-to/train.md"),
        ("web", "docs/how-to/web.md"),
    ],
)
def test_pages_show_the_table_of_the_last_benchmark(results: str, page: str) -> None:
    table = (RESULTS / f"{results}.md").read_text(encoding="utf-8")
    assert between(page, BENCH) == table.strip()


def test_readme_shows_rows_of_the_last_benchmark() -> None:
    assert between("README.md", BENCH) == highlights(read_table())


def test_the_first_sentence_about_speed_is_that_of_the_table() -> None:
    ratios: dict[bool, list[float]] = {True: [], False: []}
    for row in read_table():
        if row["peer"] in PEERS and row["peer"] != "dense LP (HiGHS)":
            deep = row["what"] == "four dimensions" or row["regime"] == "many dimensions"
            ratios[deep].append(float(f"{speedup(row):.2g}"))
    (low, high), (deep_low, deep_high) = ((min(ratios[deep]), max(ratios[deep])) for deep in (False, True))
    said = f"{low:.0f} to {high:.0f} times as fast as the exact peers on the same points in two and three dimensions"
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"{said}, {deep_low:.0f} to {deep_high:.0f} times in four to ten" in page


def test_a_bar_that_is_missed_is_a_no_whatever_kind_of_number_it_is() -> None:
    row = Row("far growth", "rings", "", np.float64(2.86), "N^2.2", 2.2, 1, at_most=True)
    assert row.met is False and replace(row, ours_s=np.float64(2.0)).met is True


def test_the_readme_names_commands_that_exist() -> None:
    for target in set(re.findall(r"\bmake (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"))):
        known = subprocess.run(["make", "--dry-run", target], capture_output=True, cwd=ROOT, check=False)
        assert known.returncode == 0, target


def test_the_schema_lies_where_it_says() -> None:
    assert json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))["$id"] == SCHEMA


def test_every_row_of_the_robustness_page_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "understand" / "robustness.md").read_text(encoding="utf-8")
    rows = [line for line in page[page.index("## Untrusted files") :].splitlines() if line.startswith("| ")]
    named = [re.search(r"`(tests/[\w/]+\.py)::(\w+)` \|$", row) for row in rows]
    headers = sum(row.endswith("| test |") for row in rows)
    assert len(named) - headers > 30 and sum(one is None for one in named) == headers
    for one in filter(None, named):
        assert f"def {one[2]}(" in (ROOT / one[1]).read_text(encoding="utf-8"), one[0]
