"""Files that were made to do harm: each is a table or one sentence, soon and in little memory."""

from __future__ import annotations

import gzip
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import flatmetric as fm
from flatmetric._files import check_writable, read_toml
from flatmetric.formats import read
from flatmetric.simulation.datasets import named
from flatmetric.stacks import open_stack
from tests.formats import samples
from tests.formats.test_bad_files import Writer, picasso_with_yaml

UNFORESEEN = read.unforeseen  # before tests let faults through


def text(content: str) -> Writer:
    return lambda path: _ignore(path.write_text(content))


def _ignore(_: Any) -> None:
    return None


def picasso_with(at: int, byte: int) -> Writer:
    def write(path: Path) -> None:
        samples.picasso(path, yaml=False)
        content = bytearray(path.read_bytes())
        content[at] = byte
        path.write_bytes(content)

    return write


def smlm_of_rows(rows: str) -> Writer:
    columns = '"shape": [1, 1], "dtype": ["float32", "float32"], "headers": ["x", "y"]'
    manifest = (
        f'{{"files": [{{"type": "table", "format": "f", "rows": {rows}, "name": "t"}}],'
        f' "formats": {{"f": {{"mode": "binary", {columns}}}}}}}'
    )

    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", manifest)
            archive.writestr("t", bytes(80))

    return write


def npy_of_minus_one_row(path: Path) -> None:
    header = b"{'descr': [('itr', '<f8')], 'fortran_order': False, 'shape': (-1,), }".ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80))


def storm_analysis_of_a_scalar(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["sa_type"] = "localizations"
        file["fr_0/x"], file["fr_0/y"] = 3.0, [1.0, 2.0]


def hdf5_of_one_large_chunk(path: Path) -> None:
    kind = np.dtype([("frame", "<u4"), ("x", "<f4"), ("y", "<f4")])
    with h5py.File(path, "w") as file:
        file.create_dataset("locs", shape=(300_000_000,), dtype=kind, chunks=(300_000_000,), compression="gzip")


def tagged_spots(spots: bytes) -> bytes:
    summary = b"\xb0\x01\x00"
    return bytes(4) + struct.pack(">q", len(spots)) + spots + bytes([len(summary)]) + summary


def tsf_of_empty_spots(path: Path) -> None:
    noise = np.random.default_rng(0).bytes(200_000)  # so that it is packed by less than the limit
    path.write_bytes(gzip.compress(tagged_spots(bytes(10_000_000)) + noise))


def yaml_of_aliases() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9)]
    return "\n".join([*lines, "Pixelsize: *a8", ""])


CASES: dict[str, tuple[Writer, str]] = {
    "a float of 16 bytes that overlaps its neighbours": (picasso_with(0x3CD, 21), "column x, is nan; fix or drop"),
    "nested aliases in yaml": (picasso_with_yaml(yaml_of_aliases()), "Pixelsize is a list; give pixel_size="),
    "sexagesimal numbers in yaml": (picasso_with_yaml("Pixelsize: " + ":".join(["1"] * 50_000)), "Pixelsize is '1:1:"),
    "yaml without end": (picasso_with_yaml("a: 1\n" * 100_000), "too large for Picasso's metadata"),
    "a pixel size of many digits": (picasso_with_yaml("Pixelsize: " + "9" * 100_000), "Pixelsize is '999"),
    "infinitely many rows in smlm": (smlm_of_rows("Infinity"), "manifest.json is damaged"),
    "rows of many digits in smlm": (smlm_of_rows("9" * 5000), "manifest.json is damaged"),
    "minus one row in npy": (npy_of_minus_one_row, "NumPy header is damaged"),
    "a scalar x in storm-analysis": (storm_analysis_of_a_scalar, "fr_0/x does not hold one number for each row"),
    "one large chunk in hdf5": (hdf5_of_one_large_chunk, "claims more data than the file can hold"),
    "empty spots in tsf": (tsf_of_empty_spots, "a spot lacks frame"),
    "a frame of 1e18": (text("1e18,1.5,2.5,3,900\n"), "is '1e18', too large"),
    "frames beyond 2^53": (text("9007199254740993,1.5,2.5,3,900\n2,118.0,81.5,5,1100\n"), "is too large"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence(case: str, tmp_path: Path) -> None:
    write, sentence = CASES[case]
    write(tmp_path / "bad.file")
    with pytest.raises(fm.InputError, match=sentence) as caught:
        fm.read(tmp_path / "bad.file")
    assert str(caught.value).isprintable() and len(str(caught.value)) <= 400


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_files_beyond_the_limits_are_refused(name: str, tmp_path: Path) -> None:
    content = b"frame,x [nm],y [nm]\n" + b"1,2,3\n" * 1000
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert len(fm.read(tmp_path / name, max_rows=1000, max_bytes=len(content))) == 1000
    with pytest.raises(fm.InputError, match=r"a\.csv.*: has 1000 rows, more than max_rows=999"):
        fm.read(tmp_path / name, max_rows=999)
    with pytest.raises(fm.InputError, match=r"a\.csv.*: holds more than max_bytes=6000"):
        fm.read(tmp_path / name, max_bytes=6000)
    with pytest.raises(fm.InputError, match="max_rows is -1; give a whole number from 0"):
        fm.read(tmp_path / name, max_rows=-1)


def test_archives_of_many_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "frame,x [nm],y [nm]\n1,2,3\n")
        for number in range(4):
            archive.writestr(f"__MACOSX/{number}", "")
    assert len(fm.read(path, max_members=5)) == 1
    with pytest.raises(fm.InputError, match=r"a\.zip: the zip archive holds 5 files, more than max_members=4"):
        fm.read(path, max_members=4)


def test_a_submission_beyond_the_limits_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "d" / "results").mkdir(parents=True)
    rows = "".join(f"{k},{9.5 * k},{7.5 * k}\n" for k in range(1, 30))
    for path, content in {"truth": rows, "results/small": rows, "results/large": 10 * rows}.items():
        (tmp_path / "d" / f"{path}.csv").write_text("frame,x [nm],y [nm]\n" + content)
    board = fm.leaderboard(tmp_path, out=tmp_path / "board", max_rows=100)
    assert [entry.program for entry in board.entries] == ["small"]
    assert "has 290 rows, more than max_rows=100" in board.failures["d", "large"]


def test_a_hundred_thousand_heaps_that_are_none_are_passed_over(tmp_path: Path) -> None:
    samples.picasso(tmp_path / "a.hdf5")
    with (tmp_path / "a.hdf5").open("ab") as file:
        file.write((b"GCOL\1\0\0\0" + struct.pack("<Q", 1 << 20)) * 100_000)
    assert len(fm.read(tmp_path / "a.hdf5")) == 3


def test_channels_that_are_text_are_left_out_of_smap(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        for column in ("xnm", "ynm", "frame"):
            file[f"saveloc/loc/{column}"] = np.arange(1.0, 4.0)[None]
        file["saveloc/loc/channel"] = np.array([[b"a", b"b", b"c"]])
    assert fm.read(tmp_path / "a.mat").channel is None


def test_numbers_below_zero_are_read_from_tsf(tmp_path: Path) -> None:
    spot = b"\x18\x05\x08" + b"\xff" * 9 + b"\x01\x3d" + struct.pack("<f", 7) + b"\x45" + struct.pack("<f", 2)
    (tmp_path / "a.tsf").write_bytes(tagged_spots(bytes([len(spot)]) + spot))
    table = fm.read(tmp_path / "a.tsf")
    assert table.frame.tolist() == [5] and table.id is not None and table.id.tolist() == [-1]


@pytest.mark.parametrize("format", ["tsf-text", "tsf", "insight3", "picasso", "minflux-npy", "nikon"])
def test_a_format_that_the_file_does_not_have_is_one_sentence(format: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(fm.InputError, match=r"a\.csv"):
        fm.read(tmp_path / "a.csv", format=format)


def test_what_a_format_does_not_foresee_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("frame,x [nm],y [nm]\n1,2,3\n")

    def trip(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(read, "to_localizations", trip)
    with pytest.raises(ZeroDivisionError):
        fm.read(tmp_path / "a.csv")
    monkeypatch.setattr(read, "unforeseen", UNFORESEEN)
    with pytest.raises(fm.InputError, match=r"a\.csv: can't be read as .* \(ZeroDivisionError\); get the file again"):
        fm.read(tmp_path / "a.csv")


@pytest.mark.parametrize("opens", [open_stack, lambda path: fm.read(path), read_toml, lambda path: named(str(path))])
@pytest.mark.parametrize("what", ["pipe", "endless device", "link in circles", "folder", "nothing"])
def test_only_ordinary_files_are_opened(opens: Callable[[Path], Any], what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "endless device":
        path.symlink_to("/dev/zero")
    elif what == "link in circles":
        path.symlink_to(path)
    elif what == "folder":
        path.mkdir()
    with pytest.raises(fm.InputError, match=r"a\.toml: (is not an ordinary|is a link|is a folder|there is no)"):
        opens(path)


@pytest.mark.parametrize("opens", [open_stack, lambda path: fm.read(path), read_toml, check_writable])
def test_a_name_with_a_zero_byte_is_one_sentence(opens: Callable[[Path], Any]) -> None:
    with pytest.raises(fm.InputError, match=r"a\\x00b\.csv: (is not a file name|there is no such file)"):
        opens(Path("a\0b.csv"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a = " + "9" * 5000, "a number of thousands of digits"),
        ("a = " + "[" * 5000 + "]" * 5000, "is nested too deeply"),
        ("a = 1\n" * 200_000, "is larger than 1 MB"),
        ("\x1b[2J = 1", "is not valid TOML"),
    ],
)
def test_toml_that_takes_too_much(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(content)
    with pytest.raises(fm.InputError, match=sentence) as caught:
        read_toml(tmp_path / "a.toml")
    assert str(caught.value).isprintable()


def test_a_stack_claims_no_more_than_its_file_can_hold(tmp_path: Path) -> None:
    import tifffile

    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((3000, 3000), np.uint16), compression="zlib")
    assert open_stack(path).width == 3000
    content = path.read_bytes()
    for field in (b"\x00\x01\x04\x00", b"\x01\x01\x04\x00"):  # ImageWidth and ImageLength, as 32-bit numbers
        at = content.find(field)
        content = content[: at + 8] + struct.pack("<I", 60_000) + content[at + 12 :]
    path.write_bytes(content)
    with pytest.raises(fm.InputError, match="claims images of 60000 x 60000 pixels, more than it can hold"):
        open_stack(path)


def test_a_stack_without_a_pixel_is_refused(tmp_path: Path) -> None:
    import tifffile

    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((4, 4), np.uint16))
    content = path.read_bytes()
    for number in (b"\x00\x01", b"\x01\x01"):
        at = next(k for k in range(len(content)) if content[k : k + 2] == number and content[k + 8 : k + 9] == b"\x04")
        content = content[: at + 8] + bytes(4) + content[at + 12 :]
    path.write_bytes(content)
    with pytest.raises(fm.InputError, match=r"a\.tif: (its images have no pixel|is damaged)"):
        open_stack(path)
