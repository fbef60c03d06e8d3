"""Detections of one molecule in several frames, linked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matched import Matched
from flatmetric.metrics.base import Measure, Reasons, Settings, Sums, evaluate
from flatmetric.metrics.linked import LinkedScore
from flatmetric.transport.flat_metric import flat_metric


@dataclass(frozen=True, slots=True)
class Link:
    """Detections within `radius` nm of each other, with at most `gap` empty frames in between, are one molecule.

    Examples
    --------
    >>> Link(50, -1)
    Traceback (most recent call last):
    flatmetric.errors.InputError: link: the gap is -1; give a whole number of frames from 0
    """

    radius: float
    gap: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1e6:
            raise InputError(f"link: the radius is {self.radius:g}; give a length in nm above 0")
        if int(self.gap) != self.gap or not 0 <= self.gap < 1e9:
            raise InputError(f"link: the gap is {self.gap:g}; give a whole number of frames from 0")


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


def linked_score(matched: Matched, link: Link, lam: float) -> tuple[LinkedScore, Reasons]:
    """Score linked detections against true molecules, all frames together; undefined where the truth has no ids."""
    truth, pred, dim = matched.kept_truth, matched.kept_pred, matched.dim
    names = LinkedScore.__slots__
    nothing = Sums.from_columns({}, Settings(dim))
    if matched.molecule is None or len(truth) == 0:
        why = "the truth has no ids" if len(truth) else "no true molecule is left to compare with"
        return evaluate(LinkedScore, nothing, dict.fromkeys(names, why))
    true = _mean_places(truth.points(dim), matched.molecule)
    found = _mean_places(pred.points(dim), link_rows(pred, link, dim=dim)) if len(pred) else np.zeros((0, dim))
    result = flat_metric(true, found, lam=lam, threads=matched.threads)
    errors = found[result.pairs.pred, :2] - true[result.pairs.truth, :2]
    rmse: Measure = float(np.sqrt((errors**2).sum(axis=1).mean())) if len(errors) else "no molecule was found"
    measured: dict[str, Measure] = {
        "molecules": len(true),
        "linked": len(found),
        "counting_error": 100 * (len(found) / len(true) - 1),
        "flat_metric": result.value,
        "rmse_xy": rmse,
    }
    return evaluate(LinkedScore, nothing, measured)
