"""One-to-one matching of true and predicted rows, frame by frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._core import match
from flatmetric.localizations import Localizations
from flatmetric.matching.protocol import Matching

_ROWS_IN_A_TREE = 5000


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Matched rows of the two tables and their distance in nm, by frame, then by true row."""

    truth: IntArray
    pred: IntArray
    distance: FloatArray

    def __len__(self) -> int:
        return len(self.truth)


def match_frames(
    truth: Localizations,
    pred: Localizations,
    *,
    dim: int,
    tolerance: float,
    tolerance_z: float,
    matching: Matching,
    threads: int = 1,
) -> Matches:
    """Match detections to molecules of the same frame, up to the tolerances (nm, included).

    "greedy" takes the nearest pair first, again and again, as the SMLM Challenge did; ties go to the lower true row,
    then to the lower predicted row. "optimal" makes as many pairs as possible, and among those choices takes the one
    with the smallest sum of distances.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 100.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1, 1], x=[90.0, 330.0], y=[0.0, 0.0])
    >>> m = match_frames(t, p, dim=2, tolerance=250, tolerance_z=500, matching="greedy")
    >>> m.truth.tolist(), m.pred.tolist()
    ([1], [0])
    >>> m = match_frames(t, p, dim=2, tolerance=250, tolerance_z=500, matching="optimal")
    >>> m.truth.tolist(), m.pred.tolist()
    ([0, 1], [0, 1])
    """
    return _match(truth, pred, dim, threads, lateral=tolerance, axial=tolerance_z, greedy=matching == "greedy")


def assign_frames(
    truth: Localizations, pred: Localizations, *, dim: int, p: float, c: float, threads: int = 1
) -> Matches:
    """The optimal assignment in every frame: a pair costs distance^p (nm), leaving its two points unpaired c^p.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[0.0], y=[0.0])
    >>> len(assign_frames(t, t, dim=2, p=2, c=250))
    1
    """
    return _match(truth, pred, dim, threads, lateral=c, axial=math.inf, power=p, price=c**p)


def _match(
    truth: Localizations,
    pred: Localizations,
    dim: int,
    threads: int,
    *,
    lateral: float,
    axial: float,
    greedy: bool = False,
    power: float = 1.0,
    price: float = math.inf,
) -> Matches:
    matches = match(
        truth.points(dim, threads),
        pred.points(dim, threads),
        truth.frame,
        pred.frame,
        lateral=lateral,
        axial=axial,
        greedy=greedy,
        power=power,
        price=price,
        threads=threads,
    )
    return Matches(matches.truth, matches.pred, matches.distance)


def neighbours(
    truth: Localizations, table: Localizations, *, dim: int, count: int, within: float = math.inf, threads: int = 1
) -> tuple[FloatArray, IntArray]:
    """The `count` nearest molecules in the frame of each row: distances in nm and rows of the truth, (rows, count).

    Infinite and -1 where there are fewer within `within` nm.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1, 2], x=[0.0, 100.0, 50.0], y=[0.0, 0.0, 0.0])
    >>> p = Localizations(frame=[1, 2, 3], x=[60.0, 900.0, 0.0], y=[0.0, 0.0, 0.0])
    >>> distance, row = neighbours(t, p, dim=2, count=1, within=500)
    >>> distance.tolist(), row.tolist()
    ([[40.0], [inf], [inf]], [[1], [-1], [-1]])
    """
    from scipy.spatial import cKDTree

    distance, row = np.full((len(table), count), np.inf), np.full((len(table), count), -1)
    if len(truth) == 0 or len(table) == 0:
        return distance, row
    order, row_order = np.argsort(truth.frame, kind="stable"), np.argsort(table.frame, kind="stable")
    frame, row_frame = truth.frame[order], table.frame[row_order]
    points, rows = truth.points(dim, threads)[order], table.points(dim, threads)[row_order]
    # Frames are a further axis, along which they are out of reach of each other; small trees are quicker than one.
    apart = 4 * (1.0 + float(np.ptp(np.concatenate([points, rows]), axis=0).max()))
    starts = np.unique(np.searchsorted(frame, frame[::_ROWS_IN_A_TREE]))
    for begin, end in zip(starts, np.append(starts[1:], len(frame)), strict=True):
        first, last = np.searchsorted(row_frame, frame[begin]), np.searchsorted(row_frame, frame[end - 1], side="right")
        tree = cKDTree(np.column_stack([points[begin:end], apart * (frame[begin:end] - frame[begin])]))
        here = np.column_stack([rows[first:last], apart * (row_frame[first:last] - frame[begin])])
        far, found = tree.query(
            here, k=range(1, count + 1), distance_upper_bound=min(within, apart / 2), workers=threads
        )
        distance[row_order[first:last]] = far
        row[row_order[first:last]] = np.where(np.isfinite(far), order[np.minimum(begin + found, end - 1)], -1)
    return distance, row
