"""Leaves out the tests of `flatmetric.torch` where PyTorch is missing, and reports it; fixtures of many tests."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from flatmetric.errors import InputError
from flatmetric.formats import read
from flatmetric.plots.style import new_figure

_HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = ["src/flatmetric/server/migrations/env.py"]  # only Alembic can run it
if not _HAS_TORCH:
    collect_ignore_glob += ["src/flatmetric/torch/*", "tests/torch/*"]


# Files of which one test, or what it needs, takes longest: started last, they would be waited for alone.
_FIRST = (
    "tests/reports/test_in_browser.py",
    "tests/twins",
    "tests/server/test_web_in_browser.py",
    "tests/server/test_serve.py",
    "tests/faults",
    "tests/cli/test_challenge.py",
    "tests/cli/test_paper.py",
    "src/flatmetric/api/twin.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; examples of single functions are last by themselves."""
    items.sort(key=lambda item: not item.nodeid.startswith(_FIRST))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What is left out."""
    left_out = []
    if "not more" in config.option.markexpr:
        left_out.append("real programs, notebooks and Snakemake, which `make prove` installs and runs")
    if not _HAS_TORCH:
        left_out.append("flatmetric.torch, as PyTorch is not installed; `make test-torch` installs it")
    return [f"left out: {what}" for what in left_out]


@pytest.fixture(autouse=True)
def _no_hidden_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that a format does not foresee fails the test."""

    def fail(error: Exception, *_: object) -> InputError:
        raise error

    monkeypatch.setattr(read, "unforeseen", fail)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Challenges draw figures without content, for runs that are not about them."""
    monkeypatch.setattr("flatmetric.paper.agreement.draw", lambda *_, **__: new_figure(1, 1))
