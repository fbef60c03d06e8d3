"""The challenge's metrics per molecule instead of per appearance in a frame."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.metrics.base import Measure, Reasons, Settings, Sums, count, error, evaluate, fraction
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.match_sums import MatchedRows, sum_matches

_MISSED = "missed molecules"
_SEEN = "shares of frames"


@dataclass(frozen=True, slots=True)
class MoleculeScore:
    """Molecules that are matched at least once, and how well their mean position is known. Lengths in nm."""

    tp: int | None = count("molecules found", better="higher", shown=False)
    fn: int | None = count("molecules missed", better="lower", shown=False)
    recall: float | None = fraction("recall of molecules", shown=False)
    rmse_xy: float | None = error("RMSE lateral of molecules", shown=False)
    rmse_z: float | None = error("RMSE axial of molecules", shown=False)
    rmse_xyz: float | None = error("RMSE 3D of molecules", shown=False)
    mad_xy: float | None = error("MAD lateral of molecules", shown=False)
    mad_z: float | None = error("MAD axial of molecules", shown=False)
    mad_xyz: float | None = error("MAD 3D of molecules", shown=False)
    detection_ratio: float | None = fraction("share of frames found", format=".1%", shown=False)


def molecule_score(
    molecules: IntArray | None, matched_rows: IntArray, errors: FloatArray, *, dim: int
) -> tuple[MoleculeScore, Reasons]:
    """Score molecules from the molecule number of each true row, the matched rows, and their (k, 3) errors in nm.

    A molecule is found if one of its rows is matched. Its error is the mean of the errors of its matched rows, which is
    the mean of its detections minus its place. The detection ratio is the share of its rows that were matched, averaged
    over the molecules found. Where molecules can't be told apart (None), everything is undefined.

    Examples
    --------
    >>> s, _ = molecule_score(np.array([0, 0, 1]), np.array([0, 1]), np.array([[3.0, 0, 0], [-3.0, 0, 0]]), dim=2)
    >>> s.tp, s.fn, s.rmse_xy, s.detection_ratio
    (1, 1, 0.0, 1.0)
    """
    if molecules is None:
        return score_of_sums(None, dim)
    rows = np.bincount(molecules)
    matched = np.bincount(molecules[matched_rows], minlength=len(rows))
    of_axes = [np.bincount(molecules[matched_rows], errors[:, axis], minlength=len(rows)) for axis in range(3)]
    return score_of_sums(molecule_sums(rows, matched, np.column_stack(of_axes)), dim)


def molecule_sums(rows: IntArray, matched: IntArray, errors: FloatArray) -> dict[str, float]:
    """What molecules add up to: from the rows of each, how many of them are matched, and the sums of their errors, nm.

    Examples
    --------
    >>> molecule_sums(np.array([2, 1]), np.array([2, 0]), np.array([[6.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))["square_x"]
    9.0
    """
    found = matched > 0
    # The challenge's formulas, over the mean error of each molecule.
    sums = sum_matches(MatchedRows(errors[found] / matched[found, None]))
    sums |= {_MISSED: np.count_nonzero((rows > 0) & ~found), _SEEN: np.sum(matched[found] / rows[found])}
    return {name: float(value) for name, value in sums.items()}


def score_of_sums(sums: Mapping[str, float] | None, dim: int) -> tuple[MoleculeScore, Reasons]:
    """The score from what the molecules add up to; None where they can't be told apart."""
    names = [field.name for field in dataclasses.fields(MoleculeScore)]
    if sums is None:
        nothing = Sums.from_columns({}, Settings(dim))
        return evaluate(MoleculeScore, nothing, dict.fromkeys(names, "the truth has no ids"))
    of_matches = Sums.from_columns(sums, Settings(dim))
    tp, fn = int(sums["tp"]), int(sums[_MISSED])
    spread, undefined = evaluate(ChallengeScore, of_matches)
    measured: dict[str, Measure] = {
        name: undefined.get(name) or getattr(spread, name) for name in names if name.startswith(("rmse", "mad"))
    }
    measured |= {"tp": tp, "fn": fn, "recall": tp / (tp + fn) if tp + fn else "there is no molecule"}
    ratio = sums[_SEEN] / tp if tp else "no molecule was found"
    return evaluate(MoleculeScore, of_matches, measured | {"detection_ratio": ratio})
