"""The table of metrics, from which the JSON, the CSV, the text, the pages and the leaderboard are made."""

from __future__ import annotations

from typing import Any

from flatmetric.metrics.base import Metric, metrics_of
from flatmetric.metrics.bound import BoundScore
from flatmetric.metrics.calibration import Calibration
from flatmetric.metrics.flat import FlatScore
from flatmetric.metrics.gospa import Gospa, Ospa
from flatmetric.metrics.images import ImageScore
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.linked import LinkedScore
from flatmetric.metrics.molecules import MoleculeScore
from flatmetric.metrics.rmsmd import Rmsmd

FAMILIES: dict[str, type[Any]] = {
    "flat_metric": FlatScore,
    "challenge": ChallengeScore,
    "molecules": MoleculeScore,
    "rmsmd": Rmsmd,
    "gospa": Gospa,
    "ospa": Ospa,
    "calibration": Calibration,
    "bound": BoundScore,
    "linked": LinkedScore,
    "images": ImageScore,
}
"""The families of metrics by their part of the JSON, each a class whose fields are metrics."""

METRICS: dict[str, Metric] = {
    entry.key: entry for part, family in FAMILIES.items() for entry in metrics_of(part, family).values()
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
