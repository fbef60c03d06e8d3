"""A program's Flat Metric on one data set, with what each frame and molecule adds to it: what comparisons need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizations import Localizations
from flatmetric.metrics.base import SUMMED
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.certainty import Certainty
from flatmetric.quality.findings import Finding
from flatmetric.scoring.score import Score
from flatmetric.scoring.too_good import Closeness, closeness_of
from flatmetric.statistics.intervals import check_has_truth
from flatmetric.statistics.sampling import (
    block_from_autocorrelation,
    block_places,
    block_sums,
    cell_table,
    frames_inside,
    sampling_of,
)
from flatmetric.statistics.variation import Cells, MoleculeVariation, Variation, grouped, variation_of_blocks

_SAMPLED = 64  # rows by which a copy is known: two results that share them by chance share all
_PARTS = [SUMMED.index(part) for part in ("displaced", "missed", "false")]


@dataclass(frozen=True, slots=True, eq=False)
class CellCosts:
    """What the molecules of a data set cost, nm, where they are the units: in each cell, and far from any molecule in
    each stretch; with the true molecules of each cell, counted as in `Entry.truths`.
    """

    cells: Cells
    costs: FloatArray
    truths: FloatArray
    alone: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One program on one data set: its metrics (None where undefined) and what each frame costs, nm.

    `costs` are summed over the molecules of a frame, and `truths` is the number of true molecules in it (by photons:
    their share of the photons times the number of all molecules), so that the Flat Metric is the ratio of the two sums.
    `block` is the length of an independent block in frames; `of_molecules` is None where blocks are the
    units. `findings` are what looks wrong with the file; `sample` are frame, x and y (nm) of some of its `rows`, by
    which copies of it are known, and `closeness` how near it is to the truth. `parts` are displaced, missed and false,
    nm, and `advice` what to do next, if it was asked for. It was scored in `dim` dimensions. Without `ids`,
    it is not known which molecules stay on or return.
    """

    dataset: str
    program: str
    metrics: dict[str, float | None]
    block: int
    frames: IntArray
    costs: FloatArray
    truths: FloatArray
    of_molecules: CellCosts | None = None
    findings: tuple[Finding, ...] = ()
    sample: tuple[tuple[int, float, float], ...] = ()
    rows: int = 0
    parts: tuple[float, float, float] | None = None
    advice: tuple[str, ...] = ()
    closeness: Closeness = field(default_factory=Closeness)
    dim: int = 2
    ids: bool = True


def entry_of(dataset: str, program: str, score: Score) -> Entry:
    """The parts of a score that comparisons need.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> entry_of("d", "p", fm.score(truth, truth)).metrics["jaccard"]
    100.0
    """
    check_has_truth(score)
    sampling, sums, molecules = sampling_of(score), score.sums, len(score.matched.truth_kept)
    mass = "n_truth" if score.weights == "uniform" else "mass"
    scale = 1.0 if score.weights == "uniform" else float(molecules)
    of_molecules, cells = None, sampling.molecule_cells
    if cells is not None:
        table, alone = cell_table(score, sampling)
        of_molecules = CellCosts(
            cells,
            table[:, _PARTS].sum(axis=1) * molecules,
            table[:, SUMMED.index(mass)] * scale,
            alone[:, _PARTS].sum(axis=1) * molecules,
        )
    return Entry(
        dataset,
        program,
        {name: score.get(metric.key) for name, metric in LEADERBOARD.items()},
        sampling.block,
        sums.frame,
        sums.table[:, _PARTS].sum(axis=1) * molecules,
        getattr(sums.per_frame, mass) * scale,
        of_molecules,
        tuple(score.findings),
        _sample(score.matched.pred),
        len(score.matched.pred),
        None if (flat := score.flat_metric).value is None else (flat.displaced, flat.missed, flat.false),  # type: ignore[arg-type]
        closeness=closeness_of(score),
        dim=score.dim,
        ids=sampling.ids,
    )


def _sample(table: Localizations) -> tuple[tuple[int, float, float], ...]:
    """Frame, x and y of some rows, evenly chosen in the order of frame and x."""
    order = np.lexsort((table.x, table.frame))
    some = order[np.unique(np.linspace(0, max(0, len(order) - 1), _SAMPLED).astype(np.int64))] if len(order) else order
    columns = (table.frame[some].tolist(), table.x[some].tolist(), table.y[some].tolist())
    return tuple(zip(*columns, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The Flat Metrics of several programs on one data set, nm, and how their errors vary together.

    `variation` is None where it can't be estimated. `block` is the length of an independent block in frames, `blocks`
    their number; `added` is what each block adds to each value, where blocks are the units, and `costs` what each
    molecule does, where these are.
    """

    values: FloatArray
    variation: Variation | None
    block: int
    blocks: int
    added: FloatArray | None = None
    costs: FloatArray | None = None


def vary_together(entries: Sequence[Entry], certainty: Certainty) -> Joint:
    """The Flat Metrics of programs on the same data set and how their errors vary together.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": list(range(1, 31)), "x": [0.0] * 30, "y": [0.0] * 30}
    >>> distances = {"a": 5.0, "b": 50.0}
    >>> entries = [entry_of("d", name, fm.score(truth, dict(truth, x=[d] * 30))) for name, d in distances.items()]
    >>> vary_together(entries, Certainty()).values.tolist()
    [5.0, 50.0]
    """
    frames, tables = align_frames([(e.frames, np.column_stack([e.costs, e.truths])) for e in entries])
    of_frames, truths = (np.column_stack([table[:, k] for table in tables]) for k in (0, 1))
    total = np.maximum(truths.sum(axis=0), np.finfo(float).tiny)
    values = of_frames.sum(axis=0) / total
    added = (of_frames - values * truths) / total
    with_truth = frames[truths.any(axis=1)]
    span = (int(with_truth[0]), int(with_truth[-1])) if len(with_truth) else (1, 1)
    cells = None if certainty.block is not None else _shared_cells(entries)
    if cells is not None:
        of_molecules = [entry.of_molecules for entry in entries if entry.of_molecules is not None]
        of_cells = [(own.costs - v * own.truths) / n for own, v, n in zip(of_molecules, values, total, strict=True)]
        alone = [own.alone / n for own, n in zip(of_molecules, total, strict=True)]
        variation = MoleculeVariation(cells, np.column_stack(of_cells), np.column_stack(alone))
        whole = [own.costs / n for own, n in zip(of_molecules, total, strict=True)]
        each = grouped(cells.molecule, np.column_stack(whole), int(cells.molecule.max()) + 1)
        costs = np.concatenate([each, np.column_stack(alone)])
        blocks = block_places(frames, span, entries[0].block)[1]
        return Joint(values, variation, entries[0].block, blocks, costs=costs)
    if certainty.block is not None:
        block = certainty.block
    else:
        # What programs differ by may be remembered longer than what they have in common.
        inside = frames_inside(frames, span)
        apart = (added - added.mean(axis=1, keepdims=True))[inside]
        own = block_from_autocorrelation(frames[inside], span, list(apart.T))
        block = max(*(entry.block for entry in entries), own)
    each = block_sums(frames, of_frames / total, span, block)
    return Joint(values, variation_of_blocks(block_sums(frames, added, span, block)), block, len(each), each)


def _shared_cells(entries: Sequence[Entry]) -> Cells | None:
    """The cells of all entries; None unless they all have the same."""
    costs = [entry.of_molecules for entry in entries]
    first = costs[0]
    if first is None:
        return None
    for other in costs[1:]:
        if other is None or other.cells.stretches != first.cells.stretches:
            return None
        if not np.array_equal(other.cells.molecule, first.cells.molecule):
            return None
    return first.cells


def align_frames(tables: Sequence[tuple[IntArray, FloatArray]]) -> tuple[IntArray, list[FloatArray]]:
    """Per-frame tables aligned on the union of their frames; a program without rows in a frame gets zeros there.

    Examples
    --------
    >>> align_frames([(np.array([1, 2]), np.ones((2, 1))), (np.array([2, 3]), np.ones((2, 1)))])[1][1].tolist()
    [[0.0], [1.0], [1.0]]
    """
    frames = np.unique(np.concatenate([frame for frame, _ in tables]))
    aligned = []
    for frame, table in tables:
        full = np.zeros((len(frames), table.shape[1]))
        full[np.searchsorted(frames, frame)] = table
        aligned.append(full)
    return frames, aligned
