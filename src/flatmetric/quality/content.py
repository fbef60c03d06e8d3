"""Rows that repeat one another, exactly or nearly, and photons in another unit."""

from __future__ import annotations

import math

import numpy as np

from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding, near_copies, repeated_rows, rows_of_other_frames
from flatmetric.quality.frames import jitter
from flatmetric.quality.pairing import SIGNIFICANT, certainty_of

_DUPLICATES = 0.005  # of the rows
_NEAR_COPIES = 0.03  # of the rows
_NEAR = 50.0  # nm: no program tells molecules apart that are as close
_LIKE_TRUTH = 1.5  # times as many close pairs as the truth has in the same frames
_CLOSE = 75.0  # nm, of a detection from its molecule
_FEWEST = 30  # pairs with photons
_OTHER_UNIT = 3.0  # programs count up to twice as many where spots overlap


def duplicates(case: Case) -> Finding | None:
    """Rows that repeat another to the last digit."""
    count, pred = int(repeated_rows(case.pred).sum()), case.pred
    if count < max(3, _DUPLICATES * len(pred)):
        return None
    # Positions rounded to whole pixels coincide by chance.
    _, in_frame = np.unique(pred.frame, return_counts=True)
    places = len(np.unique(pred.x)) * len(np.unique(pred.y))
    by_chance = float((in_frame * (in_frame - 1.0)).sum()) / 2 / max(1, places)
    if count < 3 * by_chance + SIGNIFICANT * math.sqrt(by_chance):
        return None
    return Finding("duplicates", count, None, None, 1.0)


def near_duplicates(case: Case) -> Finding | None:
    """Rows with another close by in the same frame, more often than molecules have: one spot was fitted twice."""
    if case.pile.sigmas < SIGNIFICANT:
        return None
    rows, molecules = (int(near_copies(table, _NEAR).sum()) for table in (case.pred, case.covered_truth))
    expected = _LIKE_TRUTH * molecules * (len(case.pred) / max(1, len(case.covered_truth))) ** 2
    if rows - expected < max(_FEWEST / 3, _NEAR_COPIES * len(case.pred), SIGNIFICANT * math.sqrt(expected)):
        return None
    if jitter(case) is not None:  # then they are of another frame
        return None
    return Finding("near_duplicates", {"rows": rows, "distance": _NEAR}, None, None, 1.0)


def repeated_frames(case: Case) -> Finding | None:
    """Rows that have the position of one in another frame to the last digit: images were repeated, or read twice."""
    count, pred = int(rows_of_other_frames(case.pred).sum()), case.pred
    by_chance = len(pred) ** 2 / 2 / max(1, len(np.unique(pred.x)) * len(np.unique(pred.y)))
    if count < max(3, _DUPLICATES * len(pred), 3 * by_chance + SIGNIFICANT * math.sqrt(by_chance)):
        return None
    return Finding("repeated_frames", count, None, None, 1.0)


def photon_unit(case: Case) -> Finding | None:
    """Photons that are a multiple of the true ones; those of a truth that has the same for all are nominal."""
    truth, pred = case.truth.photons, case.pred.photons
    if truth is None or pred is None or case.pile.sigmas < SIGNIFICANT or np.ptp(truth) == 0:
        return None
    t, p = case.rows
    dx, dy = case.apart
    near = (dx - case.pile.x) ** 2 + (dy - case.pile.y) ** 2 <= _CLOSE**2
    true, measured = truth[t[near]], pred[p[near]]
    known = (true > 0) & (measured > 0)
    if known.sum() < _FEWEST:
        return None
    ratio = np.log(measured[known] / true[known])
    middle = float(np.median(ratio))
    error = 1.25 * float(np.std(ratio)) / math.sqrt(len(ratio))
    if abs(middle) < math.log(_OTHER_UNIT) or abs(middle) < SIGNIFICANT * error:
        return None
    factor = float(f"{math.exp(middle):.3g}")
    return Finding("photon_unit", factor, None, None, certainty_of(abs(middle) / max(error, 1e-9)))
