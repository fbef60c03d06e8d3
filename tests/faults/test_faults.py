"""A command that is killed, stopped or can't write loses nothing, and the next run goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.harness import COMMANDS, build_shim, disturb

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="loads a library before the C library")
SLOW = ("challenge",)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SLOW])
def test_nothing_is_lost_or_half_written(name: str, tmp_path: Path) -> None:
    assert disturb(name, 3, build_shim(tmp_path), tmp_path).total() == 3


@pytest.mark.prove
@pytest.mark.parametrize("name", SLOW)
def test_nothing_is_lost_or_half_written_by_a_long_command(name: str, tmp_path: Path) -> None:
    assert disturb(name, 4, build_shim(tmp_path), tmp_path).total() == 4
