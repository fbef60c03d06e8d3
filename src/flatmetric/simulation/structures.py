"""What is imaged: thin curved tubes in a shallow volume, and labels on their surfaces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray

_STEP_NM = 20.0
_TUBES_PER_UM = 1.1  # microtubules per um of field width
_MICROTUBULE_RADIUS_NM = 12.5
_BEND_PER_STEP = 0.012  # radians; a persistence length of 140 um, over which a microtubule is nearly straight
_CELLS_PER_UM2 = 0.55
_ER_RADIUS_NM = 30.0
_ER_BULGE = 0.12  # sideways bend of a tubule against its length
_SHEET_WAVES_NM = (5000.0, 5500.0, 3000.0)  # along x, y and both: the sheet of the network rises and falls
_REACH = 0.45  # of the layer's thickness, to either side of its middle


@dataclass(frozen=True, slots=True, eq=False)
class Tubes:
    """Centre lines, each (k, 3) in nm, and the radius of the tubes around them, nm."""

    lines: tuple[FloatArray, ...]
    radius: float

    @property
    def length(self) -> float:
        """Length of all tubes together, nm."""
        return float(sum(_lengths(line).sum() for line in self.lines))


def microtubules(field: float, depth: float, rng: np.random.Generator) -> Tubes:
    """Smooth curves through a square `field` (nm) and a layer `depth` (nm) thick about z = 0; tubes of 25 nm.

    Examples
    --------
    >>> tubes = microtubules(6400.0, 1500.0, np.random.default_rng(0))
    >>> tubes.radius, bool(tubes.length > 6400)
    (12.5, True)
    """
    count = max(3, round(_TUBES_PER_UM * field / 1000))
    lines: list[FloatArray] = []
    while len(lines) < count:
        line = _wandering(field, depth, rng)
        if _lengths(line).sum() > field / 3:  # not one that only cuts a corner
            lines.append(line)
    return Tubes(tuple(lines), _MICROTUBULE_RADIUS_NM)


def _wandering(field: float, depth: float, rng: np.random.Generator) -> FloatArray:
    """A curve from one edge of the field until it leaves it."""
    steps = int(3 * field / _STEP_NM)
    heading = rng.uniform(-math.pi / 3, math.pi / 3) + np.cumsum(rng.normal(0.0, _BEND_PER_STEP, steps))
    xy = np.stack([np.cos(heading), np.sin(heading)], axis=1).cumsum(axis=0) * _STEP_NM
    xy += (0.0, rng.uniform(0.0, field))
    for _ in range(rng.integers(4)):  # from any of the four edges
        xy = np.stack([field - xy[:, 1], xy[:, 0]], axis=1)
    outside = ((xy < 0) | (xy > field)).any(axis=1)
    xy = xy[: int(outside.argmax()) if outside.any() else steps]
    return np.column_stack([xy, _undulation(len(xy), depth, rng)])


def _undulation(count: int, depth: float, rng: np.random.Generator) -> FloatArray:
    """A depth that drifts smoothly along a curve within the layer, nm."""
    along = np.arange(count) * _STEP_NM
    wavelength, phase = rng.uniform(4000.0, 9000.0), rng.random()
    height = rng.uniform(-1, 1) + 0.5 * np.sin(2 * math.pi * (along / wavelength + phase))
    return np.asarray(_REACH * depth * np.tanh(height))


def endoplasmic_reticulum(field: float, depth: float, rng: np.random.Generator) -> Tubes:
    """A network of slightly bent tubules that meet in threes, in an uneven sheet; `field` and `depth` in nm.

    Examples
    --------
    >>> tubes = endoplasmic_reticulum(6400.0, 1500.0, np.random.default_rng(0))
    >>> tubes.radius, len(tubes.lines) > 20
    (30.0, True)
    """
    from scipy.spatial import Voronoi

    margin = 0.3 * field
    count = max(8, round(_CELLS_PER_UM2 * ((field + 2 * margin) / 1000) ** 2))
    cells = Voronoi(rng.uniform(-margin, field + margin, (count, 2)))
    phases = rng.uniform(0, 2 * math.pi, 3)
    lines = []
    for a, b in cells.ridge_vertices:
        if a < 0 or b < 0:
            continue
        line = _bent(cells.vertices[a], cells.vertices[b], rng)
        kept = line[((line >= 0) & (line <= field)).all(axis=1)]
        if len(kept) >= 2:
            lines.append(np.column_stack([kept, _sheet(kept, depth, phases)]))
    return Tubes(tuple(lines), _ER_RADIUS_NM)


def _bent(start: FloatArray, end: FloatArray, rng: np.random.Generator) -> FloatArray:
    length = float(np.hypot(*(end - start)))
    t = np.linspace(0.0, 1.0, max(2, int(length / _STEP_NM) + 1))[:, None]
    across = np.array([start[1] - end[1], end[0] - start[0]])
    return np.asarray(start + t * (end - start) + rng.normal(0.0, _ER_BULGE) * np.sin(math.pi * t) * across)


def _sheet(xy: FloatArray, depth: float, phases: FloatArray) -> FloatArray:
    x, y = xy.T
    places = zip((x, y, x + y), _SHEET_WAVES_NM, phases, strict=True)
    waves = [np.sin(2 * math.pi * at / wave + phase) for at, wave, phase in places]
    return np.asarray(_REACH * depth * sum(waves) / len(waves))


STRUCTURES = {"microtubules": microtubules, "endoplasmic_reticulum": endoplasmic_reticulum}


def label(tubes: Tubes, count: int, rng: np.random.Generator) -> FloatArray:
    """Positions (count, 3) in nm of labels, uniform over the surfaces of the tubes.

    Examples
    --------
    >>> tube = Tubes((np.array([[0.0, 0.0, 0.0], [1000.0, 0.0, 0.0]]),), radius=12.5)
    >>> at = label(tube, 4, np.random.default_rng(0))
    >>> np.hypot(at[:, 1], at[:, 2]).round(9).tolist()
    [12.5, 12.5, 12.5, 12.5]
    """
    starts = np.concatenate([line[:-1] for line in tubes.lines])
    steps = np.concatenate([np.diff(line, axis=0) for line in tubes.lines])
    lengths = np.linalg.norm(steps, axis=1)
    piece = rng.choice(len(lengths), count, p=lengths / lengths.sum())
    along = steps[piece] / lengths[piece, None]
    # Two directions across the tube: z is never along it, since tubes lie flat.
    side = np.cross(along, (0.0, 0.0, 1.0))
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    up = np.cross(side, along)
    angle = rng.uniform(0.0, 2 * math.pi, (count, 1))
    ring = tubes.radius * (np.cos(angle) * side + np.sin(angle) * up)
    return np.asarray(starts[piece] + rng.random((count, 1)) * steps[piece] + ring)


def _lengths(line: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(np.diff(line, axis=0), axis=1))
