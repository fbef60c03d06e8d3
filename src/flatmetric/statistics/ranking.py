"""Many programs on many data sets: ranks with simultaneous rank sets, and new structures."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property

import numpy as np

from flatmetric._arrays import IntArray
from flatmetric._dataclass import dataclass
from flatmetric.options.certainty import Certainty
from flatmetric.statistics.comparison import Pair, all_pairs, pairs_of
from flatmetric.statistics.correlations import Correlation, correlations, places_of
from flatmetric.statistics.entries import Entry, Joint, vary_together
from flatmetric.statistics.intervals import quantile
from flatmetric.statistics.simultaneous import AllPairs, rank_sets
from flatmetric.statistics.variation import variation_of_blocks

_MOST_PAIRED = 200  # programs of a data set: above this the pairwise output, 20 000 pairs, is skipped
_FEWEST_REPLICATES = 3  # structures: fewer leave less than two degrees of freedom
_REPLICATE = re.compile(r"-r\d+$")


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of a program in one data set, or overall: rank, the ranks it may have, and the Flat Metric in nm.

    The sets of all programs hold together. `flat_metric_interval` is for this structure; None overall, and where there
    are too few frames. `place` is a whole number that programs with equal values share; overall, `rank` is the mean
    rank. Programs of a data set that share a letter don't differ significantly; above 200 programs there are no
    letters.
    """

    program: str
    rank: float
    rank_interval: tuple[float, float]
    flat_metric: float
    flat_metric_interval: tuple[float, float] | None = None
    place: int = 0
    letters: str = ""

    def shares_letter(self, other: Standing) -> bool:
        """Whether two programs of a data set don't differ significantly; False where there are no letters.

        Examples
        --------
        >>> one = Standing("a", 1.0, (1.0, 2.0), 5.0, letters="z(27)")
        >>> other = Standing("b", 1.0, (1.0, 2.0), 5.0, letters="(28)")
        >>> one.shares_letter(one), one.shares_letter(other)
        (True, False)
        """
        own, others = (set(_LETTER.findall(standing.letters)) for standing in (self, other))
        return bool(own & others)


@dataclass(frozen=True, slots=True)
class KindStanding:
    """The place of a program over several data sets of one kind, each with a structure of its own.

    `flat_metric` is the mean over the data sets, nm; `flat_metric_interval` holds for the mean over all structures of
    this kind, `next_interval` for one more data set.
    """

    program: str
    rank: float
    rank_interval: tuple[float, float]
    flat_metric: float
    flat_metric_interval: tuple[float, float]
    next_interval: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class DatasetKind:
    """Several data sets of one kind, taken as the independent units: programs, best first, and every pair of them."""

    datasets: tuple[str, ...]
    standings: tuple[KindStanding, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks in each data set, overall ranks of the programs that ran on all of them, every two programs of each data
    set that has at most 200 of them, new structures by kind, and correlations of metrics.

    `no_overall` is why there are no overall ranks.
    """

    datasets: dict[str, tuple[Standing, ...]]
    overall: tuple[Standing, ...]
    pairs: dict[str, tuple[Pair, ...]]
    kinds: dict[str, DatasetKind]
    correlations: tuple[Correlation, ...]
    level: float = 95.0
    no_overall: str = ""

    def standing(self, dataset: str, program: str) -> Standing | None:
        """The place of a program in one data set; None if its result was left out."""
        return self._standings.get((dataset, program))

    @cached_property
    def _standings(self) -> dict[tuple[str, str], Standing]:
        return {(dataset, s.program): s for dataset, places in self.datasets.items() for s in places}


def kind_of(dataset: str) -> str:
    """The kind of a data set: its name without the number of the replicate.

    Examples
    --------
    >>> kind_of("MT3.N2.LD-r12"), kind_of("MT3.N2.LD")
    ('MT3.N2.LD', 'MT3.N2.LD')
    """
    return _REPLICATE.sub("", dataset)


def rank(entries: Sequence[Entry], certainty: Certainty | None = None, *, threads: int = 1) -> Ranking:
    """Rank by Flat Metric: in each data set, and overall by the mean rank of those programs that ran on all of them.

    The ranks that a program may have follow from the significant pairs, for all programs at once. Data
    sets whose names differ only in a last "-r" and number are replicates of one kind, for which new structures are
    judged.

    Examples
    --------
    >>> import flatmetric as fm
    >>> from flatmetric.statistics.entries import entry_of
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> distances = {"b": 50.0, "a": 5.0}
    >>> entries = [entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in distances.items()]
    >>> [(s.program, s.rank, s.rank_interval) for s in rank(entries).overall]
    [('a', 1.0, (1.0, 1.0)), ('b', 2.0, (2.0, 2.0))]
    """
    settings = certainty or Certainty()
    miss = 1 - settings.level / 100
    datasets, overall_sets, compared = {}, {}, {}
    by_dataset: dict[str, list[Entry]] = {}
    for entry in entries:
        by_dataset.setdefault(entry.dataset, []).append(entry)
    names = sorted(by_dataset)
    with ThreadPoolExecutor(threads) as pool:  # the numbers are the same in any order
        done = list(pool.map(lambda name: _compared(by_dataset[name], settings), names))
    for dataset, (joint, told, pairs) in zip(names, done, strict=True):
        here, compared[dataset] = by_dataset[dataset], told
        programs = [entry.program for entry in here]
        sets = rank_sets(pairs, len(here), miss)
        # Overall, the sets of all data sets must hold together.
        overall_sets[dataset] = dict(zip(programs, rank_sets(pairs, len(here), miss / len(names)), strict=True))
        places = places_of(joint.values[None])[0]
        intervals = _intervals(joint, settings.level)
        standings = [
            Standing(program, float(place), _span(own), float(value), interval)
            for program, place, own, value, interval in zip(
                programs, places, sets, joint.values, intervals, strict=True
            )
        ]
        ordered = sorted(standings, key=lambda s: (s.rank, s.program))
        marks = letters([s.program for s in ordered], compared[dataset]) if len(here) <= _MOST_PAIRED else {}
        datasets[dataset] = tuple(
            replace(s, letters=marks.get(s.program, ""), place=place)
            for s, place in zip(ordered, wholeplaces_of([s.rank for s in ordered]), strict=True)
        )
    overall = _overall(entries, overall_sets, datasets)
    reason = "" if overall else "no program has a rank in every data set"
    if len(names) > 1 and len(overall) > 1 and _say_nothing(overall):
        reason = f"{len(names)} data sets are too few to tell any two programs apart over all of them"
        overall = ()
    board_correlations = tuple(correlations(entries, seed=settings.seed, threads=threads))
    return Ranking(datasets, overall, compared, _kinds(entries, settings), board_correlations, settings.level, reason)


def _compared(here: Sequence[Entry], settings: Certainty) -> tuple[Joint, tuple[Pair, ...], AllPairs]:
    """The programs of one data set, every two of them where there are not too many."""
    joint = vary_together(here, settings)
    if len(here) > _MOST_PAIRED:
        return joint, (), all_pairs(joint, settings, intervals=False)
    return joint, *pairs_of([entry.program for entry in here], joint, settings)


def _say_nothing(overall: Sequence[Standing]) -> bool:
    """Whether every program may have the rank of any other."""
    return max(s.rank_interval[0] for s in overall) <= min(s.rank_interval[1] for s in overall)


def _span(own: IntArray) -> tuple[float, float]:
    return float(own[0]), float(own[1])


def _intervals(joint: Joint, level: float) -> list[tuple[float, float] | None]:
    if joint.variation is None:
        return [None] * len(joint.values)
    spread = zip(joint.values.tolist(), *(part.tolist() for part in joint.variation.of_estimates()), strict=True)
    return [_around(value, error * quantile(1 - level / 100, freedom)) for value, error, freedom in spread]


def _kinds(entries: Sequence[Entry], certainty: Certainty) -> dict[str, DatasetKind]:
    """The kinds with enough replicates, over the programs that ran on all of these."""
    kinds = {}
    replicates = [entry for entry in entries if _REPLICATE.search(entry.dataset)]
    for name in sorted({kind_of(entry.dataset) for entry in replicates}):
        here = [entry for entry in replicates if kind_of(entry.dataset) == name]
        datasets = sorted({entry.dataset for entry in here})
        if len(datasets) < _FEWEST_REPLICATES:
            continue
        ran = {p: {e.dataset for e in here if e.program == p} for p in sorted({e.program for e in here})}
        programs = [program for program, where in ran.items() if len(where) == len(datasets)]
        if programs:
            kinds[name] = new_structures(here, datasets, programs, certainty)
    return kinds


def new_structures(
    entries: Sequence[Entry], datasets: Sequence[str], programs: Sequence[str], certainty: Certainty
) -> DatasetKind:
    """Judge programs on structures not seen, from several data sets of one kind, each taken as one independent unit.

    Examples
    --------
    >>> entries = [
    ...     Entry(f"d-r{k}", "p", {}, 1, np.array([1]), np.array([value]), np.array([1.0]))
    ...     for k, value in enumerate([40.0, 42.0, 44.0])
    ... ]
    >>> kind = new_structures(entries, ["d-r0", "d-r1", "d-r2"], ["p"], Certainty())
    >>> kind.standings[0].flat_metric, [round(end, 2) for end in kind.standings[0].flat_metric_interval]
    (42.0, [37.03, 46.97])
    """
    scored = {(entry.dataset, entry.program): pooled([entry]) for entry in entries}
    table = np.array([[scored[dataset, program] for program in programs] for dataset in datasets])
    mean, count = table.mean(axis=0), len(datasets)
    joint = Joint(mean, variation_of_blocks((table - mean) / count), 1, count, table / count)
    pairs, all_ = pairs_of(programs, joint, certainty)
    sets, places = rank_sets(all_, len(programs), 1 - certainty.level / 100), places_of(mean[None])[0]
    spread = table.std(axis=0, ddof=1) * quantile(1 - certainty.level / 100, count - 1)
    standings = [
        KindStanding(
            program,
            float(places[at]),
            _span(sets[at]),
            float(mean[at]),
            _around(float(mean[at]), float(spread[at]) / math.sqrt(count)),
            _around(float(mean[at]), float(spread[at]) * math.sqrt(1 + 1 / count)),
        )
        for at, program in enumerate(programs)
    ]
    return DatasetKind(tuple(datasets), tuple(sorted(standings, key=lambda s: (s.rank, s.program))), pairs)


def _around(value: float, half: float) -> tuple[float, float]:
    return max(0.0, value - half), value + half


def _overall(
    entries: Sequence[Entry],
    sets: Mapping[str, Mapping[str, IntArray]],
    datasets: Mapping[str, Sequence[Standing]],
) -> tuple[Standing, ...]:
    own: dict[str, list[Entry]] = {}
    for entry in entries:
        own.setdefault(entry.program, []).append(entry)
    ranks: dict[str, list[float]] = {}
    for places in datasets.values():
        for standing in places:
            ranks.setdefault(standing.program, []).append(standing.rank)
    standings = []
    for program in sorted(own):
        if all(program in there for there in sets.values()):
            low, high = np.mean([there[program] for there in sets.values()], axis=0)
            mean = float(np.mean(ranks[program]))
            standings.append(Standing(program, mean, (float(low), float(high)), pooled(own[program])))
    ordered = sorted(standings, key=lambda s: (s.rank, s.flat_metric, s.program))
    whole = wholeplaces_of([s.rank for s in ordered])
    return tuple(replace(s, place=place) for s, place in zip(ordered, whole, strict=True))


def wholeplaces_of(ranks: Sequence[float]) -> list[int]:
    """Places from 1 of ranks in rising order; equal ranks share a place.

    Examples
    --------
    >>> wholeplaces_of([1.5, 1.5, 3.0])
    [1, 1, 3]
    """
    return [1 + bisect_left(ranks, own) for own in ranks]


def letters(programs: Sequence[str], pairs: Sequence[Pair]) -> dict[str, str]:
    """Letters for programs, best first: two that share none differ significantly, two that share one don't.

    Examples
    --------
    >>> near = Pair("a", "b", 1.0, None, 0.5, 0.5, 0.5, False, None, False)
    >>> far = [Pair(one, "c", 1.0, None, 0.0, 0.0, 0.0, False, None, True) for one in "ab"]
    >>> letters(["a", "b", "c"], [near, *far])
    {'a': 'a', 'b': 'a', 'c': 'b'}
    """
    place = {program: at for at, program in enumerate(programs)}
    # Which others don't differ significantly from each, as bits; a group is a set of programs that all don't differ.
    alike = [(1 << len(programs)) - 1 - (1 << at) for at in range(len(programs))]
    for pair in pairs:
        if pair.significant:
            a, b = place[pair.a], place[pair.b]
            alike[a] &= ~(1 << b)
            alike[b] &= ~(1 << a)
    groups: list[int] = []
    shared = [0] * len(programs)  # with whom each shares a letter already
    for at, others in enumerate(alike):
        while left := others & ~shared[at]:
            group = 1 << at
            candidates = others & alike[left.bit_length() - 1] | 1 << (left.bit_length() - 1)  # the furthest first
            while candidates:
                one = (candidates & -candidates).bit_length() - 1
                group |= 1 << one
                candidates &= alike[one]
            groups.append(group)
            for one in _bits(group):
                shared[one] |= group
        if not others:
            groups.append(1 << at)
    groups.sort(key=lambda group: list(_bits(group)))
    return {
        program: "".join(_letter(k) for k, group in enumerate(groups) if group >> at & 1)
        for program, at in place.items()
    }


def _bits(number: int) -> Iterator[int]:
    """The places of the bits that are set, lowest first."""
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


def _letter(k: int) -> str:
    return chr(ord("a") + k) if k < 26 else f"({k + 1})"


_LETTER = re.compile(r"[a-z]|\(\d+\)")


def pooled(entries: Sequence[Entry]) -> float:
    """The Flat Metric over all molecules of some entries, nm."""
    costs = sum(float(entry.costs.sum()) for entry in entries)
    return costs / max(sum(float(entry.truths.sum()) for entry in entries), np.finfo(float).tiny)
