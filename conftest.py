"""Tests of `flatmetric.torch` need PyTorch, an extra; where it is missing they are left out, and that is said."""

from __future__ import annotations

from importlib.util import find_spec

_HAS_TORCH = find_spec("torch") is not None
collect_ignore_glob = [] if _HAS_TORCH else ["src/flatmetric/torch/*", "tests/torch/*"]


def pytest_report_header() -> list[str]:
    """What is left out."""
    return (
        [] if _HAS_TORCH else ["left out: flatmetric.torch, as PyTorch is not installed; make test-torch installs it"]
    )
