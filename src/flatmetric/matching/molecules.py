"""Which rows of a truth are the same molecule."""

from __future__ import annotations

import dataclasses

import numpy as np

from flatmetric._arrays import IntArray
from flatmetric.localizations import Localizations

BY_POSITION = "every id is given once, so rows at the same x, y, z are one molecule"


def with_molecules(truth: Localizations) -> Localizations:
    """A truth whose ids distinguish its molecules, with a note in its provenance where they had to be made.

    Some truths number their rows: every id is given once. Then rows at the same place are one molecule, as in the
    official scorer of the challenge.

    Examples
    --------
    >>> rows = Localizations(frame=[1, 2, 2], x=[5.0, 5.0, 9.0], y=[0.0, 0.0, 0.0], id=[1, 2, 3])
    >>> with_molecules(rows).id.tolist(), with_molecules(rows).provenance.conversions[-1][:22]
    ([0, 0, 1], 'every id is given once')
    """
    if truth.id is None or not _all_differ(truth.id):
        return truth
    places = rows_by_place(truth)
    if _all_differ(places):
        return truth
    source = truth.provenance
    noted = dataclasses.replace(source, conversions=(*source.conversions, BY_POSITION))
    return dataclasses.replace(truth, id=places, provenance=noted)


def molecule_numbers(truth: Localizations) -> IntArray | None:
    """A molecule number, from 0, for each row; rows with the same id share one. None without ids.

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


def _all_differ(ids: IntArray) -> bool:
    if len(ids) < 2 or bool((np.diff(ids) > 0).all()):  # a single row shows no order
        return len(ids) > 1
    few = ids[:1000]  # enough to see most repeats
    return len(np.unique(few)) == len(few) and len(np.unique(ids)) == len(ids)


def rows_by_place(truth: Localizations) -> IntArray:
    """A number for each distinct position, from 0 in the order in which they first appear."""
    columns = [truth.x, truth.y, *([] if truth.z is None else [truth.z])]
    order = np.lexsort(columns)
    new = np.zeros(len(truth), dtype=bool)
    for column in columns:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    group = np.empty(len(truth), dtype=np.int64)
    group[order] = np.cumsum(new)
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    return number[inverse.reshape(-1)]
