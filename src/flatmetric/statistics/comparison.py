"""Which program is better: paired differences on the same frames, p-values, and which program leads at which lam."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric.errors import InputError, unknown
from flatmetric.options.certainty import Certainty
from flatmetric.options.scoring import plain
from flatmetric.quality.remarks import Remarks, remarks_on
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score
from flatmetric.statistics.entries import Entry, Joint, entry_of, vary_together
from flatmetric.statistics.intervals import check_has_truth, intervals_of
from flatmetric.statistics.simultaneous import AllPairs, compare_all, holm
from flatmetric.transport.curve import crossings
from flatmetric.version import __version__

if TYPE_CHECKING:
    import pandas as pd

LEAD_FROM, LEAD_TO = 10.0, 250.0  # nm: the range of lam over which shares of the lead are computed


@dataclasses.dataclass(frozen=True, slots=True)  # the standard one is quicker to fill: a board has thousands
class Pair:
    """The Flat Metric of `a` minus that of `b` on the same frames, nm: negative where `a` is better.

    `ci` and `p` are for this pair alone; `ci_all` and `p_adjusted` hold for all pairs at once, and `significant` is
    whether the two differ significantly. `p_smallest` marks a `p_adjusted` that is the smallest that can be had: the
    true one is at most that. `p_holm` is `p` corrected by Holm's method. Intervals are None where there are
    too few frames. `contributors` is how many equal molecules would make the difference as variable as it is; None
    where blocks of frames are the units.
    """

    a: str
    b: str
    difference: float
    ci: tuple[float, float] | None
    p: float
    p_holm: float
    p_adjusted: float
    p_smallest: bool
    ci_all: tuple[float, float] | None
    significant: bool
    contributors: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `told` repeats `significant` under its old name."""
        values = plain(self) | {"told": self.significant}
        return values | {name: None if values[name] is None else list(values[name]) for name in ("ci", "ci_all")}


@dataclass(frozen=True, slots=True)
class Lead:
    """Which program has the lowest Flat Metric for lam from `low` to `high` (nm): the `share` of that range for each
    program, and for each pair the lam in that range at which their curves cross.
    """

    low: float
    high: float
    share: dict[str, float]
    crossings: dict[tuple[str, str], tuple[float, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        pairs = [{"a": a, "b": b, "crossings_nm": list(lam)} for (a, b), lam in self.crossings.items()]
        return {"from_nm": self.low, "to_nm": self.high, "share": self.share, "pairs": pairs}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Displayed):
    """Programs on one truth, best first, with intervals, and every pair of them, which rests on `blocks` independent
    blocks of `block` frames.
    """

    names: tuple[str, ...]
    scores: tuple[Score, ...]
    intervals: tuple[Intervals, ...]
    pairs: tuple[Pair, ...]
    block: int
    blocks: int

    def __repr__(self) -> str:
        values = [score.flat_metric.value or 0.0 for score in self.scores]
        shown = ", ".join(f"{name} {value:.4g} nm" for name, value in zip(self.names, values, strict=True))
        return f"Comparison({shown}, best first)"

    @property
    def best(self) -> str:
        """The name of the program with the lowest Flat Metric."""
        return self.names[0]

    def __getitem__(self, name: str) -> Score:
        """The score of a program.

        Examples
        --------
        >>> import flatmetric as fm
        >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
        >>> fm.compare(truth, {"near": dict(truth, x=[5.0, 5.0]), "far": dict(truth, x=[9.0, 9.0])})["near"].value
        5.0
        """
        if name not in self.names:
            raise unknown("program", name, self.names)
        return self.scores[self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def remarks(self) -> Remarks:
        """What looks wrong: what all results share, and the findings of each alone."""
        return remarks_on({name: score.findings for name, score in zip(self.names, self.scores, strict=True)})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the JSON of `flatmetric compare`."""
        entries = []
        for name, score, intervals in zip(self.names, self.scores, self.intervals, strict=True):
            parts = {part: plain(getattr(score, part)) for part in ("challenge", "rmsmd", "gospa", "ospa")}
            flat = plain(score.flat_metric) | {"ci": intervals.intervals["flat_metric.value"]}
            entry: dict[str, Any] = {"name": name, "flat_metric": flat, **parts, "ci": intervals.intervals}
            entry["findings"] = [finding.to_dict() for finding in score.findings]
            entries.append(entry | {"advice": [one.to_dict() for one in score.advice]})
        score, used = self.scores[0], self.intervals[0]
        return {
            "version": __version__,
            "lam_nm": score.lam,
            "dim": score.dim,
            "protocol": score.protocol.to_dict(),
            "level": used.level,
            "resamples": used.resamples,
            "seed": used.seed,
            "block": self.block,
            "blocks": self.blocks,
            "unit": used.unit,
            "remark": used.remark,
            "shared_findings": list(self.remarks.shared),
            "entries": entries,
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def lead(self, low: float = LEAD_FROM, high: float = LEAD_TO) -> Lead:
        """Which program leads at which lam, from `low` to `high` nm, and where their curves cross.

        Examples
        --------
        >>> import flatmetric as fm
        >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
        >>> scores = {name: fm.score(truth, dict(truth, x=[d, d])) for name, d in (("near", 5.0), ("far", 9.0))}
        >>> compare_scores(scores).lead().share["near"]
        1.0
        """
        return lead_over(self, low, high)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each program, best first: Flat Metric (nm) and its interval, and the challenge's main metrics.

        Examples
        --------
        >>> import flatmetric as fm
        >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
        >>> scores = {name: fm.score(truth, dict(truth, x=[d, d])) for name, d in (("near", 5.0), ("far", 9.0))}
        >>> compare_scores(scores).to_pandas()["flat_metric_nm"].tolist()
        [5.0, 9.0]
        """
        import pandas as pd

        rows, remarks = [], self.remarks.own
        for name, score, intervals in zip(self.names, self.scores, self.intervals, strict=True):
            low, high = intervals.intervals["flat_metric.value"] or (None, None)
            main = {"flat_metric_nm": score.flat_metric.value, "low_nm": low, "high_nm": high}
            more = {"jaccard": score.challenge.jaccard, "rmse_xy_nm": score.challenge.rmse_xy}
            suspect = "; ".join(finding.kind for finding in remarks[name] if finding.severity != "note")
            rows.append({"program": name, **main, **more, "efficiency": score.challenge.efficiency, "suspect": suspect})
        return pd.DataFrame(rows).set_index("program")


def compare_scores(scores: Mapping[str, Score], certainty: Certainty | None = None) -> Comparison:
    """Rank programs scored on the same truth by Flat Metric, and compare each pair on the same frames.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> near, far = (dict(truth, x=[d] * 30) for d in (5.0, 50.0))
    >>> c = compare_scores({"far": fm.score(truth, far), "near": fm.score(truth, near)})
    >>> c.names, c.pairs[0].difference, c.pairs[0].p < 0.01
    (('near', 'far'), -45.0, True)
    """
    settings = certainty or Certainty()
    if not scores:
        raise InputError("there is nothing to compare; give two or more scores")
    if len({score.dim for score in scores.values()}) > 1:
        raise InputError("some results have depths and some have none; give dim=2 to compare them all in 2D")
    first, *others = scores.values()
    if any(not _same_truth(first, other) for other in others):
        raise InputError("the programs were not scored on the same true molecules; score them by the same rules")
    if len({(score.lam, score.weights, score.axis_scale) for score in scores.values()}) > 1:
        raise InputError("the programs were scored with different lam, weights or axis_scale; use the same for all")
    for score in scores.values():
        check_has_truth(score)
    names = tuple(sorted(scores, key=lambda name: (scores[name].flat_metric.value, name)))
    ranked = tuple(scores[name] for name in names)
    intervals = tuple(intervals_of(score, settings) for score in ranked)
    joint = vary_together([entry_of("", name, scores[name]) for name in names], settings)
    return Comparison(names, ranked, intervals, pairs_of(names, joint, settings)[0], joint.block, joint.blocks)


def _same_truth(a: Score, b: Score) -> bool:
    mine, other = a.matched.kept_truth, b.matched.kept_truth
    return all(np.array_equal(getattr(mine, name), getattr(other, name)) for name in ("frame", "x", "y"))


def all_pairs(joint: Joint, certainty: Certainty, *, intervals: bool = True) -> AllPairs:
    """Every two of some Flat Metrics, from how these vary together."""
    return compare_all(
        joint.values,
        joint.variation,
        joint.added,
        joint.costs,
        level=certainty.level,
        draws=certainty.resamples,
        rng=np.random.default_rng(certainty.seed),
        intervals=intervals,
    )


def pairs_of(names: Sequence[str], joint: Joint, certainty: Certainty) -> tuple[tuple[Pair, ...], AllPairs]:
    """Every two programs, from their Flat Metrics and how these vary together.

    Examples
    --------
    >>> from flatmetric.statistics.variation import variation_of_blocks
    >>> blocks = variation_of_blocks(np.random.default_rng(0).normal(0, 0.02, (50, 2)))
    >>> (pair,), _ = pairs_of(["a", "b"], Joint(np.array([40.0, 85.0]), blocks, 1, 50), Certainty())
    >>> pair.difference, pair.significant, pair.p_smallest
    (-45.0, True, True)
    """
    all_ = all_pairs(joint, certainty)
    corrected = holm(all_.p).tolist()
    pairs = tuple(
        Pair(
            names[all_.first[k]],
            names[all_.second[k]],
            float(all_.difference[k]),
            _finite(all_.low[k], all_.high[k]),
            float(all_.p[k]),
            corrected[k],
            float(all_.p_adjusted[k]),
            bool(all_.smallest[k]),
            _finite(all_.low_all[k], all_.high_all[k]),
            bool(all_.p_adjusted[k] < 1 - certainty.level / 100),
            None if all_.contributors is None else float(all_.contributors[k]),
        )
        for k in range(len(all_.first))
    )
    return pairs, all_


def _finite(low: float, high: float) -> tuple[float, float] | None:
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None


def compare_entries(entries: Sequence[Entry], certainty: Certainty | None = None) -> dict[str, tuple[Pair, ...]]:
    """Compare every two programs of each data set on the same frames, as `compare_scores` does; by data set.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> distances = {"a": 5.0, "b": 50.0}
    >>> entries = [entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in distances.items()]
    >>> compare_entries(entries)["d"][0].difference
    -45.0
    """
    settings = certainty or Certainty()
    pairs = {}
    for dataset in sorted({entry.dataset for entry in entries}):
        here = [entry for entry in entries if entry.dataset == dataset]
        pairs[dataset] = pairs_of([entry.program for entry in here], vary_together(here, settings), settings)[0]
    return pairs


def lead_over(comparison: Comparison, low: float, high: float) -> Lead:
    """Which program leads at which lam, from the exact curves.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> precise, complete = {"frame": [1], "x": [1.0], "y": [0.0]}, dict(truth, x=[40.0, 40.0])
    >>> c = compare_scores({"precise": fm.score(truth, precise), "complete": fm.score(truth, complete)})
    >>> lead = lead_over(c, 10, 250)
    >>> round(lead.share["complete"], 4), [round(lam, 6) for lam in lead.crossings["complete", "precise"]]
    (0.7125, [79.0])
    """
    curves = [score.curve(high) for score in comparison.scores]
    places = {
        (comparison.names[i], comparison.names[j]): tuple(
            lam for lam in crossings(curves[i], curves[j]) if low < lam < high
        )
        for i, j in itertools.combinations(range(len(curves)), 2)
    }
    inside = {lam for crossed in places.values() for lam in crossed}
    edges = np.array(sorted({low, high} | inside))
    best = np.argmin([curve((edges[1:] + edges[:-1]) / 2) for curve in curves], axis=0)
    widths = np.diff(edges)
    share = {name: float(widths[best == k].sum() / (high - low)) for k, name in enumerate(comparison.names)}
    return Lead(low, high, share, places)
