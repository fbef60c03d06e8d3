"""Every metric has a definition, and the docs show the same."""

from __future__ import annotations

from flatmetric.metrics.definitions import DEFINITIONS, definitions_table

from flatmetric.metrics.table import METRICS
from tests.scenes import ROOT


def test_every_metric_is_defined_in_words_and_as_a_formula() -> None:
    assert list(DEFINITIONS) == list(METRICS)
    assert all(one.meaning and one.formula for one in DEFINITIONS.values())


def test_the_docs_have_the_same_definitions() -> None:
    """If this fails, run python -m examples.make_docs."""
    assert (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8") == definitions_table()
