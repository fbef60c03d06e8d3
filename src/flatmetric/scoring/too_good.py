"""Whether a result is too close to the truth to come from images."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import IntArray
from flatmetric._dataclass import dataclass
from flatmetric.scoring.score import Score

_EXACT_NM = 0.15  # two places that were rounded to 0.1 nm are not further apart
_NARROWEST_NM = 75.0  # standard deviation of the narrowest spots: blue-green light and the largest apertures in use
_FEWEST = 20  # pairs, for a median
_FEWEST_PHOTONS = 50  # of a spot that can be found: with less, the column holds something else
_OF_MEDIAN = np.sqrt(2 * np.log(2))  # of the distances of a Gaussian in the plane, in its standard deviations


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close the detections of a result are to true molecules.

    `exact` is the share of them that lie on one but for rounding. `error` is the median distance of pairs, nm; `least`
    is the least median that the photons allow, nm: with the spots and the background that were given for the precision
    bound, or else for the narrowest spots without background. None where photons are not known, or pairs are few.
    """

    exact: float = 0.0
    error: float | None = None
    least: float | None = None


def closeness_of(score: Score) -> Closeness:
    """How close the detections of a score are to its molecules, in the plane.

    Detections that a program averaged over the frames of a molecule have all its photons: rows of one molecule at the
    same place count together.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30, "photons": [2500.0] * 30}
    >>> jitter = dict(truth, x=[0.3 + 0.01 * k for k in range(30)])
    >>> found = closeness_of(fm.score(truth, jitter))
    >>> round(found.error, 1), round(found.least, 1)
    (0.4, 1.8)
    """
    matched = score.matched
    pairs = matched.counted
    truth, pred = matched.truth, matched.pred
    away = np.hypot(truth.x[pairs.truth] - pred.x[pairs.pred], truth.y[pairs.truth] - pred.y[pairs.pred])
    exact = float(np.count_nonzero(away <= _EXACT_NM)) / max(1, len(matched.pred_kept))
    if len(away) < _FEWEST:
        return Closeness(exact)
    error = float(np.median(away))
    if truth.photons is None:
        return Closeness(exact, error)
    together = _averaged(score, pairs.truth, pairs.pred)
    photons = np.asarray(np.bincount(together, np.maximum(truth.photons[pairs.truth], 0.0))[together])
    if np.median(photons) < _FEWEST_PHOTONS:
        return Closeness(exact, error)
    ratio = float(np.median(away * np.sqrt(photons))) / (_OF_MEDIAN * _NARROWEST_NM)
    least = error / ratio if ratio > 0 else 0.0
    if score.bound is not None and score.bound.rmse_xy is not None and len(np.unique(together)) == len(together):
        least = max(least, score.bound.rmse_xy / np.sqrt(2) * _OF_MEDIAN)
    return Closeness(exact, error, float(least) or None)


def _averaged(score: Score, of_truth: IntArray, of_pred: IntArray) -> IntArray:
    """A number for each pair, the same for those whose detections are at one place and whose molecule is too."""
    truth, pred = score.matched.truth, score.matched.pred
    key = np.column_stack([truth.x[of_truth], truth.y[of_truth], pred.x[of_pred], pred.y[of_pred]])
    return np.asarray(np.unique(key, axis=0, return_inverse=True)[1]).reshape(-1)
