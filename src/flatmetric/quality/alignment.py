"""Fine errors of position: a shift, a scale of a few percent, a rotation of a degree, a shear, a drift over time.

Displacements around their pile are fitted by shift + matrix * position + drift * time, robustly, again and again, so
that pairs which the first fit misses come in.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.quality.case import Case
from flatmetric.quality.findings import Finding, reading_options
from flatmetric.quality.geometry import scale_finding
from flatmetric.quality.pairing import SIGNIFICANT, WINDOW, cells, certainty_of

_SMALLEST_SHIFT = 12.0  # nm: programs differ by less than that in where they put a spot
_SMALLEST_EDGE = 20.0  # nm: displacement at the edge of the field by a scale or a rotation, or over all frames by drift
_SMALLEST_CORE = 0.48  # of the pairs in the inner half of the window; a quarter would be there by chance
_SMALLEST_CORE_OF_FEW, _MANY = 0.6, 100
_FEWEST = 40  # pairs in the pile
_WIDE = 4 * WINDOW  # nm: pairs that may come in
CAUTION = 1.5  # standard errors are taken this much larger: neighbours are not independent
_FEWEST_MOLECULES = 12  # twice the six parameters of a linear map
_ONE_MOLECULE = 25.0  # nm: true rows in one cell of this size are of one molecule
_ROUNDS = 25  # of reweighting at most
_MOST_REFINED = 5  # rounds of pairing again, at most; it ends where the pairs stay the same
_SHEARED = 0.5  # of the larger of scale and angle: a stretch along one axis has as much of them as of shear
_LARGEST = 0.2  # of a scale or an angle in radians: a fit that gives more has fitted noise


@dataclass(frozen=True, slots=True)
class _Fit:
    """Displacements = `constant` at the centre + `matrix` (positions - `centre`) + `drift` from first to last frame.

    `errors` are standard errors of scale, rotation (radians) and drift (nm); `half` is half the size of the field.
    """

    constant: FloatArray
    matrix: FloatArray
    drift: FloatArray
    centre: FloatArray
    half: float
    errors: tuple[float, float, float]


def scale_rotation_drift(case: Case) -> Finding | None:
    """The largest of a scale, a rotation and a drift that are significant, at the size the fit gives it; or a shear,
    which has both of the first in it.
    """
    fit = _fit(case)
    if fit is None:
        return None
    back = np.eye(2) - fit.matrix  # from positions in the result to true ones
    cos, sin = (back[0, 0] + back[1, 1]) / 2, (back[0, 1] - back[1, 0]) / 2
    factor, angle = 1 / math.hypot(cos, sin), math.atan2(sin, cos)
    drift = float(np.hypot(*fit.drift))
    # A wrong scale leaves the origin where it is, a rotation mostly the centre.
    sizes = abs(factor - 1) * 2 * fit.half, abs(angle) * fit.half, drift
    amounts = abs(factor - 1), abs(angle), drift
    sigmas = [amount / max(CAUTION * error, 1e-12) for amount, error in zip(amounts, fit.errors, strict=True)]
    clear = [k for k in range(3) if sizes[k] >= _SMALLEST_EDGE and sigmas[k] >= SIGNIFICANT]
    if amounts[0] > _LARGEST or amounts[1] > _LARGEST:
        return None
    best = max(clear, key=lambda k: sizes[k], default=None)
    skewed = None if best == 2 else _shear(fit)
    if best is None or skewed is not None:
        return skewed
    certainty = certainty_of(sigmas[best])
    if best == 0:
        return dataclasses.replace(scale_finding(case, factor), certainty=certainty)
    if best == 1:
        return Finding("rotation", _turned(fit, angle), None, None, certainty)
    frames = int(case.pred.frame.min()), int(case.pred.frame.max())
    # Drift is corrected against the first frame, or against the middle of the movie: where the fit has no displacement.
    still = -float(fit.constant @ fit.drift) / drift**2
    origin = 0.5 if still > 0.25 else 0.0
    estimate = {"x": float(fit.drift[0]), "y": float(fit.drift[1]), "frames": frames, "origin": origin}
    return Finding("drift", estimate, None, None, certainty)


def _shear(fit: _Fit) -> Finding | None:
    """Axes of different scales, or not at a right angle: a linear map that does more than turn and scale."""
    matrix = fit.matrix
    across, lean = (matrix[0, 0] - matrix[1, 1]) / 2, (matrix[0, 1] + matrix[1, 0]) / 2
    other = math.hypot((matrix[0, 0] + matrix[1, 1]) / 2, (matrix[0, 1] - matrix[1, 0]) / 2)
    amount = math.hypot(across, lean)
    sigmas = amount / max(CAUTION * max(fit.errors[:2]), 1e-12)
    if 2 * amount * fit.half < _SMALLEST_EDGE or sigmas < SIGNIFICANT:
        return None
    if amount < _SHEARED * other or max(amount, other) > _LARGEST:
        return None
    there = np.linalg.inv(np.eye(2) - matrix)  # from true positions to those in the result
    about = fit.centre
    if np.hypot(*fit.constant) > np.hypot(*(fit.constant - matrix @ fit.centre)):
        about = np.zeros(2)
    estimate = {"matrix": there.round(6).tolist(), "x": float(about[0]), "y": float(about[1])}
    return Finding("shear", estimate, None, None, certainty_of(sigmas))


def refined(case: Case, finding: Finding) -> Finding:
    """A rotation or a scale found roughly, with the angle or factor that fits best."""
    if finding.kind in ("unit", "scale"):
        return _refined_scale(case, finding)
    rest = scale_rotation_drift(case.fixed(finding))
    if finding.kind != "rotation" or rest is None or rest.kind != "rotation":
        return finding
    degrees = finding.estimate["degrees"] + rest.estimate["degrees"]
    return dataclasses.replace(finding, estimate=finding.estimate | {"degrees": degrees})


def _refined_scale(case: Case, finding: Finding) -> Finding:
    """Ratios of positions are biased where the zeros of the two files differ; the fit allows for a shift."""
    factor = finding.estimate
    for _ in range(_MOST_REFINED):
        fit = _fit(case.fixed(dataclasses.replace(finding, estimate=factor)))
        if fit is None:
            return finding
        more = 1 / (1 - (fit.matrix[0, 0] + fit.matrix[1, 1]) / 2)
        if abs(more - 1) > _LARGEST:
            return finding
        factor *= more
        if abs(more - 1) < 1e-5:
            break
    return dataclasses.replace(scale_finding(case, factor), certainty=finding.certainty)


def _turned(fit: _Fit, angle: float) -> dict[str, float]:
    """The rotation about the centre of the field or about the origin, whichever leaves the smaller shift."""
    cos, sin = math.cos(angle), math.sin(angle)
    moved = np.array([[1 - cos, -sin], [sin, 1 - cos]]) @ fit.centre  # by turning about the origin, at the centre
    about = fit.centre if np.hypot(*fit.constant) <= np.hypot(*(fit.constant - moved)) else np.zeros(2)
    return {"degrees": math.degrees(angle), "x": float(about[0]), "y": float(about[1])}


def _fit(case: Case) -> _Fit | None:
    if not case.is_convincing(case.pile) or case.pile.excess < _FEWEST:
        return None
    t, p = case.rows
    dx, dy = case.apart
    near = (dx - case.pile.x) ** 2 + (dy - case.pile.y) ** 2 <= _WIDE**2
    molecule = molecules_of(case, t[near])
    p, moved = p[near], np.column_stack((dx[near], dy[near]))
    positions = np.column_stack((case.pred.x[p], case.pred.y[p]))
    low, high = np.percentile(positions, [1, 99], axis=0)
    centre, half = (low + high) / 2, float((high - low).max()) / 2
    first, last = int(case.pred.frame.min()), int(case.pred.frame.max())
    time = (case.pred.frame[p] - first) / max(1, last - first)
    if half <= 0:
        return None
    columns = np.column_stack((np.ones(len(p)), (positions - centre) / half, time - 0.5))
    if first == last:
        columns = columns[:, :3]
    solved = np.zeros((columns.shape[1], 2))
    solved[0] = case.pile.x, case.pile.y
    for _ in range(_ROUNDS):
        weights = tukey_weights(moved - columns @ solved, WINDOW)
        square = columns.T @ (weights[:, None] * columns)
        if np.linalg.cond(square) > 1e8:
            return None
        previous, solved = solved, np.linalg.solve(square, columns.T @ (weights[:, None] * moved))
        if np.abs(solved - previous).max() < 0.01:
            break
    if len(np.unique(molecule[weights > 0])) < _FEWEST_MOLECULES or not _is_dense(moved - columns @ solved):
        return None
    inverse = np.linalg.inv(square)
    scores = columns * weights[:, None]
    errors = []
    for axis in range(2):
        # Rows of one molecule err together.
        added = summed_by(molecule, scores * (moved - columns @ solved)[:, [axis]])
        errors.append(np.sqrt(np.diag(inverse @ (added.T @ added) @ inverse)))
    error = np.array(errors)  # axis x term
    matrix = solved[1:3].T / half
    scale = math.hypot(error[0, 1], error[1, 2]) / 2 / half
    turn = math.hypot(error[0, 2], error[1, 1]) / 2 / half
    drifting = len(solved) > 3
    drift = solved[3] if drifting else np.zeros(2)
    wander = float(error[:, 3].max()) if drifting else math.inf
    start = solved[0] - drift / 2  # at the first frame, where drift begins
    return _Fit(start, matrix, drift, centre, half, (scale, turn, wander))


def _is_dense(residual: FloatArray) -> bool:
    """Whether the pairs around a fit crowd at it, rather than fill the window evenly."""
    distance = np.hypot(residual[:, 0], residual[:, 1])
    inner, window, wide = (int(np.count_nonzero(distance <= reach)) for reach in (WINDOW / 2, WINDOW, _WIDE))
    background = (wide - window) / (_WIDE**2 - WINDOW**2)  # pairs for each square nm, but for pi
    net = window - background * WINDOW**2
    return net > 0 and inner - background * WINDOW**2 / 4 >= _SMALLEST_CORE * net


def molecules_of(case: Case, rows: IntArray) -> IntArray:
    """A number for each true row, the same for rows of one molecule: rows at one place.

    Examples
    --------
    >>> from flatmetric.localizations import Localizations
    >>> t = Localizations(frame=[1, 2, 2], x=[10.0, 12.0, 900.0], y=[5.0, 5.0, 5.0])
    >>> molecules_of(Case.whole(t, t, 125, None, None), np.array([0, 1, 2])).tolist()
    [0, 0, 1]
    """
    own = cells(case.truth.x[rows], case.truth.y[rows], _ONE_MOLECULE)
    number: IntArray = np.unique(own, return_inverse=True)[1].reshape(-1)
    return number


def summed_by(group: IntArray, values: FloatArray) -> FloatArray:
    """The sums of the rows of each group.

    Examples
    --------
    >>> summed_by(np.array([0, 1, 0]), np.array([[1.0], [2.0], [3.0]])).tolist()
    [[4.0], [2.0]]
    """
    sums = np.zeros((int(group.max()) + 1 if len(group) else 0, values.shape[1]))
    np.add.at(sums, group, values)
    return sums


def tukey_weights(residual: FloatArray, radius: float) -> FloatArray:
    """Tukey's biweight of the distance from the fit, nm.

    Examples
    --------
    >>> tukey_weights(np.array([[0.0, 0.0], [3.0, 4.0]]), 5.0).tolist()
    [1.0, 0.0]
    """
    inside = 1 - (residual**2).sum(axis=1) / radius**2
    return np.where(inside > 0, inside, 0.0) ** 2


def shift(case: Case) -> Finding | None:
    """A displacement common to all detections."""
    pile = case.pile
    size = math.hypot(pile.x, pile.y)
    dense = pile.core >= (_SMALLEST_CORE if pile.excess >= _MANY else _SMALLEST_CORE_OF_FEW)
    if not case.is_convincing(pile) or size < _SMALLEST_SHIFT or not dense:
        return None
    dx, dy = case.apart
    near = (dx - pile.x) ** 2 + (dy - pile.y) ** 2 <= WINDOW**2
    molecule = molecules_of(case, case.rows[0][near])
    apart = summed_by(molecule, np.column_stack((dx[near] - pile.x, dy[near] - pile.y)))
    spread = math.sqrt(float((apart**2).sum())) / max(pile.excess, 1.0)  # rows of one molecule err together
    if size < 5 * spread or len(apart) < _FEWEST_MOLECULES:
        return None
    depth = _depth(case, near)
    estimate = {"x": pile.x, "y": pile.y, "z": depth, "half_pixel": _is_half_pixel(case, spread)}
    options = reading_options("shift", estimate, case.pred.provenance)
    return Finding("shift", estimate, None, None, pile.certainty, options)


def _depth(case: Case, near: BoolArray) -> float:
    """The axial shift that comes with a lateral one: the median over the pairs in the pile, or 0 if not significant."""
    if not has_depths(case):
        return 0.0
    t, p = case.rows
    assert case.truth.z is not None and case.pred.z is not None
    dz = case.pred.z[p[near]] - case.truth.z[t[near]]
    middle = float(np.median(dz))
    spread = 1.4826 * float(np.median(np.abs(dz - middle)))
    error = 1.25 * spread / math.sqrt(max(1, len(dz)))
    return middle if abs(middle) > max(_SMALLEST_SHIFT, 5 * error) else 0.0


def _is_half_pixel(case: Case, spread: float) -> bool:
    pile, near = case.pile, 3 * spread + 3.0
    if abs(abs(pile.x) - abs(pile.y)) > near:
        return False
    size = case.pred.provenance.pixel_size or case.truth.provenance.pixel_size
    if size is not None:
        return abs(abs(pile.x) - size[0] / 2) <= near
    return 35 <= abs(pile.x) <= 90  # half a pixel, for pixels of 70 to 180 nm


def z_sign(case: Case) -> Finding | None:
    """Depths that agree better with their sign changed."""
    if case.dim != 3 or not has_depths(case):
        return None
    assert case.truth.z is not None and case.pred.z is not None
    t, p = case.rows
    dx, dy = case.apart
    near = dx**2 + dy**2 <= (WINDOW / 2) ** 2
    true, measured = case.truth.z[t[near]], case.pred.z[p[near]]
    if len(true) < 20:
        return None
    better = np.abs(measured + true) < np.abs(measured - true)
    sigmas = (float(better.mean()) - 0.5) * 2 * math.sqrt(len(better))
    if sigmas < SIGNIFICANT or better.mean() < 0.6:
        return None
    return Finding("z_sign", True, None, None, certainty_of(sigmas))


def has_depths(case: Case) -> bool:
    """Whether both tables have depths that are not all 0."""
    return all(table.z is not None and bool(table.z.any()) for table in (case.truth, case.pred))
