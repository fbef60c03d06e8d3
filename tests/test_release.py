"""A release says the same everywhere: its version, its date, what it needs."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

import flatmetric as fm

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
CONDA_NAMES = {"matplotlib": "matplotlib-base"}


def test_the_version_is_the_same_everywhere() -> None:
    assert version("flatmetric") == fm.__version__ == CITATION["version"] == RECIPE["context"]["version"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (
        f"version   = {{{fm.__version__}}}" in readme and f"year      = {{{CITATION['date-released'][:4]}}}" in readme
    )


def test_the_changelog_tells_of_the_release() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{fm.__version__}] - {CITATION['date-released']}" in changes


def test_conda_installs_what_the_package_needs() -> None:
    def canonical(requirement: str) -> tuple[str, str]:
        name, least = re.fullmatch(r"([\w-]+) ?>=(.+)", requirement).groups()  # type: ignore[union-attr]
        return CONDA_NAMES.get(name.lower(), name.lower()), least

    wanted = {canonical(one) for one in PROJECT["dependencies"]} | {canonical(f"python{PROJECT['requires-python']}")}
    assert {canonical(one) for one in RECIPE["requirements"]["run"]} == wanted
