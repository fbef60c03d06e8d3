"""The case that `check` looks at: a result as fixed so far, the truth of the frames it covers, and limits on work."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.quality.depth_fit import DepthFit, fit_depths
from flatmetric.quality.findings import Finding, apply_fix
from flatmetric.quality.pairing import SIGNIFICANT, ByFrame, Pile, cells, displacements, find_pile, pairs_in_frames
from flatmetric.transport.flat_metric import flat_metric

MARGIN = 10  # frames around those of the result, for small offsets
MOST_PAIRS = 1_000_000  # of `check`, which looks hardest
WINDOW_PAIRS = 50_000  # of `score`, which must stay quick
_WINDOW_ROWS = 5000  # rows that `score` looks at: finds nearly what all rows show (proofs/detection.py)
_STRETCHES = 8  # of frames over the movie, so that drift and late faults are seen
_ROWS_FOR_QUANTILES = 50_000  # standard error of a quantile: 0.2 % of the rows
_FEWEST_PAIRS = 10  # behind a pile: with fewer, a few clustered molecules look like one
_FAIR_PART = 0.15  # of the detections
_NEAR = 75.0  # nm between a detection and its molecule, after the common shift
_SMALLEST_GAIN = 0.002  # of the Flat Metric
_SLIGHT_SHIFT = 20.0  # nm: all programs may be off by as much
_SMALLEST_GAIN_OF_A_SLIGHT_SHIFT = 0.006  # no false alarm among results of real programs (proofs/detection.py)
_ONE_PLACE = 0.05  # of the extent of the truth: a result within less has no positions that could pile up

Spans = tuple[tuple[int, int], ...]
"""First and last frame of each stretch of frames."""


def for_quantiles(rows: int) -> slice:
    """Which of so many rows quantiles are estimated from: a few ten thousand of them, or all.

    Examples
    --------
    >>> len(range(1_000_000)[for_quantiles(1_000_000)])
    50000
    """
    return slice(None, None, max(1, rows // _ROWS_FOR_QUANTILES))


def stretches(frames: IntArray) -> Spans:
    """Stretches of frames from the first to the last with a few thousand rows in all, from the frame of each row.

    Examples
    --------
    >>> stretches(np.array([3, 4, 9]))
    ((3, 9),)
    """
    if len(frames) <= _WINDOW_ROWS:
        return ((int(frames.min()), int(frames.max())),)
    some = np.sort(frames[for_quantiles(len(frames))])
    share = _WINDOW_ROWS / len(frames) / _STRETCHES
    starts = np.linspace(0, 1 - share, _STRETCHES)
    lows, highs = np.floor(np.quantile(some, np.stack([starts, starts + share]))).astype(int).tolist()
    spans: list[tuple[int, int]] = []
    for low, high in zip(lows, highs, strict=True):
        first = low if not spans else max(low, spans[-1][1] + 1)
        if high >= first:
            spans.append((first, high))
    return tuple(spans)


@dataclass(frozen=True, eq=False)
class Case:
    """A whole truth, and a result over some stretches of frames (`spans`)."""

    all_truth: Localizations
    pred: Localizations
    spans: Spans
    lam: float
    most_pairs: int
    threads: int | None
    field: tuple[float, float] | None = None
    dim: int = 2

    @property
    def scope(self) -> str:
        """The part of the data behind the Flat Metric, as text; empty for all of it."""
        if len(self.spans) > 1:
            return "in a sample of the frames"
        return "in the frames it covers" if len(self.covered_truth) < len(self.all_truth) else ""

    @classmethod
    def whole(
        cls,
        truth: Localizations,
        pred: Localizations,
        lam: float,
        threads: int | None,
        field: tuple[float, float] | None,
    ) -> Case:
        """Every row of the result."""
        spans = ((int(pred.frame.min()), int(pred.frame.max())),)
        return cls(truth, pred, spans, lam, MOST_PAIRS, threads, field)

    @classmethod
    def window(
        cls,
        truth: Localizations,
        pred: Localizations,
        lam: float,
        threads: int | None,
        field: tuple[float, float] | None,
    ) -> Case:
        """A few thousand rows of a large result, in stretches of frames from its first to its last."""
        if len(pred) <= _WINDOW_ROWS:
            return dataclasses.replace(cls.whole(truth, pred, lam, threads, field), most_pairs=WINDOW_PAIRS)
        spans = stretches(pred.frame)
        kept = pred.select(within(pred.frame, spans))
        return cls(truth, kept, spans, lam, WINDOW_PAIRS, threads, field)

    def fixed(self, finding: Finding) -> Case:
        """The case after a fix."""
        moved = finding.estimate if finding.kind == "frame_offset" else 0
        spans = tuple((first - moved, last - moved) for first, last in self.spans)
        tried = dataclasses.replace(finding, flat_metric_after=0.0)
        return dataclasses.replace(self, pred=apply_fix(self.pred, tried), spans=spans)

    def judged(self, finding: Finding) -> tuple[Finding, Case] | None:
        """The finding with what its fix does to the Flat Metric, and the case after it; None without a gain."""
        after = self.fixed(finding)
        if len(after.covered_truth) == 0:
            return None
        # In frames that the truth does not have, nothing is found of what the fix would uncover.
        before_value = self.value if len(self.covered_truth) else self.value_of(after.covered_truth, self.pred)
        after_value = after.value
        slight = finding.kind == "shift" and math.hypot(finding.estimate["x"], finding.estimate["y"]) < _SLIGHT_SHIFT
        gain = _SMALLEST_GAIN_OF_A_SLIGHT_SHIFT if slight else _SMALLEST_GAIN
        if after_value > before_value * (1 - gain):
            return None
        judged = dataclasses.replace(finding, flat_metric_before=before_value, flat_metric_after=after_value)
        return dataclasses.replace(judged, scope=after.scope), after

    @cached_property
    def truth(self) -> Localizations:
        """The true rows in the frames of the result, and a few frames around each stretch."""
        wide = tuple((first - MARGIN, last + MARGIN) for first, last in self.spans)
        return self.all_truth.select(within(self.all_truth.frame, wide))

    @cached_property
    def covered_truth(self) -> Localizations:
        """The true rows in the frames of the result."""
        return self.truth.select(within(self.truth.frame, self.spans))

    @cached_property
    def truth_by_cell(self) -> tuple[IntArray, IntArray]:
        """All true rows in the order of the cells of a grid, and these cells."""
        own = cells(self.all_truth.x, self.all_truth.y)
        order = np.argsort(own, kind="stable")
        return order, own[order]

    @cached_property
    def sides(self) -> tuple[ByFrame, ByFrame]:
        """Both tables by frame."""
        return ByFrame.of(self.truth), ByFrame.of(self.pred)

    def pairs(self, offset: int) -> tuple[IntArray, IntArray, BoolArray | None]:
        """Pairs of rows in the same frames, the result's frames less `offset`; and which rows of the result were
        looked at, None for all.
        """
        return pairs_in_frames(*self.sides, self.most_pairs, offset) if offset else self._pairs

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, BoolArray | None]:
        return pairs_in_frames(*self.sides, self.most_pairs)

    @property
    def rows(self) -> tuple[IntArray, IntArray]:
        """Pairs of rows in the same frames."""
        return self._pairs[:2]

    @cached_property
    def apart(self) -> tuple[FloatArray, FloatArray]:
        """How far these pairs are apart in x and y: pred minus truth, nm."""
        return displacements(self.truth, self.pred, self.rows)

    @cached_property
    def _paired(self) -> int:
        """How many detections are in these pairs."""
        paired = np.zeros(len(self.pred), dtype=bool)
        paired[self.rows[1]] = True
        return int(np.count_nonzero(paired))

    @cached_property
    def pile(self) -> Pile:
        """Where the displacements of these pairs pile up."""
        if self.is_one_place():
            return Pile(0.0, 0.0, 0.0, 0.0)
        return find_pile(*self.apart)

    @cached_property
    def depth_fit(self) -> DepthFit | None:
        """How depths follow the true ones; None where they don't count, or too few pairs tell."""
        return fit_depths(self.truth, self.pred, self.rows, self.apart, self.pile) if self.dim == 3 else None

    def is_one_place(self) -> bool:
        """Whether the result lies in a small part of the field, so that its positions can't pile up."""
        if len(self.truth) < 2 or len(self.pred) < 2:
            return False
        sizes = [
            np.diff(np.percentile((table.x, table.y), [5, 95], axis=1), axis=0) for table in (self.pred, self.truth)
        ]
        return bool((sizes[0] < _ONE_PLACE * sizes[1]).all())

    @cached_property
    def explained(self) -> float:
        """The part of the detections with a molecule nearby in their frame, beyond that of shuffled frames."""
        chance = self._chance()
        return (self.share_with_molecule(self.pile) - chance) / max(1 - chance, 1e-9)

    def is_convincing(self, pile: Pile) -> bool:
        """Whether a pile is not chance, and made by a fair part of the detections."""
        return pile.sigmas >= SIGNIFICANT and pile.excess >= max(_FEWEST_PAIRS, _FAIR_PART * self._paired)

    def has_molecule(self, shift: Pile, offset: int = 0) -> tuple[BoolArray, BoolArray | None]:
        """Which detections have a molecule nearby in their frame less `offset`, after a common shift; and which of
        them were looked at, None for all.
        """
        t, p, looked = self.pairs(offset)
        dx, dy = displacements(self.truth, self.pred, (t, p)) if offset else self.apart
        near = (dx - shift.x) ** 2 + (dy - shift.y) ** 2 <= _NEAR**2
        has = np.zeros(len(self.pred), dtype=bool)
        has[p[near]] = True
        return has, looked

    def share_with_molecule(self, shift: Pile) -> float:
        """The part of the detections that have a molecule nearby in their frame, after a common shift."""
        has, looked = self.has_molecule(shift)
        return float(has.mean() if looked is None else has[looked].mean())

    def gained(self, other: Case, shift: Pile, offset: int = 0) -> tuple[int, int]:
        """How many detections have a molecule nearby in `other` (in its frames less `offset`) and not here, and how
        many here and not there.
        """
        (here, looked), (there, looked_there) = self.has_molecule(shift), other.has_molecule(shift, offset)
        both = np.ones(len(here), dtype=bool)
        for mask in (looked, looked_there):
            if mask is not None:
                both &= mask
        return int(np.count_nonzero(there & ~here & both)), int(np.count_nonzero(here & ~there & both))

    def _chance(self) -> float:
        """The part of the detections that would have a molecule nearby if frames were shuffled; 0 for one frame."""
        if self.pred.frame.min() == self.pred.frame.max():
            return 0.0
        frame = np.random.default_rng(0).permutation(self.pred.frame)
        mixed = dataclasses.replace(self, pred=dataclasses.replace(self.pred, frame=frame))
        return mixed.share_with_molecule(self.pile)

    @cached_property
    def value(self) -> float:
        """The Flat Metric over the frames of the result, nm."""
        return self.value_of(self.covered_truth, self.pred)

    def value_of(self, truth: Localizations, pred: Localizations) -> float:
        """The Flat Metric of some rows, nm."""
        points = truth.points(self.dim, self.threads), pred.points(self.dim, self.threads)
        return flat_metric(
            *points, lam=self.lam, threads=self.threads, truth_frames=truth.frame, pred_frames=pred.frame
        ).value


def within(frame: IntArray, spans: Spans) -> BoolArray:
    """Which frames lie in one of the stretches.

    Examples
    --------
    >>> within(np.array([1, 5, 9]), ((1, 3), (8, 9))).tolist()
    [True, False, True]
    """
    inside = np.zeros(len(frame), dtype=bool)
    in_order = bool((frame[1:] >= frame[:-1]).all())
    for first, last in spans:
        if in_order:
            inside[np.searchsorted(frame, first) : np.searchsorted(frame, last, side="right")] = True
        else:
            inside |= (frame >= first) & (frame <= last)
    return inside
