"""What of the truth the result has nothing of: frames, a border, a part of the field or of the depths."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric.localizations import Localizations
from flatmetric.matching.matcher import match_frames
from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, cells, certainty_of

_RARE = 1e-6  # probability by chance: no false alarm in 500 simulated results
_FEWEST_DETECTIONS = 10  # with fewer nothing can be concluded from rows
_RING = 50.0  # nm
_BLIND = 0.25  # recall near the edge, as a part of that inside
_FEWEST_NEAR_THE_EDGE = 30  # molecules
_LONGEST_STEP = 10  # frames: between the frames that are read, or left out
_FEWEST_FRAMES = 10  # with detections, for a step
_FEWEST_CELLS, _MOST_CELLS = 4, 16  # along each axis of the field
_IN_A_CELL = 15.0  # rows on average
_EMPTY = 0.05  # of the rows that a region should have
_FEWEST_EXPECTED = 30  # rows that a region should have
_FEWEST_PLACES = 12  # of molecules, so that not a few dim ones decide
_NARROW = 0.15  # of the field
_SMALLEST_REGION = 0.1  # of the molecules
_LAYERS, _FEWEST_IN_A_LAYER = 10, 5  # of the depths of the molecules; rows on average
_THIN = 0.2  # of the molecules: programs lose the ends of the depths


def truncated(truth: Localizations, pred: Localizations) -> Finding | None:
    """A result that ends long before the truth does."""
    last = int(pred.frame.max())
    covered = truth.frame <= last
    missing = int(np.count_nonzero(~covered))
    if missing == 0 or not covered.any():
        return None
    if len(pred) < _FEWEST_DETECTIONS:
        return None
    # A molecule that stays on is missed in all its frames at once, so places are counted and not rows.
    places = len(np.unique(cells(truth.x[~covered], truth.y[~covered])))
    rate = min(0.9, len(pred) / max(1, int(covered.sum())))
    chance = (1 - rate) ** places if rate > 0 else 1.0
    if chance > _RARE:
        return None
    estimate = {"last_frame": last, "truth_last_frame": int(truth.frame.max())}
    return Finding("truncated", estimate, None, None, 1 - chance, {"last_frame": last})


def without_end(case: Case, finding: Finding) -> Finding | None:
    """The finding of an early end with what leaving out the frames after it does to the Flat Metric; None without a
    gain.
    """
    covered = case.all_truth.select(case.all_truth.frame <= finding.estimate["last_frame"])
    before, after = case.value_of(case.all_truth, case.pred), case.value_of(covered, case.pred)
    return dataclasses.replace(finding, flat_metric_before=before, flat_metric_after=after) if after < before else None


def blind_border(case: Case) -> Finding | None:
    """A border in which next to nothing is found, as by programs that need a whole box of pixels around a spot."""
    field = case.field or _field(case)
    if field is None:
        return None
    t = case.rows[0]
    dx, dy = case.apart
    detected = np.zeros(len(case.truth), dtype=bool)
    detected[t[dx**2 + dy**2 <= WINDOW**2]] = True
    compared = np.isin(case.truth.frame, case.truth.frame[t])
    if not compared.any():
        return None
    edge, detected = _to_edge(case.truth, field)[compared], detected[compared]
    best: Finding | None = None
    for width in np.arange(_RING, min(field) / 4, _RING):
        near, ring = edge < width, (edge >= width - _RING) & (edge < width)
        if near.all():
            break
        inside, outside = float(detected[~near].mean()), float(detected[near].mean()) if near.any() else 1.0
        if ring.any() and detected[ring].mean() > _BLIND * inside:
            break
        expected = inside * near.sum()
        sigmas = (expected - detected[near].sum()) / math.sqrt(expected * (1 - min(inside, 0.99)) + 1)
        missed = int(np.count_nonzero(~detected))
        if near.sum() >= _FEWEST_NEAR_THE_EDGE and outside <= _BLIND * inside and sigmas >= SIGNIFICANT:
            share = float(np.count_nonzero(~detected & near)) / max(1, missed)
            estimate = {"border": float(width), "share_of_missed": share, "fov": field}
            options = {"border": float(width)} | ({} if case.field is not None else {"fov": _as_option(field)})
            best = Finding("blind_border", estimate, None, None, certainty_of(sigmas), options)
    return best


def without_border(case: Case, finding: Finding) -> Finding | None:
    """The finding of a blind border with what leaving it out does to the Flat Metric; None without a gain."""
    kept = []
    for table in (case.covered_truth, case.pred):
        kept.append(table.select(_to_edge(table, finding.estimate["fov"]) > finding.estimate["border"]))
    if len(kept[0]) == 0:
        return None
    before, after = case.value, case.value_of(kept[0], kept[1])
    if after >= 0.99 * before:
        return None
    return dataclasses.replace(finding, flat_metric_before=before, flat_metric_after=after, scope=case.scope)


def _as_option(field: tuple[float, float]) -> float | tuple[float, float]:
    return field[0] if field[0] == field[1] else field


def _to_edge(table: Localizations, field: tuple[float, float]) -> FloatArray:
    """The distance of each row from the nearest edge of the field, nm."""
    edge: FloatArray = np.minimum.reduce([table.x, field[0] - table.x, table.y, field[1] - table.y])
    return edge


def _field(case: Case) -> tuple[float, float] | None:
    """The field of view as the truth fills it, in whole pixels; None where it does not begin at 0."""
    pixel = case.pred.provenance.pixel_size or case.all_truth.provenance.pixel_size or (100.0, 100.0)
    extent = case.all_truth.extent
    if any(not -_RING <= extent[axis][0] <= 0.05 * extent[axis][1] for axis in "xy"):
        return None
    width, height = (math.ceil(extent[axis][1] / size) * size for axis, size in zip("xy", pixel, strict=True))
    return float(width), float(height)


def missing_frames(case: Case) -> Finding | None:
    """Frames without a detection, between others or before the first, that can't be so by chance."""
    truth = case.covered_truth
    if len(case.spans) == 1:  # the result may begin late as well
        truth = case.all_truth.select(case.all_truth.frame <= int(case.pred.frame.max()))
    if len(case.pred) < _FEWEST_DETECTIONS or len(truth) == 0:
        return None
    with_rows = np.unique(case.pred.frame)
    return _stepped(truth.frame, case.pred.frame, with_rows) or _gap(truth, len(case.pred), with_rows)


def _stepped(truth: IntArray, pred: IntArray, with_rows: IntArray) -> Finding | None:
    """Only every second, third ... frame is there, or all but these."""
    if len(with_rows) < _FEWEST_FRAMES:
        return None
    for step in range(2, _LONGEST_STEP + 1):
        there = np.bincount(pred % step, minlength=step) > 0
        absent = ~there[truth % step]
        share = float(absent.mean())
        # Each row had the chance to lie in one of these frames.
        if 0 < share < 1 and len(pred) * math.log1p(-share) < math.log(_RARE / _LONGEST_STEP**2):
            return _frames_without(truth, absent, {"step": step, "there": int(there.sum())})
    return None


def _gap(truth: Localizations, rows: int, with_rows: IntArray) -> Finding | None:
    """The longest stretch of frames without a row."""
    ends = np.r_[int(truth.frame.min()) - 1, with_rows]
    at = int(np.argmax(np.diff(ends)))
    first, last = int(ends[at]) + 1, int(ends[at + 1]) - 1
    absent = (truth.frame >= first) & (truth.frame <= last)
    if not absent.any() or absent.all():
        return None
    # A molecule that stays on is missed in all its frames at once, so places are counted and not rows.
    places = len(np.unique(cells(truth.x[absent], truth.y[absent])))
    rate = min(0.9, rows / int((~absent).sum()))
    if places * math.log1p(-rate) > math.log(_RARE / len(with_rows)):
        return None
    return _frames_without(truth.frame, absent, {"first": first, "last": last})


def _frames_without(truth: IntArray, absent: BoolArray, more: dict[str, int]) -> Finding:
    return Finding("missing_frames", more | {"share": float(absent.mean())}, None, None, 1.0)


def empty_region(case: Case) -> Finding | None:
    """The rectangle with the most molecules that has next to no detection."""
    truth, pred = case.covered_truth, case.pred
    if len(truth) == 0:
        return None
    low, high = np.percentile((truth.x, truth.y), [0.5, 99.5], axis=1)
    size = np.maximum(high - low, 1.0)
    grid = int(np.clip(math.sqrt(len(pred) / _IN_A_CELL), _FEWEST_CELLS, _MOST_CELLS))

    def cell(table: Localizations) -> tuple[IntArray, IntArray]:
        column, row = (
            np.clip(((axis - start) / length * grid).astype(np.int64), 0, grid - 1)
            for axis, start, length in zip((table.x, table.y), low, size, strict=True)
        )
        return column, row

    molecules, rows = (_in_rectangles(*cell(table), grid) for table in (truth, pred))
    rate = (len(pred) - rows) / np.maximum(len(truth) - molecules, 1)  # rows for each molecule elsewhere
    expected = rate * molecules
    empty = (rows <= _EMPTY * expected) & (expected >= _FEWEST_EXPECTED) & (molecules >= _SMALLEST_REGION * len(truth))
    first, last = np.arange(grid)[:, None], np.arange(grid)[None]
    wide = last - first + 1 >= _NARROW * grid  # narrower ones are a blind border
    empty &= wide[:, :, None, None] & wide
    if not empty.any():
        return None
    left, right, top, bottom = np.unravel_index(int(np.argmax(np.where(empty, molecules, -1))), empty.shape)
    column, row = cell(truth)
    inside = (column >= left) & (column <= right) & (row >= top) & (row <= bottom)
    if len(np.unique(cells(truth.x[inside], truth.y[inside]))) < _FEWEST_PLACES:
        return None
    ends = {
        axis: [float(np.round(start + length * at / grid)) for at in (begin, end + 1)]
        for axis, start, length, begin, end in zip("xy", low, size, (left, top), (right, bottom), strict=True)
    }
    return Finding("empty_region", ends | {"share": float(inside.mean())}, None, None, 1.0)


def _in_rectangles(column: IntArray, row: IntArray, grid: int) -> IntArray:
    """How many rows lie in each rectangle of cells, by its first and last column and first and last row."""
    sums = np.zeros((grid + 1, grid + 1), dtype=np.int64)
    sums[1:, 1:] = np.bincount(column * grid + row, minlength=grid * grid).reshape(grid, grid).cumsum(0).cumsum(1)
    across = sums[None, 1:] - sums[:-1, None]  # first column, last column, row
    counts: IntArray = across[:, :, None, 1:] - across[:, :, :-1, None]
    return counts


def blind_depth(case: Case) -> Finding | None:
    """Depths at which next to no molecule is found, above or below the others."""
    truth, pred = case.covered_truth, case.pred
    if case.dim != 3 or truth.z is None or len(truth) < _LAYERS * _FEWEST_IN_A_LAYER or np.ptp(truth.z) == 0:
        return None
    near = match_frames(truth, pred, dim=2, tolerance=WINDOW, tolerance_z=math.inf, matching="greedy", threads=1)
    edges = np.quantile(truth.z, np.linspace(0, 1, _LAYERS + 1))
    layer = np.clip(np.searchsorted(edges, truth.z, side="right") - 1, 0, _LAYERS - 1)
    found = np.bincount(layer[near.truth], minlength=_LAYERS) / np.maximum(np.bincount(layer, minlength=_LAYERS), 1)
    seen = np.flatnonzero(found > _BLIND * found.max())
    low, high = int(seen[0]), int(seen[-1]) + 1
    share = 1 - (high - low) / _LAYERS
    expected = share * len(truth) * found[low:high].mean()
    if share < _THIN or expected < _FEWEST_EXPECTED:
        return None
    ends = [round(float(edges[low])), round(float(edges[high]))]
    return Finding("blind_depth", {"found": ends, "share": share}, None, None, 1.0)
