"""Differences of two programs as sums of what molecules add for one and for the other: limits that follow the skewness.

Molecules come by a Poisson process, so what they add on either side is a compound Poisson sum. Where few of them make a
difference, it and its variance go together, and symmetric limits miss on one side. Each side has the gamma limits of
Fay and Feuer (1997), and both are joined by the method of variance estimates recovery (Zou and Donner, 2008).
"""

from __future__ import annotations

import numpy as np

from flatmetric._arrays import FloatArray, IntArray

_NUMBERS_AT_ONCE = 5_000_000  # 40 MB of memory
_FARTHEST = 38.0  # standard normal deviates: beyond, p is 0 in double precision
_HALVINGS = 40  # of that range: to 3e-11


class MoleculeDifferences:
    """Differences, first minus second, of values to which each molecule adds its part: (molecules, k) `costs`.

    `error` are standard errors of the differences, which hold more than how many molecules there are of each kind, and
    less of what more molecules of every kind would change: the variances of both sides are scaled to them.
    """

    def __init__(self, costs: FloatArray, first: IntArray, second: IntArray, error: FloatArray) -> None:
        count = len(first)
        sums, squares, largest = np.zeros((2, count)), np.zeros((2, count)), np.zeros((2, count))
        at_once = max(1, _NUMBERS_AT_ONCE // max(1, len(costs)))
        for start in range(0, count, at_once):
            some = slice(start, start + at_once)
            each = costs[:, first[some]] - costs[:, second[some]]
            for side, part in enumerate((np.maximum(each, 0.0), np.maximum(-each, 0.0))):
                sums[side, some], squares[side, some] = part.sum(axis=0), (part**2).sum(axis=0)
                largest[side, some] = part.max(axis=0, initial=0.0)
        plain = squares.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(plain > 0, error**2 / plain, 1.0)
        self.contributors = np.where(plain > 0, sums.sum(axis=0) ** 2 / np.where(plain > 0, plain, 1.0), 0.0)
        self._sums, self._squares = sums, squares * share
        # A side without a part so far may get one as large as any.
        self._largest = np.where(sums > 0, largest, largest.max(axis=0)) * np.minimum(1.0, share)

    def limits(self, deviate: float | FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits at so many standard normal deviates.

        Examples
        --------
        >>> costs = np.array([[5.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
        >>> pair = MoleculeDifferences(costs, np.array([0]), np.array([1]), np.array([5.2]))
        >>> low, high = pair.limits(1.96)
        >>> (low.round(1).tolist(), high.round(1).tolist())
        ([-2.3], [27.8])
        """
        low, high = self._lower(deviate), self._upper(deviate)
        middle = self._sums[0] - self._sums[1]
        down = np.hypot(self._sums[0] - low[0], high[1] - self._sums[1])
        up = np.hypot(high[0] - self._sums[0], self._sums[1] - low[1])
        return middle - down, middle + up

    def deviates(self) -> FloatArray:
        """How many standard normal deviates each difference is from 0: there one of its limits is 0."""
        near, far = np.zeros(self._sums.shape[1]), np.full(self._sums.shape[1], _FARTHEST)
        positive = self._sums[0] > self._sums[1]
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            low, high = self.limits(middle)
            beyond = np.where(positive, low > 0, high < 0)
            near, far = np.where(beyond, middle, near), np.where(beyond, far, middle)
        return np.where(self._sums[0] == self._sums[1], 0.0, near)

    def _lower(self, deviate: float | FloatArray) -> FloatArray:
        return _gamma(self._sums, self._squares, -np.asarray(deviate))

    def _upper(self, deviate: float | FloatArray) -> FloatArray:
        sums, squares = self._sums + self._largest, self._squares + self._largest**2
        return _gamma(sums, squares, np.asarray(deviate))


def _gamma(mean: FloatArray, variance: FloatArray, deviate: FloatArray) -> FloatArray:
    """Quantiles of gamma distributions at normal deviates, by Wilson and Hilferty's cube root; 0 for a mean of 0."""
    shape = np.maximum(mean, np.finfo(float).tiny) ** 2 / np.maximum(variance, np.finfo(float).tiny)
    root = 1 - 1 / (9 * np.maximum(shape, 1e-6)) + deviate / (3 * np.sqrt(np.maximum(shape, 1e-6)))
    return np.asarray(np.where(mean > 0, mean * np.maximum(root, 0.0) ** 3, 0.0))
