"""The challenge's metrics per molecule instead of per appearance in a frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import (
    FormulaSettings,
    Measure,
    Rows,
    Sums,
    count,
    error,
    evaluate,
    fraction,
    mad_of,
    rmse_of,
)
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.match_sums import MatchedRows, sum_matches

_MISSED = "missed molecules"
_SHARES = "shares of frames"
_NO_IDS = "the truth has no ids"
_OVER = ("molecules, each at the mean of its detections", "matched molecules")
_of_molecules = partial(error, shown=False, line="molecules")


@dataclass(frozen=True, slots=True)
class MoleculeScore:
    """Molecules that are matched at least once, and how well their mean position is known. Lengths in nm."""

    tp: int | None = count(
        "molecules found",
        meaning="molecules matched in at least one frame",
        equation="count of molecules",
        better="higher",
        shown=False,
        line="molecules",
        label="matched {}",
    )
    fn: int | None = count(
        "molecules missed",
        meaning="molecules matched in no frame",
        equation="count of molecules",
        better="lower",
        shown=False,
        line="molecules",
        label="missed {}",
    )
    recall: float | None = fraction(
        "recall of molecules",
        meaning="share of the molecules that are matched in at least one frame",
        equation="matched / (matched + missed)",
        shown=False,
        line="molecules",
        label="recall {}",
    )
    rmse_xy: float | None = _of_molecules("RMSE lateral of molecules", **rmse_of("xy", *_OVER), label="RMSE {} nm")
    rmse_z: float | None = error("RMSE axial of molecules", **rmse_of("z", *_OVER), shown=False)
    rmse_xyz: float | None = error("RMSE 3D of molecules", **rmse_of("xyz", *_OVER), shown=False)
    mad_xy: float | None = error("MAD lateral of molecules", **mad_of("xy", *_OVER), shown=False)
    mad_z: float | None = error("MAD axial of molecules", **mad_of("z", *_OVER), shown=False)
    mad_xyz: float | None = error("MAD 3D of molecules", **mad_of("xyz", *_OVER), shown=False)
    detection_ratio: float | None = fraction(
        "share of frames found",
        meaning="share of its frames in which a matched molecule is matched",
        equation="mean of matched frames / frames",
        format=".1%",
        shown=False,
        line="molecules",
        label="detected in {} of their frames",
    )


def measure_molecules(rows: Rows) -> dict[str, Measure]:
    """The metrics of molecules, from matched tables."""
    matched = rows.matched
    return molecule_measures(matched.molecule, matched.counted_in_kept, matched.errors, dim=matched.dim)


def molecule_measures(
    molecules: IntArray | None, matched_rows: IntArray, errors: FloatArray, *, dim: int
) -> dict[str, Measure]:
    """Score molecules from the molecule number of each true row, the matched rows, and their (k, 3) errors in nm.

    A molecule is matched if one of its rows is. Its error is the mean of the errors of its matched rows, which is
    the mean of its detections minus its place. The detection ratio is the share of its rows that were matched, averaged
    over the matched molecules. Where molecules are not known (None), everything is undefined.

    Examples
    --------
    >>> s = molecule_measures(np.array([0, 0, 1]), np.array([0, 1]), np.array([[3.0, 0, 0], [-3.0, 0, 0]]), dim=2)
    >>> s["tp"], s["fn"], s["rmse_xy"], s["detection_ratio"]
    (1, 1, 0.0, 1.0)
    """
    if molecules is None:
        return measures_of_sums(None, dim)
    rows = np.bincount(molecules)
    matched = np.bincount(molecules[matched_rows], minlength=len(rows))
    of_axes = [np.bincount(molecules[matched_rows], errors[:, axis], minlength=len(rows)) for axis in range(3)]
    return measures_of_sums(molecule_sums(rows, matched, np.column_stack(of_axes)), dim)


def molecule_sums(rows: IntArray, matched: IntArray, errors: FloatArray) -> dict[str, float]:
    """What molecules add up to: from the rows of each, how many of them are matched, and the sums of their errors, nm.

    Examples
    --------
    >>> molecule_sums(np.array([2, 1]), np.array([2, 0]), np.array([[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))["square_x"]
    9.0
    """
    is_matched = matched > 0
    # The challenge's formulas, over the mean error of each molecule.
    sums = sum_matches(MatchedRows(errors[is_matched] / matched[is_matched, None]))
    sums |= {
        _MISSED: np.count_nonzero((rows > 0) & ~is_matched),
        _SHARES: np.sum(matched[is_matched] / rows[is_matched]),
    }
    return {name: float(value) for name, value in sums.items()}


def measures_of_sums(sums: Mapping[str, float] | None, dim: int) -> dict[str, Measure]:
    """The metrics from what the molecules add up to; None where molecules are not known."""
    names = [field.name for field in dataclasses.fields(MoleculeScore)]
    if sums is None:
        return dict.fromkeys(names, _NO_IDS)
    tp, fn = int(sums["tp"]), int(sums[_MISSED])
    spread, undefined = evaluate(ChallengeScore, Sums.from_columns(sums, FormulaSettings(dim)))
    measured: dict[str, Measure] = {
        name: undefined.get(name) or getattr(spread, name) for name in names if name.startswith(("rmse", "mad"))
    }
    measured |= {"tp": tp, "fn": fn, "recall": tp / (tp + fn) if tp + fn else "there is no molecule"}
    return measured | {"detection_ratio": sums[_SHARES] / tp if tp else "no molecule was found"}
