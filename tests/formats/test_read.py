"""Every format: recognised by content, and the same localizations out of each."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import flatmetric as fm
from tests.formats import samples
from tests.formats.samples import SAMPLES, Sample


def quietly(path: Path, **options: Any) -> fm.Localizations:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        return fm.read(path, **options)


def ids(sample: Sample) -> str:
    return sample.file


@pytest.mark.parametrize("sample", SAMPLES, ids=ids)
def test_every_format_gives_the_same_localizations(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.file
    sample.write(path)
    table = quietly(path, **sample.options)
    assert table.provenance.format == sample.format
    assert table.provenance.sha256 == hashlib.sha256(path.read_bytes()).hexdigest() and table.provenance.reason
    np.testing.assert_allclose(table.x, samples.X, rtol=0, atol=sample.tolerance)
    np.testing.assert_allclose(table.y, samples.Y, rtol=0, atol=sample.tolerance)
    np.testing.assert_array_equal(table.frame, samples.FRAME if sample.has_frames else [1, 1, 1])
    assert table.frame.dtype == np.int64 and table.x.flags.c_contiguous
    if sample.has_z:
        assert table.z is not None
        np.testing.assert_allclose(table.z, samples.Z, rtol=0, atol=sample.tolerance)
    else:
        assert table.z is None
    if sample.has_photons:
        assert table.photons is not None
        np.testing.assert_allclose(table.photons, samples.PHOTONS, rtol=1e-6)


@pytest.mark.parametrize("sample", SAMPLES, ids=ids)
def test_content_decides_not_the_extension(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "file.unknown"
    sample.write(path)
    assert quietly(path, **sample.options).provenance.format == sample.format


def written(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


HEADERS = {
    "challenge-truth": "Ground-truth,frame,xnano,ynano,znano,intensity \n",
    "thunderstorm": samples.THUNDERSTORM.splitlines()[0] + "\n",
    "elyra": samples.ELYRA.splitlines()[0] + "\r\n",
    "gdsc": "\n".join(samples.GDSC.splitlines()[:5]) + "\n",
    "plain": "frame,x,y",
    "rapidstorm": f"# <localizations>{samples.RAPIDSTORM_FIELDS}</localizations>\n",
}


@pytest.mark.parametrize("format", HEADERS)
def test_header_without_rows_is_an_empty_table_with_a_warning(format: str, tmp_path: Path) -> None:
    with pytest.warns(fm.ReadWarning) as caught:
        table = fm.read(written(tmp_path, HEADERS[format]))
    assert len(table) == 0 and table.provenance.format == format
    assert any("nothing was found" in str(warning.message) for warning in caught)


def test_header_without_rows_may_be_packed(tmp_path: Path) -> None:
    content = "".join(f"# remark {k}\n" for k in range(150)) + "frame,x,y\n"
    path = written(tmp_path, gzip.compress(content.encode()), "t.csv.gz")
    assert len(quietly(path)) == 0


def test_empty_decode_file_is_an_empty_table(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data/xyz"], file["data/frame_ix"] = np.zeros((0, 3)), np.zeros(0, dtype=int)
        file.create_group("meta").attrs["xy_unit"] = "nm"
    with pytest.warns(fm.ReadWarning, match="nothing was found"):
        assert len(fm.read(tmp_path / "a.h5", origin="corner")) == 0


def test_what_the_file_did_not_say_is_an_assumption_and_no_warning(tmp_path: Path) -> None:
    path = written(tmp_path, "frame,x,y\n0,1,2\n3,4,5\n")
    table = fm.read(path)
    assert table.frame.tolist() == [1, 4] and table.provenance.warnings == ()
    (assumed,) = table.provenance.assumptions
    assert assumed.startswith("taken as nm, zero at the outer corner of the first pixel, frames from 0, as the least")
    assert assumed.endswith("(otherwise give unit=, origin=, frame_base=)")


def test_nothing_to_guess_nothing_to_warn(tmp_path: Path) -> None:
    path = written(tmp_path, "frame,x,y\n0,1,2\n3,4,5\n")
    table = fm.read(path, unit="um", frame_base=0, origin="corner")
    assert table.x.tolist() == [1000, 4000] and table.provenance.assumptions == table.provenance.warnings == ()


def test_options_convert_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, "frame,x,y,z\n5,1,2,3\n")
    table = fm.read(
        path, unit="px", pixel_size=(100, 200), frame_base=5, origin="center", shift=(1, 2, 3), swap_xy=True
    )
    # x and y exchanged, then pixels, then half a pixel, then the shift; z is in nm.
    assert (table.x[0], table.y[0]) == (2 * 100 + 50 + 1, 1 * 200 + 100 + 2)
    assert table.z is not None and table.z[0] == 6 and table.frame[0] == 1
    assert len(table.provenance.conversions) >= 5


def test_half_a_pixel_is_asked_for_when_its_size_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    next(s for s in SAMPLES if s.format == "rapidstorm").write(path)
    table = quietly(path)
    assert any("half a pixel not added" in text for text in table.provenance.assumptions)
    np.testing.assert_allclose(table.x, samples.X - 50)


@pytest.mark.parametrize("sample", [s for s in SAMPLES if s.options.get("pixel_size")], ids=ids)
def test_pixels_of_unknown_size_stop_the_read(sample: Sample, tmp_path: Path) -> None:
    if sample.format in ("rapidstorm", "quickpalm"):
        pytest.skip("in nm already")
    sample.write(tmp_path / sample.file)
    with pytest.raises(fm.InputError, match="pixel_size="):
        quietly(tmp_path / sample.file)


def test_drift_corrected_positions_of_insight3_are_used_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    samples.insight3(path)
    content = bytearray(path.read_bytes())
    records = np.frombuffer(content, dtype="<f4", count=3 * 18, offset=16).reshape(3, 18)
    records[:, 2] += 2  # xc
    path.write_bytes(bytes(content))
    table = quietly(path, pixel_size=100)
    np.testing.assert_allclose(table.x, samples.X + 200, atol=1e-3)
    assert any("drift-corrected" in step for step in table.provenance.conversions)


def test_rows_taken_back_by_the_program_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    samples.minflux_npy(path)
    assert quietly(path).provenance.dropped == {"marked invalid by the program": 1}


def test_track_file_is_refused_by_name(tmp_path: Path) -> None:
    fields = samples.RAPIDSTORM_FIELDS
    xml = f"# <localizations>{fields}<localizations>{fields}</localizations></localizations>\n1 2 3 4 5\n"
    with pytest.raises(fm.InputError, match="rapidSTORM track file"):
        fm.read(written(tmp_path, xml))


def test_one_member_of_an_archive_can_be_named(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", samples.STANDARD)
        archive.writestr("b.csv", "1,5,5,5,5\n")
    with pytest.raises(fm.InputError, match=r"holds 2 files \(a.csv, b.csv\)"):
        fm.read(tmp_path / "two.zip")
    assert len(fm.read(tmp_path / "two.zip" / "b.csv")) == 1


def test_last_pixel_size_of_the_yaml_wins(tmp_path: Path) -> None:
    samples.picasso(tmp_path / "a.hdf5", metadata=True)
    assert fm.read(tmp_path / "a.hdf5").provenance.pixel_size == (100.0, 100.0)


def test_skipped_rows_are_counted_by_reason(tmp_path: Path) -> None:
    path = written(tmp_path, "frame,x,y\n1,2,3\n1,nan,3\n2,abc,3\n2,1\n3,1e400,4\n4,,4\n1.5,2,2\n7,8,9\n")
    table = quietly(path, skip_bad_rows=True)
    assert table.frame.tolist() == [1, 7]
    assert sum(table.provenance.dropped.values()) == 6 and len(table.provenance.dropped) == 6


def test_missing_widths_are_no_bad_rows(tmp_path: Path) -> None:
    path = written(tmp_path, 'frame,"x [nm]","y [nm]","uncertainty [nm]"\n1,2,3,NaN\n2,2,3,\n')
    table = quietly(path)
    assert table.uncertainty is not None and np.isnan(table.uncertainty).all() and len(table) == 2


def test_labels_that_are_text_are_left_out_and_said(tmp_path: Path) -> None:
    table = quietly(written(tmp_path, "id,frame,x,y\na,1,2,3\nb,1,2,3\n"))
    assert table.id is None and any("left out" in step for step in table.provenance.conversions)


def test_columns_by_header_name(tmp_path: Path) -> None:
    path = written(tmp_path, "t,horizontal,vertical\n3,1,2\n")
    table = quietly(path, columns={"frame": "t", "x": "Horizontal", "y": "3"})
    assert (table.frame[0], table.x[0], table.y[0]) == (3, 1, 2)


def test_nanometres_win_where_both_units_are_there(tmp_path: Path) -> None:
    assert quietly(written(tmp_path, "frame,x [px],y [px],X (nm),Y (nm)\n1,1,2,130,260\n")).x[0] == 130


def test_every_axis_has_its_own_unit(tmp_path: Path) -> None:
    table = quietly(written(tmp_path, "frame,x_nm,y_um\n1,1000,2\n"))
    assert (table.x[0], table.y[0]) == (1000, 2000)
    table = quietly(written(tmp_path, "frame,x [px],y [nm]\n1,10,2000\n"), pixel_size=100)
    assert (table.x[0], table.y[0]) == (1000, 2000)


@pytest.mark.parametrize("unit", ["mm", "Å", "inch"])
def test_units_that_are_not_known_are_refused(unit: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"frame,x [{unit}],y [{unit}]\n1,10,20\n")
    with pytest.raises(fm.InputError, match="which is not known; give unit="):
        fm.read(path)
    assert quietly(path, unit="nm").x[0] == 10


def test_a_column_wanted_twice_is_converted_once_each(tmp_path: Path) -> None:
    path = written(tmp_path, "1,10,20,5\n")
    table = quietly(path, columns={"frame": 1, "x": 2, "y": 3, "z": 3}, unit="um")
    assert table.y[0] == 20_000 and table.z is not None and table.z[0] == 20_000


def test_rows_with_more_text_than_numbers_are_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "frame,x [nm],y [nm],name,type,comment,label\n1,10,20,a,b,c,d\n2,30,40,a,b,c,d\n")
    assert quietly(path).x.tolist() == [10, 30]
    with pytest.raises(fm.InputError, match="row 1, column 3, is empty"):
        fm.read(written(tmp_path, "1,10,,,\n2,10,20,1,2\n"), format="challenge-standard")


def test_frame_num_is_a_frame(tmp_path: Path) -> None:
    assert quietly(written(tmp_path, "frame_num,x,y\n7,1,2\n")).frame.tolist() == [7]


def test_a_header_of_column_numbers_is_no_row(tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match="columns="):
        fm.read(written(tmp_path, "0,1,2,3,4\n1,10,20,30,40\n"))


@pytest.mark.parametrize(
    "preamble", ["Exported by Foo; version 1; 2020\nSome more; text; here\n", "// made by me\n", "pixel size,100\n"]
)
def test_a_preamble_does_not_hide_the_header(preamble: str, tmp_path: Path) -> None:
    table = quietly(written(tmp_path, preamble + "frame,x,y\n1,10,20\n2,30,40\n3,50,60\n"))
    assert table.x.tolist() == [10, 30, 50]


def test_many_comments_do_not_hide_the_rows(tmp_path: Path) -> None:
    content = "".join(f"# remark {k}\n" for k in range(500)) + "frame,x,y\n1,10,20\n"
    assert len(quietly(written(tmp_path, content))) == 1


@pytest.mark.parametrize(
    "content",
    [
        '"a,' + '""x"",' * 20000 + "z\n1,2\n",
        "(" * 20000 + "\n1,2,3\n",
        "#<localizations " + "<field" * 40000 + "\n1 2 3\n",
    ],
)
def test_odd_headers_take_little_work(content: str, tmp_path: Path) -> None:
    """In a process that is ended when it has used as much of the processor as only quadratic work would."""
    script = (
        "import resource, sys, flatmetric as fm\n"
        "fm.read, fm.InputError\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + 10,) * 2)\n"
        "try:\n    fm.read(sys.argv[1])\nexcept fm.InputError:\n    print('refused')\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(written(tmp_path, content))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "refused\n"


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_are_read(delimiter: str, tmp_path: Path) -> None:
    lines = ["frame;x;y;photons", "1;120,5;80,25;900", "2;118;-81,5e1;1100,75"]
    table = fm.read(written(tmp_path, "\n".join(lines).replace(";", delimiter)))
    assert table.x.tolist() == [120.5, 118.0] and table.y.tolist() == [80.25, -815.0]
    assert table.photons is not None and table.photons.tolist() == [900, 1100.75]
    assert "decimal commas read as points" in table.provenance.conversions


def test_a_decimal_comma_among_points_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, "frame;x;y\n1;120.5;80.25\n2;118,5;81.5\n")
    with pytest.raises(fm.InputError, match=r"row 3, column 2 .x., is '118,5', with a decimal comma"):
        fm.read(path)


@pytest.mark.parametrize("name", ["t", "time", "Time"])
def test_whole_times_are_taken_as_frames(name: str, tmp_path: Path) -> None:
    table = fm.read(written(tmp_path, f"{name},x,y\n1,120.5,80.0\n7,118.0,81.5\n"))
    assert table.frame.tolist() == [1, 7]
    assert f"column {name} taken as the frame (otherwise give columns=)" in table.provenance.assumptions
    seconds = fm.read(written(tmp_path, f"{name},x,y\n0.05,120.5,80.0\n0.35,118.0,81.5\n"))
    assert seconds.frame.tolist() == [1, 1]
