"""Programs from a file of recipes: run by stand-ins, and their own output formats read."""

from __future__ import annotations

import csv
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.challenges.recipes import read_recipes
from flatmetric.errors import InputError
from tests.formats.samples import FRAME, SAMPLES, X, Y
from tests.scenes import ROOT, run

EXAMPLES = ROOT / "examples" / "recipes.toml"


def stand_in(folder: Path, name: str, body: str) -> None:
    """An executable on the path: a Python script that finds the places it was given in `words`."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport re, shutil, sys\nwords = ' '.join(sys.argv[1:])\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_challenge(out: Path, recipes: Path, programs: Path) -> None:
    """A short challenge of the baseline and of the recipes, whose programs are in a folder."""
    words = ["--dataset", "MT4.N2.HD", "--frames", "4", "--participant", "baseline", "--tune", "0"]
    env = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    done = run("challenge", "run", "--out", out, *words, "--recipes", recipes, env=env)
    assert done.returncode == 0, done.stderr


def test_recipes_run_and_their_outputs_are_converted(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    pixels = "frame,x,y\\n" + "".join(f"{k % 4},{5.0 + 37 * k % 53},{7.0 + 23 * k % 47}\\n" for k in range(60))
    stand_in(bin_folder, "my-program", f"open(sys.argv[2], 'w').write('{pixels}')")
    stand_in(bin_folder, "my-other", f"open(sys.argv[2] + '/there.csv', 'w').write('{pixels}')")
    stand_in(bin_folder, "my-wrong", "open(sys.argv[2], 'w').write('nothing of use')")
    recipes = tmp_path / "recipes.toml"
    recipes.write_text(
        """
[pixels]
command = "my-program {stack} {out}"
read = {unit = "px", pixel_size = 100, frame_base = 0, origin = "center"}
[elsewhere]
command = ["my-other", "{stack}", "{folder}"]
output = "{folder}/there.csv"
read = {unit = "px", pixel_size = 100, frame_base = 0, origin = "center"}
[wrong]
command = "my-wrong {stack} {out}"
read = {format = "thunderstorm"}
[absent]
command = "no-such-program {stack} {out}"
"""
    )
    run_challenge(tmp_path / "out", recipes, bin_folder)
    results = tmp_path / "out" / "MT4.N2.HD" / "results"
    for name in ("pixels", "elsewhere"):
        table = fm.read(results / f"{name}.csv")
        assert len(table) == 60 and table.frame.min() == 1 and table.x.min() == 550
    with (tmp_path / "out" / "leaderboard" / "leaderboard.csv").open() as file:
        reasons = {row["program"]: row["reason"] for row in csv.DictReader(file)}
    assert reasons["pixels"] == reasons["elsewhere"] == ""
    assert reasons["wrong"].startswith("its result can't be read: ")
    assert reasons["absent"].startswith("could not be started")
    assert not list((tmp_path / "out" / "MT4.N2.HD" / "runs").glob("*.work"))


def test_the_recipes_that_we_give_read_what_those_programs_write(tmp_path: Path) -> None:
    programs = {one.name: one for one in read_recipes(EXAMPLES)}
    assert list(programs) == ["thunderstorm", "smap", "decode"]
    places = {
        "ImageJ-linux64": ("thunderstorm", "sys.argv[-1].split(',')[1]"),
        "matlab": ("smap", "re.findall(\"'([^']*)'\", words)[1]"),
        "python": ("decode", "sys.argv[3]"),
    }
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for executable, (name, place) in places.items():
        read = programs[name].read
        assert read is not None
        sample = next(sample for sample in SAMPLES if sample.format == read["format"])
        sample.write(bin_folder / sample.file)
        stand_in(bin_folder, executable, f"shutil.copy({str(bin_folder / sample.file)!r}, {place})")
    run_challenge(tmp_path / "out", EXAMPLES, bin_folder)
    for name in programs:
        table = fm.read(tmp_path / "out" / "MT4.N2.HD" / "results" / f"{name}.csv")
        np.testing.assert_allclose(np.sort(table.x), np.sort(X), atol=0.01)
        np.testing.assert_allclose(np.sort(table.y), np.sort(Y), atol=0.01)
        assert sorted(table.frame.tolist()) == FRAME.tolist()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "names no program"),
        ("mine = 3", r"\[mine\]: is 3; make it a table"),
        ("[mine]\nrun = 'a'", r"has 'run', which is not known; it may have command, output, read"),
        ("[mine]\nread = {unit = 'px'}", "command is None; give a text"),
        ("[mine]\ncommand = 'a {stack}'", r"program mine has no \{out\}"),
        ("[mine]\ncommand = 'a {out}'\noutput = '{folder}/x'", r"program mine has no \{folder\}"),
        ("[mine]\ncommand = 'a {folder}'\noutput = '/x'", "output is '/x'; give a path that begins"),
        ("[mine]\ncommand = 'a {out}'\nread = {unit = 'miles'}", "read: "),
        ("[mine]\ncommand = 'a {out}'\nread = {units = 'nm'}", "read has an option that is not known"),
        ("[mine]\ncommand = 'a {out}'\nread = 3", "read is 3; make it a table"),
        ("['a b']\ncommand = 'a {out}'", "give a name of letters"),
        ("[mine]\ncommand = 'a \"{out}'", "No closing quotation"),
    ],
)
def test_wrong_recipes_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "recipes.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence) as caught:
        read_recipes(path)
    assert str(path) in str(caught.value)
