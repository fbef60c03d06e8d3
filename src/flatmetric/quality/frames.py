"""Do the frames of a result fit those of the truth: an offset of any size, no frames at all, or shuffled ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

import numpy as np

from flatmetric._arrays import IntArray
from flatmetric.localizations import Localizations
from flatmetric.matching.matcher import Matches, match_frames
from flatmetric.quality.case import MARGIN, Case
from flatmetric.quality.findings import Finding, near_copies, reading_options
from flatmetric.quality.pairing import SIGNIFICANT, Pile, cells, certainty_of, displacements, find_pile

_MOST_DETECTIONS = 4000  # standard error of a share 0.8 %
_MOST_NEIGHBOURS = 2_000_000  # pairs: tens of MB
_FEWEST = 20  # detections
# nm: unrelated places of the same density
_CONTROL_SHIFTS = [
    shift for size in (400.0, 600.0, 800.0) for shift in ((size, 0.0), (-size, 0.0), (0.0, size), (0.0, -size))
]
_FITS = 0.2  # of the detections at places of molecules
_ALWAYS_ON = 0.8  # of the detections fit in any frame, so the frames can't be distinguished
_HERE = Pile(0.0, 0.0, 0.0, 0.0)
_FAR_STEP = 5  # frames: most molecules are off by then
_JITTERED = 0.015  # of the rows: a program may find a molecule in a frame that the truth leaves out
_LOPSIDED = 3.0  # times as many before as after: an offset of some rows
_CLOSE = 100.0  # nm between a detection and its molecule
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

    Molecules stay on, so most detections fit in both; those that fit in only one of them decide.
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
        pile = find_pile(*displacements(case.truth, case.pred, case.pairs(offset)[:2]))
        yield _offset(case, offset, pile.sigmas), pile


def jitter(case: Case) -> Finding | None:
    """Detections that are no molecule's of their frame, but of the frame before or after, where nothing else found it.

    Five frames away such fits are those of other molecules.
    """
    truth = case.truth
    pred = case.pred.select(~near_copies(case.pred, _CLOSE / 2))  # what is found twice is no molecule's
    pred = dataclasses.replace(pred, x=pred.x - case.pile.x, y=pred.y - case.pile.y)
    found = _matched(truth, pred)
    truth = truth.select(~np.isin(np.arange(len(truth)), found.truth))
    pred = pred.select(~np.isin(np.arange(len(pred)), found.pred))
    before, after, *far = (
        len(_matched(truth, dataclasses.replace(pred, frame=pred.frame + step)).pred)
        for step in (-1, 1, -_FAR_STEP, _FAR_STEP)
    )
    chance = sum(far)
    sigmas, share = _sigmas(before + after, chance), (before + after - chance) / len(case.pred)
    if sigmas < SIGNIFICANT or share < _JITTERED or _LOPSIDED * min(before, after) < max(before, after):
        return None
    return Finding("frame_jitter", round(share, 3), None, None, certainty_of(sigmas))


def _matched(truth: Localizations, pred: Localizations) -> Matches:
    return match_frames(truth, pred, dim=2, tolerance=_CLOSE, tolerance_z=math.inf, matching="greedy", threads=1)


def offset_anywhere(case: Case) -> Finding | None:
    """An offset of any size: frames of molecules less those of detections at the same place pile up at it."""
    rows_t, rows_p = _same_places(case, _sample(case))
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
    finding = _offset(case, offset, sigmas)
    return finding if _sigmas(*case.gained(case.fixed(finding), _HERE)) >= SIGNIFICANT else None


def shuffled(case: Case) -> Finding | None:
    """Detections at the places of molecules, though not in their frames.

    Of the detections at such places beyond chance, hardly any have a molecule there in their own frame beyond chance.
    """
    pred = _sample(case)
    if len(pred) < 2 * _FEWEST or case.pred.frame.min() == case.pred.frame.max():
        return None
    rows_t, rows_p = _same_places(case, pred)
    elsewhere = [len(np.unique(_same_places(case, pred, shift)[1])) for shift in _CONTROL_SHIFTS]
    chance, spread = float(np.mean(elsewhere)), float(np.std(elsewhere))
    at_place = len(np.unique(rows_p)) - chance
    sigmas = at_place / math.sqrt(chance + spread**2 + 1)
    if sigmas < SIGNIFICANT or at_place < max(_FEWEST, 0.3 * chance):
        return None
    own = _same_frame(case.all_truth.frame, rows_t, case.pred.frame, rows_p)
    mixed = _same_frame(case.all_truth.frame, rows_t, case.pred.frame, rows_p, mixed=True)
    always = mixed / max(1, len(np.unique(rows_p)))  # molecules that are always on fit in any frame
    if always > _ALWAYS_ON or own - mixed > _FITS * at_place * (1 - always):
        return None
    return Finding("shuffled_frames", True, None, None, certainty_of(sigmas))


def _same_frame(frame_t: IntArray, rows_t: IntArray, frame_p: IntArray, rows_p: IntArray, mixed: bool = False) -> int:
    """How many detections have a molecule at their place in their frame, or would with their frames shuffled."""
    frame = np.random.default_rng(0).permutation(frame_p) if mixed else frame_p
    return len(np.unique(rows_p[frame_t[rows_t] == frame[rows_p]]))


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


def _same_places(case: Case, pred: IntArray, shift: tuple[float, float] = (0.0, 0.0)) -> tuple[IntArray, IntArray]:
    """Pairs of a molecule, of any frame, and one of the given detections, shifted, in the same cell of a grid."""
    order, cells_t = case.truth_by_cell
    cells_p = cells(case.pred.x[pred] - shift[0], case.pred.y[pred] - shift[1])
    begin = np.searchsorted(cells_t, cells_p)
    count = np.searchsorted(cells_t, cells_p, side="right") - begin
    total = int(count.sum())
    if total > _MOST_NEIGHBOURS:
        kept = np.arange(0, len(pred), -(-total // _MOST_NEIGHBOURS))
        pred, begin, count = pred[kept], begin[kept], count[kept]
    which = np.repeat(np.arange(len(pred)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    return order[begin[which] + within], pred[which]
