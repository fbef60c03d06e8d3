"""What the docs say of training runs as it stands there."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_on_training_runs() -> None:
    outcome = doctest.testfile(str(ROOT / "docs" / "how-to" / "train.md"), module_relative=False)
    assert outcome.attempted > 10 and outcome.failed == 0
