from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flatmetric as fm

COLUMNS: dict[str, Any] = {
    "frame": [1, 2, 2, 9],
    "x": [0.0, 10.0, 20.0, 30.0],
    "y": [5.0, 5.0, 6.0, 7.0],
    "z": [-1.0, 0.0, 1.0, 2.0],
    "photons": [100.0, 200.0, 300.0, 400.0],
    "id": [7, 7, 8, 9],
}


def table() -> fm.Localizations:
    return fm.read(COLUMNS)


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_every_kind_of_table(make: Any) -> None:
    t = fm.read(make(COLUMNS))
    assert list(t.columns()) == list(COLUMNS)
    for name, values in COLUMNS.items():
        column = getattr(t, name)
        assert column.tolist() == values and column.flags.c_contiguous
        assert column.dtype == (np.int64 if name in ("frame", "id") else np.float64)


def test_pandas_there_and_back() -> None:
    pd.testing.assert_frame_equal(fm.read(table().to_pandas()).to_pandas(), pd.DataFrame(COLUMNS))


def test_rows_are_selected_by_mask_and_by_index() -> None:
    t = table()
    masked = t.select((t.x >= 10) & (t.x <= 20))
    assert masked.x.tolist() == [10, 20] and masked.id is not None and masked.id.tolist() == [7, 8]
    assert t.select([2, 0]).x.tolist() == [t.x[2], t.x[0]] and masked.provenance is t.provenance
    assert t.in_3d() is t and t.points(3).shape == (4, 3) and t.points(2)[1].tolist() == [10, 5]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": [1.0, 2.0]}, "x has 2 rows and frame has 4"),
        ({"y": [1.0, np.nan, 2.0, 3.0]}, "row 2 of y is nan"),
        ({"z": [1.0, 2.0, np.inf, 3.0]}, "row 3 of z is inf"),
        ({"frame": [1, 2, 2.5, 3]}, "row 3 of frame is 2.5, not a whole number"),
        ({"frame": [1.0, 2.0, np.nan, 3.0]}, "row 3 of frame is nan"),
        ({"x": ["a", "b", "c", "d"]}, "x holds .*, not numbers"),
        ({"x": np.zeros((4, 2))}, r"x has shape \(4, 2\)"),
        ({"frame": np.array([1, 2, 3, 2**60])}, "too large"),
    ],
)
def test_bad_columns(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        fm.Localizations(**(COLUMNS | change))


def test_bad_tables() -> None:
    with pytest.raises(fm.InputError, match="no column 'nothing' for z"):
        fm.read(COLUMNS, columns={"z": "nothing"})
    with pytest.raises(fm.InputError, match="columns names 'depth'"):
        fm.read(COLUMNS, columns={"depth": "z"})


def test_what_is_missing_is_said() -> None:
    flat = dataclasses.replace(table(), z=None)
    for asked in (lambda: flat.points(3), flat.in_3d):
        with pytest.raises(fm.InputError, match="has no z"):
            asked()
    with pytest.raises(fm.InputError, match="dim is 4"):
        flat.points(4)


def test_gaps_are_allowed_where_programs_leave_them() -> None:
    t = fm.read({"frame": [1], "x": [1.0], "y": [1.0], "uncertainty": [np.nan]})
    assert t.uncertainty is not None and np.isnan(t.uncertainty[0])
