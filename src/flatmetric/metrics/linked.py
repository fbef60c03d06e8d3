"""Scores between molecules, after detections of one molecule in several frames were linked."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.metrics.base import NO_TRUTH, Measure, Rows, count, error, metric
from flatmetric.options.scoring import Link
from flatmetric.transport.flat_metric import flat_metric

_count = partial(count, equation="count", shown=False, line="linked")


@dataclass(frozen=True, slots=True)
class LinkedScore:
    """Linked detections against true molecules, all frames together. Lengths in nm.

    `flat_metric` is between the mean places of both, per true molecule; `rmse_xy` is over the pairs of its plan.
    """

    molecules: int | None = _count("true molecules", meaning="true molecules, by their ids", label="{} true molecules")
    linked: int | None = _count(
        "linked molecules", meaning="molecules that linking detections over frames gives", label="{} linked ones"
    )
    counting_error: float | None = metric(
        "counting error",
        meaning="how many linked molecules are too many (+) or too few (-)",
        equation="100 (linked - true) / true",
        unit="%",
        format="+.1f",
        better="zero",
        limits=(-100.0, np.inf),
        line="linked",
    )
    flat_metric: float | None = error(
        "Flat Metric of linked molecules",
        meaning="Flat Metric between linked and true molecules, all frames together",
        equation="as Flat Metric",
        line="linked",
        label="Flat Metric {} nm",
    )
    rmse_xy: float | None = error(
        "RMSE lateral of linked molecules",
        meaning="lateral RMSE between linked and true molecules, over the pairs of their plan",
        equation="sqrt(mean of dx^2 + dy^2)",
        line="linked",
        label="RMSE {} nm",
    )


def measure_linked(rows: Rows) -> dict[str, Measure]:
    """Score linked detections against true molecules, all frames together; undefined where the truth has no ids."""
    matched, link = rows.matched, rows.options.link
    truth, pred, dim = matched.kept_truth, matched.kept_pred, matched.dim
    assert link is not None
    if matched.molecule is None or len(truth) == 0:
        reason = "the truth has no ids" if len(truth) else NO_TRUTH.text
        return {field.name: reason for field in dataclasses.fields(LinkedScore)}
    true = _mean_places(truth.points(dim), matched.molecule)
    linked = _mean_places(pred.points(dim), link_rows(pred, link, dim=dim)) if len(pred) else np.zeros((0, dim))
    result = flat_metric(true, linked, lam=rows.options.lam, threads=matched.threads)
    errors = linked[result.pairs.pred, :2] - true[result.pairs.truth, :2]
    return {
        "molecules": len(true),
        "linked": len(linked),
        "counting_error": 100 * (len(linked) / len(true) - 1),
        "flat_metric": result.value,
        "rmse_xy": float(np.sqrt((errors**2).sum(axis=1).mean())) if len(errors) else "no molecule was found",
    }


def link_rows(table: Localizations, link: Link, *, dim: int) -> IntArray:
    """A molecule number, from 0, for each detection.

    Frame by frame, the nearest detection and molecule come together first; a molecule stays where it was last seen.

    Examples
    --------
    >>> t = Localizations(frame=[1, 2, 4, 4], x=[0.0, 10.0, 20.0, 900.0], y=[0.0, 0.0, 0.0, 0.0])
    >>> link_rows(t, Link(50, gap=1), dim=2).tolist(), link_rows(t, Link(50), dim=2).tolist()
    ([0, 0, 0, 1], [0, 0, 1, 2])
    """
    from scipy.spatial import cKDTree

    if len(table) == 0:
        return np.zeros(0, dtype=np.int64)
    points = table.points(dim)
    order = np.argsort(table.frame, kind="stable")
    number = np.empty(len(table), dtype=np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(table.frame[order]) > 0))
    count = 0
    last_row: IntArray = np.zeros(0, dtype=np.int64)  # where each molecule that may go on was last seen
    for begin, end in zip(starts, np.append(starts[1:], len(table)), strict=True):
        rows = order[begin:end]
        frame = int(table.frame[rows[0]])
        last_row = last_row[frame - table.frame[last_row] <= link.gap + 1]
        taken_row, taken_last = np.zeros(len(rows), dtype=bool), np.zeros(len(last_row), dtype=bool)
        if len(last_row):
            near = cKDTree(points[last_row]).query_ball_point(points[rows], link.radius)
            pairs = [(a, b) for a, places in enumerate(near) for b in places]
            lengths = [float(np.linalg.norm(points[rows[a]] - points[last_row[b]])) for a, b in pairs]
            for at in np.argsort(lengths, kind="stable"):
                a, b = pairs[at]
                if not taken_row[a] and not taken_last[b]:
                    taken_row[a] = taken_last[b] = True
                    number[rows[a]] = number[last_row[b]]
        new = rows[~taken_row]
        number[new] = count + np.arange(len(new))
        count += len(new)
        last_row = np.concatenate([last_row[~taken_last], rows])
    return number


def _mean_places(points: FloatArray, number: IntArray) -> FloatArray:
    """The mean place of each molecule that has rows."""
    rows = np.bincount(number)
    sums = [np.bincount(number, axis)[rows > 0] for axis in points.T]
    return np.ascontiguousarray(np.column_stack(sums) / rows[rows > 0, None])
