"""Leaves out the tests of `flatmetric.torch` where PyTorch is missing, and reports it; readers hide no faults."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from flatmetric.errors import InputError
from flatmetric.formats import read

_HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if _HAS_TORCH else ["src/flatmetric/torch/*", "tests/torch/*"]


def pytest_report_header() -> list[str]:
    """What is left out."""
    return (
        [] if _HAS_TORCH else ["left out: flatmetric.torch, as PyTorch is not installed; make test-torch installs it"]
    )


@pytest.fixture(autouse=True)
def _no_hidden_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that a format does not foresee fails the test."""

    def fail(error: Exception, *_: object) -> InputError:
        raise error

    monkeypatch.setattr(read, "unforeseen", fail)
