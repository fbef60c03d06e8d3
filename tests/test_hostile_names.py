"""Names from outside over all outputs: nothing runs them, shows them as markup or lets a terminal act on them."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import flatmetric as fm
from flatmetric.formats.write import write
from flatmetric.reports.html import page
from tests.scenes import run, scene

NAMES = (
    "=cmd|calc!A1",
    "@SUM(1)",
    "+1+1",
    "-2+3",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)<",
    "a\x1b[2Jb",
    "a\nb",
    "*bold* `code` [link](x)",
    "| cell |",
    "100 % \\input{x} $a_b$ #1 {y}",
    "\u202eevil",
    "\udc80odd",
    'it\'s "quoted"',
    "\uff1dcmd",
    "c\r\nd\x85e",
)
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("names")
    truth, pred = scene(frames=6)
    for dataset in ("=1+2", "<b>x", "y"):
        (place / dataset / "results").mkdir(parents=True)
        write(truth, place / dataset / "truth.csv", "thunderstorm")
        for at, name in enumerate(NAMES):
            moved = fm.Localizations(frame=pred.frame, x=pred.x + at, y=pred.y)
            write(moved, place / dataset / "results" / f"{name}.csv", "thunderstorm")
        (place / dataset / "results" / "<i>bad\x1b[1m.csv").write_text("no table")
    return place


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def is_run(cell: str) -> bool:
    """Whether a spreadsheet would take the cell for a formula."""
    return cell[:1] in ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20") and not re.fullmatch(
        r"[-+]?[\d.e+-]+", cell
    )


def acts(page: Path) -> list[str]:
    """Characters in a page, or in the data of its scripts, that act on the text around them."""
    text = page.read_text(encoding="utf-8")
    data = re.findall(r"<script type='application/json' id='content'>(.*?)</script>", text, re.DOTALL)
    shown = [json.dumps(json.loads(one), ensure_ascii=False) for one in data]
    assert shown
    escaped = [escape for one in shown for escape in re.findall(r"(?<!\\)\\u00[019][0-9a-f]", one)]
    return escaped + [match for one in (text, *shown) for match in ACTED_ON.findall(one.replace("\n", ""))]


class Tags(html.parser.HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs if name.startswith("on"))]


def test_a_leaderboard(folder: Path, tmp_path: Path) -> None:
    out = run("leaderboard", folder, "--out", tmp_path, "--report", tmp_path / "page.html")
    assert out.returncode == 0, out.stderr
    assert not ACTED_ON.search(out.stdout.replace("\n", "")) and not ACTED_ON.search(out.stderr.replace("\n", ""))
    table = (tmp_path / "leaderboard.csv").read_text(encoding="utf-8", errors="surrogateescape")
    assert not [cell for cell in cells(table) if is_run(cell)] and "'=cmd|calc!A1" in table
    assert not ACTED_ON.search(table.replace("\n", "")) and "'\uff1dcmd" in table
    markdown = (tmp_path / "leaderboard.md").read_text(encoding="utf-8")
    assert "<" not in markdown and not ACTED_ON.search(markdown.replace("\n", ""))
    assert all(line.count("|") - line.count("\\|") in (0, 6, 7, 8) for line in markdown.splitlines())
    tags = Tags()
    tags.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "onerror" not in tags.found and "img" not in tags.found and tags.found.count("script") == 3
    assert not acts(tmp_path / "page.html")


def test_latex(folder: Path, tmp_path: Path) -> None:
    latex = fm.leaderboard(folder, out=tmp_path, check=False).to_latex()
    assert r"\textbackslash{}input\{x\}" in latex and "\\input{x}" not in latex
    assert not ACTED_ON.search(latex.replace("\n", "")) and "\na" not in latex.replace("\nb", "")


def test_a_comparison_and_tables_of_rows(folder: Path, tmp_path: Path) -> None:
    results = [folder / "y" / "results" / f"{name}.csv" for name in NAMES[:7]]
    out = run("compare", folder / "y" / "truth.csv", *results, "--report", tmp_path / "page.html")
    assert out.returncode == 0, out.stderr
    assert not ACTED_ON.search(out.stdout.replace("\n", ""))
    tags = Tags()
    tags.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "onerror" not in tags.found and tags.found.count("script") == 3
    assert not acts(tmp_path / "page.html")


@pytest.mark.parametrize("command", ["validate", "inspect", "compare"])
def test_line_ends_in_names_begin_no_line(command: str, folder: Path) -> None:
    odd, truth = folder / "y" / "results" / f"{NAMES[-1]}.csv", folder / "y" / "truth.csv"
    out = run(command, *([truth, odd, folder / "y" / "results" / "+1+1.csv"] if command == "compare" else [odd]))
    assert out.returncode == 0, out.stderr
    assert "c\\r\\nd\\x85e" in out.stdout and not any(line.startswith("d") for line in out.stdout.splitlines())


def test_one_score_of_an_odd_file(folder: Path) -> None:
    bad = run("score", folder / "y" / "truth.csv", folder / "y" / "results" / "<i>bad\x1b[1m.csv")
    assert bad.returncode == 2 and "\\x1b[1m" in bad.stderr and "\x1b" not in bad.stderr
    assert bad.stderr.count("\n") == 1
    good = run("inspect", folder / "y" / "results" / f"{NAMES[6]}.csv")
    assert good.returncode == 0 and "\x1b" not in good.stdout
    none = run("score", "a\x1b[2J", "b", "--no\x1b[2J")
    assert none.returncode == 2 and "\x1b" not in none.stderr


def test_columns_written_by_commands(tmp_path: Path) -> None:
    from flatmetric.cli.output import write_columns

    write_columns(pd.DataFrame({"=a": ["=1", "b"], "n": [-1.5, np.nan]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "'=a,n\n'=1,-1.5\nb,\n"


def test_the_policy_of_a_page_allows_no_other_base_and_no_form() -> None:
    made = page("title", "", [], {})
    assert "base-uri 'none'" in made and "form-action 'none'" in made and "default-src 'none'" in made


def test_a_closed_standard_output_is_one_sentence(folder: Path) -> None:
    import subprocess
    import sys

    command = f"{sys.executable} -m flatmetric score {folder}/y/truth.csv {folder}/y/truth.csv >&-"
    out = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert out.returncode == 2 and out.stderr.count("\n") == 1 and "standard output is closed" in out.stderr
