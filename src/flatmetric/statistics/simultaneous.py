"""Every two of many estimates at once: p-values and intervals that hold for all pairs together, and sets of ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.statistics.skewed import MoleculeDifferences
from flatmetric.statistics.variation import Differences, Variation, standard_errors

_DRAWS_AT_ONCE, _NUMBERS_AT_ONCE = 500, 20_000_000  # to bound the memory
_DRAWS_OF_PAIR = 8_000  # held at a time for one pair: they fit into the cache
_ROUNDING = 1e-12  # relative: a smaller difference or variance is rounding
_MOST_DRAWN = 20_000  # pairs, of 200 programs
_TAIL = 2.0  # of the degrees of freedom: far from the middle few large contributions count for more
_ENOUGH_FOR_FLIPS = 8  # blocks: with fewer, their flips are too few for a quantile of 95 %


@dataclass(frozen=True, slots=True, eq=False)
class AllPairs:
    """Every two of k estimates: rows `first` and `second`, differences first minus second, and their certainty.

    `low` and `high` hold for one pair, `low_all` and `high_all` for all pairs at once. `p` is for one pair,
    `p_adjusted` for all (step-down maxT); `smallest` marks those that are only known to be at most `p_adjusted`.
    """

    first: IntArray
    second: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    low_all: FloatArray
    high_all: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    smallest: BoolArray
    contributors: FloatArray | None = None


def compare_all(
    values: FloatArray,
    variation: Variation | None,
    added: FloatArray | None = None,
    costs: FloatArray | None = None,
    *,
    level: float,
    draws: int,
    rng: np.random.Generator,
    intervals: bool = True,
) -> AllPairs:
    """Compare every two of some estimates whose errors vary together; without `intervals`, these are endless.

    P-values are corrected by Westfall and Young's step-down method: the largest of all standardised differences under
    the null hypothesis takes the place of the pair's own. Where `added`, (blocks, k), says what each independent block
    adds to each value, the signs of the blocks are flipped, in the same way for all pairs: all possible flips where
    they are fewer than `draws`. Else errors are drawn from a normal distribution with the estimated covariance; where
    `costs`, (molecules, k), says what each molecule adds to each value, p-values and limits follow their skewness.
    Of more than 20 000 pairs, which would take too long to draw, p-values are corrected by Holm's method, which holds
    however the pairs depend on each other. Without variation (None), no pair is significant.

    Examples
    --------
    >>> from flatmetric.statistics.variation import variation_of_blocks
    >>> added = np.random.default_rng(0).normal([1.0, 1.0, 1.2], 0.02, (50, 3))
    >>> variation, rng = variation_of_blocks(added), np.random.default_rng(1)
    >>> pairs = compare_all(added.sum(axis=0), variation, added, level=95.0, draws=1000, rng=rng)
    >>> (pairs.p_adjusted < 0.05).tolist(), pairs.smallest.tolist()
    ([False, True, True], [False, True, True])
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    first, second = np.triu_indices(len(values), 1)
    difference = values[first] - values[second]
    count = len(first)
    never, endless = np.zeros(count, dtype=bool), (np.broadcast_to(-np.inf, count), np.broadcast_to(np.inf, count))
    if variation is None or count == 0:
        no_evidence = np.ones(count)
        return AllPairs(first, second, difference, *endless, *endless, no_evidence, no_evidence, never)
    error, freedom = variation.differences(first, second)
    scale = np.abs(values[first]) + np.abs(values[second])
    apart = np.abs(difference) > _ROUNDING * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(apart, np.abs(difference) / error, 0.0)
    skewed = None
    if costs is None:
        p = far = np.minimum(1.0, 2 * stdtr(freedom, -t))
        cautious = freedom
    else:
        own = np.sqrt(Differences(first, second).powers(variation.units, 2))
        skewed, cautious = MoleculeDifferences(costs, first, second, np.maximum(error, own)), freedom
        if count > 1:
            cautious = freedom / _TAIL
        deviates = np.where(apart & (error > 0), skewed.deviates(), 0.0)
        p, far = (np.minimum(1.0, 2 * stdtr(free, -deviates)) for free in (freedom, cautious))
    miss = 1 - level / 100
    if not intervals and count > _MOST_DRAWN:
        return AllPairs(first, second, difference, *endless, *endless, p, holm(far), never)
    one = -stdtrit(freedom, miss / 2)
    at_once = max(1, min(_DRAWS_AT_ONCE, _NUMBERS_AT_ONCE // count))
    if count > _MOST_DRAWN:
        adjusted, fewest = holm(far), -1.0
        reach = -stdtrit(cautious, miss / (2 * count))
    elif added is None:
        # The normal deviate that is as unlikely as this t.
        deviates = np.minimum(-ndtri(far / 2), 1e3)
        sizes = [min(at_once, draws - start) for start in range(0, draws, at_once)]
        normal = _normal_draws(variation.covariance, first, second, sizes, rng)
        adjusted, largest, fewest = _step_down(deviates, ((some, None) for some in normal), draws)
        reach = -stdtrit(cautious, float(ndtr(-np.quantile(largest, level / 100))))
    else:
        tested, around = (_Standardised(each, first, second) for each in (added, variation.units))
        whole = tested([np.ones((1, len(added)))])
        observed = np.array([whole.of_pair(pair)[0] for pair in range(count)]) * (1 - _ROUNDING)
        complete = len(added) < 60 and 2 ** (len(added) - 1) <= draws
        total = 2 ** (len(added) - 1) if complete else draws
        flips = _flips(len(added), total, at_once, rng if not complete else None)
        null = ((tested(signs), around(signs)) for signs in _grouped(flips))
        adjusted, largest, fewest = _step_down(observed, null, total, all_flips=complete)
        reach = np.full(count, _as_t(float(np.quantile(largest, level / 100)), len(added)))
        if len(added) < _ENOUGH_FOR_FLIPS:
            reach = np.full(count, float(-stdtrit(len(added) - 1, miss / (2 * count))))
    adjusted = np.minimum(1.0, np.maximum(adjusted, p))
    significant = adjusted < miss
    reach = np.where(error > 0, np.maximum(reach, one), 0.0)
    low_all, high_all = difference - reach * error, difference + reach * error
    if skewed is not None:
        low_all, high_all = _around(skewed, reach, error, difference)
    # The interval excludes 0 exactly where the step-down p-value is significant.
    below, above = difference < 0, difference > 0
    low_all = np.where(above, np.where(significant, np.maximum(low_all, 0.0), np.minimum(low_all, 0.0)), low_all)
    high_all = np.where(below, np.where(significant, np.minimum(high_all, 0.0), np.maximum(high_all, 0.0)), high_all)
    low, high = difference - one * error, difference + one * error
    if skewed is not None:
        low, high = _around(skewed, one, error, difference)
    contributors = None if skewed is None else skewed.contributors
    return AllPairs(
        first, second, difference, low, high, low_all, high_all, p, adjusted, adjusted <= fewest, contributors
    )


def _around(
    skewed: MoleculeDifferences, deviate: FloatArray, error: FloatArray, difference: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The limits of differences, which equal programs don't have."""
    low, high = skewed.limits(deviate)
    return np.where(error > 0, low, difference), np.where(error > 0, high, difference)


def _flips(blocks: int, total: int, at_once: int, rng: np.random.Generator | None) -> Iterator[FloatArray]:
    """Signs of the blocks, some flips at a time: drawn, or without a generator all with the last block as it is."""
    for start in range(0, total, at_once):
        size = min(at_once, total - start)
        if rng is None:
            numbers = np.arange(start, start + size)
            yield np.where((numbers[:, None] >> np.arange(blocks)) & 1, -1.0, 1.0)
        else:
            yield np.where(rng.integers(0, 2, (size, blocks), dtype=np.int8), -1.0, 1.0)


class _Standardised:
    """Differences of what blocks add with the signs of the blocks flipped, over the root of the sum of their squares.

    Student's t of the flipped blocks grows with it.
    """

    def __init__(self, added: FloatArray, first: IntArray, second: IntArray) -> None:
        self._added, self._first, self._second = added, first, second
        squares = added.T @ added
        alone = squares[first, first] + squares[second, second]
        power = alone - 2 * squares[first, second]
        self._flat = power <= _ROUNDING * alone
        self._root = np.sqrt(np.where(self._flat, 1.0, power))

    def __call__(self, signs: Sequence[FloatArray]) -> _Draws:
        """The standardised differences of flips, some of them at a time."""
        summed = np.concatenate([some @ self._added for some in signs])
        return _Draws(summed, self._first, self._second, self._root, self._flat)


@dataclass(frozen=True, slots=True, eq=False)
class _Draws:
    """Draws of all estimates, of which the standardised differences of one pair at a time are made: those of all pairs
    would fill the memory. `root` divides, and where a pair is `flat` all its differences are 0.
    """

    drawn: FloatArray
    first: IntArray
    second: IntArray
    root: FloatArray
    flat: BoolArray
    multiplies: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "drawn", np.ascontiguousarray(self.drawn.T))

    def of_pair(self, pair: int) -> FloatArray:
        """The standardised differences of a pair, one for each draw."""
        if self.flat[pair]:
            return np.zeros(self.drawn.shape[1])
        apart = self.drawn[self.first[pair]] - self.drawn[self.second[pair]]
        np.abs(apart, out=apart)
        scaled: FloatArray = (np.multiply if self.multiplies else np.divide)(apart, self.root[pair], out=apart)
        return scaled


def _grouped(chunks: Iterable[FloatArray]) -> Iterator[list[FloatArray]]:
    """Chunks of draws, many at a time."""
    waiting, count = list[FloatArray](), 0
    for chunk in chunks:
        waiting.append(chunk)
        count += len(chunk)
        if count >= _DRAWS_OF_PAIR:
            yield waiting
            waiting, count = [], 0
    if waiting:
        yield waiting


def _as_t(standardised: float, blocks: int) -> float:
    """Student's t of blocks whose sum is so many times the root of the sum of their squares."""
    left = 1 - standardised**2 / blocks
    return standardised * math.sqrt((blocks - 1) / blocks / left) if left > 0 else math.inf


def _normal_draws(
    covariance: FloatArray,
    first: IntArray,
    second: IntArray,
    sizes: Sequence[int],
    rng: np.random.Generator,
) -> Iterator[_Draws]:
    """Standardised differences of normal errors, drawn as many at a time as `sizes` say."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    alone = np.diag(covariance)[first] + np.diag(covariance)[second]
    error = standard_errors(alone - 2 * covariance[first, second], alone)
    with np.errstate(divide="ignore"):
        per_error = np.where(error > 0, 1 / error, 0.0)
    for drawn in _grouped(rng.standard_normal((size, len(covariance))) @ root.T for size in sizes):
        yield _Draws(np.concatenate(drawn), first, second, per_error, np.zeros(len(first), dtype=bool), multiplies=True)


def _step_down(
    observed: FloatArray, null: Iterable[tuple[_Draws, _Draws | None]], draws: int, *, all_flips: bool = False
) -> tuple[FloatArray, FloatArray, float]:
    """Adjusted p-values, the largest of all pairs in each draw, and the smallest p that can be had.

    `null` are draws for the tests and, if these are others, for the intervals. Each pair is held against the largest
    over itself and all that are less clear. `all_flips` says that the draws are complete and hold the data as they are.
    """
    order = np.argsort(-observed, kind="stable")
    exceeded, largest = np.zeros(len(observed)), []
    for tested, around in null:
        running = np.zeros(tested.drawn.shape[1])
        for pair in order[::-1]:  # from the least clear one upwards
            np.maximum(running, tested.of_pair(pair), out=running)
            exceeded[pair] += np.count_nonzero(running >= observed[pair])
        if around is not None:
            running = np.zeros(around.drawn.shape[1])
            for pair in order:
                np.maximum(running, around.of_pair(pair), out=running)
        largest.append(running)
    extra = 0 if all_flips else 1
    adjusted = np.empty(len(observed))
    adjusted[order] = np.maximum.accumulate((extra + exceeded[order]) / (extra + draws))
    return adjusted, np.concatenate(largest), 1 / (extra + draws)


def rank_sets(pairs: AllPairs, count: int, miss: float) -> IntArray:
    """The lowest and the highest rank (from 1, small values first) that each of `count` estimates may have, (count, 2).

    With probability 1 - `miss` all true ranks lie within their sets (Mogstad, Romano, Shaikh and Wilhelm): a rank is at
    least one more than the number of estimates that are significantly smaller, and so on.

    Examples
    --------
    >>> ones = np.ones(1)
    >>> pair = AllPairs(np.array([0]), np.array([1]), -ones, -ones, -ones, -ones, -ones, 0 * ones, 0 * ones, ones > 0)
    >>> rank_sets(pair, 2, 0.05).tolist()
    [[1, 1], [2, 2]]
    """
    significant = pairs.p_adjusted < miss
    smaller = np.where(pairs.difference < 0, pairs.first, pairs.second)[significant]
    larger = np.where(pairs.difference < 0, pairs.second, pairs.first)[significant]
    lowest = 1 + np.bincount(larger, minlength=count)
    highest = count - np.bincount(smaller, minlength=count)
    return np.column_stack([lowest, highest])


def holm(p: FloatArray) -> FloatArray:
    """P-values corrected for their number, by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * (len(p) - np.arange(len(p)))))
    return corrected
