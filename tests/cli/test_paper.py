"""`flatmetric paper`: every figure and table, the same each time, and what docs/understand/paper.md quotes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.scenes import run

DOCS = Path(__file__).parent.parent.parent / "docs" / "understand" / "paper.md"
SMALL = ("--steps", "4", "--trials", "3", "--points", "12")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "new"
    out = run("paper", "--out", folder, "--seed", "7", *SMALL)
    assert out.returncode == 0, out.stderr
    return folder


def test_every_figure_and_table_is_written(written: Path) -> None:
    drawn = [
        f"{stem}.{kind}" for stem in ("fig1_deviation", "fig1a", "fig1b", "fig2", "fig3") for kind in ("pdf", "png")
    ]
    tables = ["fig1_deviation.csv", "fig1_surfaces.csv", "fig2.csv", "fig3.csv"]
    assert sorted(path.name for path in written.iterdir()) == sorted(drawn + tables)
    with (written / "fig1_surfaces.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ["radius_nm", "recall", "flat_metric", "flat_metric_sd", "efficiency", "jaccard", "rmse", "trials"]
    assert list(rows[0]) == names
    assert len(rows) == 16
    assert rows[0]["efficiency"] == "" and rows[0]["flat_metric"] == "125.0"


def test_one_figure_alone(tmp_path: Path) -> None:
    out = run("paper", "--out", tmp_path, "--figure", "1b", *SMALL)
    assert out.returncode == 0, out.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fig1_surfaces.csv", "fig1b.pdf", "fig1b.png"]


def test_the_style_of_the_paper_is_another_look_of_the_same_numbers(written: Path, tmp_path: Path) -> None:
    out = run("paper", "--out", tmp_path, "--seed", "7", "--style", "paper", *SMALL)
    assert out.returncode == 0, out.stderr
    same = {path.name for path in written.iterdir() if path.read_bytes() == (tmp_path / path.name).read_bytes()}
    assert same >= {path.name for path in written.glob("*.csv")}
    assert not same & {"fig1a.png", "fig1b.png", "fig3.png"}


def test_the_same_seed_gives_the_same_files(written: Path, tmp_path: Path) -> None:
    run("paper", "--out", tmp_path, "--seed", "7", *SMALL)
    for path in written.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_the_documentation_quotes_what_the_command_prints(tmp_path: Path) -> None:
    printed = run("paper", "--out", tmp_path).stdout.splitlines()
    page = DOCS.read_text(encoding="utf-8")
    lasting = [line for line in printed if "solved in" not in line and "written" not in line]
    assert len(lasting) > 10
    for line in lasting:
        assert line in page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--figure", "4"), "--figure is '4'; give one of 1a, 1b, 2, 3"),
        (("--lam", "0"), "lam is 0.0"),
        (("--trials", "0"), "trials is 0"),
        (("--steps", "x"), "--steps is 'x'; give a whole number"),
    ],
)
def test_wrong_options_are_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    out = run("paper", "--out", tmp_path, *arguments)
    assert out.returncode == 2 and out.stdout == ""
    assert out.stderr.count("\n") == 1 and sentence in out.stderr


def test_a_file_in_the_way_is_found_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "fig3.pdf").mkdir()
    out = run("paper", "--out", tmp_path, *SMALL)
    assert out.returncode == 2 and "fig3.pdf: is a folder" in out.stderr
    (tmp_path / "taken").write_text("")
    out = run("paper", "--out", tmp_path / "taken", *SMALL)
    assert out.returncode == 2 and "can't be made" in out.stderr
