from __future__ import annotations

import subprocess
import sys

import flatmetric as fm
from flatmetric.cli.budget import error_budget


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "flatmetric", *words], capture_output=True, text=True, check=False)


def test_demo_prints_the_budget_and_its_proof() -> None:
    out = run("demo")
    assert (out.returncode, out.stderr) == (0, "")
    assert "Flat Metric  43.45 nm per true molecule" in out.stdout
    assert "this one costs 43.451123617 nm" in out.stdout


def test_version() -> None:
    assert run("--version").stdout == f"flatmetric {fm.__version__}\n"


def test_a_wrong_command_line_is_one_sentence_and_exit_code_2() -> None:
    for words, sentence in (
        (("demoo",), "flatmetric: No such command 'demoo'."),
        (("demo", "--lambda"), "flatmetric: No such option: --lambda"),
        (("demo", "extra"), "flatmetric: Got unexpected extra argument"),
    ):
        out = run(*words)
        assert (out.returncode, out.stdout) == (2, "")
        assert out.stderr.startswith(sentence)
        assert out.stderr.count("\n") == 1


def test_no_command_shows_the_help() -> None:
    out = run()
    assert "demo" in out.stdout
    assert (out.returncode, out.stderr) == (2, "")


def test_the_budget_of_a_perfect_result() -> None:
    text = error_budget(fm.flat_metric([[0, 0]], [[0, 0]], lam=125))
    assert text.endswith("Every molecule was found where it is.")
