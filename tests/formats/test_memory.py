"""A table in memory is read as its file would be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flatmetric as fm
from tests.formats import samples
from tests.formats.samples import SAMPLES, Sample

Load = Callable[[Path], Any]


def text(**options: Any) -> Load:
    """By pandas, with the nearest double to each decimal number."""
    given: dict[str, Any] = {"float_precision": "round_trip"} | options
    return lambda path: pd.read_csv(path, **given)


def locs(path: Path) -> pd.DataFrame:
    with h5py.File(path) as file:
        return pd.DataFrame(file["locs"][:])


def ours(path: Path) -> pd.DataFrame:
    return fm.read(path, **OPTIONS.get(path.name, {})).to_pandas()


OPTIONS = {sample.file: sample.options for sample in SAMPLES}
IN_PIXELS = {"unit": "px", "frame_base": 0, "origin": "center"}
# How a user loads the file with pandas, and what must be said because only the file's own header says it.
LOADED: dict[str, tuple[Load, dict[str, Any]]] = {
    "challenge-truth": (text(), {}),
    "challenge-standard": (text(header=None), {}),
    "thunderstorm": (text(), {}),
    "rapidstorm": (
        text(sep=" ", comment="#", header=None),
        {
            "columns": {"x": 1, "y": 2, "z": 3, "frame": 4, "photons": 5},
            "unit": "nm",
            "frame_base": 0,
            "origin": "center",
        },
    ),
    "picasso": (locs, {"pixel_size": samples.PIXEL, **IN_PIXELS}),
    "picasso-table": (text(), {}),
    "decode-csv": (text(comment="#"), {"unit": "px", "pixel_size": (127.0, 117.0)}),
    "hdf5-table": (pd.read_hdf, {}),
    "nikon": (text(sep="\t"), {}),
    "elyra": (text(sep="\t", encoding="latin-1", nrows=3), {}),
    "oni": (text(), {}),
    "smap-csv": (text(), {}),
    "gdsc": (text(sep="\t", skiprows=4), {"pixel_size": samples.PIXEL}),
    "quickpalm": (text(sep="\t"), {}),
    "octane": (text(sep=" ", header=None), {}),
    "peakselector": (text(sep="\t"), {}),
    "leica": (text(), {}),
    "vutara": (text(), {}),
    "fd-deeploc": (text(), {}),
    "tsf-text": (text(sep="\t", skiprows=1), {"unit": "px", "pixel_size": 100.0}),
    "minflux-csv": (text(), {}),
    "plain": (text(), {}),
    "odd-order.tsv": (text(sep="\t"), {}),
    "savetxt.dat": (text(sep=" ", skiprows=1, names=["x", "y", "z", "frame", "phot"]), {}),
    "given-columns.txt": (text(sep=";", header=None), {}),
    "utf16.csv": (text(encoding="utf-16"), {}),
    "table.parquet": (pd.read_parquet, {}),
    "table.arrow": (pd.read_feather, {}),
}
UNREADABLE = ("thunderstorm-quotes.csv", "standard.zip")  # by pandas
KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.rename(columns=str)),
    "arrow": lambda frame: pa.Table.from_pandas(frame.rename(columns=str)),
    "dict of arrays": lambda frame: {name: frame[name].to_numpy() for name in frame.columns},
    "dict of lists": lambda frame: frame.to_dict("list"),
    "records": lambda frame: frame.to_records(index=False),
}


@pytest.fixture(autouse=True)
def silent() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.file not in UNREADABLE], ids=lambda s: s.file)
def test_the_table_of_a_file_gives_the_same_to_the_bit(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.file
    sample.write(path)
    load, more = LOADED.get(sample.file) or LOADED.get(sample.format) or (ours, {})
    if load is ours:
        loaded, options = fm.read(path, **sample.options).to_pandas(), {}
    else:
        loaded, options = load(path), sample.options | more
    expected = fm.read(path, **sample.options)
    truth = {"frame": samples.FRAME, "x": samples.X + 30, "y": samples.Y}
    score = fm.score(truth, expected, check=False).flat_metric.value
    without_names = loaded.columns.equals(pd.RangeIndex(loaded.shape[1]))
    for kind, make in KINDS.items():
        if without_names and kind in ("polars", "arrow", "records"):
            continue  # their columns always have names
        table = fm.read(make(loaded), **options)
        assert table.provenance.file is None
        for name, values in expected.columns().items():
            np.testing.assert_array_equal(getattr(table, name), values, f"{kind}: {name}", strict=True)
        assert table.columns().keys() == expected.columns().keys(), kind
        assert fm.score(truth, make(loaded), check=False, **options).flat_metric.value == score, kind


def test_the_users_own_table_is_left_as_it_is() -> None:
    frame = pd.DataFrame({"frame": [0, 1], "x_um": [0.1, 0.2], "y_um": [0.3, 0.4]})
    before = frame.copy(deep=True)
    table = fm.read(frame, origin="center", pixel_size=100)
    assert table.x.tolist() == [150, 250] and table.frame.tolist() == [1, 2]
    pd.testing.assert_frame_equal(frame, before)


def test_frames_from_zero_score_alike_from_file_and_table(tmp_path: Path) -> None:
    truth = pd.DataFrame({"frame": [1, 2, 3], "x": [100.0, 200.0, 300.0], "y": [5.0, 6.0, 7.0]})
    pred = truth.assign(frame=truth.frame - 1, x=truth.x + 4)
    pred.to_csv(tmp_path / "frame0.csv", index=False)
    for given in (pred, tmp_path / "frame0.csv"):
        assert fm.score(truth, given, check=False).flat_metric.value == 4


def test_the_columns_of_an_array_are_named_or_it_is_sent_to_flat_metric() -> None:
    rows = np.array([[0, 1.0, 100.0, 5.0], [0, 2.0, 200.0, 6.0]])
    for name in ("truth", "pred"):
        given: dict[str, Any] = {side: {"frame": [1], "x": [1.0], "y": [1.0]} for side in ("truth", "pred")}
        prefix = "truth_" if name == "truth" else ""
        with pytest.raises(fm.InputError, match=rf"{name} is an array .*give {prefix}columns=.*or use flat_metric"):
            fm.score(**(given | {name: rows}))
    places = {"frame": 2, "x": 3, "y": 4}
    score = fm.score(rows, rows + np.array([0, 0, 3, 4]), truth_columns=places, columns=places, check=False)
    assert score.flat_metric.value == 5
    for shape in ((3,), (2, 2, 2)):
        with pytest.raises(fm.InputError, match="is not a table"):
            fm.read(np.zeros(shape), columns=places)


def test_a_named_index_is_a_column() -> None:
    frame = pd.DataFrame({"frame": [3, 4], "x": [1.0, 2.0], "y": [1.0, 2.0]})
    assert fm.read(frame.set_index("frame")).frame.tolist() == [3, 4]
    frame.index = pd.Index([7, 8], name="frame")  # as trackpy has it
    assert fm.read(frame).frame.tolist() == [3, 4]


def test_gaps_and_text() -> None:
    frame = pd.DataFrame({"frame": [1, 2], "x": [1.0, 2.0], "y": [1.0, 2.0], "uncertainty": [5.0, 6.0]})
    whole = frame.assign(frame=frame.frame.astype("Int64"), x=frame.x.astype("Float64"))
    assert fm.read(whole).frame.tolist() == [1, 2]
    gap = whole.assign(uncertainty=pd.array([5.0, None], dtype="Float64"))
    assert np.isnan(fm.read(gap).uncertainty[1])  # type: ignore[index]
    with pytest.raises(fm.InputError, match="file: row 2, column x, is nan"):
        fm.read(whole.assign(x=pd.array([1.0, None], dtype="Float64")))
    dropped = fm.read(whole.assign(x=[1.0, np.nan]), skip_bad_rows=True)
    assert len(dropped) == 1 and sum(dropped.provenance.dropped.values()) == 1
    assert fm.read(frame.assign(x=["1.5", "2.5"])).x.tolist() == [1.5, 2.5]
    with pytest.raises(fm.InputError, match="the column x has '1,5', not a number"):
        fm.read(frame.assign(x=["1,5", "2,5"]))
    with pytest.raises(fm.InputError, match="the column x holds datetime64"):
        fm.read(frame.assign(x=pd.to_datetime(["2020-01-01", "2020-01-02"])))
    with pytest.raises(fm.InputError, match="masked"):
        fm.read({"frame": [1, 2], "x": np.ma.masked_greater([1.0, 2.0], 1.5), "y": [1.0, 2.0]})
    assert fm.read(frame.assign(id=["a", "b"])).id is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (pl.LazyFrame({"frame": [1], "x": [1.0], "y": [1.0]}), "file: a LazyFrame is not computed yet"),
        (5, "file: a int is not a table"),
        ([1, 2], "file: a list is not a table"),
        ({"frame": [1], "y": [2.0]}, "file: no column is known as x and y, its header has frame, y"),
        ({"frame": [1], "x": [2.0, 3.0], "y": [2.0]}, "file: its columns differ in length"),
        ({}, "file: has 0 columns"),
    ],
)
def test_what_is_no_table_is_one_sentence(given: Any, said: str) -> None:
    with pytest.raises(fm.InputError) as caught:
        fm.read(given)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_first_frames_that_were_guessed_differently_are_a_warning() -> None:
    truth = {"frame": [0, 1, 2], "x": [0.0, 500.0, 900.0], "y": [0.0, 0.0, 0.0]}
    late = {"frame": [1, 2], "x": [500.0, 900.0], "y": [0.0, 0.0]}
    with pytest.warns(fm.ReadWarning, match="count from 0 in truth and from 1 in pred"):
        fm.score(truth, late, check=False)
    with pytest.warns(fm.ReadWarning, match="count from 0 in truth and from 1 in b"):
        fm.compare(truth, {"a": truth, "b": late}, check=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fm.score(truth, late, frame_base=0, check=False).challenge.tp == 2


def test_one_column_can_be_named_where_the_others_have_usual_names() -> None:
    table = {"img": [4, 5], "x": [1.0, 2.0], "y": [3.0, 4.0], "z": [5.0, 6.0]}
    read = fm.read(table, columns={"frame": "img"})
    assert read.frame.tolist() == [4, 5] and read.x.tolist() == [1, 2] and read.z is None
