"""Two molecules with one detection between them."""

from __future__ import annotations

import numpy as np

from flatmetric.scoring.advice.evidence import SIGMAS, Evidence, Remedy, sigmas

_BETWEEN = (0.2, 0.8)  # of the way from one molecule to the other lies a detection of both
_ASIDE = 0.35  # of the distance of the two molecules: further off, the detection is not between them


def merged(evidence: Evidence) -> Remedy | None:
    """Detections that lie between two molecules, of which one is missed.

    By chance a detection errs towards the missed molecule as often as away from it.
    """
    partner = evidence.costs.truth_partner
    rows = np.flatnonzero(evidence.missed & evidence.truth_open & (evidence.neighbour_row >= 0))
    other = evidence.neighbour_row[rows]
    shared = (partner[other] >= 0) & evidence.truth_open[other] & (evidence.neighbour[rows] < 2 * evidence.lam)
    rows, other = rows[shared], other[shared]
    if len(rows) == 0:
        return None
    place = np.zeros(len(evidence.score.matched.pred), dtype=np.int64)
    place[evidence.score.matched.pred_kept] = np.arange(len(evidence.pred))
    threads = evidence.score.matched.threads
    points = evidence.truth.points(2, threads)
    way = points[rows] - points[other]
    off = evidence.pred.points(2, threads)[place[partner[other]]] - points[other]
    length = np.sqrt(np.sum(way**2, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.sum(off * way, axis=1) / length**2
        aside = np.sqrt(np.maximum(np.sum(off**2, axis=1) / length**2 - along**2, 0.0))
    between, opposite = (
        (sign * along > _BETWEEN[0]) & (sign * along < _BETWEEN[1]) & (aside < _ASIDE) for sign in (1, -1)
    )
    near, chance = int(between.sum()), int(opposite.sum())
    if near <= chance:
        return None
    both = np.zeros(len(evidence.truth), dtype=bool)
    both[rows[between]] = both[other[between]] = True
    costs = evidence.costs
    matched = evidence.truth_open & ~both & ~evidence.missed
    usual = costs.displaced[matched].sum() / max(costs.truth_mass[matched].sum(), np.finfo(float).tiny)
    lost = (costs.missed + costs.displaced)[both].sum() - usual * costs.truth_mass[both].sum()
    gain = float(lost) * (1 - chance / near)
    if gain < evidence.least or sigmas(between.astype(np.float64) - opposite, evidence.molecule[rows]) < SIGMAS:
        return None
    low, high = (float(end) for end in np.quantile(length[between], [0.05, 0.95]))
    words = f"{near} detections lie between two molecules that are {low:.0f} to {high:.0f} nm apart"
    # Explained are all molecules with such a neighbour, found or not: else the rest would be a selection.
    crowd = evidence.truth_open & (evidence.neighbour <= max(high, float(length[between].max())))
    return Remedy(
        "merged",
        f"Split merged pairs: {words}.",
        gain,
        {"detections": near, "from_nm": low, "to_nm": high},
        truth=crowd,
    )
