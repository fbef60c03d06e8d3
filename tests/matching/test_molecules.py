"""Rows of one molecule: by their ids, and by their places where every id is given once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.localizations import Localizations
from flatmetric.matching.molecules import BY_POSITION, molecule_numbers, with_molecules
from tests.scenes import REAL_DATA

ACTIVATIONS = REAL_DATA / "gt-and-results" / "epfl2016-MT0.N1.LD" / "activations.csv"
real = pytest.mark.skipif(not ACTIVATIONS.exists(), reason="the real truth files are not here")


def rows(ids: list[int] | None, z: list[float] | None = None) -> Localizations:
    columns = {"frame": [1, 2, 3, 3], "x": [5.0, 5.0, 5.0, 7.0], "y": [1.0, 1.0, 1.0, 1.0], "z": z, "id": ids}
    return fm.read({name: column for name, column in columns.items() if column is not None})


def test_ids_that_repeat_are_kept() -> None:
    assert with_molecules(rows([4, 4, 9, 9])).id.tolist() == [4, 4, 9, 9]  # type: ignore[union-attr]
    assert with_molecules(rows(None)).id is None


@pytest.mark.parametrize("ids", [[1, 2, 3, 4], [9, 3, 7, 1]])
def test_places_tell_molecules_apart_where_every_id_is_given_once(ids: list[int]) -> None:
    found = with_molecules(rows(ids))
    assert molecule_numbers(found).tolist() == [0, 0, 0, 1]  # type: ignore[union-attr]
    assert found.provenance.conversions[-1] == BY_POSITION
    deep = with_molecules(rows(ids, z=[0.0, 0.0, 30.0, 0.0]))
    assert molecule_numbers(deep).tolist() == [0, 0, 1, 2]  # type: ignore[union-attr]


def test_rows_at_places_of_their_own_stay_as_they_are() -> None:
    alone = fm.read({"frame": [1, 2], "x": [0.0, 1.0], "y": [0.0, 0.0], "id": [1, 2]})
    assert with_molecules(alone) is alone


def test_a_score_says_how_molecules_were_told_apart() -> None:
    truth = rows([1, 2, 3, 4])
    score = fm.score(truth, truth)
    assert (score.molecules.tp, score.molecules.fn) == (2, 0)
    assert BY_POSITION in score.to_dict()["inputs"]["truth"]["conversions"]


def read() -> Localizations:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        return fm.read(ACTIVATIONS)


@real
def test_the_first_ten_rows_of_a_real_truth() -> None:
    """By eye: frames 9039, 9040 are one molecule, 15342, 15343 the next, then 12283; 13262 to 13265; 4084; 19336."""
    table = read()
    ten = with_molecules(table.select(np.arange(10)))
    assert ten.id.tolist() == [0, 0, 1, 1, 2, 3, 3, 3, 4, 5]  # type: ignore[union-attr]


@real
def test_molecules_of_a_real_truth() -> None:
    table = read()
    assert table.z is not None and len(table) == 24_938
    places = set(zip(table.x.tolist(), table.y.tolist(), table.z.tolist(), strict=True))
    score = fm.score(table, table)
    assert len(places) == 8671 == score.molecules.tp
    assert score.molecules.detection_ratio == 1.0
