"""Displacements between the rows of two tables in the same frames, and where they pile up.

Detections of the molecules, however shifted as a whole, pile up at one displacement; unrelated points spread evenly.
"""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations

REACH = 1000.0  # nm: the largest shift that is detected
SIGNIFICANT = 6.0  # standard deviations of the background
WINDOW = 150.0  # nm around a pile
_BIN = 25.0  # nm
_FEWEST_FRAMES = 40  # kept when pairs are thinned out, so that no frame dominates
_FARTHEST = 1e12  # nm
_MOST_BINS = 4_000_000  # 32 MB of counts


@dataclass(frozen=True, slots=True)
class ByFrame:
    """The rows of a table in the order of their frames, these frames, and where each begins and the last ends."""

    rows: IntArray
    frames: IntArray
    begin: IntArray

    @classmethod
    def of(cls, table: Localizations) -> ByFrame:
        """The rows of a table in the order of their frames."""
        rows = np.argsort(table.frame, kind="stable")
        frame = table.frame[rows]
        begin = np.flatnonzero(np.diff(frame, prepend=frame[:1] - 1))
        return cls(rows, frame[begin], np.append(begin, len(frame)))


def pairs_in_frames(
    truth: ByFrame, pred: ByFrame, most: int, offset: int = 0
) -> tuple[IntArray, IntArray, BoolArray | None]:
    """Rows of all pairs of the same frame (the result's frames less `offset`), or of evenly chosen ones.

    The third is which rows of the result were chosen; None for all.
    """
    wanted = pred.frames - offset
    place = np.minimum(np.searchsorted(truth.frames, wanted), max(len(truth.frames) - 1, 0))
    of_p = np.flatnonzero(truth.frames[place] == wanted) if len(truth.frames) else place[:0]
    of_t = place[of_p]
    n, m = np.diff(truth.begin)[of_t], np.diff(pred.begin)[of_p]
    total, step, looked = int((n * m).sum()), 1, None
    if total > most:
        # By powers of two and by the result alone, so that the same rows are chosen for every offset.
        skip = _power_of_two(min(total / most, len(of_p) / _FEWEST_FRAMES))
        kept = np.flatnonzero(of_p % skip == 0)
        of_t, of_p, n, m = of_t[kept], of_p[kept], n[kept], m[kept]
        # Few frames with many rows are thinned out, so that the pairs come from all of them.
        step = _power_of_two(float((n * m).sum()) / most)
        m = -(-m // step)
    counts = n * m
    frame = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(frame)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = pred.rows[pred.begin[of_p][frame] + step * (within % m[frame])]
    if total > most:
        looked = np.zeros(len(pred.rows), dtype=bool)
        looked[rows] = True
    return truth.rows[truth.begin[of_t][frame] + within // m[frame]], rows, looked


def _power_of_two(size: float) -> int:
    """The power of two nearest to a size above 1; 1 below it."""
    return 1 << max(0, round(math.log2(max(size, 1.0))))


@dataclass(frozen=True, slots=True)
class Pile:
    """Where displacements pile up: the position, the number of pairs above background, and its significance.

    `core` is the part of these pairs in the inner half of the window; a quarter of them if there is no pile at all.
    """

    x: float
    y: float
    excess: float
    sigmas: float
    core: float = 1.0

    @property
    def certainty(self) -> float:
        """The probability, 0 to 1, that this is not chance."""
        return certainty_of(self.sigmas)


def certainty_of(sigmas: float) -> float:
    """The probability, 0 to 1, that a deviation of so many standard deviations is not chance."""
    return 1 - math.erfc(min(sigmas, 8.0) / math.sqrt(2))


def find_pile(dx: FloatArray, dy: FloatArray, low_x: float = -REACH, high_x: float = REACH) -> Pile:
    """The highest pile of displacements with `low_x` <= dx <= `high_x` and |dy| <= REACH."""
    inside = (dx >= low_x) & (dx <= high_x) & (np.abs(dy) <= REACH)
    dx, dy = dx[inside], dy[inside]
    if len(dx) == 0:
        return Pile(0.0, 0.0, 0.0, 0.0)
    shape = (max(1, math.ceil((high_x - low_x) / _BIN)), math.ceil(2 * REACH / _BIN))
    if shape[0] * shape[1] > _MOST_BINS:
        return Pile(0.0, 0.0, 0.0, 0.0)
    cells = np.minimum(((dx - low_x) / _BIN).astype(np.int64), shape[0] - 1) * shape[1]
    cells += np.minimum(((dy + REACH) / _BIN).astype(np.int64), shape[1] - 1)
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    # In blocks of 2 x 2 bins, so that a pile on a bin edge is not cut in half.
    blocks = counts[:-1, :-1] + counts[1:, :-1] + counts[:-1, 1:] + counts[1:, 1:] if min(shape) > 1 else counts
    i, j = np.unravel_index(int(np.argmax(blocks)), blocks.shape)
    x, y = low_x + (int(i) + 1) * _BIN, -REACH + (int(j) + 1) * _BIN
    from_x, from_y, some_x, some_y = math.inf, math.inf, dx, dy
    for _ in range(50):
        if max(abs(x - from_x), abs(y - from_y)) > WINDOW:  # what lies further away can't be near yet
            around = (np.abs(dx - x) <= 2 * WINDOW) & (np.abs(dy - y) <= 2 * WINDOW)
            from_x, from_y, some_x, some_y = x, y, dx[around], dy[around]
        near = (some_x - x) ** 2 + (some_y - y) ** 2 <= WINDOW**2
        if not near.any():
            break
        moved = float(some_x[near].mean()), float(some_y[near].mean())
        done = math.hypot(moved[0] - x, moved[1] - y) < 1e-6
        x, y = moved
        if done:
            break
    count = int(np.count_nonzero((dx - x) ** 2 + (dy - y) ** 2 <= WINDOW**2))
    area = (high_x - low_x) * 2 * REACH
    window = math.pi * WINDOW**2
    background = (len(dx) - count) / max(area - window, window) * window
    excess = count - background
    inner = int(np.count_nonzero((dx - x) ** 2 + (dy - y) ** 2 <= WINDOW**2 / 4)) - background / 4
    return Pile(x, y, excess, excess / math.sqrt(background + 1), inner / max(excess, 1.0))


def cells(x: FloatArray, y: FloatArray, size: float = 100.0) -> IntArray:
    """A number for each position, the same within a square cell of `size` nm."""
    column, row = (np.floor(np.clip(axis, -_FARTHEST, _FARTHEST) / size).astype(np.int64) for axis in (x, y))
    both: IntArray = column * 1_000_003 + row
    return both


def displacements(
    truth: Localizations, pred: Localizations, rows: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Pred minus truth of pairs of rows, nm, in x and y."""
    return pred.x[rows[1]] - truth.x[rows[0]], pred.y[rows[1]] - truth.y[rows[0]]
