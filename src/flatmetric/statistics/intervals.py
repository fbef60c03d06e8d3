"""Confidence intervals of a score: what each block of frames, or each molecule, adds to a metric, and how it varies."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.metrics.base import NO_TRUTH, SUMMED, Sums, evaluate_many
from flatmetric.metrics.table import METRICS
from flatmetric.options.certainty import Certainty
from flatmetric.scoring.intervals import Intervals
from flatmetric.scoring.score import Score
from flatmetric.statistics.sampling import FRAME_ONLY, Sampling, block_sums, cell_table, sampling_of
from flatmetric.statistics.variation import FEWEST_BLOCKS, MoleculeVariation, variation_of_blocks

_MANY_BLOCKS = 30  # with fewer, Student's t is wide and a remark is added
_ROUNDING = 1e-8  # relative, of the slopes
NO_IDS = (
    "the truth has no ids of molecules, so that intervals may be too narrow where these stay on or return; "
    "give a truth with a column id"
)
"""The remark where molecules are not known."""
_OR_BLOCKS = ", or block= of several times as many frames as they are there"
_STEP = 1e-5  # relative, of the sums: slopes of formulas are central differences


def intervals_of(score: Score, certainty: Certainty | None = None) -> Intervals:
    """Intervals of every metric that is a sum over frames.

    Nothing is drawn at random: the standard error comes from what independent blocks or molecules add to a metric,
    and Student's t from how many of them carry it.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2, 3], "x": [0.0, 0.0, 0.0], "y": [0.0, 0.0, 0.0]}
    >>> intervals_of(fm.score(truth, truth)).intervals["challenge.jaccard"]
    (100.0, 100.0)
    """
    settings = certainty or Certainty()
    check_has_truth(score)
    sampling = sampling_of(score, settings.block)
    values, slopes = metric_slopes(score)
    blocks = variation_of_blocks(
        block_sums(sampling.frames, score.sums.table, sampling.span, sampling.block) @ slopes.T
    )
    molecules, cells = None, sampling.molecule_cells
    if cells is not None:
        of_cells, alone = cell_table(score, sampling)
        molecules = MoleculeVariation(cells, of_cells @ slopes.T, alone @ slopes.T)
    of_frames = np.abs(slopes[:, [name in FRAME_ONLY for name in SUMMED]]).sum(axis=1) > 0
    by_blocks, by_molecules = (None if one is None else one.of_estimates() for one in (blocks, molecules))
    intervals = {}
    for at, (key, value) in enumerate(values.items()):
        spread = by_blocks if of_frames[at] or by_molecules is None else by_molecules
        known = None if spread is None else (float(spread[0][at]), float(spread[1][at]))
        intervals[key] = _interval(key, value, known, settings.level)
    unit = "blocks" if molecules is None else "molecules"
    return Intervals(
        settings.level,
        settings.resamples,
        settings.seed,
        sampling.block,
        sampling.blocks,
        unit,
        remark_on(sampling),
        intervals,
    )


def check_has_truth(score: Score) -> None:
    """Raise an error if there are no true molecules to learn from."""
    if score.flat_result is None:
        raise InputError(f"{NO_TRUTH.text}, so there are no intervals")


def remark_on(sampling: Sampling) -> str | None:
    """When not to rely on intervals; None if there is nothing to say.

    Examples
    --------
    >>> remark_on(Sampling(np.arange(1, 101), (1, 100), 25))
    'only 4 independent blocks: intervals may be too narrow'
    """
    blocks = f"only {sampling.blocks} independent block{'' if sampling.blocks == 1 else 's'}"
    cells = sampling.molecule_cells
    if cells is not None:
        number = len(np.unique(cells.molecule))
        molecules = "1 molecule is" if number == 1 else f"{number} molecules are"
        return f"{blocks}, so {molecules} taken as independent instead"
    if sampling.blocks < FEWEST_BLOCKS:
        return f"{blocks}, so there are no intervals"
    if not sampling.ids:
        remark = NO_IDS + _OR_BLOCKS
        return remark if sampling.blocks >= _MANY_BLOCKS else f"{blocks}, and {remark}"
    return None if sampling.blocks >= _MANY_BLOCKS else f"{blocks}: intervals may be too narrow"


def metric_slopes(score: Score) -> tuple[dict[str, float], FloatArray]:
    """The metrics of a score by key (NaN where undefined), and their (metrics, quantities) slopes by the total sums.

    What a set of frames or molecules adds to a metric is, to first order, its sums times these slopes.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> values, slopes = metric_slopes(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> values["challenge.recall"], round(float(slopes[list(values).index("challenge.recall"), SUMMED.index("tp")]), 9)
    (0.5, 0.5)
    """
    sums = score.sums
    asked = {key: metric for key, metric in METRICS.items() if getattr(score, key.split(".")[0]) is not None}
    total = np.array([[float(getattr(sums.total, name)) for name in SUMMED]])
    steps = _STEP * np.abs(sums.table).sum(axis=0)
    moved = np.vstack([total, total + np.diag(steps), total - np.diag(steps)])
    evaluated = evaluate_many(asked, Sums.from_table(moved, sums.total.settings))
    count = len(SUMMED)
    slopes = np.array([(values[1 : count + 1] - values[count + 1 :]) for values in evaluated.values()])
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.where((steps > 0) & np.isfinite(slopes), slopes / (2 * steps), 0.0)
    return {key: float(values[0]) for key, values in evaluated.items()}, slopes


def _interval(key: str, value: float, spread: tuple[float, float] | None, level: float) -> tuple[float, float] | None:
    """The interval of a metric from its standard error and degrees of freedom."""
    if spread is None or not math.isfinite(value) or not math.isfinite(spread[0]):
        return None
    half = spread[0] * quantile(1 - level / 100, spread[1])
    if half < _ROUNDING * max(1.0, abs(value)):
        half = 0.0
    low, high = METRICS[key].limits
    return max(low, value - half), min(high, value + half)


def quantile(miss: float, freedom: float) -> float:
    """How many standard errors an interval reaches that may miss with probability `miss`, by Student's t.

    Examples
    --------
    >>> round(quantile(0.05, 10.0), 3)
    2.228
    """
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, miss / 2))
