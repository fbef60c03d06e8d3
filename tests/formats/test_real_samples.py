"""Real files from elsewhere, against their own numbers read by independent ways. Skipped where the data are absent."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest

import flatmetric as fm

DATA = Path(os.environ.get("FLATMETRIC_DATA", Path(__file__).parents[3] / "shared" / "data"))
FORMATS = DATA / "formats"
SETS = DATA / "gt-and-results"

pytestmark = pytest.mark.skipif(not FORMATS.is_dir(), reason="the real samples are not here")


def read(path: Path, **options: Any) -> fm.Localizations:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        return fm.read(path, **options)


def twin(path: Path) -> pd.DataFrame:
    return pd.read_csv(path)


@pytest.mark.parametrize("file", sorted(SETS.glob("*/*_locs.hdf5")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_picasso_equals_its_twin_in_nm(file: Path) -> None:
    table, other = read(file), twin(file.with_name(file.name.replace("_locs.hdf5", ".csv")))
    assert table.frame.tolist() == other.frame.tolist()
    np.testing.assert_allclose(table.x, other.x, atol=1e-3)
    np.testing.assert_allclose(table.y, other.y, atol=1e-3)


@pytest.mark.parametrize("name", ["test", "test_300x200", "test_l1h"])
def test_storm_analysis_truth_equals_its_twin_in_nm(name: str) -> None:
    folder = SETS / f"storm-analysis-{name}"
    (file,) = folder.glob("*_olist.bin")
    table, other = read(file, pixel_size=100), twin(folder / "gt.csv")
    assert table.frame.tolist() == other.frame.tolist() and table.z is not None
    for axis in "xyz":
        np.testing.assert_allclose(getattr(table, axis), other[axis], atol=1e-3)


def test_challenge_truth_equals_its_twin() -> None:
    folder = SETS / "epfl2016-MT0.N1.LD"
    table, other = read(folder / "activations.csv"), twin(folder / "gt.csv")
    mine = table.to_pandas()[["frame", "x", "y", "z", "photons"]]
    by = ["frame", "x", "y"]
    pd.testing.assert_frame_equal(
        mine.sort_values(by, ignore_index=True), other.sort_values(by, ignore_index=True), check_dtype=False
    )


def test_challenge_submission_equals_its_twin() -> None:
    folder = SETS / "epfl2016-MT0.N1.LD"
    table = read(folder / "MT0.N1.LD____AS____Picasso____standard.csv")
    other = twin(folder / "picasso-gausslq_frames1-64.csv")
    np.testing.assert_allclose(table.x, other.x, atol=1e-3)
    assert table.provenance.format == "challenge-standard"


def test_decode_by_hand() -> None:
    table = read(FORMATS / "decode_locan.h5")
    with h5py.File(FORMATS / "decode_locan.h5") as file:
        xyz, frame = file["data/xyz"][()].astype(float), file["data/frame_ix"][()]
    np.testing.assert_allclose(table.x, (xyz[:, 0] + 0.5) * 127)
    np.testing.assert_allclose(table.y, (xyz[:, 1] + 0.5) * 117)
    assert (table.frame == frame + 1).all() and len(read(FORMATS / "decode-empty_locan.h5")) == 0


def test_storm_analysis_by_hand() -> None:
    table = read(FORMATS / "storm-analysis_test_ref.hdf5")
    with h5py.File(FORMATS / "storm-analysis_test_ref.hdf5") as file:
        groups = [g for g in file if g.startswith("fr_") and "x" in file[g]]
        x = np.concatenate([file[g]["x"][()].astype(float) for g in groups])
        z = np.concatenate([file[g]["z"][()].astype(float) for g in groups])
    assert table.z is not None
    np.testing.assert_allclose(np.sort(table.x), np.sort((x + 0.5) * 100))
    np.testing.assert_allclose(np.sort(table.z), np.sort(1000 * z))


def test_insight3_equals_its_text() -> None:
    table = read(FORMATS / "insight3_test_olist.bin", pixel_size=100)
    xy = np.loadtxt(FORMATS / "insight3_test_olist.txt")[:, :2]
    first = table.select(table.frame == 1)
    np.testing.assert_allclose(first.x, (xy[:, 0] - 0.5) * 100, atol=1e-2)


def test_minflux_by_hand() -> None:
    import io
    import zipfile

    archive = FORMATS / "minflux-abberior-npy_aggregates.zip"
    for member in ("2D_aggregates.npy", "3D_aggregates.npy"):
        records = np.load(io.BytesIO(zipfile.ZipFile(archive).read(member)))
        table = read(archive / member)
        where = records["itr"]["loc"][records["vld"], -1] * 1e9
        np.testing.assert_allclose(table.x, where[:, 0])
        assert (table.z is None) == member.startswith("2D") and set(table.frame) == {1}
    assert len(read(FORMATS / "minflux-trace-csv_fig2.csv")) == 12422


def test_nikon_thunderstorm_vlume_and_plain_by_pandas() -> None:
    nikon = pd.read_csv(FORMATS / "nikon-nstorm_bauer.txt", sep="\t")
    table = read(FORMATS / "nikon-nstorm_bauer.txt")
    assert table.x.tolist() == nikon.Xc.tolist() and table.frame.tolist() == nikon.Frame.tolist()
    storm = pd.read_csv(FORMATS / "thunderstorm-3d_leterrier.csv")
    table = read(FORMATS / "thunderstorm-3d_leterrier.csv")
    assert table.y.tolist() == storm["y [nm]"].tolist() and table.z is not None
    assert table.z.tolist() == storm["z [nm]"].tolist()
    vlume = pd.read_csv(FORMATS / "vlume-commented_rieslab.csv", comment="#")
    assert read(FORMATS / "vlume-commented_rieslab.csv").x.tolist() == vlume.x.tolist()
    dat = pd.read_csv(FORMATS / "xyz-frame-comma_locResults.dat")
    assert read(FORMATS / "xyz-frame-comma_locResults.dat").frame.tolist() == dat.frame.tolist()


def test_track_file_is_refused() -> None:
    with pytest.raises(fm.InputError, match="track file"):
        read(FORMATS / "rapidstorm-tracks_locan.txt")


@pytest.mark.more
@pytest.mark.parametrize(
    ("file", "loader", "options"),
    [
        ("zeiss-elyra_locan.txt", "load_Elyra_file", {}),
        ("oni-nanoimager_locan.csv", "load_Nanoimager_file", {}),
        ("thunderstorm-oddquotes_locan.csv", None, {}),
        ("rapidstorm_locan.txt", "load_rapidSTORM_file", {}),
        ("smlm-zip_locan.smlm", "load_SMLM_file", {}),
    ],
)
def test_locan_reads_the_same_positions(file: str, loader: str | None, options: dict[str, Any]) -> None:
    table = read(FORMATS / file, **options)
    if loader is None:
        other = pd.read_csv(FORMATS / file, header=None, skiprows=1)
        assert table.x.tolist() == other[2].tolist() and table.y.tolist() == other[3].tolist()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        locan = pytest.importorskip("locan")
        data = getattr(locan, loader)(FORMATS / file).data
    np.testing.assert_allclose(table.x, data.position_x)
    np.testing.assert_allclose(table.y, data.position_y)
    shift = table.frame - data.frame.to_numpy()
    assert len(set(shift)) == 1


def test_every_truth_and_result_reads() -> None:
    files = [*SETS.glob("*/*.csv")]
    assert len(files) > 30
    for file in files:
        assert len(read(file)) > 0
