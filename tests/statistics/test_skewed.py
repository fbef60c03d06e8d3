"""Limits of differences that few molecules make: those of Fay and Feuer on each side, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from flatmetric.statistics.skewed import MoleculeDifferences

ONE = np.array([0]), np.array([1])


def pair(parts: np.ndarray, error: float | None = None) -> MoleculeDifferences:
    """The difference that these parts make; by default with the variance of the parts alone."""
    error = float(np.sqrt((parts**2).sum())) if error is None else error
    return MoleculeDifferences(np.column_stack([parts, np.zeros(len(parts))]), *ONE, np.array([error]))


@pytest.mark.parametrize("parts", [[5.0, 3.0, 4.0], [1.0] * 12, [10.0, 1.0, 1.0, 1.0, 2.0]])
def test_one_side_has_the_gamma_limits(parts: list[float]) -> None:
    each = np.array(parts)
    total, variance, largest = each.sum(), (each**2).sum(), each.max()
    lower = variance / (2 * total) * chi2.ppf(0.025, 2 * total**2 / variance)
    above, wider = total + largest, variance + largest**2
    upper = wider / (2 * above) * chi2.ppf(0.975, 2 * above**2 / wider)
    low, high = pair(each).limits(norm.ppf(0.975))
    # Nothing was seen on the other side, which may have had one as large as the largest.
    other = largest * chi2.ppf(0.975, 2) / 2
    assert high[0] == pytest.approx(upper, rel=0.01)
    assert low[0] == pytest.approx(total - np.hypot(total - lower, other), abs=0.02 * total)


def test_many_parts_have_normal_limits() -> None:
    parts = np.random.default_rng(0).normal(0.1, 1.0, 20_000)
    error = 1.7 * np.sqrt((parts**2).sum())
    low, high = pair(parts, error).limits(1.96)
    assert (low[0], high[0]) == pytest.approx((parts.sum() - 1.96 * error, parts.sum() + 1.96 * error), rel=0.02)
    assert pair(parts, error).deviates()[0] == pytest.approx(abs(parts.sum()) / error, rel=0.03)


def test_the_sides_are_exchanged_with_the_programs() -> None:
    parts = np.array([5.0, -2.0, 3.0, 0.0, 7.0])
    (low, high), (other_low, other_high) = pair(parts).limits(1.5), pair(-parts).limits(1.5)
    assert low[0] == pytest.approx(-other_high[0]) and high[0] == pytest.approx(-other_low[0])
    assert pair(parts).deviates()[0] == pytest.approx(pair(-parts).deviates()[0])


def test_the_deviate_is_where_a_limit_is_0() -> None:
    parts = np.array([5.0, 4.0, 6.0, 3.0, 7.0, -1.0])
    deviate = pair(parts).deviates()
    assert pair(parts).limits(deviate)[0][0] == pytest.approx(0, abs=1e-6)
    equal = pair(np.zeros(4))
    assert equal.deviates()[0] == 0 and equal.contributors[0] == 0


def test_limits_of_a_skewed_sum_hold() -> None:
    """Few molecules, most of them for one side, as in a compound Poisson process; symmetric limits hold less often."""
    rng, held, symmetric = np.random.default_rng(1), 0, 0
    true = 5 * (0.9 - 0.1) * np.exp(0.08)
    for _ in range(600):
        parts = rng.lognormal(0, 0.4, rng.poisson(5))
        parts *= np.where(rng.uniform(size=len(parts)) < 0.9, 1, -1)
        low, high = pair(np.append(parts, 0.0)).limits(1.96)
        held += bool(low[0] <= true <= high[0]) if len(parts) else True
        symmetric += abs(parts.sum() - true) <= 1.96 * np.sqrt((parts**2).sum())
    assert symmetric / 600 < 0.9 < 0.94 < held / 600
