"""Drift that is not steady: positions that wander over the movie, as a stage does from hour to hour."""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.quality.alignment import CAUTION, molecules_of, summed_by, tukey_weights
from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, certainty_of

_MOST_KNOTS, _FEWEST_KNOTS = 24, 4  # of the path; three could only bend once
_MOLECULES = 15  # at least for each knot
_SMALLEST = 15.0  # nm from a straight line
_STILL = 12.0  # nm: a path that comes as near to no displacement is drift since that time
_ROUNDS, _SETTLED = 15, 0.3  # of reweighting at most; until the path moves by less, nm
_STIFF = 1e-3  # of the pairs at a knot: what keeps a knot with hardly any pairs near its neighbours


def wander(case: Case) -> Finding | None:
    """A path over the frames that is not straight."""
    if not case.is_convincing(case.pile):
        return None
    t, p = case.rows
    moved = np.column_stack(case.apart)
    near = ((moved - (case.pile.x, case.pile.y)) ** 2).sum(axis=1) <= (2 * WINDOW) ** 2
    molecule, frame, moved = molecules_of(case, t[near]), case.pred.frame[p[near]], moved[near]
    count = min(_MOST_KNOTS, len(np.unique(molecule)) // _MOLECULES)
    knots = np.unique(np.quantile(frame, np.linspace(0, 1, max(count, 1)))) if len(frame) else np.zeros(0)
    if len(knots) < _FEWEST_KNOTS:
        return None
    shares = _shares(frame, knots)
    path = np.tile((case.pile.x, case.pile.y), (len(knots), 1))
    bend = np.diff(np.eye(len(knots)), 2, axis=0)
    stiffness = _STIFF * len(frame) / len(knots) * bend.T @ bend
    for _ in range(_ROUNDS):
        residual = moved - shares @ path
        weights = tukey_weights(residual, WINDOW)
        weighted = (weights[:, None] * shares).T
        inverse = np.linalg.pinv(weighted @ shares + stiffness, hermitian=True)
        before, path = path, inverse @ (weighted @ moved)
        if np.abs(path - before).max() < _SETTLED:
            break
    deviation, error = np.empty_like(path), np.empty_like(path)
    line = np.column_stack((np.ones(len(knots)), knots - knots.mean()))
    for axis in range(2):
        # Rows of one molecule err together.
        added = summed_by(molecule, shares * (weights * residual[:, axis])[:, None])
        error[:, axis] = np.sqrt(np.diag(inverse @ (added.T @ added) @ inverse))
        scale = 1 / np.maximum(error[:, axis], 1.0)
        straight = np.linalg.lstsq(line * scale[:, None], path[:, axis] * scale, rcond=None)[0]
        deviation[:, axis] = path[:, axis] - line @ straight
    sigmas = np.abs(deviation) / np.maximum(CAUTION * error, 1e-9)
    clear = (sigmas >= SIGNIFICANT) & (np.abs(deviation) >= _SMALLEST)
    if not clear.any():
        return None
    if np.hypot(*path.T).min() > _STILL:
        path = path - path.mean(axis=0)
    estimate = {"frames": [float(knot) for knot in knots]} | dict(zip("xy", path.T.round(2).tolist(), strict=True))
    return Finding("wander", estimate, None, None, certainty_of(float(sigmas[clear].max())))


def _shares(frame: FloatArray, knots: FloatArray) -> FloatArray:
    """How much of each knot there is at each frame, (frames, knots): a straight line from knot to knot."""
    left = np.clip(np.searchsorted(knots, frame, side="right") - 1, 0, len(knots) - 2)
    part = (frame - knots[left]) / (knots[left + 1] - knots[left])
    shares = np.zeros((len(frame), len(knots)))
    rows = np.arange(len(frame))
    shares[rows, left], shares[rows, left + 1] = 1 - part, part
    return shares
