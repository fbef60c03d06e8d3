"""Who found whom: one-to-one pairs of true and found rows, frame by frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flatmetric import _core
from flatmetric.localizations import Localizations
from flatmetric.protocol import Matching
from flatmetric.result import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Pairs by frame, then by true row: rows of the two tables, and their distance in nm."""

    truth: IntArray
    pred: IntArray
    distance: FloatArray

    def __len__(self) -> int:
        return len(self.truth)


def match(
    truth: Localizations,
    pred: Localizations,
    *,
    dim: int,
    tolerance: float,
    tolerance_z: float,
    matching: Matching,
    threads: int = 1,
) -> Matches:
    """Match detections to molecules of the same frame, no further than the tolerances (nm, included).

    "greedy" takes the nearest pair first, again and again, as the SMLM Challenge did; ties go to the lower true row,
    then to the lower found row. "optimal" makes as many pairs as can be, and of those the ones with the smallest sum of
    distances.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 100.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1, 1], x=[90.0, 330.0], y=[0.0, 0.0])
    >>> m = match(t, p, dim=2, tolerance=250, tolerance_z=500, matching="greedy")
    >>> m.truth.tolist(), m.pred.tolist()
    ([1], [0])
    >>> m = match(t, p, dim=2, tolerance=250, tolerance_z=500, matching="optimal")
    >>> m.truth.tolist(), m.pred.tolist()
    ([0, 1], [0, 1])
    """
    rows = _core.match(
        truth.points(dim),
        pred.points(dim),
        truth.frame,
        pred.frame,
        lateral=tolerance,
        axial=tolerance_z,
        greedy=matching == "greedy",
        power=1.0,
        price=math.inf,
        threads=threads,
    )
    return Matches(*rows)
