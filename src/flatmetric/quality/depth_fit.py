"""How the depths of detections follow those of their molecules: what a look for errors of depth starts from."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, Pile

FEWEST = 30  # pairs for a fit of five numbers
DEEP = 50.0  # nm, standard deviation of true depths: flatter layers have no scale, and 0 is a fair depth in them
_ROUNDS, _KEPT = 8, 3.0  # of fits to what lies within so many spreads of the last one


@dataclass(frozen=True, slots=True, eq=False)
class DepthFit:
    """The depth that was found by the true depth, x, y and time, each from -1/2 to 1/2 but for the depth; `shift` is by
    how much depths are too large on average, with its standard error, nm.
    """

    slopes: FloatArray
    covariance: FloatArray
    shift: tuple[float, float]
    ranges: tuple[float, float]
    frames: tuple[int, int]
    middle: tuple[float, float]

    @property
    def errors(self) -> FloatArray:
        """The standard errors of the slopes."""
        return np.maximum(np.sqrt(np.diag(self.covariance)), 1e-12)


def fit_depths(
    truth: Localizations,
    pred: Localizations,
    rows: tuple[IntArray, IntArray],
    apart: tuple[FloatArray, FloatArray],
    pile: Pile,
) -> DepthFit | None:
    """Of the pairs in a pile, by least squares of what lies close to the fit before, since other molecules lie at any
    depth; None where these are too few or too flat. `rows` and how far they are `apart` (nm) are those of all pairs.
    """
    if truth.z is None or pred.z is None or not pred.z.any() or pile.sigmas < SIGNIFICANT:
        return None
    dx, dy = apart
    near = (dx - pile.x) ** 2 + (dy - pile.y) ** 2 <= (WINDOW / 2) ** 2
    t, p = (side[near] for side in rows)
    if len(t) < FEWEST or float(np.std(truth.z[t])) < DEEP:
        return None
    field = [truth.extent["x"], truth.extent["y"]]
    sizes, middle = [high - low for low, high in field], [(low + high) / 2 for low, high in field]
    frames = int(truth.frame.min()), int(truth.frame.max())
    place = [
        (getattr(truth, axis)[t] - at) / max(size, 1.0) for axis, at, size in zip("xy", middle, sizes, strict=True)
    ]
    time = (truth.frame[t] - sum(frames) / 2) / max(1, frames[1] - frames[0])
    columns = np.column_stack([np.ones(len(t)), truth.z[t], *place, time])
    measured = pred.z[p]
    kept = np.ones(len(t), dtype=bool)
    for _ in range(_ROUNDS):
        slopes = np.linalg.lstsq(columns[kept], measured[kept], rcond=None)[0]
        left = measured - columns @ slopes
        spread = 1.4826 * float(np.median(np.abs(left[kept])))
        kept = np.abs(left) <= max(_KEPT * spread, 1.0)
        if kept.sum() < FEWEST:
            return None
    # Rows of one molecule err together, so that they count as one.
    seen = len(np.unique(np.column_stack([truth.x[t[kept]], truth.y[t[kept]]]), axis=0))
    inverse = np.linalg.pinv(columns[kept].T @ columns[kept])
    covariance = inverse * float((left[kept] ** 2).mean()) * kept.sum() / seen
    deeper = (measured - truth.z[t])[kept]
    shift = float(deeper.mean()), float(deeper.std()) / math.sqrt(seen)
    return DepthFit(slopes, covariance, shift, (sizes[0], sizes[1]), frames, (middle[0], middle[1]))
