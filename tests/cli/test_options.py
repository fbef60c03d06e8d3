"""Options that are declared once, with the defaults of the library, and every command made of them."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module

import click
import pytest

import flatmetric as fm
from flatmetric.cli import options
from flatmetric.cli.app import COMMANDS, app
from flatmetric.scoring.score import ScoreOptions
from flatmetric.statistics.intervals import Certainty
from tests.scenes import run


def command(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found.commands["run"] if isinstance(found, click.Group) else found


def test_defaults_are_those_of_the_library() -> None:
    library = {field.name: field.default for field in dataclasses.fields(ScoreOptions)}
    signature = inspect.signature(fm.score).parameters
    for name, declared in options.Metrics.declared.items():
        assert declared.default == library[name] == signature[name].default, name
    usual = {field.name: field.default for field in dataclasses.fields(Certainty)}
    for name in ("resamples", "seed", "block"):
        assert options.Certainty.declared[name].default == usual[name]


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "challenge"])
def test_every_command_that_scores_takes_the_same_options(name: str) -> None:
    taken = {parameter.name: parameter for parameter in command(name).params}
    for option, declared in options.Scoring.declared.items():
        assert taken[option].help == declared.help


@pytest.mark.parametrize("name", ["score", "compare", "leaderboard", "check", "inspect", "convert"])
def test_every_command_that_reads_takes_the_same_options(name: str) -> None:
    taken = {parameter.name for parameter in command(name).params}
    two_files = name not in ("inspect", "convert")
    group = options.ReadingTruth if two_files else options.Reading
    assert set(group.declared) <= taken


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text(name: str) -> None:
    assert all(getattr(parameter, "help", None) for parameter in command(name).params)
    import_module(f"flatmetric.cli.{name}")
    words = [name, "run"] if name == "challenge" else [name]
    assert "Usage: flatmetric" in run(*words, "--help").stdout


def test_a_leaderboard_of_another_level_says_so() -> None:
    from flatmetric.challenge.leaderboard import LeaderboardOptions, ScoredFolder
    from flatmetric.statistics.entries import entry_of
    from flatmetric.statistics.ranking import rank

    truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    entries = tuple(
        entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in (("a", 5.0), ("b", 9.0))
    )
    board = rank(entries, Certainty(level=80.0))
    assert "possible ranks (80 %)" in ScoredFolder(board, entries, {}, LeaderboardOptions()).to_markdown()
