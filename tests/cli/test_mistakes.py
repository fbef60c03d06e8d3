"""First slips: each is one sentence that says what to type instead."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest

import flatmetric as fm
from flatmetric.cli.app import COMMANDS
from flatmetric.localizers import registry
from flatmetric.localizers.registry import METHODS
from tests.cli.test_options import command
from tests.scenes import run

DATA = Path(fm.__file__).parent / "data"
TRUTH, DOG, STACK = DATA / "demo_truth.csv", DATA / "demo_dog.csv", DATA / "demo_stack.ome.tif"

SLIPS = {
    "check one.csv": "check needs TRUTH and RESULT; for a file without its truth, use inspect or validate",
    "score one.csv": "score needs TRUTH and RESULT; for a file without its truth, use inspect or validate",
    "compare one.csv two.csv": "one result can't be compared; give two or more",
    "compare one.csv": "compare needs TRUTH and RESULT...; for one result, use score",
    "score a b c": "score takes TRUTH and RESULT, but c is given too; for several results, use compare",
    "demo x": "demo takes no file, but x is given too",
    "score a b --lam 100nm": "--lam is '100nm'; give a number alone, as --lam 100",
    "score a b --lam": "--lam needs a value",
    "score a b --lam 0.1um": "--lam is '0.1um'; give a number alone, as --lam 100",
    "score a b --lam 100,5": "--lam is '100,5'; give a number",
    "score a b --bins 1.5": "--bins is '1.5'; give a whole number",
    "score a b --strict=yes": "--strict takes no value; give --strict alone",
    f"score {TRUTH} {DOG} --bins 3": "--bins needs --by; give the quantity too",
    "score a b --report page.pdf": "--report is page.pdf; pages are HTML, so give a name that ends in .html",
    "score a b --shift 1,2,3,4": "--shift is 1, 2, 3, 4; give dx,dy or dx,dy,dz in nm",
    f"score {TRUTH} {DOG} --fov 0,5": "--fov is 0, 5; give the positive width and height of the field in nm",
    "score a b --lam wide": "--lam is 'wide'; give a number",
    "score a b --lamda 5": "there is no option --lamda; did you mean --lam?",
    "score a b --zzz": "there is no option --zzz; flatmetric score -h lists them",
    "--zzz": "there is no option --zzz; flatmetric -h lists them",
    "scor a b": "there is no command 'scor'; did you mean score?",
    "challenge rum": "there is no command 'challenge rum'; did you mean challenge run?",
    "simulate": "simulate needs --dataset; flatmetric simulate -h says what it is",
    f"score {TRUTH} {DATA}/demo_dgo.csv": f"{DATA}/demo_dgo.csv: there is no such file; did you mean demo_dog.csv?",
    f"score {TRUTH} {STACK}": f"{STACK}: is a TIFF stack of images; find its molecules first, with localize",
    f"leaderboard {DATA}": (
        f"{DATA}: holds tables and no DATASET/truth.* with DATASET/results/PROGRAM.*; for results on one truth give "
        "--truth"
    ),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_one_sentence_with_a_hint(slip: str) -> None:
    out = run(*slip.split())
    assert (out.returncode, out.stdout, out.stderr) == (2, "", f"flatmetric: {SLIPS[slip]}\n")


def test_exchanged_files_are_a_question() -> None:
    asked = f"{TRUTH} looks like the truth and {DOG} does not: exchanged? Give the truth first"
    for words in ("score", "check"):
        out = run(words, DOG, TRUTH)
        assert asked in out.stdout + out.stderr
        assert "exchanged" not in (right := run(words, TRUTH, DOG)).stdout + right.stderr


def test_results_in_one_folder_are_ranked_on_one_truth(tmp_path: Path) -> None:
    for file in (TRUTH, DOG, DATA / "demo_baseline.csv"):
        shutil.copy(file, tmp_path)
    out = run("leaderboard", tmp_path, "--truth", tmp_path / "demo_truth.csv")
    assert out.returncode == 0 and out.stdout.startswith("Best of 2: demo_baseline"), out.stderr
    board = fm.leaderboard(tmp_path, truth_file=TRUTH, out=tmp_path / "board", exclude=["demo_truth"])
    assert [standing.program for standing in board.ranking.overall] == ["demo_baseline", "demo_dog"]
    assert {entry.dataset for entry in board.entries} == {tmp_path.name}
    none = run("leaderboard", tmp_path, "--truth", tmp_path / "demo_truths.csv")
    assert none.returncode == 2 and "did you mean demo_truth.csv?" in none.stderr


SCREEN = 45  # lines


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_and_help_all_has_every_option(name: str) -> None:
    words = ["challenge", "run"] if name == "challenge" else [name]
    short = run(*words, "--help").stdout
    flags = [one.opts[0] for one in command(name).params if isinstance(one, click.Option) and not one.hidden]
    shown = [flag for flag in flags if f"  {flag}" in short]
    assert short.count("\n") <= SCREEN + (name == "localize") * len(METHODS)
    if len(shown) < len(flags):
        assert f"--help-all lists {len(flags) - len(shown)} more options" in short and len(shown) <= 13
        whole = run(*words, "--help-all").stdout
        assert all(f"  {flag}" in whole for flag in flags) and "more options" not in whole
    assert name != "convert" or ("Reading IN" in whole and "in FILE" not in whole)


def test_localize_lists_its_methods_and_their_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    text = " ".join(run("localize", "--help").stdout.split())
    assert "baseline ready" in text and "trackpy needs the package trackpy, which is not installed; pip install" in text
    for method, entry in METHODS.items():
        text = " ".join(run("localize", f"--method={method}", "--help").stdout.split())
        for name, setting in entry.settings.items():
            assert setting.meaning and f"{name}={setting.usual:g} {setting.meaning}" in text
