from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.boards import Scene, quick, scene, stop_postgres

__all__ = ["quick"]


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each test runs on both databases."""
    return str(request.param)


@pytest.fixture
def here(tmp_path: Path, kind: str, quick: None) -> Iterator[Scene]:
    """A board with one data set."""
    with scene(tmp_path / "board", kind) as made:
        yield made


def pytest_sessionfinish() -> None:
    stop_postgres()
