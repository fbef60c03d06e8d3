"""Which parts of a score vary independently: blocks of frames, or molecules where there are too few blocks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.matching.matcher import neighbours
from flatmetric.metrics.base import SUMMED
from flatmetric.metrics.match_sums import MatchedRows, match_quantities
from flatmetric.scoring.score import Score

FEWEST_BLOCKS = 3
"""With fewer blocks than this, they tell nothing."""
ENOUGH_BLOCKS = 20
"""With fewer blocks than this, molecules are the units where they are known."""
_SPAN_SHARE = 0.95  # of the molecules live no longer than what is taken as their life
_BLOCK_PER_LIFE = 2  # a block is this many lives long, as molecules at its border belong to two blocks
_BLOCK_PER_TIME = 5  # a block is this many autocorrelation times long, where molecules are not known
_FEWEST_BLOCKS = 6  # are made where only the autocorrelation tells
_STAYS = 2  # a stretch is this many times as long as a molecule stays on
_FEWEST_STRETCHES = 8
_ROUNDING = 1e-12  # relative: a smaller variance is rounding
_CANCELLED = 1e-5  # relative: a smaller difference of sums has lost too many digits
_NUMBERS_AT_ONCE = 5_000_000  # to bound the memory
_NEAR = 4.0  # times lam: a detection further from every molecule belongs to none

_OF_MATCHES = tuple(name for name, _ in match_quantities(MatchedRows(*[np.ones((1, 3))] + [np.ones(1)] * 4)))
_OF_ROWS = frozenset(("n_truth", "n_pred", "tp", "mass", "displaced", "missed", "false", *_OF_MATCHES))
FRAME_ONLY = frozenset(SUMMED) - _OF_ROWS
"""Sums that a frame adds as a whole, so that they can't be given to its molecules."""


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


@dataclass(frozen=True, eq=False)
class Sampling:
    """Which parts of a score are correlated.

    `frames` are those with rows, `span` the first and the last frame of the truth. `block` is the length of an
    independent block in frames. `cells` is None where molecules are not known; `row_cell` is the cell of each true row
    that counts.
    """

    frames: IntArray
    span: tuple[int, int]
    block: int
    cells: Cells | None = None
    row_cell: IntArray | None = None

    @cached_property
    def blocks(self) -> int:
        """The number of independent blocks."""
        return int(block_places(self.frames, self.span, self.block)[1])

    @property
    def molecule_cells(self) -> Cells | None:
        """The cells where molecules are the units; None where blocks are."""
        return self.cells if self.blocks < ENOUGH_BLOCKS else None


def block_places(frames: IntArray, span: tuple[int, int], block: int) -> tuple[IntArray, int]:
    """The number of the block of each frame, from 0, and how many blocks have frames.

    Blocks are equally long, at least `block` frames; frames outside the `span` of the truth belong to its ends.

    Examples
    --------
    >>> block_places(np.array([1, 2, 4, 5, 90]), (1, 5), 2)
    (array([0, 0, 1, 1, 1]), 2)
    """
    length = span[1] - span[0] + 1
    count = max(1, length // block)
    occupied, place = np.unique(_equal_parts(frames, span, count), return_inverse=True)
    return place.reshape(-1), max(1, len(occupied))


def _equal_parts(frames: IntArray, span: tuple[int, int], count: int) -> IntArray:
    """The part of each frame, from 0, of `count` equal parts of the span; frames outside belong to its ends."""
    length = span[1] - span[0] + 1
    # The middle of a frame is never at the edge of a part, whatever the rounding; as integers the product may overflow.
    return ((np.clip(frames, *span) - span[0] + 0.5) * (count / length)).astype(np.int64)


def block_sums(frames: IntArray, table: FloatArray, span: tuple[int, int], block: int) -> FloatArray:
    """Sums of the rows of a (frames, quantities) table over the blocks of `block_places`.

    Examples
    --------
    >>> block_sums(np.array([1, 2, 4, 5]), np.ones((4, 1)), (1, 5), 2).tolist()
    [[2.0], [2.0]]
    """
    place, count = block_places(frames, span, block)
    return grouped(place, table, count)


def grouped(place: IntArray, table: FloatArray, count: int) -> FloatArray:
    """Sums of the rows of a table that share a place, from 0 to `count` - 1."""
    columns = [np.bincount(place, column, minlength=count) for column in table.T]
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def sampling_of(score: Score, block: int | None = None) -> Sampling:
    """Which parts of a score are correlated; a given `block` (frames) is taken as it is.

    Where molecules are known, a block is twice as long as 95 % of them live, else several times as long as the
    autocorrelation of the frames.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 9.0], "y": [0.0, 0.0, 9.0], "id": [1, 1, 2]}
    >>> sampling_of(score(truth, truth)).block
    4
    """
    sums, molecule, frame = score.sums, score.matched.molecule, score.matched.kept_truth.frame
    span = int(frame.min()), int(frame.max())
    if block is not None:
        return Sampling(sums.frame, span, block)
    if molecule is None or len(np.unique(molecule)) == len(molecule):  # none is seen twice: perhaps the ids are rows
        columns = sums.per_frame.n_truth, sums.per_frame.own_flat
        return Sampling(sums.frame, span, block_from_autocorrelation(sums.frame, span, columns))
    life, stay = _life(frame, molecule)
    length = span[1] - span[0] + 1
    shortest = max(_STAYS * stay, length // (4 * len(frame)))  # a few rows far apart need few stretches
    stretches = max(1, length // max(1, min(shortest, length // _FEWEST_STRETCHES)))
    stretch = _equal_parts(frame, span, stretches)
    key, row_cell = np.unique(molecule * stretches + stretch, return_inverse=True)
    row_cell = row_cell.reshape(-1)
    truths = np.bincount(row_cell, minlength=len(key)).astype(np.float64)
    cells = Cells(key // stretches, key % stretches, truths, stretches)
    return Sampling(sums.frame, span, _BLOCK_PER_LIFE * life, cells, row_cell)


def block_from_autocorrelation(frames: IntArray, span: tuple[int, int], columns: Sequence[FloatArray]) -> int:
    """The length of a block from the autocorrelation of values of the frames that have rows.

    Examples
    --------
    >>> block_from_autocorrelation(np.arange(1, 301), (1, 300), [np.random.default_rng(0).normal(size=300)])
    1
    """
    length = span[1] - span[0] + 1
    time = autocorrelation_time(columns)
    if time <= 1:
        return 1
    return min(math.ceil(_BLOCK_PER_TIME * time * max(1.0, length / len(frames))), max(1, length // _FEWEST_BLOCKS))


def _life(frame: IntArray, molecule: IntArray) -> tuple[int, int]:
    """For how many frames 95 % of the molecules are there from first to last, and stay on without a gap."""
    order = np.lexsort((frame, molecule))
    frame, molecule = frame[order], molecule[order]
    new = np.append(True, molecule[1:] != molecule[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(frame)) - 1
    on = np.flatnonzero(new | np.append(True, np.diff(frame) > 1))
    stays = frame[np.append(on[1:], len(frame)) - 1] - frame[on] + 1
    span, stay = (np.quantile(values, _SPAN_SHARE) for values in (frame[last] - frame[first] + 1, stays))
    return math.ceil(span), math.ceil(stay)


def autocorrelation_time(columns: Sequence[FloatArray]) -> float:
    """For how many frames values in a row are correlated: one plus twice the sum of their autocorrelations, taken in
    pairs of lags for as long as these are positive (Geyer); the longest of several columns.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=1000)
    >>> autocorrelation_time([values]), 5 < autocorrelation_time([np.repeat(values, 6)]) < 7
    (1.0, True)
    """
    longest = 1.0
    for column in columns:
        series = column - column.mean() if len(column) else column
        power = float(np.dot(series, series))
        if power == 0 or len(series) < 20:
            continue
        size = 1 << (2 * len(series) - 1).bit_length()
        correlation = np.fft.irfft(np.abs(np.fft.rfft(series, size)) ** 2, size)[: len(series) // 3] / power
        pairs = correlation[1 : 2 * ((len(correlation) - 1) // 2) + 1].reshape(-1, 2).sum(axis=1)
        noise = 2 * math.sqrt(2 / len(series))
        stop = np.flatnonzero(pairs < noise)
        longest = max(longest, 1 + 2 * float(pairs[: stop[0] if len(stop) else len(pairs)].sum()))
    return longest


def cell_table(score: Score, sampling: Sampling) -> tuple[FloatArray, FloatArray]:
    """What each cell adds to the sums, and what detections far from every molecule add in each stretch.

    Both have the columns of `SUMMED`; those of `FRAME_ONLY` stay 0. A detection goes to its partner, or else to the
    nearest molecule of its frame.
    """
    cells, row_cell = sampling.cells, sampling.row_cell
    assert cells is not None and row_cell is not None
    matched, costs = score.matched, score.costs
    table, alone = np.zeros((len(cells.molecule), len(SUMMED))), np.zeros((cells.stretches, len(SUMMED)))

    def add(name: str, place: IntArray, values: FloatArray | None, target: FloatArray = table) -> None:
        target[:, SUMMED.index(name)] += np.bincount(place, values, minlength=len(target))

    add("n_truth", row_cell, None)
    for name, values in (("mass", costs.truth_mass), ("displaced", costs.displaced), ("missed", costs.missed)):
        add(name, row_cell, values)
    pair_cell = row_cell[matched.counted_in_kept]
    add("tp", pair_cell, None)
    for name, factors in match_quantities(score.sums.rows):
        add(name, pair_cell, np.prod(factors, axis=0))
    owner = _owners(score)
    owned = owner >= 0
    add("n_pred", row_cell[owner[owned]], None)
    add("false", row_cell[owner[owned]], costs.false[owned])
    stretch = _equal_parts(matched.kept_pred.frame[~owned], sampling.span, cells.stretches)
    add("n_pred", stretch, None, alone)
    add("false", stretch, costs.false[~owned], alone)
    return table, alone


def _owners(score: Score) -> IntArray:
    """The true row of `kept_truth` that each detection of `kept_pred` belongs to; -1 for none."""
    matched = score.matched
    owner = np.full(len(matched.pred), -1, dtype=np.int64)
    owner[matched.counted.pred] = matched.counted_in_kept
    owner = owner[matched.pred_kept]
    free = np.flatnonzero(owner < 0)
    if len(free):
        truth, pred = matched.kept_truth, matched.kept_pred.select(free)
        reach = _NEAR * score.lam
        _, owner[free] = neighbours(truth, pred, dim=matched.dim, within=reach, threads=matched.threads)
    return owner


class Each:
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
        alone, found = own[first] + own[second], every[first, second]
        # Where little is left of large numbers, it is computed anew.
        weak = np.flatnonzero(found < _CANCELLED * alone)
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, len(each)))
        for start in range(0, len(weak), at_once):
            some = weak[start : start + at_once]
            found[some] = ((each[:, first[some]] - each[:, second[some]]) ** power).sum(axis=0)
        return np.asarray(found)


class Variation(ABC):
    """How estimates vary together.

    `units` are the (units, k) independent contributions to the errors of k estimates, `covariance` what they add up to.
    """

    units: FloatArray
    covariance: FloatArray

    def each(self) -> tuple[FloatArray, FloatArray]:
        """Standard error and degrees of freedom of every estimate."""
        return self._spread(Each())

    def differences(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Standard errors and degrees of freedom of the differences of estimates."""
        return self._spread(Differences(first, second))

    def _spread(self, of: Each | Differences) -> tuple[FloatArray, FloatArray]:
        alone = np.diag(self.covariance)
        if isinstance(of, Differences):
            alone = alone[of.first] + alone[of.second]
        return standard_errors(self._variance(of), alone), np.maximum(self._freedom(of), 1.0)

    @abstractmethod
    def _variance(self, of: Each | Differences) -> FloatArray: ...

    def _freedom(self, of: Each | Differences) -> FloatArray:
        """How many units carry the variance: few large ones are no better than few units."""
        return of.powers(self.units, 2) ** 2 / np.maximum(of.powers(self.units, 4), np.finfo(float).tiny)


class BlockVariation(Variation):
    """The variation of estimates from what each independent block adds to their errors, (blocks, k)."""

    def __init__(self, blocks: FloatArray) -> None:
        self.units = blocks - blocks.mean(axis=0)
        self._correction = len(blocks) / (len(blocks) - 1)
        self.covariance = self._correction * self.units.T @ self.units

    def _variance(self, of: Each | Differences) -> FloatArray:
        return self._correction * of.powers(self.units, 2)

    def _freedom(self, of: Each | Differences) -> FloatArray:
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

    def _variance(self, of: Each | Differences) -> FloatArray:
        stretches = self._cells.stretches
        slope, squares, alone = of.values(self._slope), of.powers(self._rest, 2), of.powers(self._alone, 2)
        # A score depends on the crowd; what two programs differ by seldom does: there the usual error of a regression
        # is taken off.
        by_chance = squares / max(1, stretches - 2) / self._crowd_spread if of.of_two else 0.0
        crowded = self._lives * np.maximum(slope**2 - by_chance, 0.0)
        explained = of.powers(self._own_cells, 2) + alone
        between = stretches / max(1, stretches - 1) * squares - explained
        return np.asarray(self._correction * of.powers(self._own, 2) + alone + crowded + np.maximum(between, 0.0))


def standard_errors(variance: FloatArray, alone: FloatArray) -> FloatArray:
    """Standard errors; 0 where the variance is rounding beside those of the estimates alone, as of equal programs."""
    return np.sqrt(np.where(variance > _ROUNDING * alone, variance, 0.0))
