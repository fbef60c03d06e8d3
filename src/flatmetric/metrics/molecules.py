"""The challenge's metrics for each molecule instead of each of its appearances."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from flatmetric.localizations import Localizations
from flatmetric.metrics.challenge import precision_errors
from flatmetric.metrics.value import Undefined, Value, ratio
from flatmetric.result import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class MoleculeScore:
    """Molecules found at least once, and how well their mean position is known. Lengths in nm."""

    tp: int | Undefined
    fn: int | Undefined
    recall: Value
    rmse_xy: Value
    rmse_z: Value
    rmse_xyz: Value
    mad_xy: Value
    mad_z: Value
    mad_xyz: Value
    detection_ratio: Value


def molecule_numbers(truth: Localizations) -> IntArray | None:
    """A number from 0 for the molecule of each row: rows of one id belong together. None without ids.

    Examples
    --------
    >>> molecule_numbers(Localizations(frame=[1, 2, 3], x=[0.0, 5.0, 0.0], y=[0.0, 0.0, 0.0], id=[7, 9, 7])).tolist()
    [0, 2, 0]
    """
    if truth.id is None or len(truth) == 0:
        return truth.id
    low, high = int(truth.id.min()), int(truth.id.max())
    if high - low < 4 * len(truth):  # gaps cost less than sorting
        return truth.id - low
    return np.unique(truth.id, return_inverse=True)[1].reshape(-1)


def undefined_molecules(reason: str) -> MoleculeScore:
    """What stands where molecules can't be told apart.

    Examples
    --------
    >>> undefined_molecules("the truth has no ids").recall
    Undefined(reason='the truth has no ids')
    """
    fields = dataclasses.fields(MoleculeScore)
    return MoleculeScore(**{field.name: Undefined(reason) for field in fields})


def molecule_score(molecules: IntArray, matched_rows: IntArray, errors: FloatArray, *, dim: int) -> MoleculeScore:
    """Score molecules from the number of each true row's molecule, the matched rows, and their (k, 3) errors in nm.

    A molecule is found if one of its rows is matched. Its error is the mean of the errors of its matched rows, which is
    the mean of its detections minus its place. The detection ratio is the share of its rows that were matched, averaged
    over the found molecules.

    Examples
    --------
    >>> s = molecule_score(np.array([0, 0, 1]), np.array([0, 1]), np.array([[3.0, 0, 0], [-3.0, 0, 0]]), dim=2)
    >>> s.tp, s.fn, s.rmse_xy, s.detection_ratio
    (1, 1, 0.0, 1.0)
    """
    rows = np.bincount(molecules)
    there = rows > 0
    matched = np.bincount(molecules[matched_rows], minlength=len(rows))
    found = matched > 0
    tp, fn = int(found.sum()), int((there & ~found).sum())
    mean = (
        np.column_stack(
            [np.bincount(molecules[matched_rows], errors[:, axis], minlength=len(rows))[found] for axis in range(3)]
        )
        / matched[found, None]
    )
    spread = {name: value for name, value in precision_errors(mean, dim).items() if not name.startswith("bias")}
    share: Value = Undefined("no molecule was found")
    if tp:
        share = float(np.mean(matched[found] / rows[found]))
    return MoleculeScore(
        tp=tp, fn=fn, recall=ratio(tp, tp + fn, "there is no molecule"), **spread, detection_ratio=share
    )
