"""Gross errors of the axes: exchanged, mirrored, turned by a right angle, or in another unit.

Each hypothesis changes the result in one way; the one with the highest pile of displacements wins if it clearly beats
the file as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from flatmetric.localizations import Localizations
from flatmetric.quality.case import Case, for_quantiles
from flatmetric.quality.findings import Finding, apply_fix, reading_options
from flatmetric.quality.pairing import REACH, Pile, displacements, find_pile

_SCALE_BIN = 0.004  # of the logarithm
_SCALES = 25.0  # largest logarithm: metres taken for nm
_SMALLEST_SCALE = 0.005  # 30 nm at the edge of a field of 6.4 um; programs differ by less
SMALLEST_SPREAD = 200.0  # nm of the truth: less has no scale
_STEP = 100.0  # nm at the edge of the field between two angles that are tried
_MOST_DEGREES, _MOST_STEPS = 12.0, 40
_OTHER_UNIT = 5.0  # a larger factor is another unit, not a magnification


def hypotheses(case: Case) -> Iterator[tuple[Finding, Pile]]:
    """Each way in which the axes may be wrong, with the pile that it gives."""
    truth, pred, rows = case.truth, case.pred, case.rows
    t, p = rows
    if len(p) == 0:
        return
    if case.is_one_place():  # only the unit can be determined there
        scaled = _scale(case)
        if scaled is not None:
            yield scaled
        return
    source = pred.provenance
    yield (
        Finding("swapped_axes", True, None, None, 0.0, reading_options("swapped_axes", True, source)),
        find_pile(pred.y[p] - truth.x[t], pred.x[p] - truth.y[t]),
    )
    for axis, other in (("x", "y"), ("y", "x")):
        across = getattr(pred, axis)[p] + getattr(truth, axis)[t]
        along = getattr(pred, other)[p] - getattr(truth, other)[t]
        low, high = map(float, np.percentile(across, [0.5, 99.5]))  # a stray row must not widen it
        pile = find_pile(across, along, low, max(high, low + 2 * REACH))
        estimate = {"axis": axis, "size": round(pile.x, 3)}
        yield Finding("flipped_axis", estimate, None, None, 0.0), Pile(0, pile.y, pile.excess, pile.sigmas)
    extent = truth.extent
    centre = [(low + high) / 2 for low, high in (extent["x"], extent["y"])]
    half = max(high - low for low, high in (extent["x"], extent["y"])) / 2
    for degrees in (90.0, 180.0, 270.0):
        yield _turned(case, "rotated_axes", degrees, centre)
    step = min(1.0, math.degrees(_STEP / max(half, 1.0)))
    for degrees in [step * k for k in range(1, _MOST_STEPS + 1) if step * k < _MOST_DEGREES]:
        yield _turned(case, "rotation", degrees, centre)
        yield _turned(case, "rotation", -degrees, centre)
    scaled = _scale(case)
    if scaled is not None:
        yield scaled


def _turned(case: Case, kind: str, degrees: float, centre: Sequence[float]) -> tuple[Finding, Pile]:
    """A rotation about a centre that leaves no shift."""
    about = Finding(kind, {"degrees": degrees, "x": centre[0], "y": centre[1]}, None, None, 0.0)
    pile = find_pile(*displacements(case.truth, apply_fix(case.pred, about), case.rows))
    if kind == "rotation":  # its size and centre are found by a fit later
        return about, pile
    angle = math.radians(degrees)
    back = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    moved = np.linalg.solve(np.eye(2) - back, np.array([pile.x, pile.y]))
    estimate = {"degrees": degrees, "x": float(centre[0] - moved[0]), "y": float(centre[1] - moved[1])}
    return Finding(kind, estimate, None, None, 0.0), Pile(0, 0, pile.excess, pile.sigmas)


def _scale(case: Case) -> tuple[Finding, Pile] | None:
    """A factor common to x and y: logarithms of the ratios pile up on the diagonal."""
    truth, pred, (t, p) = case.truth, case.pred, case.rows
    usable = (truth.x[t] > 0) & (truth.y[t] > 0) & (pred.x[p] > 0) & (pred.y[p] > 0)
    t, p = t[usable], p[usable]
    along, across = np.log(pred.x[p] / truth.x[t]), np.log(pred.y[p] / truth.y[t])
    alike = (np.abs(along - across) < 3 * _SCALE_BIN) & (np.abs(along) < _SCALES)
    values = (along[alike] + across[alike]) / 2
    if len(values) < 10:
        return None
    edges = np.arange(-_SCALES, _SCALES + _SCALE_BIN, _SCALE_BIN)
    counts = np.histogram(values, edges)[0]
    wide = counts[:-2] + counts[1:-1] + counts[2:]
    peak = float(edges[int(np.argmax(wide)) + 1] + _SCALE_BIN / 2)
    for _ in range(20):
        near = np.abs(values - peak) <= 3 * _SCALE_BIN
        if not near.any():
            return None
        peak = float(np.median(values[near]))
    factor = math.exp(peak)
    larger = spread(pred) / max(spread(truth), 1e-9)
    if abs(factor - 1) < _SMALLEST_SCALE or not 0.5 < larger / factor < 2:
        return None
    scaled = scale_finding(case, factor)
    # Judged like the others, by displacements, once the scale is taken out.
    return scaled, find_pile(*displacements(truth, apply_fix(pred, scaled), case.rows))


def spread(table: Localizations) -> float:
    """The size of what a table covers, nm, without its outermost rows."""
    some = for_quantiles(len(table))
    low, high = np.percentile((table.x[some], table.y[some]), [10, 90], axis=1)
    return float(np.hypot(*(high - low)))


def scale_finding(case: Case, factor: float) -> Finding:
    """Positions that are `factor` times the true ones."""
    kind = "unit" if abs(math.log(factor)) > math.log(_OTHER_UNIT) else "scale"
    return Finding(kind, factor, None, None, 0.0, reading_options(kind, factor, case.pred.provenance))
