"""Scores between molecules, after detections of one molecule in several frames were linked."""

from __future__ import annotations

from dataclasses import dataclass

from flatmetric.metrics.base import count, error, metric


@dataclass(frozen=True, slots=True)
class LinkedScore:
    """Linked detections against true molecules, all frames together. Lengths in nm.

    `flat_metric` is between the mean places of both, per true molecule; `rmse_xy` is over the pairs of its plan.
    `counting_error` is how many molecules too many (or, below 0, too few) there are, in percent of the true ones.
    """

    molecules: int | None = count("true molecules", shown=False)
    linked: int | None = count("linked molecules", shown=False)
    counting_error: float | None = metric("counting error", unit="%", format="+.1f", better="zero")
    flat_metric: float | None = error("Flat Metric of linked molecules")
    rmse_xy: float | None = error("RMSE lateral of linked molecules")
