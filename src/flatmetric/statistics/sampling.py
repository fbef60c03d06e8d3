"""Which parts of a score vary independently: blocks of frames, or molecules where there are too few blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.matching.matcher import nearest_rows
from flatmetric.metrics.base import SUMMED
from flatmetric.metrics.match_sums import match_quantities
from flatmetric.scoring.score import Score

ENOUGH_BLOCKS = 10
"""With fewer blocks than this, molecules are the units where they are known."""
_SPAN_SHARE = 0.95  # of the molecules: a block is at least as long as they live
_MEMORIES = 5  # a block is this many times as long as frames remember each other, where molecules are not known
_FEWEST_BLOCKS = 6  # where only the autocorrelation tells: with fewer, a variance means nothing
_STAYS = 2  # a stretch is this many times as long as a molecule stays on
_FEWEST_STRETCHES = 8
_NEAR = 4.0  # times lam: a detection further from every molecule belongs to none

_NEAREST = ("nearest_truth", "nearest_pred", "with_nearest_truth", "with_nearest_pred")
_OWN = ("own_flat", "own_gospa", "own_ospa", "pairs", "moved")
_FRAMES = ("frames", "frames_with_mass", "frames_without_truth")
FRAME_ONLY = frozenset((*_NEAREST, *_OWN, *_FRAMES, "merged", "split", "lower_bound"))
"""Sums that a frame adds as a whole, so that they can't be given to its molecules."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The molecules of a truth, their time cut into short stretches: each row is one molecule in one stretch.

    `molecule` and `stretch` count from 0, `truths` is the number of true rows in the cell. A stretch is a little
    longer than a molecule stays on, the time for which neighbours disturb each other.
    """

    molecule: IntArray
    stretch: IntArray
    truths: FloatArray
    stretches: int


@dataclass(frozen=True, eq=False)
class Sampling:
    """How the frames of a score hang together.

    `block` is the number of frames after which nothing is remembered. `cells` is None where molecules are not known;
    `row_cell` is the cell of each true row that counts.
    """

    frames: IntArray
    block: int
    cells: Cells | None = None
    row_cell: IntArray | None = None

    @property
    def blocks(self) -> int:
        """The number of independent blocks."""
        return block_count(self.frames, self.block)

    @cached_property
    def by_molecules(self) -> bool:
        """Whether molecules are the units."""
        return self.cells is not None and self.blocks < ENOUGH_BLOCKS


def block_count(frames: IntArray, block: int) -> int:
    """The number of whole blocks in some frames, at least 1.

    Examples
    --------
    >>> block_count(np.array([1, 2, 250]), 100)
    2
    """
    return 1 if len(frames) == 0 else max(1, (int(frames[-1]) - int(frames[0]) + 1) // block)


def block_sums(frames: IntArray, table: FloatArray, block: int) -> FloatArray:
    """Sums of the rows of a (frames, quantities) table over equally long blocks of at least `block` frames.

    Examples
    --------
    >>> block_sums(np.array([1, 2, 4, 5]), np.ones((4, 1)), 2).tolist()
    [[2.0], [2.0]]
    """
    count = block_count(frames, block)
    if len(frames) == 0:
        return np.zeros((1, table.shape[1]))
    place = (frames - frames[0]) * count // (int(frames[-1]) - int(frames[0]) + 1)
    return grouped(place, table, count)


def grouped(place: IntArray, table: FloatArray, count: int) -> FloatArray:
    """Sums of the rows of a table that share a place, from 0 to `count` - 1."""
    columns = [np.bincount(place, column, minlength=count) for column in table.T]
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def sampling_of(score: Score, block: int | None = None) -> Sampling:
    """How the frames of a score hang together; a given `block` (frames) is taken as it is.

    Where molecules are known, a block is at least as long as 95 % of them live, else several times as long as the
    autocorrelation of the frames.

    Examples
    --------
    >>> from flatmetric.scoring.score import score
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 9.0], "y": [0.0, 0.0, 9.0], "id": [1, 1, 2]}
    >>> sampling_of(score(truth, truth)).block
    2
    """
    sums, molecule = score.sums, score.matched.molecule
    frames = sums.frame
    if block is not None:
        return Sampling(frames, block)
    if molecule is None or len(molecule) == 0:
        return Sampling(frames, block_from_memory(frames, (sums.per_frame.n_truth, sums.per_frame.own_flat)))
    frame = score.matched.kept_truth.frame
    span, stay = _life(frame, molecule)
    length = int(frame.max()) - int(frame.min()) + 1
    stretches = max(1, length // max(1, min(_STAYS * stay, length // _FEWEST_STRETCHES)))
    stretch = _stretch(frame, frame, stretches)
    key, row_cell = np.unique(molecule * stretches + stretch, return_inverse=True)
    row_cell = row_cell.reshape(-1)
    truths = np.bincount(row_cell, minlength=len(key)).astype(np.float64)
    return Sampling(frames, span, Cells(key // stretches, key % stretches, truths, stretches), row_cell)


def _stretch(frame: IntArray, truth: IntArray, stretches: int) -> IntArray:
    """The stretch of each frame, from 0, of equally long ones from the first to the last frame of the truth."""
    first, last = int(truth.min()), int(truth.max())
    return np.clip((frame - first) * stretches // (last - first + 1), 0, stretches - 1)


def block_from_memory(frames: IntArray, columns: Sequence[FloatArray]) -> int:
    """The length of a block from the autocorrelation of per-frame values.

    Examples
    --------
    >>> block_from_memory(np.arange(1, 301), [np.random.default_rng(0).normal(size=300)])
    1
    """
    remembered = memory(columns)
    longest = max(1, block_count(frames, 1) // _FEWEST_BLOCKS)
    return 1 if remembered <= 1 else min(math.ceil(_MEMORIES * remembered), longest)


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


def memory(columns: Sequence[FloatArray]) -> float:
    """For how many frames values in a row are correlated: one plus twice the sum of their autocorrelations, taken in
    pairs of lags for as long as these are positive (Geyer); the longest of several columns.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=1000)
    >>> memory([values]), 5 < memory([np.repeat(values, 6)]) < 7
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
    stretch = _stretch(matched.kept_pred.frame[~owned], matched.kept_truth.frame, cells.stretches)
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
        owner[free] = nearest_rows(truth, pred, dim=matched.dim, within=_NEAR * score.lam, threads=matched.threads)
    return owner


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """How estimates vary together: their (k, k) covariance, and the independent contributions behind it.

    `units` are (units, k) contributions that add up to the error of each estimate.
    """

    covariance: FloatArray
    units: FloatArray
    by_molecules: bool

    def only(self, at: int) -> Variation:
        """The variation of one estimate."""
        return Variation(self.covariance[at : at + 1, at : at + 1], self.units[:, at : at + 1], self.by_molecules)

    def spread(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Standard errors and degrees of freedom of combinations of the estimates, (combinations, k) weights."""
        variance = np.einsum("ik,kl,il->i", weights, self.covariance, weights)
        freedom = np.empty(len(weights))
        for at, own in enumerate(weights):
            units = self.units @ own
            squares = units**2
            # How many units carry the variance: few large ones are no better than few units.
            effective = squares.sum() ** 2 / max((squares**2).sum(), np.finfo(float).tiny)
            freedom[at] = effective if self.by_molecules else min(len(units) - 1, 3 * effective - 1)
        return np.sqrt(np.maximum(variance, 0.0)), np.maximum(freedom, 1.0)


def variation_of_blocks(blocks: FloatArray) -> Variation | None:
    """The variation of estimates from (blocks, k) independent contributions; None for fewer than two blocks.

    Examples
    --------
    >>> variation_of_blocks(np.array([[1.0], [-1.0]])).covariance.tolist()
    [[4.0]]
    """
    count = len(blocks)
    if count < 2:
        return None
    centred = blocks - blocks.mean(axis=0)
    return Variation(count / (count - 1) * centred.T @ centred, centred, by_molecules=False)


def variation_of_molecules(cells: Cells, contributions: FloatArray, alone: FloatArray, *, joint: bool) -> Variation:
    """The variation of estimates whose error is the sum of (cells, k) contributions and of (stretches, k) ones that
    belong to no molecule.

    Three things vary: which molecules there are and how each is seen; how many shine at a time, which makes others
    better or worse; and what neighbours do to each other while they are on. The last is what the stretches vary beyond
    their molecules. `joint` computes covariances as well; else only the variances are right.
    """
    n = np.bincount(cells.stretch, cells.truths, minlength=cells.stretches)
    crowd = n - n.mean()
    together = grouped(cells.stretch, contributions, cells.stretches) + alone
    slope = crowd @ together / max(float(crowd @ crowd), np.finfo(float).tiny)
    share = cells.truths * (crowd / np.maximum(n, 1))[cells.stretch]
    own_cells = contributions - share[:, None] * slope
    count = int(cells.molecule.max()) + 1
    own = grouped(cells.molecule, own_cells, count)
    lives = np.bincount(cells.molecule, cells.truths)
    rest = together - crowd[:, None] * slope
    correction = cells.stretches / max(1, cells.stretches - 1)
    if joint:
        covariance = own.T @ own + np.outer(slope, slope) * (lives**2).sum() + alone.T @ alone
        between = correction * rest.T @ rest - own_cells.T @ own_cells - alone.T @ alone
        values, vectors = np.linalg.eigh(between)
        covariance += (vectors * np.maximum(values, 0.0)) @ vectors.T
    else:
        variance = (own**2).sum(axis=0) + slope**2 * (lives**2).sum() + (alone**2).sum(axis=0)
        between = correction * (rest**2).sum(axis=0) - (own_cells**2).sum(axis=0) - (alone**2).sum(axis=0)
        covariance = np.diag(variance + np.maximum(between, 0.0))
    return Variation(covariance, own, by_molecules=True)
