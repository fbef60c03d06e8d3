"""Which parts of a score vary independently: blocks of frames, or molecules where there are too few blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.matching.matcher import neighbours
from flatmetric.metrics.base import SUMMED
from flatmetric.metrics.match_sums import MatchedRows, match_quantities
from flatmetric.scoring.score import Score
from flatmetric.statistics.variation import Cells, grouped

ENOUGH_BLOCKS = 20
"""With fewer blocks than this, molecules are the units where they are known."""
_SPAN_SHARE = 0.95  # of the molecules live no longer than what is taken as their life
_BLOCK_PER_LIFE = 2  # a block is this many lives long, as molecules at its border belong to two blocks
_BLOCK_PER_TIME = 5  # a block is this many autocorrelation times long, where molecules are not known
_BLOCKS_IN_SPAN = 6  # at least, however long the autocorrelation: fewer leave no degrees of freedom
_STAYS = 2  # a stretch is this many times as long as a molecule stays on
_FEWEST_STRETCHES = 8  # in a movie, for a variance between them with 7 degrees of freedom
_NEAR = 4.0  # times lam: a detection further from every molecule belongs to none

_OF_MATCHES = tuple(name for name, _ in match_quantities(MatchedRows(*[np.ones((1, 3))] + [np.ones(1)] * 4)))
_OF_ROWS = frozenset(("n_truth", "n_pred", "tp", "mass", "displaced", "missed", "false", *_OF_MATCHES))
FRAME_ONLY = frozenset(SUMMED) - _OF_ROWS
"""Sums that a frame adds as a whole, so that they can't be given to its molecules."""


@dataclass(frozen=True, eq=False)
class Sampling:
    """Which parts of a score are correlated.

    `frames` are those with rows, `span` the first and the last frame of the truth. `block` is the length of an
    independent block in frames. `cells` is None where molecules are not known; `row_cell` is the cell of each true row
    that counts. Without `ids` of the truth, how long molecules stay on is only guessed from the frames.
    """

    frames: IntArray
    span: tuple[int, int]
    block: int
    cells: Cells | None = None
    row_cell: IntArray | None = None
    ids: bool = True

    @cached_property
    def blocks(self) -> int:
        """The number of independent blocks in the span of the truth."""
        inside = frames_inside(self.frames, self.span)
        return int(block_places(self.frames[inside], self.span, self.block)[1])

    @property
    def molecule_cells(self) -> Cells | None:
        """The cells where molecules are the units; None where blocks are."""
        return self.cells if self.blocks < ENOUGH_BLOCKS else None


def frames_inside(frames: IntArray, span: tuple[int, int]) -> BoolArray:
    """Which frames lie in the span of the truth: what happens outside says nothing about how long frames are alike."""
    return np.asarray((frames >= span[0]) & (frames <= span[1]))


def block_places(frames: IntArray, span: tuple[int, int], block: int) -> tuple[IntArray, int]:
    """The number of the block of each frame, from 0, and how many blocks have frames.

    Blocks are equally long, at least `block` frames; frames outside the `span` of the truth have blocks of their own.

    Examples
    --------
    >>> block_places(np.array([1, 2, 4, 5, 90]), (1, 5), 2)
    (array([0, 0, 1, 1, 2]), 3)
    """
    length = span[1] - span[0] + 1
    count = max(1, length // block)
    occupied, place = np.unique(_equal_parts(frames, span, count), return_inverse=True)
    return place.reshape(-1), max(1, len(occupied))


def _equal_parts(frames: IntArray, span: tuple[int, int], count: int) -> IntArray:
    """The part of each frame, from 0 for the first of `count` equal parts of the span, and so on outside of it."""
    length = span[1] - span[0] + 1
    # The middle of a frame is never at the edge of a part, whatever the rounding; as integers the product may overflow.
    return np.asarray(np.floor((frames - span[0] + 0.5) * (count / length)), dtype=np.int64)


def block_sums(frames: IntArray, table: FloatArray, span: tuple[int, int], block: int) -> FloatArray:
    """Sums of the rows of a (frames, quantities) table over the blocks of `block_places`.

    Examples
    --------
    >>> block_sums(np.array([1, 2, 4, 5]), np.ones((4, 1)), (1, 5), 2).tolist()
    [[2.0], [2.0]]
    """
    place, count = block_places(frames, span, block)
    return grouped(place, table, count)


def sampling_of(score: Score, block: int | None = None) -> Sampling:
    """Which parts of a score are correlated; a given `block` (frames) is taken as it is.

    Where molecules are known, a block is twice as long as 95 % of them live, else several times as long as the
    autocorrelation of the frames.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 9.0], "y": [0.0, 0.0, 9.0], "id": [1, 1, 2]}
    >>> sampling_of(fm.score(truth, truth)).block
    4
    """
    sums, molecule, frame = score.sums, score.matched.molecule, score.matched.kept_truth.frame
    span = int(frame.min()), int(frame.max())
    if block is not None:
        return Sampling(sums.frame, span, block)
    if molecule is None or len(np.unique(molecule)) == len(molecule):  # none is seen twice: perhaps the ids are rows
        inside = frames_inside(sums.frame, span)
        columns = [column[inside] for column in (sums.per_frame.n_truth, sums.per_frame.own_flat)]
        length = block_from_autocorrelation(sums.frame[inside], span, columns)
        return Sampling(sums.frame, span, length, ids=molecule is not None)
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
    return min(math.ceil(_BLOCK_PER_TIME * time * max(1.0, length / len(frames))), max(1, length // _BLOCKS_IN_SPAN))


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
    # Detections before or after the truth are no single unit: they are dealt out to its stretches in turn.
    stretch = _equal_parts(matched.kept_pred.frame[~owned], sampling.span, cells.stretches) % cells.stretches
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
