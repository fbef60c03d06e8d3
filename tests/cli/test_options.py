"""Options that are declared once, with the defaults of the library, and every command made of them."""

from __future__ import annotations

import dataclasses
import inspect
import os
import shlex
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from flatmetric.api.options import options_of

import flatmetric as fm
from flatmetric.api import options
from flatmetric.api.simulate import Simulated
from flatmetric.cli.app import COMMANDS, app
from flatmetric.execution.cluster import dask_cluster
from flatmetric.options.certainty import Certainty
from flatmetric.plots.tuning import draw_trials
from flatmetric.quality.validation import Validation
from flatmetric.scoring.score import ScoreOptions
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import rank
from tests.scenes import run


def command(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found.commands["run"] if isinstance(found, click.Group) else found


def test_defaults_are_those_of_the_library() -> None:
    library = {field.name: field.default for field in dataclasses.fields(ScoreOptions)}
    for name, (_, declared) in options_of(options.Metrics).items():
        assert declared.default == library[name], name
    usual = {field.name: field.default for field in dataclasses.fields(Certainty)}
    for name in ("resamples", "seed", "block"):
        assert options_of(options.Blocks)[name][1].default == usual[name]
    read = inspect.signature(fm.read).parameters
    for name, (_, declared) in options_of(options.ReadFile).items():
        assert declared.default == read[name].default, name


FUNCTIONS = [
    "score",
    "compare",
    "check",
    "validate",
    "inspect",
    "convert",
    "leaderboard",
    "simulate",
    "localize",
    "tune",
]
# What a command writes is a method of what the function returns; an exit code is for shells alone.
METHODS: dict[str, dict[str, Any]] = {
    "score": {
        "json": fm.Score.to_dict,
        "csv": fm.Score.to_pandas,
        "report": fm.Score.report,
        "stack": fm.Score.report,
        "per_frame": fm.Score.per_frame,
        "per_molecule": fm.Score.per_molecule,
        "curve": fm.Score.curve,
        "by": fm.Score.by,
        "bins": fm.Score.by,
        "rows_at_a_time": fm.score_in_ranges,
        "scratch": fm.score_in_ranges,
        "jobs": fm.score_in_ranges,
        "scheduler": dask_cluster,
    },
    "compare": {
        "json": fm.Comparison.to_dict,
        "report": fm.Comparison.report,
        "stack": fm.Comparison.report,
        "curve": fm.Comparison.lead,
        "scheduler": dask_cluster,
    },
    "check": {
        "json": fm.Findings.to_dict,
        "report": fm.Findings.report,
        "apply": fm.Findings.apply,
        "strict": fm.Findings.__len__,
    },
    "leaderboard": {"report": fm.Leaderboard.report, "scheduler": dask_cluster},
    "simulate": {"compare": Simulated.compare},
    "tune": {"figure": draw_trials},
    "validate": {"json": Validation.to_dict},
    "inspect": {"json": dataclasses.asdict},
    "convert": {"json": dataclasses.asdict},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_function_take_the_same_options_with_the_same_defaults(name: str) -> None:
    flags = {p.name: p.default for p in command(name).params if isinstance(p, click.Option)}
    methods = METHODS.get(name, {})
    assert set(methods) <= set(flags) and all(map(callable, methods.values()))
    keywords = {
        p.name: p.default
        for p in inspect.signature(getattr(fm, name)).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("progress", "executor")
    }
    assert set(flags) - set(methods) == set(keywords)
    for option, default in keywords.items():
        same = default is inspect.Parameter.empty if flags[option] is None else flags[option] == default
        assert same or flags[option] is default or default is inspect.Parameter.empty, option
        assert f"    {option}\n" in (getattr(fm, name).__doc__ or "")


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "challenge"])
def test_every_command_that_scores_takes_the_same_options(name: str) -> None:
    taken = {parameter.name: parameter for parameter in command(name).params}
    for option, (_, declared) in options_of(options.Scoring).items():
        assert taken[option].help == declared.help


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "check", "inspect", "convert", "validate"])
def test_every_command_that_reads_takes_the_same_options(name: str) -> None:
    taken = {parameter.name for parameter in command(name).params}
    group = options.ReadFile if name in ("inspect", "convert", "validate") else options.ReadBoth
    assert set(options_of(group)) <= taken


def test_an_unknown_keyword_is_one_sentence() -> None:
    with pytest.raises(fm.InputError, match=r"score\(\) takes no 'tolernace'; did you mean tolerance=\?"):
        fm.score({}, {}, tolernace=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(name: str) -> None:
    assert all(getattr(parameter, "help", None) for parameter in command(name).params)
    import_module(f"flatmetric.cli.{name}")
    words = [name, "run"] if name == "challenge" else [name]
    assert "Usage: flatmetric" in run(*words, "--help").stdout


def test_no_help_refers_to_another_option_or_lacks_its_unit() -> None:
    for name in COMMANDS:
        for parameter in command(name).params:
            said = getattr(parameter, "help", None) or ""
            assert "Like --" not in said and "the same as" not in said and said.endswith("."), (name, said)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_help_text_run(name: str, tmp_path: Path) -> None:
    text = command(name).help or ""
    examples = [line.strip() for line in text.splitlines() if line.strip().startswith("flatmetric ")]
    assert examples
    data = Path(fm.__file__).parent / "data"
    for ours, theirs in (("truth", "truth"), ("mine", "baseline"), ("other", "dog")):
        shutil.copy(data / f"demo_{theirs}.csv", tmp_path / f"{ours}.csv")
    (tmp_path / "challenge" / "MT1" / "results").mkdir(parents=True)
    shutil.copy(tmp_path / "truth.csv", tmp_path / "challenge" / "MT1" / "truth.csv")
    for program in ("mine", "other"):
        shutil.copy(tmp_path / f"{program}.csv", tmp_path / "challenge" / "MT1" / "results")
    if name in ("localize", "validate"):
        fm.simulate(dataset="MT4.N2.HD", out=tmp_path, frames=80)
    if name == "tune":
        fm.simulate(dataset="MT0.N1.HD", out=tmp_path / "training", frames=9)
    for example in examples:
        out = run(*shlex.split(example)[1:], cwd=tmp_path)
        refused = name in ("leaderboard", "challenge") and "was made with other settings" in out.stderr
        assert out.returncode == 0 or refused, (example, out.stderr)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete(shell: str) -> None:
    assert "flatmetric" in run("completion", "--shell", shell).stdout
    words = {"COMP_WORDS": "flatmetric score --tol", "COMP_CWORD": "2", "_FLATMETRIC_COMPLETE": f"{shell}_complete"}
    out = run(env=os.environ | words)
    assert shell == "fish" or "--tolerance" in out.stdout
    assert run("completion", "--shell", "cmd").returncode == 2


def test_a_leaderboard_of_another_level_says_so() -> None:
    truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    entries = tuple(
        entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in (("a", 5.0), ("b", 9.0))
    )
    board = fm.Leaderboard(rank(entries, Certainty(level=80.0)), entries, {}, {"lam": 125.0})
    assert "possible ranks (80 %)" in board.to_markdown()
