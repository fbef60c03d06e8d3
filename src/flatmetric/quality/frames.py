"""Do the frames of a result fit those of the truth: an offset of any size, no frames at all, or shuffled ones."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.quality.case import MARGIN, Case
from flatmetric.quality.findings import Finding, reading_options
from flatmetric.quality.pairing import SIGNIFICANT, Pile, certainty_of, displacements, find_pile

_CELL = 100.0  # nm
_MOST_DETECTIONS = 4000
_MOST_NEIGHBOURS = 2_000_000
_FEWEST = 20  # detections
_CONTROL_SHIFTS = (400.0, 600.0, 800.0)  # nm: unrelated places of the same density
_FITS = 0.1  # of the detections, beyond chance
_ALWAYS_ON = 0.9  # of the molecules have one nearby in any frame, so that frames can't be told apart
_HERE = Pile(0.0, 0.0, 0.0, 0.0)
_AROUND = 60  # frames on each side that give the background of a peak


def one_frame_only(case: Case) -> Finding | None:
    """A result whose rows are all in one frame, though they come from many."""
    truth, pred = case.all_truth, case.pred
    if len(pred) < _FEWEST or pred.frame.min() != pred.frame.max() or truth.frame.min() == truth.frame.max():
        return None
    _, counts = np.unique(truth.frame, return_counts=True)
    if len(pred) <= 3 * counts.max() + 10:
        return None
    return Finding("no_frames", len(pred), None, None, 1.0)


def offset_nearby(case: Case) -> Finding | None:
    """An offset of a few frames in a result that fits roughly: each detection is looked up in both frames.

    Molecules stay on, so most detections fit in both; those that fit in only one of them tell.
    """
    for step in (-1, 1):
        best = 0.0
        offset = 0
        while abs(offset) < MARGIN:
            sigmas = _sigmas(*case.gained(case, case.pile, offset + step))
            if sigmas <= max(best, SIGNIFICANT):
                break
            offset, best = offset + step, sigmas
        if offset:
            return _offset(case, offset, best)
    return None


def _sigmas(gained: int, lost: int) -> float:
    return (gained - lost) / math.sqrt(gained + lost + 1)


def _offset(case: Case, offset: int, sigmas: float) -> Finding:
    options = reading_options("frame_offset", offset, case.pred.provenance)
    return Finding("frame_offset", offset, None, None, certainty_of(sigmas), options)


def offsets_with_shift(case: Case) -> Iterable[tuple[Finding, Pile]]:
    """Every offset of a few frames with the pile it gives, wherever that lies."""
    for offset in (*range(-MARGIN, 0), *range(1, MARGIN + 1)):
        pile = find_pile(*displacements(case.truth, case.pred, case.pairs(offset)))
        yield _offset(case, offset, pile.sigmas), pile


def offset_anywhere(case: Case) -> Finding | None:
    """An offset of any size: frames of molecules less those of detections at the same place pile up at it."""
    rows_t, rows_p = _same_places(case, _sample(case), (0.0, 0.0))
    if len(rows_t) < _FEWEST:
        return None
    difference = case.pred.frame[rows_p] - case.all_truth.frame[rows_t]
    values, counts = np.unique(difference, return_counts=True)
    best = int(np.argmax(counts))
    offset, count = int(values[best]), int(counts[best])
    around = (np.abs(difference - offset) <= _AROUND) & (np.abs(difference - offset) > MARGIN)
    background = float(np.count_nonzero(around)) / (2 * (_AROUND - MARGIN))
    sigmas = (count - background) / math.sqrt(background + 1)
    if offset == 0 or count < _FEWEST or sigmas < SIGNIFICANT:
        return None
    found = _offset(case, offset, sigmas)
    return found if _sigmas(*case.gained(case.fixed(found), _HERE)) >= SIGNIFICANT else None


def shuffled(case: Case) -> Finding | None:
    """Positions that fit those of the truth when frames are ignored, though in their frames they don't."""
    pred = _sample(case)
    if len(pred) < 2 * _FEWEST or case.pred.frame.min() == case.pred.frame.max():
        return None
    by_chance, own = case.chance(case.pred, _HERE), case.share_with_molecule(_HERE)
    if own > by_chance + _FITS * (1 - by_chance) or case.chance(case.truth, _HERE) > _ALWAYS_ON:
        return None  # they fit, or the same molecules are in every frame
    at_place = len(_same_places(case, pred, (0.0, 0.0))[0])
    elsewhere = [
        len(_same_places(case, pred, (dx, dy))[0])
        for size in _CONTROL_SHIFTS
        for dx, dy in ((size, 0.0), (-size, 0.0), (0.0, size), (0.0, -size))
    ]
    chance, spread = float(np.mean(elsewhere)), float(np.std(elsewhere))
    sigmas = (at_place - chance) / math.sqrt(chance + spread**2 + 1)
    if sigmas < SIGNIFICANT or at_place < 1.3 * chance:
        return None
    return Finding("shuffled_frames", True, None, None, certainty_of(sigmas))


def no_overlap(case: Case) -> Finding | None:
    """Frames of truth and result that never meet."""
    truth, pred = case.all_truth.frame, case.pred.frame
    if np.isin(pred, truth).any():
        return None
    spans = {"truth": (int(truth.min()), int(truth.max())), "pred": (int(pred.min()), int(pred.max()))}
    return Finding("no_overlap", spans, None, None, 1.0)


def _sample(case: Case) -> IntArray:
    """Some detections, evenly chosen."""
    step = max(1, len(case.pred) // _MOST_DETECTIONS)
    return np.arange(0, len(case.pred), step)


def _same_places(case: Case, pred: IntArray, shift: tuple[float, float]) -> tuple[IntArray, IntArray]:
    """Pairs of a molecule, of any frame, and one of the given detections in the same cell of a grid."""
    truth = case.all_truth
    cells_t = _cells(truth.x + shift[0], truth.y + shift[1])
    cells_p = _cells(case.pred.x[pred], case.pred.y[pred])
    order = np.argsort(cells_t, kind="stable")
    begin = np.searchsorted(cells_t[order], cells_p)
    count = np.searchsorted(cells_t[order], cells_p, side="right") - begin
    total = int(count.sum())
    if total > _MOST_NEIGHBOURS:
        kept = np.arange(0, len(pred), -(-total // _MOST_NEIGHBOURS))
        pred, begin, count = pred[kept], begin[kept], count[kept]
    which = np.repeat(np.arange(len(pred)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    return order[begin[which] + within], pred[which]


def _cells(x: FloatArray, y: FloatArray) -> IntArray:
    return np.floor(x / _CELL).astype(np.int64) * 1_000_003 + np.floor(y / _CELL).astype(np.int64)
