"""A command that is killed, stopped or can't write loses nothing, and the next run goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.faults.harness import COMMANDS, build_shim, disturb

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="loads a library before the C library")


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_lost_or_half_written(name: str, tmp_path: Path) -> None:
    faults = 1 if name == "challenge" else 2  # each of its runs takes seconds
    assert disturb(name, faults, build_shim(tmp_path), tmp_path).total() == faults
