"""The table of metrics: the one source of the JSON and its schema, CSV, terminal, pages, leaderboard and reference."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric.errors import unknown
from flatmetric.metrics.base import Measure, Metric, Rows, metrics_of
from flatmetric.metrics.bound import BoundScore
from flatmetric.metrics.calibration import Calibration
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.gospa import Gospa, Ospa
from flatmetric.metrics.images import ImageScore, measure_images
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.linked import LinkedScore, measure_linked
from flatmetric.metrics.molecules import MoleculeScore, measure_molecules
from flatmetric.metrics.rmsmd import Rmsmd, measure_rmsmd
from flatmetric.options.scoring import MetricOptions


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that belong together: a class whose fields are metrics, and its description in the JSON schema.

    `measure` gives those of them that are not sums over frames and share a computation; `option` is the name of the
    option without which the family is left out.
    """

    result: type[Any]
    description: str
    measure: Callable[[Rows], Mapping[str, Measure]] | None = None
    option: str | None = None

    def is_wanted(self, options: MetricOptions) -> bool:
        """Whether the options ask for it."""
        return self.option is None or getattr(options, self.option) not in (None, False)

    def measured(self, rows: Rows) -> dict[str, Measure]:
        """Its metrics that are not sums over frames."""
        values = {} if self.measure is None else dict(self.measure(rows))
        single = {
            name: one.measure(rows) for name, one in metrics_of("", self.result).items() if one.measure is not None
        }
        return values | single


FAMILIES: dict[str, Family] = {
    "flat_metric": Family(FlatScore, "The Flat Metric and its parts."),
    "challenge": Family(
        ChallengeScore,
        "The metrics of the SMLM 2016 Challenge, with the photon threshold and the weights of the efficiency.",
    ),
    "molecules": Family(
        MoleculeScore,
        "The same for molecules, each with all its frames; only where molecules are known.",
        measure_molecules,
    ),
    "rmsmd": Family(Rmsmd, "Distances to the nearest point of the other side.", measure_rmsmd),
    "gospa": Family(Gospa, "Generalised optimal subpattern assignment."),
    "ospa": Family(Ospa, "Optimal subpattern assignment."),
    "calibration": Family(Calibration, "Errors over claimed uncertainties; only where a result claims any."),
    "bound": Family(BoundScore, "The Cramer-Rao bound; only if asked for.", option="bound"),
    "linked": Family(LinkedScore, "Molecules linked over frames; only if asked for.", measure_linked, "link"),
    "images": Family(ImageScore, "Rendered images; only if asked for.", measure_images, "images"),
}
"""The families of metrics by their part of the JSON."""

METRICS: dict[str, Metric] = {
    entry.key: entry for part, family in FAMILIES.items() for entry in metrics_of(part, family.result).values()
}
"""Every metric by its key in the JSON, as "challenge.jaccard"."""

LEADERBOARD: dict[str, Metric] = {
    name: METRICS[key]
    for name, key in {
        "flat_metric": "flat_metric.value",
        "jaccard": "challenge.jaccard",
        "rmse_xy": "challenge.rmse_xy",
        "efficiency": "challenge.efficiency",
        "rmsmd": "rmsmd.per_frame",
        "rmsmd_whole_set": "rmsmd.whole_set",
        "recall": "challenge.recall",
        "precision": "challenge.precision",
        "calibration": "calibration.xy",
    }.items()
}
"""The columns of a leaderboard, by their short names."""


def metric_named(name: str) -> Metric:
    """The metric of a key in the JSON, or of its last part: of several the first, as "jaccard" for "challenge.jaccard".

    Examples
    --------
    >>> metric_named("jaccard").key, metric_named("gospa").key
    ('challenge.jaccard', 'gospa.value')
    >>> metric_named("jacard")
    Traceback (most recent call last):
    flatmetric.errors.UnknownNameError: there is no metric 'jacard'; did you mean jaccard?
    """
    short = {key.split(".")[1]: metric for key, metric in reversed(METRICS.items())}
    short |= {part: METRICS[f"{part}.value"] for part in FAMILIES if f"{part}.value" in METRICS}
    known = short | LEADERBOARD | METRICS
    if name not in known:
        raise unknown("metric", name, known)
    return known[name]


MORE_KEYS: dict[str, dict[str, Any]] = {
    "challenge": {
        "photon_threshold": {"type": ["number", "null"]},
        "alpha_xy": {"type": "number"},
        "alpha_z": {"type": "number"},
    }
}
"""Settings that the JSON has beside the metrics of a family, with their schemas."""


def family_schema(part: str, *, settings: bool = True) -> dict[str, Any]:
    """The JSON schema of a family, for score-1.schema.json; or without the `settings` that a score has beside it.

    Examples
    --------
    >>> family_schema("calibration")["properties"]["claims"]
    {'type': 'integer', 'minimum': 0}
    """
    family = FAMILIES[part]
    keys: dict[str, Any] = {}
    for field in dataclasses.fields(family.result):
        metric = METRICS[f"{part}.{field.name}"]
        kind = "integer" if metric.format == "d" else "number"
        keys[field.name] = {"type": [kind, "null"] if str(field.type).endswith("None") else kind}
        for name, limit in zip(("minimum", "maximum"), metric.limits, strict=True):
            if math.isfinite(limit):
                keys[field.name][name] = int(limit)
    keys |= MORE_KEYS.get(part, {}) if settings else {}
    return {"description": family.description, "type": "object", "properties": keys, "required": list(keys)}


def metrics_page() -> str:
    """Every metric with its meaning, equation and direction, as Markdown: the content of docs/reference/metrics.md.

    Examples
    --------
    >>> print(metrics_page().splitlines()[10])
    | `flat_metric.displaced` | displaced [nm] | part from molecules that were detected at another place | \
sum of distances moved / molecules | lower is better |
    """
    lines = [
        "# Every metric",
        "",
        "In equations, d = pred - truth over the TP matched pairs, and lengths are in nm.",
        "All frames count together unless a definition says otherwise.",
        "Pages show the same definitions.",
        "Made by `python -m examples.make_docs`.",
        "",
        "| key in the JSON | name | definition | equation | good is |",
        "|---|---|---|---|---|",
    ]
    for key, metric in METRICS.items():
        cells = (f"`{key}`", metric.heading, metric.meaning, metric.equation, metric.direction)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
