"""The field of view in squares: which share of the molecules is missed there, and how many detections are false."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass

if TYPE_CHECKING:
    from flatmetric.scoring.score import Score

_MOLECULES_IN_A_SQUARE, _MOST_SQUARES = 15, 32


@dataclass(frozen=True, slots=True, eq=False)
class FieldMap:
    """Squares of `step` nm from the corner (`x`, `y`): rows go along y. `share` is NaN where no molecule is."""

    x: float
    y: float
    step: float
    share: FloatArray
    false: FloatArray

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top in nm, with y downwards, as images have it."""
        size = self.step * len(self.share)
        return self.x, self.x + size, self.y + size, self.y


def field_map(score: Score) -> FieldMap:
    """The share of missed molecules and the number of false detections in squares of about 15 molecules.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> field_map(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})).share.tolist()
    [[0.5]]
    """
    truth, pred, costs = score.matched.kept_truth, score.matched.kept_pred, score.costs
    missed, false = costs.truth_partner < 0, costs.pred_partner < 0
    squares = int(np.clip(np.sqrt(len(truth) / _MOLECULES_IN_A_SQUARE), 1, _MOST_SQUARES))
    if len(truth) == 0:
        return FieldMap(0.0, 0.0, 1.0, np.full((1, 1), np.nan), np.zeros((1, 1)))
    low, size = (float(truth.x.min()), float(truth.y.min())), max(float(np.ptp(truth.x)), float(np.ptp(truth.y)), 1.0)
    span = [[low[1], low[1] + size], [low[0], low[0] + size]]

    def count(x: FloatArray, y: FloatArray) -> FloatArray:
        counted: FloatArray = np.histogram2d(y, x, bins=squares, range=span)[0]
        return counted

    every, lost = count(truth.x, truth.y), count(truth.x[missed], truth.y[missed])
    share = np.where(every > 0, lost / np.maximum(every, 1), np.nan)
    return FieldMap(low[0], low[1], size / squares, share, count(pred.x[false], pred.y[false]))
