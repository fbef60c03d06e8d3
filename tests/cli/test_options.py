"""Options that are declared once, with the defaults of the library, and every command made of them."""

from __future__ import annotations

import dataclasses
import inspect
import os
import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

import flatmetric as fm
from flatmetric.cli.app import COMMANDS, app
from flatmetric.execution.cluster import dask_cluster
from flatmetric.options.base import option
from flatmetric.options.certainty import Certainty
from flatmetric.options.reading import ReadOptions
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import MetricOptions
from flatmetric.quality.validation import Validation
from flatmetric.statistics.entries import entry_of
from flatmetric.statistics.ranking import rank
from tests.scenes import run

PACKAGE = Path(fm.__file__).parent
LIBRARY = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if "cli" not in path.parts]


def command(name: str) -> click.Command:
    loaded = app.get_command(click.Context(app), name)
    assert loaded is not None
    return loaded.commands["run"] if isinstance(loaded, click.Group) else loaded


FUNCTIONS = [
    "challenge",
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
    "twin",
    "submit",
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
        "strict": fm.Findings.__len__,
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
        "strict": fm.Findings.__len__,
    },
    "leaderboard": {"report": fm.Leaderboard.report, "redacted": fm.Leaderboard.redacted, "scheduler": dask_cluster},
    "challenge": {"scheduler": dask_cluster},
    "twin": {"scheduler": dask_cluster},
    "simulate": {"compare": fm.compare_traits},
    "validate": {"json": Validation.to_dict},
    "inspect": {"json": dataclasses.asdict},
    "convert": {"json": dataclasses.asdict},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_function_take_the_same_options_with_the_same_defaults(name: str) -> None:
    flags = {p.name: p.default for p in command(name).params if isinstance(p, click.Option) and not p.hidden}
    methods = METHODS.get(name, {})
    assert set(methods) <= set(flags) and all(map(callable, methods.values()))
    keywords = {
        p.name: p.default
        for p in inspect.signature(getattr(fm, name)).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("progress", "executor")
    }
    assert set(flags) - set(methods) == set(keywords)
    for keyword, default in keywords.items():
        same = default is inspect.Parameter.empty if flags[keyword] is None else flags[keyword] == default
        assert same or flags[keyword] is default or default is inspect.Parameter.empty, keyword
        assert f"    {keyword}\n" in (getattr(fm, name).__doc__ or "")


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "challenge"])
def test_every_command_that_scores_takes_the_same_options(name: str) -> None:
    flags = {parameter.name: parameter for parameter in command(name).params}
    for kind in (MetricOptions, Protocol):
        for field in dataclasses.fields(kind):
            if "option" in field.metadata and field.name != "images":
                assert field.metadata["option"].help.rstrip(".") in (flags[field.name].help or "")


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "check", "inspect", "convert", "validate"])
def test_every_command_that_reads_takes_the_same_options(name: str) -> None:
    flags = {parameter.name for parameter in command(name).params}
    assert {field.name for field in dataclasses.fields(ReadOptions)} <= flags


def groups(kind: type) -> list[type]:
    return [field.metadata["group"].kind for field in dataclasses.fields(kind) if "group" in field.metadata]


OPTION_CLASSES = {
    kind: None
    for name in fm.__all__
    if hasattr(getattr(fm, name), "options") and inspect.isfunction(getattr(fm, name))
    for own in [getattr(fm, name).options]
    for kind in (own, *groups(own))
}


@pytest.mark.parametrize("kind", OPTION_CLASSES, ids=lambda kind: kind.__name__)
def test_every_option_is_used_somewhere(kind: type) -> None:
    """An option that no line of the library reads has no effect: an attribute of that name, or its name as a string."""
    for field in dataclasses.fields(kind):
        if "option" in field.metadata:
            used = re.compile(rf"\.{field.name}\b(?! =)|[\"']{field.name}[\"']")
            assert any(used.search(text) for text in LIBRARY), f"{kind.__name__}.{field.name} is nowhere used"


def test_an_option_without_use_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class Unused:
        zebra_stripes: int = option(3, "Stripes of the zebra.")

    with pytest.raises(AssertionError, match="zebra_stripes is nowhere used"):
        test_every_option_is_used_somewhere(Unused)


def test_no_default_of_an_option_stands_twice() -> None:
    """A number that is the default of an option may not be the default of an argument of the same name elsewhere."""
    defaults = {
        field.name: field.default
        for kind in OPTION_CLASSES
        for field in dataclasses.fields(kind)
        if "option" in field.metadata and isinstance(field.default, float)
    }
    for name, default in defaults.items():
        again = [text for text in LIBRARY if re.search(rf"\b{name}: float( \| None)? = {default:g}(\.0)?\b", text)]
        assert not again, f"{name} = {default} stands in a signature or a class of its own"


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
            text = getattr(parameter, "help", None) or ""
            assert "Like --" not in text and "the same as" not in text and text.endswith("."), (name, text)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_help_text_run(name: str, tmp_path: Path) -> None:
    text = command(name).help or ""
    examples = [line.strip() for line in text.splitlines() if line.strip().startswith("flatmetric ")]
    assert examples
    if name in ("serve", "worker", "submit"):  # these run until they are stopped, in tests/server/test_serve.py
        return
    data = Path(fm.__file__).parent / "data"
    for ours, theirs in (("truth", "truth"), ("mine", "baseline"), ("other", "dog")):
        shutil.copy(data / f"demo_{theirs}.csv", tmp_path / f"{ours}.csv")
    (tmp_path / "challenge" / "MT1" / "results").mkdir(parents=True)
    shutil.copy(tmp_path / "truth.csv", tmp_path / "challenge" / "MT1" / "truth.csv")
    (tmp_path / "results").mkdir()
    for program in ("mine", "other"):
        for place in (tmp_path / "challenge" / "MT1" / "results", tmp_path / "results"):
            shutil.copy(tmp_path / f"{program}.csv", place)
    if name in ("localize", "validate"):
        fm.simulate(dataset="MT4.N2.HD", out=tmp_path, frames=80 if name == "validate" else 8)
    if name == "twin":
        made = fm.simulate(dataset="MT4.N2.HD", out=tmp_path / "simulated", frames=20)
        shutil.copy(made.stack, tmp_path / "movie.tif")
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
    board = fm.Leaderboard(rank(entries, Certainty(ci=80.0)), entries, {}, {"lam": 125.0})
    assert "possible ranks (80 %)" in board.to_markdown()
