"""`check_tables`: detect, measure and fix a shift, wrong frames, swapped or mirrored axes, or a wrong unit.

Take the displacements between all points of the same frames. Detections of the molecules, however shifted as a whole,
pile up at one displacement; unrelated points spread evenly. Each hypothesis changes the result in one way before
displacements are taken; the one with the highest pile wins if it clearly beats the file as it is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.transport.flat_metric import flat_metric

Kind = Literal["shift", "frame_offset", "swapped_axes", "flipped_axis", "scale", "z_sign", "duplicates", "truncated"]
REACH = 1000.0  # nm: the largest shift that is detected
LARGEST_OFFSET = 10  # frames
MOST_PAIRS = 1_000_000
WINDOW_ROWS = 5000
_ROWS_FOR_MEDIAN = 50_000
WINDOW_PAIRS = 50_000
_BIN = 25.0  # nm
_WINDOW = 150.0  # nm around a pile
_SIGNIFICANT = 6.0  # standard deviations of the background
_CLEARLY = 1.5  # times the pile of the file as it is
_SLIGHTLY = 1.1  # the same for frames: molecules that stay on pile up in the neighbouring frames too
_BEYOND_CHANCE = 4.0  # standard deviations between two piles of mostly the same molecules
_SMALLEST_SHIFT = 12.0  # nm: programs differ by less than that in where they put a spot
_SMALLEST_GAIN = 0.01  # of the Flat Metric
_RARE = 1e-6
_DUPLICATES = 0.005  # of the rows
_SCALE_BIN = 0.004  # of the logarithm
_SCALES = 9.5  # largest logarithm: a factor of 13 000


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem with a result, and its size as `estimate`; lengths in nm.

    `certainty` is 0 to 1; `fix` is the argument of `read` or the step that fixes it. `flat_metric_before` and `after`
    are the Flat Metric without and with that fix, over the frames that the result covers, after the fixes of earlier
    findings.
    """

    kind: Kind
    estimate: Any
    flat_metric_before: float
    flat_metric_after: float
    certainty: float
    fix: str


@dataclass(frozen=True, slots=True)
class _Effort:
    """The lam (nm) of the Flat Metric that fixes are judged by, and limits on the work."""

    lam: float
    most_pairs: int
    threads: int | None

    def flat_metric(self, truth: Localizations, pred: Localizations, dim: int = 2) -> float:
        points = truth.points(dim, self.threads), pred.points(dim, self.threads)
        frames = truth.frame, pred.frame
        return flat_metric(
            *points, lam=self.lam, truth_frames=frames[0], pred_frames=frames[1], threads=self.threads
        ).value


@dataclass(frozen=True, slots=True)
class _Pile:
    """Where displacements pile up: the position, the number of pairs above background, and its significance."""

    x: float
    y: float
    excess: float
    sigmas: float


def check_tables(
    truth: Localizations,
    pred: Localizations,
    *,
    lam: float = 125.0,
    most_pairs: int = MOST_PAIRS,
    threads: int | None = None,
) -> list[Finding]:
    """Systematic errors in a result, most important first; empty if there are none.

    `most_pairs` bounds the work: frames are left out evenly.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = Localizations(frame=np.arange(1, 301), x=rng.uniform(0, 6400, 300), y=rng.uniform(0, 6400, 300))
    >>> check_tables(truth, truth)
    []
    >>> check_tables(truth, dataclasses.replace(truth, frame=truth.frame - 1))[0].fix
    'frame_base=0'
    """
    if len(truth) == 0:
        raise InputError(f"{truth.provenance.file or 'truth'}: the truth has no row; give the true molecules")
    if len(pred) == 0:
        return []
    findings: list[Finding] = []
    # Frames that the result does not cover would hide the gain of a fix.
    shared = truth.select(
        (truth.frame >= pred.frame.min() - LARGEST_OFFSET) & (truth.frame <= pred.frame.max() + LARGEST_OFFSET)
    )
    if len(shared) == 0:
        return []
    current, effort = pred, _Effort(lam, most_pairs, threads)
    for make in (_geometry, _shift, _z_sign, _duplicates):
        finding = make(shared, current, effort)
        if finding is not None:
            current = apply_fix(current, finding)
            findings.append(finding)
    truncated = _truncated(truth, current, effort)
    return findings if truncated is None else [*findings, truncated]


def apply_fix(pred: Localizations, finding: Finding) -> Localizations:
    """The result with one finding fixed.

    Examples
    --------
    >>> t = Localizations(frame=[2], x=[10.0], y=[0.0])
    >>> apply_fix(t, Finding("frame_offset", 1, 0, 0, 1, "")).frame
    array([1])
    """
    estimate = finding.estimate
    if finding.kind == "shift":
        moved = {axis: getattr(pred, axis) - estimate[axis] for axis in "xy"}
        if pred.z is not None:
            moved["z"] = pred.z - estimate["z"]
        return dataclasses.replace(pred, **moved)
    if finding.kind == "frame_offset":
        return dataclasses.replace(pred, frame=pred.frame - estimate)
    if finding.kind == "swapped_axes":
        return dataclasses.replace(pred, x=pred.y, y=pred.x)
    if finding.kind == "flipped_axis":
        axis = estimate["axis"]
        return dataclasses.replace(pred, **{axis: estimate["size"] - getattr(pred, axis)})
    if finding.kind == "scale":
        return dataclasses.replace(pred, x=pred.x / estimate, y=pred.y / estimate)
    if finding.kind == "z_sign":
        assert pred.z is not None
        return dataclasses.replace(pred, z=-pred.z)
    if finding.kind == "duplicates":
        return pred.select(~_repeats(pred))
    return pred


def check_window(
    truth: Localizations, pred: Localizations, *, lam: float = 125.0, threads: int | None = None
) -> list[Finding]:
    """`check_tables` on a few thousand rows in the middle of the result: quick, for a warning beside a score.

    Examples
    --------
    >>> t = Localizations(frame=[1], x=[10.0], y=[0.0])
    >>> check_window(t, t)
    []
    """
    if len(pred) > WINDOW_ROWS:
        # About WINDOW_ROWS rows around the median frame, which is estimated from a sample.
        share = WINDOW_ROWS / len(pred)
        some = pred.frame[:: max(1, len(pred) // _ROWS_FOR_MEDIAN)]
        low, high = np.quantile(some, [0.5 - share / 2, 0.5 + share / 2])
        first, last = math.floor(low), math.ceil(high)
        pred = pred.select((pred.frame >= first) & (pred.frame <= last))
        near = (truth.frame >= first - LARGEST_OFFSET) & (truth.frame <= last + LARGEST_OFFSET)
        truth = truth.select(near)
    if len(truth) == 0:
        return []
    return [
        finding
        for finding in check_tables(truth, pred, lam=lam, most_pairs=WINDOW_PAIRS, threads=threads)
        if finding.kind != "truncated"
    ]


@dataclass(frozen=True, slots=True)
class _ByFrame:
    """The rows of a table in the order of their frames."""

    rows: IntArray
    frames: IntArray


def _by_frame(table: Localizations) -> _ByFrame:
    rows = np.argsort(table.frame, kind="stable")
    return _ByFrame(rows, table.frame[rows])


def _pairs(truth: _ByFrame, pred: _ByFrame, most: int, offset: int = 0) -> tuple[IntArray, IntArray]:
    """Rows of all pairs of the same frame (the result's frames less `offset`), or of evenly chosen frames."""
    frames_t, frames_p = truth.frames, pred.frames - offset
    frames = np.intersect1d(frames_t, frames_p)
    begin_t, end_t = np.searchsorted(frames_t, frames), np.searchsorted(frames_t, frames, side="right")
    begin_p, end_p = np.searchsorted(frames_p, frames), np.searchsorted(frames_p, frames, side="right")
    n, m = end_t - begin_t, end_p - begin_p
    total = int((n * m).sum())
    if total > most:
        kept = np.unique(np.linspace(0, len(frames) - 1, max(1, int(len(frames) * most / total))).astype(np.int64))
        begin_t, begin_p, n, m = begin_t[kept], begin_p[kept], n[kept], m[kept]
    counts = n * m
    frame = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(frame)) - np.repeat(np.cumsum(counts) - counts, counts)
    return truth.rows[begin_t[frame] + within // m[frame]], pred.rows[begin_p[frame] + within % m[frame]]


def _pile(dx: FloatArray, dy: FloatArray, low_x: float, high_x: float) -> _Pile:
    """The highest pile of displacements with `low_x` <= dx <= `high_x` and |dy| <= REACH."""
    inside = (dx >= low_x) & (dx <= high_x) & (np.abs(dy) <= REACH)
    dx, dy = dx[inside], dy[inside]
    if len(dx) == 0:
        return _Pile(0.0, 0.0, 0.0, 0.0)
    shape = (max(1, math.ceil((high_x - low_x) / _BIN)), math.ceil(2 * REACH / _BIN))
    cells = np.minimum(((dx - low_x) / _BIN).astype(np.int64), shape[0] - 1) * shape[1]
    cells += np.minimum(((dy + REACH) / _BIN).astype(np.int64), shape[1] - 1)
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    # In blocks of 2 x 2 bins, so that a pile on a bin edge is not cut in half.
    blocks = counts[:-1, :-1] + counts[1:, :-1] + counts[:-1, 1:] + counts[1:, 1:] if min(shape) > 1 else counts
    i, j = np.unravel_index(int(np.argmax(blocks)), blocks.shape)
    x, y = low_x + (int(i) + 1) * _BIN, -REACH + (int(j) + 1) * _BIN
    for _ in range(50):
        near = (dx - x) ** 2 + (dy - y) ** 2 <= _WINDOW**2
        if not near.any():
            break
        moved = float(dx[near].mean()), float(dy[near].mean())
        done = math.hypot(moved[0] - x, moved[1] - y) < 1e-6
        x, y = moved
        if done:
            break
    count = int(np.count_nonzero((dx - x) ** 2 + (dy - y) ** 2 <= _WINDOW**2))
    area = (high_x - low_x) * 2 * REACH
    window = math.pi * _WINDOW**2
    background = (len(dx) - count) / max(area - window, window) * window
    excess = count - background
    return _Pile(x, y, excess, excess / math.sqrt(background + 1))


def _certainty(sigmas: float) -> float:
    return 1 - math.erfc(min(sigmas, 8.0) / math.sqrt(2))


def _displacements(
    truth: Localizations, pred: Localizations, rows: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    return pred.x[rows[1]] - truth.x[rows[0]], pred.y[rows[1]] - truth.y[rows[0]]


def _geometry(truth: Localizations, pred: Localizations, effort: _Effort) -> Finding | None:
    """The one change of frames, axes or scale that makes detections pile up where they did not before."""
    rows = _pairs(_by_frame(truth), _by_frame(pred), effort.most_pairs)
    as_is = _pile(*_displacements(truth, pred, rows), -REACH, REACH)
    highest = min(len(np.unique(rows[0])), len(np.unique(rows[1])))
    if _SLIGHTLY * as_is.excess > highest:
        return None  # no pile can be that much higher
    hypotheses = _hypotheses(truth, pred, rows, effort.most_pairs)
    if _CLEARLY * as_is.excess > highest:
        hypotheses = _offsets(truth, pred, effort.most_pairs, (-1, 1))
    best: tuple[float, _Pile, Finding] | None = None
    for finding, pile in hypotheses:
        wins = pile.sigmas >= _SIGNIFICANT and pile.excess > _needed(finding, max(as_is.excess, 0.0))
        if wins and (best is None or pile.excess > best[0]):
            best = pile.excess, pile, finding
    if best is None:
        return None
    changed = apply_fix(pred, best[2])
    after, before = effort.flat_metric(truth, changed), effort.flat_metric(truth, pred)
    finding = dataclasses.replace(
        best[2], flat_metric_before=before, flat_metric_after=after, certainty=_certainty(best[1].sigmas)
    )
    # A shift that remains may still hide the gain; the pile is proof enough then.
    shifted = math.hypot(best[1].x, best[1].y) > _SMALLEST_SHIFT
    return finding if shifted or after < before * (1 - _SMALLEST_GAIN) else None


def _needed(finding: Finding, as_is: float) -> float:
    """The excess a pile needs for its hypothesis to win over the file as it is."""
    if finding.kind == "frame_offset":
        return _SLIGHTLY * as_is + _BEYOND_CHANCE * math.sqrt(as_is + 1)
    return _CLEARLY * as_is + 5


def _offsets(
    truth: Localizations, pred: Localizations, most: int, offsets: Iterable[int]
) -> Iterator[tuple[Finding, _Pile]]:
    sides = _by_frame(truth), _by_frame(pred)
    for offset in offsets:
        moved = _pairs(*sides, most, offset)
        pile = _pile(*_displacements(truth, pred, moved), -REACH, REACH)
        yield Finding("frame_offset", offset, 0, 0, 0, f"frame_base={1 + offset}"), pile


def _hypotheses(
    truth: Localizations, pred: Localizations, rows: tuple[IntArray, IntArray], most: int
) -> Iterator[tuple[Finding, _Pile]]:
    offsets = (offset for offset in range(-LARGEST_OFFSET, LARGEST_OFFSET + 1) if offset)
    yield from _offsets(truth, pred, most, offsets)
    t, p = rows
    yield (
        Finding("swapped_axes", True, 0, 0, 0, "swap_xy=True"),
        _pile(pred.y[p] - truth.x[t], pred.x[p] - truth.y[t], -REACH, REACH),
    )
    for axis, other in (("x", "y"), ("y", "x")):
        if len(p) == 0:
            break
        across = getattr(pred, axis)[p] + getattr(truth, axis)[t]
        along = getattr(pred, other)[p] - getattr(truth, other)[t]
        low, high = float(across.min()), float(across.max())
        pile = _pile(across, along, low, max(high, low + 2 * REACH))
        size = round(pile.x, 3)
        step = f"write the file with {axis} = {size:g} - {axis}, or use apply_fix()"
        yield (
            Finding("flipped_axis", {"axis": axis, "size": size}, 0, 0, 0, step),
            _Pile(0, pile.y, pile.excess, pile.sigmas),
        )
    scaled = _scale(truth, pred, rows)
    if scaled is not None:
        yield scaled


def _scale(truth: Localizations, pred: Localizations, rows: tuple[IntArray, IntArray]) -> tuple[Finding, _Pile] | None:
    """A factor common to x and y: logarithms of the ratios pile up on the diagonal."""
    t, p = rows
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
    if abs(factor - 1) < 0.005:
        return None
    # Judged like the others, by displacements, once the scale is taken out.
    changed = dataclasses.replace(pred, x=pred.x / factor, y=pred.y / factor)
    pile = _pile(*_displacements(truth, changed, rows), -REACH, REACH)
    return Finding("scale", factor, 0, 0, 0, _scale_fix(factor)), pile


def _scale_fix(factor: float) -> str:
    for unit, size in (("um", 1e-3), ("m", 1e-9)):
        if abs(factor / size - 1) < 0.01:
            return f"unit={unit!r}"
    return f"unit='px', pixel_size={1 / factor:.6g}"


def _shift(truth: Localizations, pred: Localizations, effort: _Effort) -> Finding | None:
    """A displacement common to all detections."""
    rows = _pairs(_by_frame(truth), _by_frame(pred), effort.most_pairs)
    dx, dy = _displacements(truth, pred, rows)
    pile = _pile(dx, dy, -REACH, REACH)
    if pile.sigmas < _SIGNIFICANT or math.hypot(pile.x, pile.y) < _SMALLEST_SHIFT:
        return None
    near = (dx - pile.x) ** 2 + (dy - pile.y) ** 2 <= _WINDOW**2
    spread = math.sqrt((float(dx[near].var()) + float(dy[near].var())) / max(pile.excess, 1.0))
    if math.hypot(pile.x, pile.y) < 5 * spread:
        return None
    depth = _depth_shift(truth, pred, rows, near)
    estimate = {"x": pile.x, "y": pile.y, "z": depth, "half_pixel": _is_half_pixel(pile, spread, truth, pred)}
    moved = apply_fix(pred, Finding("shift", estimate, 0, 0, 0, ""))
    before, after = effort.flat_metric(truth, pred), effort.flat_metric(truth, moved)
    if after > before * (1 - _SMALLEST_GAIN):
        return None
    fix = f"shift=({-pile.x:.2f},{-pile.y:.2f}" + (f",{-depth:.2f})" if depth else ")")
    if estimate["half_pixel"]:
        fix += " (half a pixel: check origin=)"
    return Finding("shift", estimate, before, after, _certainty(pile.sigmas), fix)


def _depth_shift(truth: Localizations, pred: Localizations, rows: tuple[IntArray, IntArray], near: Any) -> float:
    """The axial shift that comes with a lateral one: the median over the pairs in the pile, or 0 if not significant."""
    if truth.z is None or pred.z is None or not truth.z.any() or not pred.z.any():
        return 0.0
    dz = pred.z[rows[1][near]] - truth.z[rows[0][near]]
    middle = float(np.median(dz))
    spread = 1.4826 * float(np.median(np.abs(dz - middle)))
    error = 1.25 * spread / math.sqrt(max(1, len(dz)))
    return middle if abs(middle) > max(_SMALLEST_SHIFT, 5 * error) else 0.0


def _is_half_pixel(pile: _Pile, spread: float, truth: Localizations, pred: Localizations) -> bool:
    near = 3 * spread + 3.0
    if abs(abs(pile.x) - abs(pile.y)) > near:
        return False
    size = pred.provenance.pixel_size or truth.provenance.pixel_size
    if size is not None:
        return abs(abs(pile.x) - size[0] / 2) <= near
    return 35 <= abs(pile.x) <= 90  # half a pixel, for pixels of 70 to 180 nm


def _z_sign(truth: Localizations, pred: Localizations, effort: _Effort) -> Finding | None:
    """Depths that agree better with their sign changed."""
    if truth.z is None or pred.z is None or not truth.z.any() or not pred.z.any():
        return None
    rows = _pairs(_by_frame(truth), _by_frame(pred), effort.most_pairs)
    dx, dy = _displacements(truth, pred, rows)
    near = dx**2 + dy**2 <= (_WINDOW / 2) ** 2
    true, found = truth.z[rows[0][near]], pred.z[rows[1][near]]
    if len(true) < 20:
        return None
    better = np.abs(found + true) < np.abs(found - true)
    sigmas = (float(better.mean()) - 0.5) * 2 * math.sqrt(len(better))
    if sigmas < _SIGNIFICANT or better.mean() < 0.6:
        return None
    before = effort.flat_metric(truth, pred, dim=3)
    after = effort.flat_metric(truth, dataclasses.replace(pred, z=-pred.z), dim=3)
    return Finding("z_sign", True, before, after, _certainty(sigmas), "write the file with z = -z, or use apply_fix()")


def _repeats(pred: Localizations) -> Any:
    """Which rows repeat an earlier one."""
    columns = [column for column in (pred.frame, pred.x, pred.y, pred.z) if column is not None]
    order = np.lexsort(columns)  # stable: the first of equal rows is kept
    alike = np.ones(max(0, len(pred) - 1), dtype=bool)
    for column in columns:
        alike &= column[order[1:]] == column[order[:-1]]
    repeats = np.zeros(len(pred), dtype=bool)
    repeats[order[1:][alike]] = True
    return repeats


def _duplicates(truth: Localizations, pred: Localizations, effort: _Effort) -> Finding | None:
    """Rows that repeat another to the last digit."""
    count = int(_repeats(pred).sum())
    if count < max(3, _DUPLICATES * len(pred)):
        return None
    finding = Finding("duplicates", count, 0, 0, 1.0, "drop the repeated rows, or use apply_fix()")
    before, after = effort.flat_metric(truth, pred), effort.flat_metric(truth, apply_fix(pred, finding))
    return dataclasses.replace(finding, flat_metric_before=before, flat_metric_after=after)


def _truncated(truth: Localizations, pred: Localizations, effort: _Effort) -> Finding | None:
    """A result that ends long before the truth does."""
    last = int(pred.frame.max())
    covered = truth.frame <= last
    missing = int(np.count_nonzero(~covered))
    if missing == 0 or not covered.any():
        return None
    rate = min(0.99, len(pred) / max(1, int(covered.sum())))
    chance = (1 - rate) ** missing if rate > 0 else 1.0
    if chance > _RARE:
        return None
    estimate = {"last_frame": last, "truth_last_frame": int(truth.frame.max())}
    before, after = effort.flat_metric(truth, pred), effort.flat_metric(truth.select(covered), pred)
    return Finding(
        "truncated", estimate, before, after, 1 - chance, f"last_frame={last}, or run the program to the end"
    )
