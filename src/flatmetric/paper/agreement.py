"""Figures 1c and 4: the Flat Metric and RMSMD against efficiency, over the participants of a challenge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import csv_text, write_text
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.plots import style
from flatmetric.plots.metric_scatter import metric_scatter
from flatmetric.statistics.correlations import coefficient, interval_over_methods, method_of
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import kind_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all"
AGREEMENT = "agreement.csv"
_RESAMPLES = 2000  # 50 of them lie beyond each end of a 95 % interval
_PRINTED = {"efficiency": (-10.0, 70.0), "flat_metric": (160.0, 0.0), "rmsmd": (1800.0, 0.0)}
"""The paper's axes, from left to right and from below to above."""
_ROOM = 0.03  # of an axis, around marks beyond its printed ends
_FEWEST = 5  # participants: with fewer a correlation is too uncertain to report


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a metric correlates with efficiency over the participants of one data set; None where undefined.

    -1 is perfect: the metric is an error, efficiency a merit. Intervals are 95 %, by resampled methods: settings of one
    method are not independent.
    """

    dataset: str
    metric: str
    participants: int
    spearman: float | None
    spearman_interval: tuple[float, float] | None
    pearson: float | None
    pearson_interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Advantage:
    """How much stronger the Flat Metric's rank correlation with efficiency is than RMSMD's, and its 95 % interval."""

    dataset: str
    difference: float | None
    interval: tuple[float, float] | None


def agreements(entries: Sequence[Entry], metric: str, *, seed: int = 0) -> list[Agreement]:
    """Correlations of a metric with efficiency in each data set, and over "all" of them where there are several.

    Examples
    --------
    >>> entries = [example_entry(str(k), flat_metric=100.0 - k, efficiency=float(k)) for k in range(6)]
    >>> agreements(entries, "flat_metric")[0].spearman
    -1.0
    """
    measured = []
    for dataset, here in _with_all(_by_dataset(entries)).items():
        values, methods = _columns(here, (metric, "efficiency"))
        rng = np.random.default_rng(seed)
        numbers: dict[str, float | None] = {}
        intervals: dict[str, tuple[float, float] | None] = {}
        for kind in ("spearman", "pearson"):
            if len(values) < _FEWEST:
                numbers[kind], intervals[kind] = None, None
                continue
            numbers[kind] = coefficient(values, kind)
            one_kind = partial(coefficient, kind=kind)
            intervals[kind] = interval_over_methods(values, methods, one_kind, _RESAMPLES, rng)
        measured.append(
            Agreement(
                dataset,
                metric,
                len(values),
                numbers["spearman"],
                intervals["spearman"],
                numbers["pearson"],
                intervals["pearson"],
            )
        )
    return measured


def advantages(entries: Sequence[Entry], *, seed: int = 0) -> list[Advantage]:
    """The paper's claim in each data set: that the Flat Metric is closer to efficiency than RMSMD is.

    If no data set has enough participants, all of them are pooled as "all".

    Examples
    --------
    >>> numbers = [{"flat_metric": 9.0 - k, "rmsmd": float(k % 3), "efficiency": float(k)} for k in range(9)]
    >>> entries = [example_entry(str(k), **metrics) for k, metrics in enumerate(numbers)]
    >>> advantages(entries)[0].difference > 0
    True
    """
    measured = []
    datasets = _by_dataset(entries)
    if all(len(here) < _FEWEST for here in datasets.values()):
        datasets = {ALL: list(entries)}
    for dataset, here in datasets.items():
        values, methods = _columns(here, ("flat_metric", "rmsmd", "efficiency"))
        if len(values) < _FEWEST:
            measured.append(Advantage(dataset, None, None))
            continue
        rng = np.random.default_rng(seed)
        interval = interval_over_methods(values, methods, _advantage, _RESAMPLES, rng)
        measured.append(Advantage(dataset, _advantage(values), interval))
    return measured


def verdict(measured: Sequence[Advantage]) -> str:
    """Whether the paper's claim holds, in a sentence: only leads whose 95 % interval excludes 0 count.

    Examples
    --------
    >>> print(verdict([Advantage("a", 0.5, (0.2, 0.8)), Advantage("b", 0.1, (-0.1, 0.3))]))
    The Flat Metric follows efficiency more closely than RMSMD in 1 of 2 data sets, RMSMD in 0, and in 1 neither leads \
significantly (95 %): the claim holds in part.
    """
    known = [one for one in measured if one.difference is not None and one.interval is not None]
    if not known:
        return "Too few methods to say whether the Flat Metric follows efficiency more closely than RMSMD."
    ahead = sum(one.interval is not None and one.interval[0] > 0 for one in known)
    behind = sum(one.interval is not None and one.interval[1] < 0 for one in known)
    open_ = len(known) - ahead - behind
    words = "holds" if ahead == len(known) else "holds in part" if ahead else "is not confirmed"
    if known[0].dataset == ALL:
        outcome = (
            "more closely than RMSMD" if ahead else "less closely than RMSMD" if behind else "about as closely as RMSMD"
        )
        return f"Over all data sets together the Flat Metric follows efficiency {outcome} (95 %): the claim {words}."
    return (
        f"The Flat Metric follows efficiency more closely than RMSMD in {ahead} of {len(known)} data sets, "
        f"RMSMD in {behind}, and in {open_} neither leads significantly (95 %): the claim {words}."
    )


def draw(
    entries: Sequence[Entry], metric: str, known: Sequence[Agreement] | None = None, *, as_printed: bool = False
) -> Figure:
    """A metric against efficiency, one panel for each data set, with the correlations, from `agreements` or as `known`.

    As in the paper efficiency goes along x and the metric along y: the best are below on the right; `as_printed` turns
    y over, so that they are above, and gives all panels the paper's axes, longer where a program lies beyond them.

    Examples
    --------
    >>> entries = [example_entry(str(k), flat_metric=100.0 - k, efficiency=float(k)) for k in range(6)]
    >>> draw(entries, "flat_metric").axes[0].get_ylabel()
    'Flat Metric [nm]'
    """
    panels = _by_dataset(entries)
    methods = sorted({method_of(entry.program) for entry in entries})
    measured = agreements(entries, metric) if known is None else known
    notes = {agreement.dataset: _note(agreement) for agreement in measured if agreement.metric == metric}
    across = max(1, math.ceil(math.sqrt(len(panels))))
    down = max(1, math.ceil(len(panels) / across))
    axis_of = {name: _printed(entries, name) for name in ("efficiency", metric)} if as_printed else {}
    with style.house_style():
        figure = style.new_figure(3.3 * across + 1.2, 2.9 * down)
        grid = figure.subplots(down, across, squeeze=False)
        for axes, (dataset, here) in zip(grid.flat, panels.items(), strict=False):
            shown = [e for e in here if e.metrics[metric] is not None and e.metrics["efficiency"] is not None]
            values, _ = _columns(shown, ("efficiency", metric))
            metric_scatter(
                axes,
                values[:, 0],
                values[:, 1],
                [method_of(entry.program) for entry in shown],
                order=methods,
                x_name=LEADERBOARD["efficiency"].heading,
                y_name=LEADERBOARD[metric].heading,
                x_shown=axis_of.get("efficiency"),
                y_shown=axis_of.get(metric),
                note=notes[dataset],
            )
            axes.set_title(style.literal(dataset))
        for axes in list(grid.flat)[len(panels) :]:
            axes.axis("off")
        handles = {
            label: handle for axes in grid.flat for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside right upper")
    return figure


FIGURES = {"fig1c": "flat_metric", "fig4": "rmsmd"}
"""The paper's figures of a challenge, and the metric that each sets against efficiency."""


def write_agreement(
    entries: Sequence[Entry], folder: Path, *, as_printed: bool = False
) -> tuple[list[Agreement], list[Advantage]]:
    """Write Figures 1c and 4 as PNG and PDF, and agreement.csv with the numbers behind them."""
    measured = [one for metric in ("flat_metric", "rmsmd", "rmsmd_whole_set") for one in agreements(entries, metric)]
    for stem, metric in FIGURES.items():
        style.save_for_print(draw(entries, metric, measured, as_printed=as_printed), folder / stem)
    ends = ("", "_low", "_high")
    rows: list[list[Any]] = [
        ["dataset", "metric", "participants", *(f"{k}{e}" for k in ("spearman", "pearson") for e in ends)]
    ]
    for one in measured:
        rows.append([one.dataset, one.metric, one.participants, one.spearman, *(one.spearman_interval or ("", ""))])
        rows[-1] += [one.pearson, *(one.pearson_interval or ("", ""))]
    write_text(csv_text(rows), folder / AGREEMENT)
    return measured, advantages(entries)


def example_entry(program: str, **metrics: float) -> Entry:
    """An entry of one data set that has only metrics, for examples."""
    none = np.empty(0)
    names = ("flat_metric", "efficiency", "rmsmd", "rmsmd_whole_set")
    values = {name: metrics.get(name) for name in names}
    return Entry("example", program, values, 1, none.astype(np.int64), none, none)


def _printed(entries: Sequence[Entry], metric: str) -> tuple[float, float]:
    """The ends of the paper's axis, in its direction, far enough for all entries."""
    first, last = _PRINTED[metric]
    values = [value for entry in entries if (value := entry.metrics[metric]) is not None]
    low, high = min(first, last), max(first, last)
    room = _ROOM * (high - low)
    low, high = min([low, *(v - room for v in values if v < low)]), max([high, *(v + room for v in values if v > high)])
    return (low, high) if first < last else (high, low)


def _note(agreement: Agreement) -> str:
    lines = []
    for symbol, value, interval in (
        ("Spearman", agreement.spearman, agreement.spearman_interval),
        ("Pearson", agreement.pearson, agreement.pearson_interval),
    ):
        if value is not None:
            span = "" if interval is None else f" ({interval[0]:.2f} to {interval[1]:.2f})"
            lines.append(f"{symbol} {value:.2f}{span}")
    return "\n".join(lines)


def _by_dataset(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The entries of each data set; replicates are pooled."""
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        by_name.setdefault(kind_of(entry.dataset), []).append(entry)
    return dict(sorted(by_name.items()))


def _with_all(datasets: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    if len(datasets) < 2:
        return datasets
    return datasets | {ALL: [entry for here in datasets.values() for entry in here]}


def _columns(entries: Sequence[Entry], names: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """Metrics of those entries that have all of them, (entries, metrics), and their methods."""
    complete = [entry for entry in entries if all(entry.metrics[name] is not None for name in names)]
    rows = [[entry.metrics[name] for name in names] for entry in complete]
    values = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    return values, [method_of(entry.program) for entry in complete]


def _advantage(values: FloatArray) -> float | None:
    flat, rmsmd = coefficient(values[:, [0, 2]], "spearman"), coefficient(values[:, [1, 2]], "spearman")
    return None if flat is None or rmsmd is None else rmsmd - flat
