"""What is imaged: thin curved tubes in a shallow volume, and labels on their surfaces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass

_STEP_NM = 20.0  # between points of a curve: less than the radius of a bend
_MICROTUBULE_RADIUS_NM = 12.5  # half the known diameter of 25 nm
# Microtubules as in the challenge's training sets: three in a field of 6.4 um, in parts side by side, so that a label
# has 4 % of the others within 300 nm.
_TUBES_PER_UM = 0.47
CROWDED_NM = 300.0  # neighbours nearer than this have overlapping spots
_CROWDED_SHARE, _CROWDED_FIELD_NM = 0.0425, 6400.0
_DRAWS = 200  # structures tried until one is as crowded as the challenge's
_ALIKE = 0.03  # relative difference in crowding that ends the draws
_PULL, _PULL_NM = 0.9, 900.0  # how far a tube is drawn to another, and from how far
_SMOOTH_NM = 150.0  # width of the smoothing of curves: microtubules are stiff
_BENDS = 4  # waves of a tube's direction
_BEND = 0.35  # radians, each
_BEND_WAVES_NM = (1500.0, 7000.0)  # shortest and longest wave of a bend: curves gentle over a field of 6.4 um
_CELLS_PER_UM2 = 0.55  # meshes of the network: about 1.3 um wide, as light microscopes show them
_ER_RADIUS_NM = 30.0  # of a tubule; literature gives diameters of 50 to 100 nm
_ER_BULGE = 0.12  # sideways bend of a tubule against its length
_SHEET_WAVES_NM = (5000.0, 5500.0, 3000.0)  # along x, y and both: the sheet of the network rises and falls
_DEPTH_NM = 1300.0  # thickness of the layer of the data sets
_DEGREE = 5  # of the change
_DEEP_NM, _DEEP_SHARE = 500.0, 0.081
_DEEP_MATTERS = 0.5  # as much as crowding
_LAID = 4  # times, since a line is longer where it is steep
# Below these depths lie these parts of the labels of the challenge's training set, in a layer of that thickness.
_PARTS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
_HEIGHTS_NM = tuple(
    map(float, (-656, -628, -549, -438, -307, -159, -117, -39, 46, 111, 131, 167, 249, 333, 469, 557, 623))
)


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
    """Smooth curves through a square `field` (nm) and a layer about `depth` (nm) thick around z = 0; tubes of 25 nm.

    They are drawn until they are as crowded as those of the challenge, and as much of them as deep.

    Examples
    --------
    >>> tubes = microtubules(6400.0, 1300.0, np.random.default_rng(0))
    >>> tubes.radius, len(tubes.lines)
    (12.5, 3)
    """
    wanted = _CROWDED_SHARE * (_CROWDED_FIELD_NM / field) ** 2
    best: tuple[FloatArray, ...] = ()
    least = math.inf
    for _ in range(_DRAWS):
        lines = _draw_tubes(field, rng)
        off = abs(math.log(_crowding(lines) / wanted))
        if off >= least:
            continue
        laid = _in_layer(lines, depth)
        off = max(off, _DEEP_MATTERS * abs(_deep(laid, depth) / _DEEP_SHARE - 1))
        if off < least:
            best, least = laid, off
        if least < _ALIKE:
            break
    return Tubes(best, _MICROTUBULE_RADIUS_NM)


def _draw_tubes(field: float, rng: np.random.Generator) -> list[FloatArray]:
    count = max(2, round(_TUBES_PER_UM * field / 1000))
    lines: list[FloatArray] = []
    while len(lines) < count:
        line = _wandering(field, rng)
        off_centre = ((line[:, :2] - field / 2) ** 2).sum(axis=1).min()
        # Not one that only cuts a corner.
        if off_centre < (0.25 * field) ** 2 and _lengths(line).sum() > 0.8 * field:
            lines.append(_drawn_to(lines, line))
    return lines


def _drawn_to(lines: list[FloatArray], line: FloatArray) -> FloatArray:
    """A line that runs closer to others where it comes near them."""
    from scipy.ndimage import gaussian_filter1d
    from scipy.spatial import cKDTree

    if not lines:
        return line
    others = np.concatenate(lines)[:, :2]
    away, nearest = cKDTree(others).query(line[:, :2])
    pull = _PULL * np.exp(-((away / _PULL_NM) ** 2))
    xy = line[:, :2] + pull[:, None] * (others[nearest] - line[:, :2])
    return np.column_stack([gaussian_filter1d(xy, _SMOOTH_NM / _STEP_NM, axis=0, mode="nearest"), line[:, 2]])


def _deep(lines: Sequence[FloatArray], depth: float) -> float:
    """The part of the lines beyond 500 nm, of a layer of 1300 nm."""
    length = np.concatenate([_lengths(line) for line in lines])
    z = np.concatenate([(line[1:, 2] + line[:-1, 2]) / 2 for line in lines])
    return float(length[np.abs(z) > _DEEP_NM * depth / _DEPTH_NM].sum() / length.sum()) if depth else _DEEP_SHARE


def _crowding(lines: Sequence[FloatArray]) -> float:
    """The part of all labels that is close to a label, seen from above."""
    from scipy.spatial import cKDTree

    tree = cKDTree(np.concatenate([line[::4, :2] for line in lines]))
    return float((tree.count_neighbors(tree, CROWDED_NM) - tree.n) / tree.n**2)


def _in_layer(lines: list[FloatArray], depth: float) -> tuple[FloatArray, ...]:
    """Lines whose depths are spread along their length as in the challenge, as nearly as a smooth change can do it."""
    middle = np.concatenate([(line[1:, 2] + line[:-1, 2]) / 2 for line in lines])
    order = np.argsort(middle)
    laid = tuple(lines)
    for _ in range(_LAID):
        length = np.concatenate([_lengths(line) for line in laid])[order]
        parts = (np.cumsum(length) - length / 2) / length.sum()
        heights = np.interp(parts, _PARTS, _HEIGHTS_NM)
        height = np.polynomial.Polynomial.fit(middle[order], heights, _DEGREE, w=np.sqrt(length))
        laid = tuple(np.column_stack([line[:, :2], height(line[:, 2])]) for line in lines)
    return tuple(line * (1.0, 1.0, depth / _DEPTH_NM) for line in laid)


def _wandering(field: float, rng: np.random.Generator) -> FloatArray:
    """A curve from one edge of the field until it leaves it, rising or falling."""
    along = np.arange(int(3 * field / _STEP_NM), dtype=np.float64) * _STEP_NM
    bends = _Waves.drawn(_BENDS, _BEND_WAVES_NM, rng)
    heading = rng.uniform(-math.pi / 4, math.pi / 4)
    start, turns = rng.uniform(0.1, 0.9) * field, int(rng.integers(4))
    for part in (along[: len(along) // 2], along):  # most leave the field early
        waves = bends.at(part)
        bent = heading + _BEND * (waves - waves[0])
        x, y = np.cos(bent).cumsum() * _STEP_NM, np.sin(bent).cumsum() * _STEP_NM + start
        for _ in range(turns):  # from any of the four edges
            x, y = field - y, x
        outside = (x < 0) | (x > field) | (y < 0) | (y > field)
        if outside.any():
            break
    count = int(outside.argmax()) if outside.any() else len(x)
    rise = rng.choice((-1.0, 1.0)) * rng.uniform(0.3, 1.0)
    along = along[:count]
    middle = along[count // 2]
    height = rise * (along - middle) / field + 0.1 * _Waves.drawn(2, (3000.0, 9000.0), rng).at(along)
    return np.column_stack([x[:count], y[:count], height])


@dataclass(frozen=True, slots=True)
class _Waves:
    """Sine waves: their lengths (nm) and phases (turns)."""

    lengths: FloatArray
    phases: FloatArray

    @classmethod
    def drawn(cls, count: int, lengths: tuple[float, float], rng: np.random.Generator) -> _Waves:
        """Waves of random length and phase."""
        return cls(rng.uniform(*lengths, count), rng.random(count))

    def at(self, along: FloatArray) -> FloatArray:
        """Their sum at places along a curve."""
        waves = zip(self.lengths, self.phases, strict=True)
        return np.asarray(sum(np.sin(2 * math.pi * (along / length + phase)) for length, phase in waves))


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
            lines.append(np.column_stack([kept, _sheet(kept, phases)]))
    return Tubes(_in_layer(lines, depth), _ER_RADIUS_NM)


def _bent(start: FloatArray, end: FloatArray, rng: np.random.Generator) -> FloatArray:
    length = float(np.hypot(*(end - start)))
    t = np.linspace(0.0, 1.0, max(2, int(length / _STEP_NM) + 1))[:, None]
    across = np.array([start[1] - end[1], end[0] - start[0]])
    return np.asarray(start + t * (end - start) + rng.normal(0.0, _ER_BULGE) * np.sin(math.pi * t) * across)


def _sheet(xy: FloatArray, phases: FloatArray) -> FloatArray:
    x, y = xy.T
    places = zip((x, y, x + y), _SHEET_WAVES_NM, phases, strict=True)
    waves = [np.sin(2 * math.pi * at / wave + phase) for at, wave, phase in places]
    return np.asarray(sum(waves))


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
