"""`flatmetric demo`: the example, its page and its files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from flatmetric.api.demo import FILES
from tests.scenes import run


def test_the_example_its_page_and_its_files(tmp_path: Path) -> None:
    page, folder = tmp_path / "page.html", tmp_path / "example"
    printed = run("demo", "--out", page, "--data", folder).stdout
    assert "baseline is better than dog" in printed and str(page) in printed
    assert page.stat().st_size > 500_000
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    for name in FILES:
        assert (folder / name).read_bytes() == (resources.files("flatmetric") / "data" / f"demo_{name}").read_bytes()
    assert run("demo", "--out", page, "--data", folder).returncode == 0  # the same files may be written again


def test_files_of_the_user_stay(tmp_path: Path) -> None:
    mine = tmp_path / "dog.csv"
    mine.write_text("frame,x [nm],y [nm]\n1,2,3\n")
    done = run("demo", "--out", tmp_path / "page.html", "--data", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dog.csv"], "none of the others is written"
    assert done.returncode == 2 and done.stderr == f"flatmetric: {mine}: is another file; give a folder without it\n"
    assert mine.read_text() == "frame,x [nm],y [nm]\n1,2,3\n"
