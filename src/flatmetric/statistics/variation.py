"""How estimates vary together, from what independent blocks of frames, or molecules, contribute to their errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass

FEWEST_BLOCKS = 3
"""Fewer blocks than this are too few to estimate a variance."""
_BELIEVED, _LEAST = 0.5, 0.5  # with these `python -m proofs` finds a coverage of 93 to 97 %
_ROUNDING = 1e-12  # relative: a smaller variance is rounding
_CANCELLED = 1e-5  # relative: a smaller difference of sums has lost too many digits
_NUMBERS_AT_ONCE = 5_000_000  # 40 MB of memory


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The molecules of a truth, their time cut into short stretches: each row is one molecule in one stretch.

    `molecule` and `stretch` count from 0, `truths` is the number of true rows in the cell. A stretch is about
    twice as long as a molecule stays on, the time for which neighbours disturb each other.
    """

    molecule: IntArray
    stretch: IntArray
    truths: FloatArray
    stretches: int


def grouped(place: IntArray, table: FloatArray, count: int) -> FloatArray:
    """Sums of the rows of a table that share a place, from 0 to `count` - 1."""
    columns = [np.bincount(place, column, minlength=count) for column in table.T]
    return np.column_stack(columns) if columns else np.zeros((count, 0))


class Estimates:
    """Every estimate by itself."""

    of_two = False

    def values(self, each: FloatArray) -> FloatArray:
        """The values themselves."""
        return each

    def powers(self, each: FloatArray, power: int) -> FloatArray:
        """Sums of powers of (units, k) contributions."""
        return np.asarray((each**power).sum(axis=0))


class Differences:
    """Differences of estimates, `first` minus `second`; of millions, too: no array has a row for each unit and pair."""

    of_two = True

    def __init__(self, first: IntArray, second: IntArray) -> None:
        self.first, self.second = first, second

    def values(self, each: FloatArray) -> FloatArray:
        """Differences of the values."""
        return np.asarray(each[self.first] - each[self.second])

    def powers(self, each: FloatArray, power: int) -> FloatArray:
        """Sums of even powers of the differences of (units, k) contributions, by the binomial theorem.

        Examples
        --------
        >>> Differences(np.array([0]), np.array([1])).powers(np.array([[1.0, 3.0], [2.0, 1.0]]), 4).tolist()
        [17.0]
        """
        first, second = self.first, self.second
        own = (each**power).sum(axis=0)
        every = np.add.outer(own, own)
        for k in range(1, power // 2 + 1):
            part = each**k
            mixed = part.T @ (part if 2 * k == power else each ** (power - k))  # with itself takes half the time
            every += (-1) ** k * math.comb(power, k) * (mixed if 2 * k == power else mixed + mixed.T)
        alone, sums = own[first] + own[second], every[first, second]
        # Where little is left of large numbers, it is computed again.
        weak = np.flatnonzero(sums < _CANCELLED * alone)
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, len(each)))
        for start in range(0, len(weak), at_once):
            some = weak[start : start + at_once]
            sums[some] = ((each[:, first[some]] - each[:, second[some]]) ** power).sum(axis=0)
        return np.asarray(sums)


class Variation(ABC):
    """How estimates vary together.

    `units` are the (units, k) independent contributions to the errors of k estimates, `covariance` what they add up to.
    """

    units: FloatArray
    covariance: FloatArray

    def of_estimates(self) -> tuple[FloatArray, FloatArray]:
        """Standard error and degrees of freedom of every estimate."""
        return self._spread(Estimates())

    def differences(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Standard errors and degrees of freedom of the differences of estimates."""
        return self._spread(Differences(first, second))

    def _spread(self, of: Estimates | Differences) -> tuple[FloatArray, FloatArray]:
        alone = np.diag(self.covariance)
        if isinstance(of, Differences):
            alone = alone[of.first] + alone[of.second]
        return standard_errors(self._variance(of), alone), np.maximum(self._freedom(of), 1.0)

    @abstractmethod
    def _variance(self, of: Estimates | Differences) -> FloatArray: ...

    def _freedom(self, of: Estimates | Differences) -> FloatArray:
        """How many units carry the variance: a few large ones count as few units."""
        return of.powers(self.units, 2) ** 2 / np.maximum(of.powers(self.units, 4), np.finfo(float).tiny)


class BlockVariation(Variation):
    """The variation of estimates from what each independent block adds to their errors, (blocks, k)."""

    def __init__(self, blocks: FloatArray) -> None:
        self.units = blocks - blocks.mean(axis=0)
        self._correction = len(blocks) / (len(blocks) - 1)
        self.covariance = self._correction * self.units.T @ self.units

    def _variance(self, of: Estimates | Differences) -> FloatArray:
        return self._correction * of.powers(self.units, 2)

    def _freedom(self, of: Estimates | Differences) -> FloatArray:
        # Of normal blocks, a third is effective in this sense.
        return np.minimum(len(self.units) - 1, 3 * super()._freedom(of) - 1)


def variation_of_blocks(blocks: FloatArray) -> BlockVariation | None:
    """The variation of estimates from (blocks, k) independent contributions; None for fewer than three blocks.

    Examples
    --------
    >>> variation_of_blocks(np.array([[1.0], [-1.0], [0.0]])).covariance.tolist()
    [[3.0]]
    """
    return BlockVariation(blocks) if len(blocks) >= FEWEST_BLOCKS else None


class MoleculeVariation(Variation):
    """The variation of estimates whose errors are sums of (cells, k) contributions, and of (stretches, k) ones that
    belong to no molecule.

    Three things vary: which molecules there are and how each is seen; how many shine at a time, which makes others
    better or worse; and what neighbours do to each other while they are on. The last is what the stretches vary beyond
    their molecules. `covariance` has the first alone.
    """

    def __init__(self, cells: Cells, contributions: FloatArray, alone: FloatArray) -> None:
        number, last = len(np.unique(cells.molecule)), int(cells.molecule.max()) + 1
        self._cells, self._alone = cells, alone
        self._correction = number / max(1, number - 1)
        self.units = grouped(cells.molecule, contributions, last)
        self.covariance = self._correction * self.units.T @ self.units + alone.T @ alone
        n = np.bincount(cells.stretch, cells.truths, minlength=cells.stretches)
        crowd = n - n.mean()
        self._crowd_spread = max(float(crowd @ crowd), np.finfo(float).tiny)
        together = grouped(cells.stretch, contributions, cells.stretches) + alone
        self._slope = crowd @ together / self._crowd_spread
        self._rest = together - crowd[:, None] * self._slope
        share = cells.truths * (crowd / np.maximum(n, 1))[cells.stretch]
        self._own_cells = contributions - share[:, None] * self._slope
        self._own = grouped(cells.molecule, self._own_cells, last)
        self._lives = float((np.bincount(cells.molecule, cells.truths) ** 2).sum())

    def _variance(self, of: Estimates | Differences) -> FloatArray:
        stretches = self._cells.stretches
        slope, squares, alone = of.values(self._slope), of.powers(self._rest, 2), of.powers(self._alone, 2)
        # A score depends on the crowd; what two programs differ by seldom does: there the usual error of a regression
        # is taken off.
        by_chance = squares / max(1, stretches - 2) / self._crowd_spread if of.of_two else 0.0
        crowded = self._lives * np.maximum(slope**2 - by_chance, 0.0)
        explained = of.powers(self._own_cells, 2) + alone
        # Where stretches vary less than their molecules, that is mostly chance: half of it is believed of an estimate,
        # nothing of a difference, of which there may be many to choose the clearest from.
        between = stretches / max(1, stretches - 1) * squares - explained
        between = np.where(between > 0, 1.0, 0.0 if of.of_two else _BELIEVED) * between
        certain = self._correction * of.powers(self._own, 2) + alone
        return np.asarray(np.maximum(certain + between, _LEAST * certain) + crowded)

    def _freedom(self, of: Estimates | Differences) -> FloatArray:
        # Molecules come by a Poisson process, so that the sum of squares varies by the sum of fourth powers.
        return 2 * super()._freedom(of)


def standard_errors(variance: FloatArray, alone: FloatArray) -> FloatArray:
    """Standard errors; 0 where the variance is rounding beside those of the estimates alone, as of equal programs."""
    return np.sqrt(np.where(variance > _ROUNDING * alone, variance, 0.0))
