"""How metrics agree over many results: correlations with bootstrap intervals over methods."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import Entry

_MANY_ENTRIES = {"pearson": 100_000, "spearman": 5000, "kendall": 200}
"""With more entries than this, a tenth of the draws keeps each coefficient below about 10 s."""
_MANY_FOR_KENDALL = 5000  # entries: its interval would take longer than all else
_MOST_IN_SQUARE = 400  # entries of which all pairs are looked at together, in 10 MB
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
            with ThreadPoolExecutor(threads) as pool:  # sorting leaves the lock to others
                chosen = _drawn_methods(methods, draws, rng)
                drawn = list(pool.map(lambda rows, kind=kind, own=values: coefficients(own[rows], kind), chosen))
            of_all = coefficients(values, kind)
            for a, b in here:
                at = columns.index(a), columns.index(b)
                value = None if np.isnan(of_all[at]) else float(of_all[at])
                interval = _middle(np.array([one[at] for one in drawn]))
                by_pair.setdefault((a, b), []).append(Correlation(metrics[a], metrics[b], kind, value, interval))
    return [one for pair in pairs for one in by_pair.get(pair, [])]


def _drawn_methods(methods: Sequence[str], draws: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Rows of methods that are drawn, each with all of its rows; nothing with fewer than five methods."""
    of_method: dict[str, list[int]] = {}
    for row, method in enumerate(methods):
        of_method.setdefault(method, []).append(row)
    rows = [np.array(of_method[name]) for name in sorted(of_method)]
    if len(rows) >= _FEWEST_METHODS:
        for _ in range(draws):
            yield np.concatenate([rows[k] for k in rng.integers(0, len(rows), len(rows))])


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
    drawn = _drawn_methods(methods, draws, rng)
    return _middle(np.array([statistic(values[chosen]) for chosen in drawn], dtype=np.float64))  # None becomes NaN


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
        products = apart.T @ apart
        own = np.where(constant, 1.0, np.diag(products))
        result = np.clip(products / np.sqrt(np.outer(own, own)), -1.0, 1.0)
    result[constant], result[:, constant] = np.nan, np.nan
    return np.asarray(result)
