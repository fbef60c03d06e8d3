from __future__ import annotations

from pathlib import Path

import flatmetric as fm
from flatmetric.cli.text import budget_text
from tests.scenes import run


def test_demo_scores_compares_and_writes_a_page(tmp_path: Path) -> None:
    out = run("demo", "--out", str(tmp_path / "page.html"))
    assert (out.returncode, out.stderr) == (0, "")
    assert "Flat Metric  57.84 nm per true molecule" in out.stdout
    assert "baseline is better than dog by 25.8 nm" in out.stdout
    assert "baseline is better than dog by 25.8 nm" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_version() -> None:
    assert run("--version").stdout == f"flatmetric {fm.__version__}\n"


def test_a_wrong_command_line_is_one_sentence_and_exit_code_2() -> None:
    for words, sentence in (
        (("demoo",), "flatmetric: there is no command 'demoo'; did you mean demo?"),
        (("demo", "--lambda"), "flatmetric: there is no option --lambda; flatmetric demo -h lists them"),
        (("score", "a", "b", "--lambda"), "flatmetric: there is no option --lambda; did you mean --lam?"),
        (("score", "a", "b", "--reprot"), "flatmetric: there is no option --reprot; did you mean --report?"),
        (("demo", "extra"), "flatmetric: demo takes no file, but extra is given too"),
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
    text = budget_text(0.0, 0.0, 0.0, 0.0)
    assert text.endswith("Every molecule was detected exactly where it is.")
