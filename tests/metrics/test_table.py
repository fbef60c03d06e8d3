"""The table of metrics drives the docs, the schema and the fields of a score."""

from __future__ import annotations

import dataclasses

from examples.make_docs import SCHEMA, score_schema
from flatmetric.metrics.table import FAMILIES, METRICS, metrics_page
from flatmetric.scoring.base_score import BaseScore
from tests.scenes import ROOT


def test_every_metric_has_a_meaning_an_equation_and_a_place() -> None:
    for metric in METRICS.values():
        assert metric.meaning and metric.equation and metric.label.count("{}") == 1, metric.key
        assert not metric.shown or metric.line is not None, metric.key


def test_a_metric_is_a_sum_or_is_measured() -> None:
    for part, family in FAMILIES.items():
        for field in dataclasses.fields(family.result):
            metric = METRICS[f"{part}.{field.name}"]
            assert metric.formula is not None or metric.measure is not None or family.measure is not None, metric.key


def test_a_score_has_a_field_for_each_family() -> None:
    fields = {field.name: str(field.type) for field in dataclasses.fields(BaseScore)}
    for part, family in FAMILIES.items():
        assert fields[part].removesuffix(" | None") == family.result.__name__
        assert fields[part].endswith("None") == (family.option is not None)


def test_the_docs_and_the_schema_have_the_same_metrics() -> None:
    """If this fails, run python -m examples.make_docs."""
    assert (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8") == metrics_page()
    assert SCHEMA.read_text(encoding="utf-8") == score_schema()
