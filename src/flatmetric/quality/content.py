"""Rows that repeat, rows that are missing at the end, and a border where nothing is found."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.localizations import Localizations
from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding, repeated_rows
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, cells, certainty_of, displacements

_DUPLICATES = 0.005  # of the rows
_RARE = 1e-6  # probability by chance: no false alarm in 500 simulated results
_FEWEST_DETECTIONS = 10  # with fewer nothing can be concluded from rows
_RING = 50.0  # nm
_BLIND = 0.25  # recall near the edge, as a part of that inside
_FEWEST_NEAR_THE_EDGE = 30  # molecules


def duplicates(case: Case) -> Finding | None:
    """Rows that repeat another to the last digit."""
    count, pred = int(repeated_rows(case.pred).sum()), case.pred
    if count < max(3, _DUPLICATES * len(pred)):
        return None
    # Positions rounded to whole pixels coincide by chance.
    _, in_frame = np.unique(pred.frame, return_counts=True)
    places = len(np.unique(pred.x)) * len(np.unique(pred.y))
    by_chance = float((in_frame * (in_frame - 1.0)).sum()) / 2 / max(1, places)
    if count < 3 * by_chance + SIGNIFICANT * math.sqrt(by_chance):
        return None
    return Finding("duplicates", count, None, None, 1.0)


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
    dx, dy = displacements(case.truth, case.pred, case.rows)
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
    before, after = case.flat_metric(), case.value_of(kept[0], kept[1])
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
