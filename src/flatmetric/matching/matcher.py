"""One-to-one matching of true and predicted rows, frame by frame."""

from __future__ import annotations

import math

from flatmetric import _core
from flatmetric._arrays import FloatArray, IntArray
from flatmetric._core import match
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.options.rules import Matching


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
    truth: Localizations,
    table: Localizations,
    *,
    dim: int,
    within: float = math.inf,
    apart: bool = False,
    threads: int = 1,
) -> tuple[FloatArray, IntArray]:
    """The molecule nearest to each row in its frame: the distance in nm, and its row in the truth.

    Infinite and -1 where none is closer than `within` nm. With `apart`, the table is the truth itself, and no molecule
    is its own neighbour.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1, 2], x=[0.0, 100.0, 50.0], y=[0.0, 0.0, 0.0])
    >>> p = Localizations(frame=[1, 2, 3], x=[60.0, 900.0, 0.0], y=[0.0, 0.0, 0.0])
    >>> distance, row = neighbours(t, p, dim=2, within=500)
    >>> distance.tolist(), row.tolist()
    ([40.0, inf, inf], [1, -1, -1])
    >>> neighbours(t, t, dim=2, apart=True)[0].tolist()
    [100.0, 100.0, inf]
    """
    points = table.points(dim, threads), truth.points(dim, threads)
    nearest = _core.neighbours(*points, table.frame, truth.frame, within, apart, threads)
    return nearest.distance, nearest.row
