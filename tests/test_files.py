"""Files that appear whole or not at all: rights, what killed processes leave, and disks that are full."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import flatmetric as fm
from flatmetric._files import whole_file, write_text

WRITING = """
import sys, time
from pathlib import Path
from flatmetric._files import whole_file
with whole_file(Path(sys.argv[1])) as unfinished:
    unfinished.write_text("half")
    print("begun", flush=True)
    time.sleep(100)
"""


def test_files_have_the_rights_that_the_mask_leaves_whoever_else_writes(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: write_text("a", tmp_path / f"{k}.txt"), range(300)))
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    target = tmp_path / "[a].json"
    with subprocess.Popen([sys.executable, "-c", WRITING, target], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        write_text("whole", target)
        assert len(list(tmp_path.iterdir())) == 2
        process.kill()
    write_text("whole", target)
    assert [path.name for path in tmp_path.iterdir()] == ["[a].json"]


def test_a_link_stays_a_link_and_one_in_circles_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_text("a", tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "a"
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(fm.InputError, match="circle: is a link that leads to itself"):
        write_text("a", tmp_path / "circle")


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.hdf5"
    target.write_text("old")
    monkeypatch.setattr(Path, "write_bytes", _full)
    table = fm.read({"frame": [1], "x": [1.0], "y": [2.0]})
    with pytest.raises(fm.InputError, match="can't be written, No space left on device"):
        fm.convert(table, target, to="picasso", pixel_size=100.0)
    assert target.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["a.hdf5"]


def _full(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_an_error_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "a.txt") as unfinished:
        unfinished.write_text(f"{1 / 0}")
    assert list(tmp_path.iterdir()) == []
