"""Who is compared with whom: the rules of a protocol applied to two tables."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.metrics.matching import Matches, match
from flatmetric.protocol import Protocol
from flatmetric.result import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What is compared: the tables with all rows (the truth after its wobble), and who takes part.

    `truth_rows` and `pred_rows` passed the border and the frame limits; `matches` are theirs, as rows of the whole
    tables; `truth_counts` and `pred_counts` are the rows that count after the don't-care rule. `photon_threshold` is
    the one applied, None without.
    """

    truth: Localizations
    pred: Localizations
    truth_rows: IntArray
    pred_rows: IntArray
    matches: Matches
    truth_counts: IntArray
    pred_counts: IntArray
    photon_threshold: float | None


def dimension(truth: Localizations, pred: Localizations, rules: Protocol) -> int:
    """The dimension to compare in: as ruled, or 3 where both tables have depths that are not all 0.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[0.0], y=[0.0], z=[0.0])
    >>> dimension(t, t, Protocol())
    2
    """
    if rules.dim == 3:
        truth.in_3d()
        pred.in_3d()
    if rules.dim is not None:
        return rules.dim
    has_depth = [table.z is not None and (len(table) == 0 or bool(table.z.any())) for table in (truth, pred)]
    return 3 if all(has_depth) else 2


def rows_of(table: Localizations, rows: IntArray) -> Localizations:
    """Some rows of a table; all of them are the table itself."""
    return table if len(rows) == len(table) else table.select(rows)


def compare(
    truth: Localizations, pred: Localizations, rules: Protocol, dim: int, threads: int, said: list[str]
) -> Compared:
    """Apply the rules in the order of the challenge: wobble, border, matching, threshold; `said` takes warnings."""
    if rules.wobble is not None:
        dx, dy = rules.wobble.shifts(truth.in_3d().z)  # type: ignore[arg-type]
        truth = dataclasses.replace(truth, x=truth.x + dx, y=truth.y + dy)
    everyone = np.arange(max(len(truth), len(pred)))
    truth_rows, pred_rows = _within(truth, rules, everyone), _within(pred, rules, everyone)
    if len(truth_rows) == 0:
        said.append("the border or the frame limits leave no true molecule")
    if len(pred) == 0:
        said.append("there is no detection at all")
    elif len(pred_rows) == 0:
        said.append("the border or the frame limits leave no detection")
    matches = _match(truth, pred, truth_rows, pred_rows, rules, dim, threads)
    threshold = _threshold(truth, truth_rows, rules, said)
    truth_counts, pred_counts = truth_rows, pred_rows
    if threshold is not None:
        assert truth.photons is not None
        faint = truth.photons <= threshold
        ignored = np.zeros(len(pred), dtype=bool)
        ignored[matches.pred[faint[matches.truth]]] = True
        truth_counts = truth_rows[~faint[truth_rows]]
        pred_counts = pred_rows[~ignored[pred_rows]]
        if len(truth_counts) == 0 and len(truth_rows):
            said.append(f"no true molecule has more than {threshold:g} photons")
    return Compared(truth, pred, truth_rows, pred_rows, matches, truth_counts, pred_counts, threshold)


def _within(table: Localizations, rules: Protocol, everyone: IntArray) -> IntArray:
    """The rows, of `everyone` that there may be, within the border (strictly) and the frame limits."""
    if rules.border is None and rules.first_frame is None and rules.last_frame is None:
        return everyone[: len(table)]
    inside = np.ones(len(table), dtype=bool)
    if rules.border is not None and rules.fov is not None:
        for axis, size in ((table.x, rules.fov[0]), (table.y, rules.fov[1])):
            inside &= (axis > rules.border) & (axis < size - rules.border)
    if rules.first_frame is not None:
        inside &= table.frame >= rules.first_frame
    if rules.last_frame is not None:
        inside &= table.frame <= rules.last_frame
    return np.flatnonzero(inside)


def _match(
    truth: Localizations,
    pred: Localizations,
    truth_rows: IntArray,
    pred_rows: IntArray,
    rules: Protocol,
    dim: int,
    threads: int,
) -> Matches:
    # Frames count from 1; as in the challenge, what claims to be earlier is never matched.
    if len(truth) and len(pred) and min(truth.frame.min(), pred.frame.min()) < 1:
        truth_rows, pred_rows = truth_rows[truth.frame[truth_rows] >= 1], pred_rows[pred.frame[pred_rows] >= 1]
    found = match(
        rows_of(truth, truth_rows),
        rows_of(pred, pred_rows),
        dim=dim,
        tolerance=rules.tolerance,
        tolerance_z=rules.tolerance_z,
        matching=rules.matching,
        threads=threads,
    )
    if len(truth_rows) < len(truth):
        found = dataclasses.replace(found, truth=truth_rows[found.truth])
    if len(pred_rows) < len(pred):
        found = dataclasses.replace(found, pred=pred_rows[found.pred])
    return found


def _threshold(truth: Localizations, rows: IntArray, rules: Protocol, said: list[str]) -> float | None:
    if rules.photon_threshold is None and rules.photon_quantile is None:
        return None
    if truth.photons is None:
        if rules.photon_threshold == 0:  # the challenge's rule where there is nothing to rule on
            said.append("the truth has no photons, so the photon threshold was not applied")
            return None
        raise InputError(
            f"{truth.provenance.file or 'truth'}: it has no photons for a photon threshold; leave the threshold out"
        )
    if rules.photon_threshold is not None:
        return float(rules.photon_threshold)
    if len(rows) == 0:
        return None
    return float(math.floor(np.quantile(truth.photons[rows], rules.photon_quantile or 0.0, method="hazen")))


def counted_matches(compared: Compared) -> Matches:
    """The matches whose molecule counts."""
    matches = compared.matches
    if len(compared.truth_counts) == len(compared.truth_rows):
        return matches
    counts = np.zeros(len(compared.truth), dtype=bool)
    counts[compared.truth_counts] = True
    kept = counts[matches.truth]
    return Matches(matches.truth[kept], matches.pred[kept], matches.distance[kept])
