"""The rows of a score with all that advice rests on, and which of them no advice explains yet."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.matching.matcher import neighbours
from flatmetric.scoring.score import Score

NEAR = 1000.0
"""Neighbours further away, in nm, are no neighbours."""


class Evidence:
    """The molecules and detections that count; `truth_open` and `pred_open` are those that no advice explains yet."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.lam = score.lam
        self.truth, self.pred = score.matched.kept_truth, score.matched.kept_pred
        self.costs = score.costs
        self.missed = score.costs.truth_partner < 0
        self.false = score.costs.pred_partner < 0
        self.truth_open = np.ones(len(self.truth), dtype=bool)
        self.pred_open = np.ones(len(self.pred), dtype=bool)

    def explain(self, truth: BoolArray | None, pred: BoolArray | None) -> None:
        """Leave rows out of all further advice."""
        if truth is not None:
            self.truth_open &= ~truth
        if pred is not None:
            self.pred_open &= ~pred

    @cached_property
    def missed_mass(self) -> FloatArray:
        """The part of each molecule's weight that is missed."""
        return self.costs.missed / self.lam

    @cached_property
    def molecule(self) -> IntArray:
        """A number for each molecule, the same in all its frames; without ids each row is a molecule."""
        number = self.score.matched.molecule
        return np.arange(len(self.truth)) if number is None else number

    @cached_property
    def _neighbours(self) -> tuple[FloatArray, IntArray]:
        matched = self.score.matched
        return neighbours(self.truth, self.truth, dim=matched.dim, within=NEAR, apart=True, threads=matched.threads)

    @property
    def neighbour(self) -> FloatArray:
        """The distance in nm from each molecule to the nearest other one of its frame; infinite beyond `NEAR`."""
        return self._neighbours[0]

    @property
    def neighbour_row(self) -> IntArray:
        """The nearest other molecule of the frame, -1 for none within `NEAR`."""
        return self._neighbours[1]

    @cached_property
    def to_truth(self) -> FloatArray:
        """The distance in nm from each false detection to the nearest molecule of its frame; infinite for others."""
        return self._from_false(self.pred.frame)

    @cached_property
    def to_truth_by_chance(self) -> FloatArray:
        """The same with the molecules of other frames: what the density of the structure alone gives."""
        frames = np.unique(np.concatenate([self.truth.frame, self.pred.frame]))
        other = np.roll(frames, len(frames) // 2)
        return self._from_false(other[np.searchsorted(frames, self.pred.frame)])

    def _from_false(self, frame: IntArray) -> FloatArray:
        matched, rows = self.score.matched, np.flatnonzero(self.false)
        distance = np.full(len(self.pred), np.inf)
        if len(rows) == 0:
            return distance
        looked = dataclasses.replace(self.pred.select(rows), frame=frame[rows])
        near, _ = neighbours(self.truth, looked, dim=matched.dim, within=2 * self.lam, threads=matched.threads)
        distance[rows] = near
        return distance

    @cached_property
    def to_edge(self) -> FloatArray:
        """The distance in nm from each molecule to the edge of the field, or of what the truth fills."""
        field, extent = self.score.protocol.fov, self.score.matched.truth.extent
        edges = []
        for axis, values in enumerate((self.truth.x, self.truth.y)):
            low, high = extent["xy"[axis]] if field is None else (0.0, field[axis])
            edges += [values - low, high - values]
        distance: FloatArray = np.minimum.reduce(edges)
        return distance

    def sigmas(self, excess: FloatArray, molecule: IntArray) -> float:
        """By how many standard errors a sum over rows lies above 0; rows of one molecule stand and fall together."""
        each = np.bincount(molecule, excess)
        spread = float(np.sqrt(np.sum(each**2)))
        return float(excess.sum()) / spread if spread > 0 else 0.0
