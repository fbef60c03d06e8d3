"""A protocol applied to two tables: which rows count, which are matched, and by how much they differ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._core import row_differences
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.matching.matcher import Matches, match_frames
from flatmetric.matching.molecules import molecule_numbers
from flatmetric.options.rules import Protocol

NO_THRESHOLD = "the truth has no photons, so the photon threshold is not applied"


@dataclass(frozen=True, eq=False)
class Matched:
    """Two whole tables (the truth with the wobble applied), and which of their rows take part.

    `truth_rows` and `pred_rows` are within the border and the frame limits; `matches` are pairs of those, as rows of
    the whole tables; `truth_kept` and `pred_kept` are the rows that count after the don't-care rule. `photon_threshold`
    is the one applied, or None. `warnings` lists what looks wrong, `assumptions` what was taken
    for granted.
    """

    truth: Localizations
    pred: Localizations
    dim: int
    threads: int
    truth_rows: IntArray
    pred_rows: IntArray
    matches: Matches
    truth_kept: IntArray
    pred_kept: IntArray
    photon_threshold: float | None
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]

    @cached_property
    def kept_truth(self) -> Localizations:
        """The molecules that count."""
        return select_rows(self.truth, self.truth_kept)

    @cached_property
    def kept_pred(self) -> Localizations:
        """The detections that count."""
        return select_rows(self.pred, self.pred_kept)

    @cached_property
    def molecule(self) -> IntArray | None:
        """A number, from 0, for each molecule that counts, the same in every frame; None without ids."""
        return molecule_numbers(self.kept_truth)

    @cached_property
    def counted(self) -> Matches:
        """The matches whose molecule counts, as rows of the whole tables."""
        if len(self.truth_kept) == len(self.truth_rows):
            return self.matches
        counts = np.zeros(len(self.truth), dtype=bool)
        counts[self.truth_kept] = True
        kept = counts[self.matches.truth]
        return Matches(self.matches.truth[kept], self.matches.pred[kept], self.matches.distance[kept])

    @cached_property
    def counted_in_kept(self) -> IntArray:
        """The true rows of the counted matches, as rows of `kept_truth`."""
        if len(self.truth_kept) == len(self.truth):
            return self.counted.truth
        place = np.full(len(self.truth), -1, dtype=np.int64)
        place[self.truth_kept] = np.arange(len(self.truth_kept))
        return place[self.counted.truth]

    @cached_property
    def errors(self) -> FloatArray:
        """Pred minus truth of the counted matches, (k, 3) in nm; z is 0 where a table has none."""
        dim = 2 if self.truth.z is None or self.pred.z is None else 3
        tables = self.truth.points(dim, self.threads), self.pred.points(dim, self.threads)
        errors = row_differences(*tables, self.counted.truth, self.counted.pred, self.threads)
        return errors if dim == 3 else np.column_stack((errors, np.zeros(len(errors))))


def dimension(truth: Localizations, pred: Localizations, protocol: Protocol) -> int:
    """The dimension to compare in: the protocol's, or 3 where both tables have depths that are not all 0.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[0.0], y=[0.0], z=[0.0])
    >>> dimension(t, t, Protocol())
    2
    """
    if protocol.dim == 3:
        truth.in_3d()
        pred.in_3d()
    if protocol.dim is not None:
        return protocol.dim
    has_depth = [table.z is not None and (len(table) == 0 or bool(table.z.any())) for table in (truth, pred)]
    return 3 if all(has_depth) else 2


def select_rows(table: Localizations, rows: IntArray) -> Localizations:
    """Some rows of a table; the table itself where they are all of them."""
    return table if len(rows) == len(table) else table.select(rows)


def match_tables(truth: Localizations, pred: Localizations, protocol: Protocol, dim: int, threads: int) -> Matched:
    """Apply a protocol in the order of the challenge: wobble, border, matching, photon threshold.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1], x=[0.0, 900.0], y=[0.0, 0.0])
    >>> p = Localizations(frame=[1], x=[3.0], y=[4.0])
    >>> match_tables(t, p, Protocol(), dim=2, threads=1).errors
    array([[3., 4., 0.]])
    """
    if protocol.wobble is not None:
        dx, dy = protocol.wobble.shifts(truth.in_3d().z)  # type: ignore[arg-type]
        truth = dataclasses.replace(truth, x=truth.x + dx, y=truth.y + dy)
    all_rows = np.arange(max(len(truth), len(pred)))
    truth_rows, pred_rows = rows_within(truth, protocol, all_rows), rows_within(pred, protocol, all_rows)
    assumptions = tuple[str, ...]()
    matches = _match(truth, pred, truth_rows, pred_rows, protocol, dim, threads)
    of_rows = None if truth.photons is None else truth.photons[truth_rows]
    threshold = photon_threshold(of_rows, protocol, truth.provenance.file or "truth")
    truth_kept, pred_kept = truth_rows, pred_rows
    if threshold is not None:
        assert truth.photons is not None
        faint = truth.photons <= threshold
        ignored = np.zeros(len(pred), dtype=bool)
        ignored[matches.pred[faint[matches.truth]]] = True
        truth_kept = truth_rows[~faint[truth_rows]]
        pred_kept = pred_rows[~ignored[pred_rows]]
    elif protocol.photon_threshold is not None:
        assumptions = (NO_THRESHOLD,)
    first = [None if len(table) == 0 else int(table.frame.min()) for table in (truth, pred)]
    counts = len(truth_rows), len(truth_kept), len(pred), len(pred_rows), len(pred_kept)
    return Matched(
        truth,
        pred,
        dim,
        threads,
        truth_rows,
        pred_rows,
        matches,
        truth_kept,
        pred_kept,
        threshold,
        row_warnings(*counts, first, threshold),
        assumptions,
    )


def rows_within(table: Localizations, protocol: Protocol, all_rows: IntArray | None = None) -> IntArray:
    """The rows strictly within the border and within the frame limits; `all_rows` is 0, 1, 2, ... for all rows."""
    if all_rows is None:
        all_rows = np.arange(len(table))
    if protocol.border is None and protocol.first_frame is None and protocol.last_frame is None:
        return all_rows[: len(table)]
    inside = np.ones(len(table), dtype=bool)
    if protocol.border is not None and protocol.fov is not None:
        for axis, size in ((table.x, protocol.fov[0]), (table.y, protocol.fov[1])):
            inside &= (axis > protocol.border) & (axis < size - protocol.border)
    if protocol.first_frame is not None:
        inside &= table.frame >= protocol.first_frame
    if protocol.last_frame is not None:
        inside &= table.frame <= protocol.last_frame
    return np.flatnonzero(inside)


def _match(
    truth: Localizations,
    pred: Localizations,
    truth_rows: IntArray,
    pred_rows: IntArray,
    protocol: Protocol,
    dim: int,
    threads: int,
) -> Matches:
    # Frames count from 1; as in the challenge, rows with an earlier frame are never matched.
    if len(truth) and len(pred) and min(truth.frame.min(), pred.frame.min()) < 1:
        truth_rows, pred_rows = truth_rows[truth.frame[truth_rows] >= 1], pred_rows[pred.frame[pred_rows] >= 1]
    matches = match_frames(
        select_rows(truth, truth_rows),
        select_rows(pred, pred_rows),
        dim=dim,
        tolerance=protocol.tolerance,
        tolerance_z=protocol.tolerance_z,
        matching=protocol.matching,
        threads=threads,
    )
    if len(truth_rows) < len(truth):
        matches = dataclasses.replace(matches, truth=truth_rows[matches.truth])
    if len(pred_rows) < len(pred):
        matches = dataclasses.replace(matches, pred=pred_rows[matches.pred])
    return matches


def photon_threshold(photons: FloatArray | None, protocol: Protocol, name: str) -> float | None:
    """The threshold that a protocol sets for the photons of the true rows within its limits, which may be reordered;
    None without one.

    Examples
    --------
    >>> photon_threshold(np.array([100.0, 300.0, 200.0, 400.0]), Protocol(photon_quantile=0.25), "truth")
    150.0
    """
    if protocol.photon_threshold is None and protocol.photon_quantile is None:
        return None
    if photons is None:
        if protocol.photon_threshold == 0:  # the challenge's own threshold: without photons it excludes nothing
            return None
        raise InputError(f"{name}: it has no photons, so leave the photon threshold out")
    if protocol.photon_threshold is not None:
        return float(protocol.photon_threshold)
    if len(photons) == 0:
        return None
    share = protocol.photon_quantile or 0.0
    return float(math.floor(np.quantile(photons, share, method="hazen", overwrite_input=True)))


def row_warnings(
    truth_rows: int,
    truth_kept: int,
    pred: int,
    pred_rows: int,
    pred_kept: int,
    first_frames: Sequence[int | None],
    threshold: float | None,
) -> tuple[str, ...]:
    """What looks wrong, from how many rows there are, lie within the limits and count, and both first frames.

    Examples
    --------
    >>> row_warnings(10, 10, 0, 0, 0, [1, None], None)
    ('there is no detection at all',)
    """
    warnings = []
    if truth_rows == 0:
        warnings.append("the border or the frame limits leave no true molecule")
    if pred == 0:
        warnings.append("there is no detection at all")
    elif pred_rows == 0:
        warnings.append("the border or the frame limits leave no detection")
    if truth_kept == 0 and truth_rows and threshold is not None:
        warnings.append(f"no true molecule has more than {threshold:g} photons")
    for first, side in zip(first_frames, ("truth", "result"), strict=True):
        if truth_kept and pred_kept and first is not None and first < 1:
            warnings.append(
                f"the {side} has frames below 1, which are never matched; perhaps it counts from 0 (frame_base=)"
            )
    return tuple(warnings)
