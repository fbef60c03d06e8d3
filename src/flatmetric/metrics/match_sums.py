"""What a matched pair adds to the sums behind the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass

_LEAST_CLAIM = 1e-6  # nm: smaller ones, zero and negative ones claim nothing


@dataclass(frozen=True, slots=True, eq=False)
class MatchedRows:
    """Matched pairs: (k, 3) errors pred minus truth in nm, the photons of both rows, the precision in nm that the
    detection claims, and the least lateral mean square error that is possible, nm^2; None if unknown.
    """

    errors: FloatArray
    truth_photons: FloatArray | None = None
    pred_photons: FloatArray | None = None
    uncertainty: FloatArray | None = None
    bound: FloatArray | None = None

    def select(self, rows: BoolArray | IntArray | slice) -> MatchedRows:
        """Some of the pairs."""
        others = (self.truth_photons, self.pred_photons, self.uncertainty, self.bound)
        return MatchedRows(self.errors[rows], *(None if column is None else column[rows] for column in others))


def match_quantities(rows: MatchedRows) -> Iterator[tuple[str, tuple[FloatArray, ...]]]:
    """What each pair adds, one quantity at a time: its name in `Sums`, and the factors whose product it is."""
    for axis, name in enumerate("xyz"):
        error = rows.errors[:, axis]
        yield f"error_{name}", (error,)
        yield f"abs_{name}", (np.abs(error),)
        yield f"square_{name}", (error**2,)
    if rows.truth_photons is not None and rows.pred_photons is not None and len(rows.errors):
        a, b = _centred(rows.truth_photons), _centred(rows.pred_photons)
        yield "photons_truth", (a,)
        yield "photons_pred", (b,)
        yield "photons_truth_square", (a, a)
        yield "photons_pred_square", (b, b)
        yield "photons_product", (a, b)
    if rows.uncertainty is not None:
        claim = np.where(rows.uncertainty > _LEAST_CLAIM, rows.uncertainty, np.inf)  # so does NaN
        yield "claims", (np.isfinite(claim).astype(np.float64),)
        weight = 1 / claim
        yield "claimed_weight", (weight, weight)
        for axis, name in enumerate("xy"):
            ratio = rows.errors[:, axis] / claim
            yield f"claimed_{name}", (ratio, weight)
            yield f"claimed_square_{name}", (ratio, ratio)
    if rows.bound is not None:
        known = np.isfinite(rows.bound)
        yield "bounds", (known.astype(np.float64),)
        yield "bound_square", (np.where(known, rows.bound, 0.0),)
        yield "bounded_square", ((rows.errors[:, 0] ** 2 + rows.errors[:, 1] ** 2) * known,)


def sum_matches(rows: MatchedRows) -> dict[str, Any]:
    """What all pairs add up to, by name in `Sums`.

    Examples
    --------
    >>> sums = sum_matches(MatchedRows(np.array([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0]])))
    >>> sums["tp"], float(sums["square_x"])
    (2, 10.0)
    """
    sums: dict[str, Any] = {"tp": len(rows.errors)}
    for name, factors in match_quantities(rows):
        sums[name] = factors[0].sum() if len(factors) == 1 else np.dot(*factors)
    return sums


def _centred(values: FloatArray) -> FloatArray:
    """Deviations from the mean, scaled to at most 1, so that no square overflows or underflows; 0 if all are equal."""
    mean, scale = centre(values)
    if scale == 0:
        return np.zeros(len(values))
    deviations: FloatArray = values - mean
    deviations /= scale
    return deviations


def centre(values: FloatArray) -> tuple[float, float]:
    """The mean of photons, and the largest deviation from it: by these they are centred and scaled.

    Examples
    --------
    >>> centre(np.array([1.0, 2.0, 6.0]))
    (3.0, 3.0)
    """
    low, high, mean = float(values.min()), float(values.max()), float(values.mean())
    return (low, 0.0) if low == high else (mean, max(high - mean, mean - low))
