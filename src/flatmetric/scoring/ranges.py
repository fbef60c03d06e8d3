"""A score by ranges of frames: the memory of one range, and the answer of the whole."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from flatmetric._arrays import FloatArray, IntArray, Storage, chunks
from flatmetric._dataclass import dataclass
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.localizations import Localizations, Provenance
from flatmetric.matching.matched import (
    NO_THRESHOLD,
    Matched,
    dimension,
    match_tables,
    photon_threshold,
    row_warnings,
    rows_within,
)
from flatmetric.matching.molecules import BY_POSITION
from flatmetric.metrics.base import SUMMED, FormulaSettings, Measure, Sums
from flatmetric.metrics.match_sums import MatchedRows, centre
from flatmetric.metrics.molecules import measures_of_sums, molecule_sums
from flatmetric.metrics.rmsmd import whole_set_of
from flatmetric.metrics.table import FAMILIES
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import MetricOptions, Weights
from flatmetric.scoring.base_score import BaseScore, Basis, Input
from flatmetric.scoring.frame_sums import frame_sums, split_without_mass
from flatmetric.scoring.masses import NO_PHOTONS
from flatmetric.scoring.on_disk import Parts, cut_frames
from flatmetric.scoring.score import families_and_reasons, flat_metric_of

_SHARES = ("mass", "displaced", "missed", "false", "lower_bound", "merged", "split")
"""Sums that are parts of the whole true mass; within a range they are parts of the mass of that range."""
_SIDES = ("truth", "pred")
_SAMPLED = 1 << 18  # positions from which strips are cut
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)  # spread keys evenly


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RangedScore(BaseScore):
    """Every metric of one result that was scored by ranges of frames; None where undefined. Lengths in nm.

    It has no rows: no plots, no table of frames or molecules, no advice and no intervals.
    """

    source: Basis

    @property
    def basis(self) -> Basis:
        """What it was computed from."""
        return self.source


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a task needs to know of all ranges; its rows are in files."""

    folder: Path
    truth: Parts
    pred: Parts
    names: tuple[str, str]
    options: MetricOptions
    rules: Protocol
    settings: FormulaSettings
    by_place: bool
    groups: int
    threads: int


@dataclass(frozen=True, slots=True)
class _RangeSums:
    """What a range adds: `sums` over its frames, shares of its mass as masses times nm; rows within the limits and rows
    that count, of the truth and of the result; and how the photons of its matches were centred and scaled.
    """

    sums: dict[str, float]
    mass: float
    rows: tuple[int, int]
    kept: tuple[int, int]
    photons: tuple[tuple[float, float], tuple[float, float]] | None
    molecules: Parts | None


def score_ranges(
    truth: Localizations,
    pred: Localizations,
    options: MetricOptions,
    rules: Protocol,
    folder: Path,
    *,
    rows: int,
    workers: Workers,
    progress: Progress | None = None,
) -> tuple[RangedScore, tuple[str, ...]]:
    """The score of two tables, which may lie in files, by ranges of frames with at most `rows` rows of both together;
    and what looks wrong. `folder` takes what is too large for memory; the workers must see it.

    Examples
    --------
    >>> import tempfile
    >>> truth = Localizations(frame=[1, 2, 2], x=[0.0, 50.0, 900.0], y=[0.0, 0.0, 0.0])
    >>> pred = Localizations(frame=[1, 2], x=[3.0, 50.0], y=[4.0, 0.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scored, _ = score_ranges(
    ...         truth, pred, MetricOptions(), Protocol(), Path(folder), rows=2, workers=Workers(1)
    ...     )
    >>> scored.challenge.jaccard, round(scored.flat_metric.value, 3)
    (66.66666666666667, 43.333)
    """
    truth.check_has_rows()
    storage = Storage(folder)
    name = truth.provenance.file or "truth"
    dim = dimension(truth, pred, rules)
    threshold = photon_threshold(_photons_within(truth, rules, storage), rules, name)
    settings = FormulaSettings(dim, truth.photons is not None and pred.photons is not None, options)
    asked = rules.photon_threshold is not None and threshold is None
    starts = cut_frames([truth.frame, pred.frame], rows)
    by_place = truth.id is not None and _all_differ(truth.id, storage)
    plan = _Plan(
        folder=folder,
        truth=_by_range(truth, starts, folder, "truth"),
        pred=_by_range(pred, starts, folder, "pred"),
        names=(name, pred.provenance.file or "pred"),
        options=options,
        rules=dataclasses.replace(rules, dim=dim, photon_threshold=threshold, photon_quantile=None),
        settings=settings,
        by_place=by_place,
        groups=-(-len(truth) // rows),
        threads=thread_count(None) if workers.jobs == 1 else 1,
    )
    tasks = [(plan, at) for at in range(len(starts))]
    outcomes = workers.run(_score_range, tasks, what="scoring ranges of frames", progress=progress)
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            raise InputError(f"{plan.names[1]}: a range of frames could not be scored, {outcome.reason}")
    within = [sum(one.rows[side] for one in outcomes) for side in (0, 1)]
    kept = [sum(one.kept[side] for one in outcomes) for side in (0, 1)]
    total = _added(outcomes, options.weights, settings)
    molecules, repeated = (None, False) if truth.id is None else _molecules(plan, outcomes)
    measured: dict[str, dict[str, Measure]] = {
        part: {} for part, family in FAMILIES.items() if family.is_wanted(options)
    }
    measured["rmsmd"] = _whole_set(plan, len(starts), kept, rows)
    measured["molecules"] = measures_of_sums(molecules, dim)
    inputs = [Input.of(truth), Input.of(pred)]
    if by_place and repeated:
        source = truth.provenance
        noted = dataclasses.replace(source, conversions=(*source.conversions, BY_POSITION))
        inputs[0] = dataclasses.replace(inputs[0], provenance=noted)
    first = [None if one.frames is None else one.frames[0] for one in inputs]
    warnings = row_warnings(within[0], kept[0], len(pred), within[1], kept[1], first, threshold)
    assumptions = (NO_THRESHOLD,) if asked else ()
    scored = RangedScore(
        options=options,
        dim=dim,
        protocol=rules,
        **families_and_reasons(total, measured),
        source=Basis(inputs[0], inputs[1], kept[0], kept[1], threshold, assumptions),
    )
    return scored, warnings


def _photons_within(truth: Localizations, rules: Protocol, storage: Storage) -> FloatArray | None:
    """The photons of the true rows within the limits, as a copy; of none where no quantile of them is needed."""
    if truth.photons is None:
        return None
    if rules.photon_quantile is None:
        return np.zeros(0)
    copied, done = storage.empty(len(truth), np.float64), 0
    for part in chunks(len(truth)):
        inside = rows_within(Localizations(truth.frame[part], truth.x[part], truth.y[part]), rules)
        copied[done : done + len(inside)] = truth.photons[part][inside]
        done += len(inside)
    return copied[:done]


def _all_differ(ids: IntArray, storage: Storage) -> bool:
    """Whether no id is given twice."""
    copied = storage.empty(len(ids), np.int64)
    copied[:] = ids
    copied.sort()
    return len(ids) > 1 and all(
        bool((np.diff(copied[max(part.start - 1, 0) : part.stop]) > 0).all()) for part in chunks(len(ids))
    )


def _by_range(table: Localizations, starts: IntArray, folder: Path, name: str) -> Parts:
    def part_of(rows: slice) -> IntArray:
        return np.searchsorted(starts, table.frame[rows], side="right") - 1

    return Parts.of(table.columns(), part_of, len(starts), folder, name)


def _score_range(plan: _Plan, at: int) -> _RangeSums:
    """One range: its sums, and in files what reaches beyond it, which are the points that count and their molecules."""
    truth, pred = (
        Localizations(**parts.load(at), provenance=Provenance(file=name))
        for parts, name in zip((plan.truth, plan.pred), plan.names, strict=True)
    )
    settings = plan.settings
    matched = match_tables(truth, pred, plan.rules, settings.dim, plan.threads)
    sums, mass, rows = sums_of_part(matched, settings)
    photons = None
    if rows.truth_photons is not None and rows.pred_photons is not None and len(rows.errors):
        photons = centre(rows.truth_photons), centre(rows.pred_photons)
    for name, side in zip(_SIDES, (matched.kept_truth, matched.kept_pred), strict=True):
        np.save(_points_file(plan, name, at), side.points(settings.dim))
    within, kept = (matched.truth_rows, matched.pred_rows), (matched.truth_kept, matched.pred_kept)
    return _RangeSums(
        sums,
        mass,
        (len(within[0]), len(within[1])),
        (len(kept[0]), len(kept[1])),
        photons,
        _keep_molecules(plan, at, truth, matched),
    )


def sums_of_part(matched: Matched, settings: FormulaSettings) -> tuple[dict[str, float], float, MatchedRows]:
    """What a part of the frames adds to a score, by name in `Sums`; its true mass, by which its shares of the Flat
    Metric are multiplied, so that those of several parts add up; and its matched rows.
    """
    options = settings.options
    masses = [_mass(side, options) for side in (matched.kept_truth, matched.kept_pred)]
    flat = flat_metric_of(matched, options) if masses[0] > 0 else None
    summed = frame_sums(matched, flat, settings)
    sums = {name: float(getattr(summed.total, name)) for name in SUMMED}
    sums |= {name: sums[name] * masses[0] for name in _SHARES}
    if flat is None:
        sums["false"] = sums["lower_bound"] = options.lam * masses[1]
        sums["split"] = split_without_mass(matched, options)
    return sums, masses[0], summed.rows


def whole_of_parts(sums: Mapping[str, float], mass: float, settings: FormulaSettings) -> Sums:
    """The sums of the whole from what its parts add up to, and their true mass."""
    shares = {name: sums[name] / mass if mass else 0.0 for name in _SHARES}
    return Sums.from_columns({**sums, **shares}, settings)


def _mass(side: Localizations, options: MetricOptions) -> float:
    if options.weights == "uniform" or side.photons is None:
        return float(len(side))
    return float(side.photons.sum())


def _points_file(plan: _Plan, side: str, at: int) -> Path:
    return plan.folder / f"points-{side}-{at}.npy"


def _added(outcomes: Sequence[_RangeSums], weights: Weights, settings: FormulaSettings) -> Sums:
    """The sums of the whole."""
    total = {name: math.fsum(one.sums[name] for one in outcomes) for name in SUMMED}
    mass = math.fsum(one.mass for one in outcomes)
    if weights == "photons" and mass == 0 and total["n_truth"]:
        raise InputError(NO_PHOTONS)
    return whole_of_parts(total | _recentred(outcomes), mass, settings)


def _recentred(outcomes: Sequence[_RangeSums]) -> dict[str, float]:
    """Sums of photons, which each range has centred and scaled by itself, centred and scaled by all."""
    parts = [(one.sums, one.sums["tp"], one.photons) for one in outcomes if one.photons is not None]
    if not parts:
        return {}
    pairs = sum(n for _, n, _ in parts)
    centres, scales = [0.0, 0.0], [0.0, 0.0]
    for side in (0, 1):
        centres[side] = math.fsum(n * photons[side][0] for _, n, photons in parts) / pairs
        scales[side] = max(abs(photons[side][0] - centres[side]) + photons[side][1] for *_, photons in parts)
    sums: dict[str, list[float]] = {}
    for of_range, n, photons in parts:
        # A deviation is factor * (deviation in the range) + step.
        steps, factors = [], []
        for side in (0, 1):
            scale = scales[side] or 1.0
            steps.append((photons[side][0] - centres[side]) / scale)
            factors.append(photons[side][1] / scale)
        first, second = of_range["photons_truth"], of_range["photons_pred"]
        added = {"photons_product": factors[0] * factors[1] * of_range["photons_product"] + n * steps[0] * steps[1]}
        added["photons_product"] += factors[0] * steps[1] * first + factors[1] * steps[0] * second
        for name, own, step, factor in zip(_SIDES, (first, second), steps, factors, strict=True):
            added[f"photons_{name}"] = factor * own + n * step
            squares = factor**2 * of_range[f"photons_{name}_square"]
            added[f"photons_{name}_square"] = squares + 2 * factor * step * own + n * step**2
        for name, value in added.items():
            sums.setdefault(name, []).append(value)
    return {name: math.fsum(values) for name, values in sums.items()}


def _keep_molecules(plan: _Plan, at: int, truth: Localizations, matched: Matched) -> Parts | None:
    """What a range holds on each of its molecules, in groups by their key, which other ranges share: how many of its
    rows count, are matched and are there, and the sum of its errors.
    """
    if truth.id is None:
        return None
    keys = truth.id[:, None]
    if plan.by_place:
        axes = [truth.x, truth.y, *([] if truth.z is None else [truth.z])]
        keys = np.column_stack([axis + 0.0 for axis in axes]).view(np.int64)  # -0 is 0
    group, first = _grouped(keys)
    of_match = group[matched.counted.truth]
    of_rows = group[matched.truth_kept], of_match, group
    count = [np.bincount(numbers, minlength=len(first)) for numbers in of_rows]
    errors = [np.bincount(of_match, matched.errors[:, axis], minlength=len(first)) for axis in range(3)]
    columns = {"keys": keys[first], "counts": np.column_stack(count), "errors": np.column_stack(errors)}
    spread = (columns["keys"].view(np.uint64) * _ODD[: keys.shape[1]]).sum(axis=1)
    drawn = ((spread >> np.uint64(32)) % np.uint64(plan.groups)).astype(np.int64)
    return Parts.of(columns, lambda rows: drawn[rows], plan.groups, plan.folder, f"molecules-{at}")


def _grouped(keys: IntArray) -> tuple[IntArray, IntArray]:
    """A number, from 0, for each row, the same for equal keys; and the first row of each number."""
    order = np.lexsort(keys.T)
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    group = np.empty(len(keys), dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    return group, order[new]


def _molecules(plan: _Plan, outcomes: Sequence[_RangeSums]) -> tuple[dict[str, float], bool]:
    """What all molecules add up to, one group of them at a time; and whether one has several rows."""
    sums: dict[str, list[float]] = {}
    repeated = False
    for at in range(plan.groups):
        parts = [one.molecules.load(at) for one in outcomes if one.molecules is not None]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in ("keys", "counts", "errors")}
        group, first = _grouped(columns["keys"])
        counts = [np.bincount(group, column, minlength=len(first)).astype(np.int64) for column in columns["counts"].T]
        errors = [np.bincount(group, column, minlength=len(first)) for column in columns["errors"].T]
        repeated |= bool((counts[2] > 1).any())
        for name, value in molecule_sums(counts[0], counts[1], np.column_stack(errors)).items():
            sums.setdefault(name, []).append(value)
    return {name: math.fsum(values) for name, values in sums.items()}, repeated


def _whole_set(plan: _Plan, ranges: int, kept: Sequence[int], rows: int) -> dict[str, Measure]:
    """RMSMD of all points, whatever their frames: in strips along x, each with as many others as its points need."""
    if min(kept) == 0:
        return whole_set_of((0.0, 0), (0.0, 0))
    points = [_joined(plan, side, ranges, count) for side, count in zip(_SIDES, kept, strict=True)]
    some = np.concatenate([one[:: 1 + len(one) // _SAMPLED, 0] for one in points])
    strips = -(-sum(kept) // rows)
    edges = np.unique(np.quantile(some, np.linspace(0, 1, strips + 1)[1:-1]))
    sides = []
    for name, one in zip(_SIDES, points, strict=True):

        def strip_of(part: slice, one: FloatArray = one) -> IntArray:
            return np.searchsorted(edges, one[part, 0], side="right")

        sides.append(Parts.of({"points": one}, strip_of, len(edges) + 1, plan.folder, f"strips-{name}"))
    bounds = np.concatenate([[-np.inf], edges, [np.inf]])
    squares = [_nearest_squares(sides[at], sides[1 - at], bounds) for at in (0, 1)]
    return whole_set_of((squares[0], kept[0]), (squares[1], kept[1]))


def _joined(plan: _Plan, side: str, ranges: int, count: int) -> FloatArray:
    """The points of all ranges; their own files are not needed any more."""
    joined: FloatArray = Storage(plan.folder).empty((count, plan.settings.dim), np.float64)
    done = 0
    for at in range(ranges):
        file = _points_file(plan, side, at)
        points = np.load(file)
        joined[done : done + len(points)] = points
        done += len(points)
        file.unlink()
    return joined


def _nearest_squares(own: Parts, other: Parts, bounds: FloatArray) -> float:
    """The squared distances of all points to the nearest of the other side, summed; strip k ends at bounds k, k + 1."""
    from scipy.spatial import cKDTree

    strips, threads = len(bounds) - 1, thread_count(None)
    sums = []
    for strip in range(strips):
        points = own.load(strip)["points"]
        x, best = points[:, 0], np.full(len(points), np.inf)
        for step in range(strips):
            for at in {strip - step, strip + step} & set(range(strips)):
                gap = np.maximum(np.maximum(bounds[at] - x, x - bounds[at + 1]), 0.0)
                near = np.flatnonzero(best > gap)
                if len(near) and other.rows(at):
                    tree = cKDTree(other.load(at)["points"], balanced_tree=False, compact_nodes=False)
                    best[near] = np.minimum(best[near], tree.query(points[near], workers=threads)[0])
            beyond = np.minimum(x - bounds[max(strip - step, 0)], bounds[min(strip + step + 1, strips)] - x)
            if (best <= beyond).all():
                break
        sums.append(float(np.dot(best, best)))
    return math.fsum(sums)
