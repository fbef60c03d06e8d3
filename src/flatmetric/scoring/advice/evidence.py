"""The rows of a score with all that advice rests on, and which of them no advice explains yet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flatmetric import _core
from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.scoring.row_costs import RowCosts

if TYPE_CHECKING:
    from flatmetric.scoring.score import Score

NEAR = 1000.0
"""Molecules further apart than this, in nm, are not neighbours."""
SIGMAS = 3.9
"""By how many standard errors a group must exceed the others; many limits are tried, and still about one in a thousand
results without a fault is blamed for one."""
NEARLY = 0.9
"""The smallest group that reaches this share of the largest gain is named."""
ROUND = (25, 50, 75, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000)
"""Lengths that read well, nm."""
_TILE = 1000.0  # nm: what is near is alike, so neighbouring molecules are not independent
_FEWEST_TILES = 100  # so that a standard error over tiles is known to 7 %
_PLACE = 200.0  # nm: detections at one place, in any frame, are correct or wrong together


@dataclass(frozen=True, slots=True, eq=False)
class Remedy:
    """Something to do: a sentence, what it takes off the Flat Metric (nm), and the rows it explains."""

    kind: str
    sentence: str
    gain: float
    numbers: dict[str, float]
    truth: BoolArray | None = None
    pred: BoolArray | None = None


class Evidence:
    """The molecules and detections that count; `truth_open` and `pred_open` are those that no advice explains yet.

    Missed and false are those of the transport plan. `pred` and `costs` may be those of a repaired result. A gain below
    `least`, nm, is not worth a sentence.
    """

    def __init__(
        self, score: Score, least: float, pred: Localizations | None = None, costs: RowCosts | None = None
    ) -> None:
        self.score = score
        self.least = least
        self.lam = score.lam
        self.truth = score.matched.kept_truth
        self.pred = score.matched.kept_pred if pred is None else pred
        self.costs = score.costs if costs is None else costs
        self.missed = self.costs.truth_partner < 0
        self.false = self.costs.pred_partner < 0
        # Across the line of a border that is left out, partners lose each other: the program is not to blame.
        self.truth_open, self.pred_open = (self._off_the_border(table) for table in (self.truth, self.pred))

    def _off_the_border(self, table: Localizations) -> BoolArray:
        rules = self.score.protocol
        off = np.ones(len(table), dtype=bool)
        if rules.border is not None and rules.fov is not None:
            for values, size in ((table.x, rules.fov[0]), (table.y, rules.fov[1])):
                off &= np.minimum(values, size - values) > rules.border + self.lam
        return off

    def explain(self, truth: BoolArray | None, pred: BoolArray | None) -> None:
        """Leave rows out of all further advice."""
        if truth is not None:
            self.truth_open &= ~truth
        if pred is not None:
            self.pred_open &= ~pred

    def sums_in_bins(
        self, values: FloatArray, limits: FloatArray, counted: BoolArray, *columns: FloatArray
    ) -> FloatArray:
        """How many counted rows are in each bin, and what each column adds up to there; the bin of a row is the number
        of limits that its value reaches.
        """
        return _core.sums_in_bins(values, limits, counted, list(columns), self.score.matched.threads)

    @cached_property
    def missed_mass(self) -> FloatArray:
        """The weight of each missed molecule, 0 of others."""
        return np.where(self.missed, self.costs.truth_mass, 0.0)

    @cached_property
    def molecule(self) -> IntArray:
        """A number for each molecule, the same in all its frames; without ids, rows at one place are one molecule."""
        number = self.score.matched.molecule
        if number is None:
            number = _pairs_numbered(self.truth.x, self.truth.y)
            number = number if self.truth.z is None else _pairs_numbered(number, self.truth.z)
        return number

    @cached_property
    def tile(self) -> IntArray:
        """A number for each tile of the field with molecules: a square micrometre, or less in a small field."""
        (left, right), (top, bottom) = (self.score.matched.truth.extent[axis] for axis in "xy")
        side = min(_TILE, float(np.sqrt(max((right - left) * (bottom - top), 1.0) / _FEWEST_TILES)))
        return _squares(self.truth, side)

    @cached_property
    def place(self) -> IntArray:
        """A number for each small square with detections."""
        return _squares(self.pred, _PLACE)

    @cached_property
    def _neighbours(self) -> tuple[FloatArray, IntArray]:
        return self._nearest(self.truth, self.truth.frame, NEAR, apart=True, dim=2)

    @property
    def neighbour(self) -> FloatArray:
        """The distance in the plane, nm, from each molecule to the nearest other one of its frame; infinite beyond
        `NEAR`. Depths don't count: spots overlap in the plane.
        """
        return self._neighbours[0]

    @property
    def neighbour_row(self) -> IntArray:
        """The nearest other molecule of the frame, -1 for none within `NEAR`."""
        return self._neighbours[1]

    @cached_property
    def to_truth(self) -> FloatArray:
        """The distance, as the plan measures it, from each false detection to the nearest molecule of its frame, if it
        has a partner; infinite for other detections.
        """
        return self._from_false(self.pred.frame[self.false])

    @cached_property
    def to_truth_by_chance(self) -> FloatArray:
        """The same with the molecules of other frames: what the density of the structure alone gives."""
        frames = self.score.sums.frame
        other = np.roll(frames, len(frames) // 2)
        return self._from_false(other[np.searchsorted(frames, self.pred.frame[self.false])])

    def _from_false(self, frame: IntArray) -> FloatArray:
        """The same from false detections in the frames that are given for them."""
        rows = np.flatnonzero(self.false)
        distance = np.full(len(self.pred), np.inf)
        if len(rows):
            looked, reach = self.pred.select(rows), 2 * self.lam
            near, row = self._nearest(looked, frame, reach, apart=False, dim=self.score.dim)
            has_partner = (row >= 0) & ~self.missed[np.maximum(row, 0)]
            distance[rows] = np.where(has_partner, near, np.inf)
        return distance

    def _nearest(
        self, table: Localizations, frame: IntArray, reach: float, *, apart: bool, dim: int
    ) -> tuple[FloatArray, IntArray]:
        threads = self.score.matched.threads
        points, others = table.points(dim, threads), self.truth.points(dim, threads)
        if self.score.axis_scale is not None:
            scale = np.asarray(self.score.axis_scale)[:dim]
            points, others = np.ascontiguousarray(points * scale), np.ascontiguousarray(others * scale)
        nearest = _core.neighbours(points, others, frame, self.truth.frame, reach, apart, threads)
        return nearest.distance, nearest.row

    @cached_property
    def to_edge(self) -> FloatArray:
        """The distance in nm from each molecule to the edge of the field, or of what the truth fills."""
        field, extent = self.score.protocol.fov, self.score.matched.truth.extent
        distance = np.full(len(self.truth), np.inf)
        for axis, values in enumerate((self.truth.x, self.truth.y)):
            low, high = extent["xy"[axis]] if field is None else (0.0, field[axis])
            np.minimum(distance, values - low, out=distance)
            np.minimum(distance, high - values, out=distance)
        return distance


def sigmas(excess: FloatArray, *units: IntArray) -> float:
    """By how many standard errors a sum over rows lies above 0, where rows of one unit are correct or wrong together;
    the least of several ways to make units.

    Examples
    --------
    >>> round(sigmas(np.array([1.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 1])), 3)
    1.414
    """
    ratios = []
    for unit in units:
        spread = float(np.sqrt(np.sum(np.bincount(unit, excess) ** 2)))
        ratios.append(float(excess.sum()) / spread if spread > 0 else 0.0)
    return min(ratios)


def _squares(table: Localizations, side: float) -> IntArray:
    """A number for each square of the plane with rows in it."""
    return _pairs_numbered(np.floor(table.x / side), np.floor(table.y / side))


def _pairs_numbered(first: FloatArray | IntArray, second: FloatArray) -> IntArray:
    """A number, from 0, for each pair of values, the same for equal pairs."""
    return np.unique(first + 1j * second, return_inverse=True)[1].ravel()


RemedySearch = Callable[[Evidence], Remedy | None]
"""Looks for one kind of fault."""
