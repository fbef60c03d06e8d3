"""How metrics agree over many results: correlations with bootstrap intervals over methods."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import Entry

_MANY_ENTRIES = {"pearson": 100_000, "spearman": 5000, "kendall": 200}
"""With more entries than this, a tenth of the draws keeps each coefficient below about 10 s."""
_MANY_FOR_KENDALL = 5000  # entries: its interval would take longer than all else
_MOST_IN_SQUARE = 400  # entries of which all pairs are looked at together, in 10 MB
_MOST_IN_SIGNS = 1500  # entries of which the signs of all pairs are kept for every metric: 25 MB
_NUMBERS_AT_ONCE = 4_000_000  # of draws that are looked at together: 32 MB
_FEWEST_METHODS = 5  # fewer give no bootstrap interval worth the name


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two metrics agree over all entries: coefficient and interval, None where undefined."""

    a: str
    b: str
    kind: str
    value: float | None
    interval: tuple[float, float] | None


def places_of(values: FloatArray) -> FloatArray:
    """Ranks from 1 in each row; ties get their mean rank."""
    ranks = np.empty(values.shape)
    for row, own in enumerate(values):
        ordered = np.sort(own)
        ranks[row] = (np.searchsorted(ordered, own, "left") + np.searchsorted(ordered, own, "right") + 1) / 2
    return ranks


def method_of(program: str) -> str:
    """The method of a participant: its name without the number of a variant, or without "tuned".

    Examples
    --------
    >>> method_of("daofind-psf-2"), method_of("daofind-tuned"), method_of("Picasso")
    ('daofind-psf', 'daofind', 'Picasso')
    """
    name, _, variant = program.rpartition("-")
    return name if name and (variant.isdecimal() or variant == "tuned") else program


def correlations(
    entries: Sequence[Entry], *, resamples: int = 500, seed: int = 0, threads: int = 1
) -> list[Correlation]:
    """Pearson, Spearman and Kendall correlations of every two metrics over all entries, with 95 % bootstrap intervals.

    Settings of one method, and one program on several data sets, are not independent: methods are drawn, each with all
    its entries. Kendall's coefficients of more than 5000 entries have no interval: it would take longer than all else.

    Examples
    --------
    >>> correlations([])
    []
    """
    rng, metrics = np.random.default_rng(seed), list(LEADERBOARD)
    table = np.array([[entry.metrics[name] for name in metrics] for entry in entries], dtype=np.float64)
    known = np.isfinite(table.reshape(-1, len(metrics)))
    pairs = list(itertools.combinations(range(len(metrics)), 2))
    together: dict[bytes, list[tuple[int, int]]] = {}  # pairs of metrics that the same entries have
    for a, b in pairs:
        together.setdefault((known[:, a] & known[:, b]).tobytes(), []).append((a, b))
    by_pair: dict[tuple[int, int], list[Correlation]] = {}
    for here in together.values():
        rows = np.flatnonzero(known[:, list(here[0])].all(axis=1))
        if len(rows) < 3:
            continue
        columns = sorted(set(itertools.chain.from_iterable(here)))
        values, methods = table[rows][:, columns], [method_of(entries[row].program) for row in rows.tolist()]
        for kind in ("pearson", "spearman", "kendall"):
            # With many entries a tenth of the draws has to do.
            draws = resamples // 10 if len(values) > _MANY_ENTRIES[kind] else resamples
            if kind == "kendall" and len(values) > _MANY_FOR_KENDALL:
                draws = 0
            drawn = _drawn_coefficients(values, kind, _drawn_counts(methods, draws, rng), threads)
            of_all = coefficients(values, kind)
            for a, b in here:
                at = columns.index(a), columns.index(b)
                value = None if np.isnan(of_all[at]) else float(of_all[at])
                interval = _middle(drawn[:, at[0], at[1]])
                by_pair.setdefault((a, b), []).append(Correlation(metrics[a], metrics[b], kind, value, interval))
    return [one for pair in pairs for one in by_pair.get(pair, [])]


def _drawn_counts(methods: Sequence[str], draws: int, rng: np.random.Generator) -> IntArray:
    """How often each row is in each draw of whole methods, (draws, rows); no draws with fewer than five methods."""
    method = np.unique(methods, return_inverse=True)[1].reshape(-1)
    count = int(method.max()) + 1
    if count < _FEWEST_METHODS:
        draws = 0
    drawn = [np.bincount(rng.integers(0, count, count), minlength=count) for _ in range(draws)]
    return np.array(drawn, dtype=np.int64).reshape(draws, count)[:, method]


def _drawn_coefficients(values: FloatArray, kind: str, counts: IntArray, threads: int) -> FloatArray:
    """Correlations of every two columns in each draw, (draws, columns, columns); NaN where one is constant."""
    size = values.shape[1]
    if kind == "kendall" and len(values) > _MOST_IN_SIGNS:
        with ThreadPoolExecutor(threads) as pool:
            found = pool.map(lambda own: coefficients(np.repeat(values, own, axis=0), kind), counts)
            return np.array(list(found)).reshape(-1, size, size)
    columns = [_Sorted(column) for column in values.T]
    if kind == "kendall":
        products = _concordances(values, counts)
        constant = np.column_stack([column.is_constant(counts) for column in columns])
        return _normalised(products, constant)
    step = max(1, _NUMBERS_AT_ONCE // values.size)
    parts = [np.empty((0, size, size))]
    for some in (counts[start : start + step] for start in range(0, len(counts), step)):
        apart = np.stack([column.ranks(some) for column in columns], axis=2) if kind == "spearman" else values[None]
        weights = some[:, :, None].astype(np.float64)
        apart = apart - (apart * weights).sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
        constant = np.column_stack([column.is_constant(some) for column in columns])
        parts.append(_normalised((apart * weights).transpose(0, 2, 1) @ apart, constant))
    return np.concatenate(parts)


class _Sorted:
    """The values of a column in order, of which draws take some several times and others not at all."""

    def __init__(self, column: FloatArray) -> None:
        self._order = np.argsort(column, kind="stable")
        ordered = column[self._order]
        self._first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))  # of each value
        self._value_of = np.unique(column, return_inverse=True)[1].reshape(-1)

    def _of_values(self, counts: IntArray) -> IntArray:
        return np.add.reduceat(counts[:, self._order], self._first, axis=1)

    def is_constant(self, counts: IntArray) -> BoolArray:
        """Whether each draw has one value only."""
        return np.asarray((self._of_values(counts) > 0).sum(axis=1) <= 1)

    def ranks(self, counts: IntArray) -> FloatArray:
        """The ranks of the rows in each draw, from 1; ties get their mean rank."""
        own = self._of_values(counts)
        return np.asarray((np.cumsum(own, axis=1) - (own - 1) / 2)[:, self._value_of])


def _concordances(values: FloatArray, counts: IntArray) -> FloatArray:
    """Twice the concordant less the discordant pairs of rows in each draw, for every two columns."""
    size = values.shape[1]
    signs = [np.sign(column[:, None] - column).astype(np.int8) for column in values.T]
    # Whole numbers, so single precision is exact for as long as it has the digits.
    kind = np.float32 if counts.sum(axis=1).max(initial=0) < 4096 else np.float64
    weights = counts.astype(kind)
    result = np.empty((len(counts), size, size))
    for a, b in itertools.combinations_with_replacement(range(size), 2):
        both = (signs[a] * signs[b]).astype(kind)
        result[:, a, b] = result[:, b, a] = (weights @ both * weights).sum(axis=1, dtype=np.float64)
    return result


def _normalised(products: FloatArray, constant: BoolArray) -> FloatArray:
    """Sums of products of every two columns as correlations; NaN where a column is constant."""
    own = np.where(constant, 1.0, np.diagonal(products, axis1=-2, axis2=-1))
    result = np.clip(products / np.sqrt(own[..., :, None] * own[..., None, :]), -1.0, 1.0)
    return np.where(constant[..., :, None] | constant[..., None, :], np.nan, result)


def _middle(drawn: FloatArray) -> tuple[float, float] | None:
    """The middle 95 % of what draws gave; None where fewer than half of them gave something."""
    defined = drawn[np.isfinite(drawn)]
    if len(drawn) == 0 or 2 * len(defined) < len(drawn):
        return None
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)


def interval_over_methods(
    values: FloatArray,
    methods: Sequence[str],
    statistic: Callable[[FloatArray], float | None],
    draws: int,
    rng: np.random.Generator,
) -> tuple[float, float] | None:
    """The middle 95 % of a statistic over draws of whole methods, each with all its rows of `values`.

    None with fewer than five methods, or where fewer than half of the draws define it.

    Examples
    --------
    >>> values = np.column_stack([np.arange(6.0), np.arange(6.0)])
    >>> interval_over_methods(values, list("abcdef"), lambda v: float(v[:, 0].max()), 200, np.random.default_rng(0))
    (3.0, 5.0)
    """
    drawn = (np.repeat(values, counts, axis=0) for counts in _drawn_counts(methods, draws, rng))
    return _middle(np.array([statistic(rows) for rows in drawn], dtype=np.float64))  # None becomes NaN


def coefficient(values: FloatArray, kind: str) -> float | None:
    """Correlation of the two columns of (k, 2) values: "pearson", "spearman" or "kendall"; None where one is constant.

    Examples
    --------
    >>> coefficient(np.array([[1.0, 1.0], [2.0, 4.0], [3.0, 9.0]]), "spearman")
    1.0
    """
    value = float(coefficients(values, kind)[0, 1])
    return None if math.isnan(value) else value


def coefficients(values: FloatArray, kind: str) -> FloatArray:
    """Correlations of every two columns, as `coefficient`; NaN where one is constant.

    Examples
    --------
    >>> coefficients(np.array([[1.0, 1.0, 5.0], [2.0, 4.0, 5.0], [3.0, 9.0, 5.0]]), "kendall")[0].tolist()
    [1.0, 1.0, nan]
    """
    constant = np.ptp(values, axis=0) == 0
    if kind == "kendall" and len(values) > _MOST_IN_SQUARE:
        from scipy.stats import kendalltau

        count = values.shape[1]
        result = np.ones((count, count))
        for a, b in itertools.combinations(np.flatnonzero(~constant), 2):
            result[a, b] = result[b, a] = kendalltau(values[:, a], values[:, b]).statistic
    else:
        if kind == "kendall":
            apart = np.sign(values[:, None] - values).reshape(-1, values.shape[1])
        else:
            apart = places_of(values.T).T if kind == "spearman" else values
            apart = apart - apart.mean(axis=0)
        return _normalised(apart.T @ apart, constant)
    result[constant], result[:, constant] = np.nan, np.nan
    return np.asarray(result)
