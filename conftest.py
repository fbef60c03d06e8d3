"""Tests of `flatmetric.torch` are left out where PyTorch is missing, and that is said; readers hide no faults."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from flatmetric.formats import read

_HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if _HAS_TORCH else ["src/flatmetric/torch/*", "tests/torch/*"]


def pytest_report_header() -> list[str]:
    """What is left out."""
    return (
        [] if _HAS_TORCH else ["left out: flatmetric.torch, as PyTorch is not installed; make test-torch installs it"]
    )


@pytest.fixture(autouse=True)
def _raise_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault that a format does not see coming fails the test."""
    monkeypatch.setattr(read, "RAISE_ALL", True)
