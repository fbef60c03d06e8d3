"""Files that can't be used: one sentence that names the file, the place and the mend; memory bounded; no code run."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import flatmetric as fm
from tests.formats import samples

HEADER = "frame,x,y,z,photons\n"
Writer = Callable[[Path], Any]


def content(text: str | bytes) -> Writer:
    return lambda path: path.write_bytes(text if isinstance(text, bytes) else text.encode())


def cut(write: Writer, keep: float) -> Writer:
    def cut_short(path: Path) -> None:
        write(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(keep * len(whole))])

    return cut_short


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("exploded",))


def pickled(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.array([Bomb()], dtype=object), allow_pickle=True)


def npy_of_many(path: Path) -> None:
    header = b"{'descr': [('itr', '<f8')], 'fortran_order': False, 'shape': (1000000000000,), }"
    header = header.ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def hdf5_with_external_link(path: Path) -> None:
    samples.picasso(path.with_name("other.hdf5"))
    with h5py.File(path, "w") as file:
        file["locs"] = h5py.ExternalLink("other.hdf5", "locs")


def hdf5_with_soft_link(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["locs"] = h5py.SoftLink("/elsewhere")


def hdf5_with_external_storage(path: Path) -> None:
    with h5py.File(path, "w") as file:
        kind = np.dtype([("frame", "<u4"), ("x", "<f4"), ("y", "<f4")])
        file.create_dataset("locs", shape=(3,), dtype=kind, external=[("/etc/passwd", 0, 36)])


def hdf5_of_many(path: Path) -> None:
    with h5py.File(path, "w") as file:
        kind = np.dtype([("frame", "<u4"), ("x", "<f4"), ("y", "<f4")])
        file.create_dataset("locs", shape=(10**12,), dtype=kind, chunks=(10**6,), compression="gzip")


def hdf5_of_something_else(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["image"] = np.zeros((4, 4))


def picasso_with_yaml(yaml: str) -> Writer:
    def write(path: Path) -> None:
        samples.picasso(path, yaml=False)
        path.with_suffix(".yaml").write_text(yaml)

    return write


def zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as member:
        for _ in range(40):
            member.write(b"1,2,3,4,5\n" * 100_000)


def gzip_bomb(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(40):
            file.write(b"1,2,3,4,5\n" * 100_000)


def bzip_in_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive, archive.open("a.csv", "w") as member:
        member.write(b"0" * 10_000_000)


def zip_of_two(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "1,2,3,4,5\n")
        archive.writestr("b.csv", "1,2,3,4,5\n")


def manifest(change: Callable[[dict[str, Any]], Any]) -> Writer:
    def write(path: Path) -> None:
        samples.smlm(path)
        with zipfile.ZipFile(path) as archive:
            described, table = json.loads(archive.read("manifest.json")), archive.read("t.bin")
        change(described)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", json.dumps(described))
            archive.writestr("t.bin", table)

    return write


BAD = {
    "zero bytes": (content(""), "no bytes"),
    "only blanks": (content("\n\n  \n"), "neither a text table"),
    "truncated row": (content(HEADER + "1,2,3,4,5\n1,2,3"), "row 3, has 3 cells and the header 5"),
    "wrong delimiter": (content("frame|x;y\n1|2;3\n"), "no column is known as x"),
    "a decimal comma among points": (
        content("frame;x;y\n1;2.5;3,5\n"),
        "column 3 .y., is '3,5', with a decimal comma",
    ),
    "decimal commas between commas": (content("frame,x,y\n1,2,5,3,5\n"), "row 2, has 5 cells and the header 3"),
    "NaN": (content(HEADER + "1,2,3,4,5\n1,NaN,3,4,5\n"), "row 3, column 2 .x., is 'NaN', not a finite number"),
    "inf": (content(HEADER + "1,2,-inf,4,5\n"), "row 2, column 3 .y., is '-inf'"),
    "text": (content(HEADER + "1,2,3,4,5\n1,2,abc,4,5\n"), "row 3, column 3 .y., is 'abc', not a number"),
    "ragged": (content(HEADER + "1,2,3,4,5\n1,2,3,4,5,6\n"), "row 3, has 6 cells and the header 5"),
    "1e400": (content(HEADER + "1,2,3,4,1e400\n"), "row 2, column 5 .photons., is '1e400', too large"),
    "empty cell": (content(HEADER + "1,,3,4,5\n"), "row 2, column 2 .x., is empty"),
    "half frames": (content(HEADER + "1.5,2,3,4,5\n"), "row 2, column 1 .frame., is '1.5', not a whole number"),
    "headerless of six": (content("1,2,3,4,5,6\n"), "6 columns and no header; .*columns="),
    "no x": (content("frame,a,b\n1,2,3\n"), "its header has frame, a, b"),
    "one long line": (content("frame,x,y\n" + "1" * 2_000_000), "longer than a megabyte"),
    "binary noise": (content(bytes(range(256)) * 10), "neither a text table nor a known binary"),
    "zeros": (content(b"\0" * 5000), "neither a text table nor a known binary"),
    "png": (content(b"\x89PNG\r\n\x1a\n" + b"\0" * 100), "neither a text table"),
    "cut gzip": (
        cut(lambda p: p.write_bytes(gzip.compress(samples.STANDARD.encode())), 0.6),
        "gzip packing is damaged",
    ),
    "cut zip": (cut(samples.zipped, 0.6), "zip packing is damaged"),
    "cut zstd": (cut(samples.zstd, 0.6), "zstd packing is damaged|nothing in it once unpacked"),
    "bz2": (content(bz2.compress(b"1,2,3,4,5\n")), "neither a text table|no header|known as x"),
    "zip bomb": (zip_bomb, "more than 100 times its size"),
    "gzip bomb": (gzip_bomb, "more than 100 times its size"),
    "bzip2 inside zip": (bzip_in_zip, "not packed by deflate"),
    "two in a zip": (zip_of_two, "holds 2 files"),
    "cut picasso": (cut(lambda p: samples.picasso(p, yaml=False), 0.5), "HDF5 file is damaged"),
    "cut insight3": (cut(samples.insight3, 0.5), "is cut short: its header promises 3 rows, and it holds 1"),
    "cut npy": (cut(samples.minflux_npy, 0.7), "is cut short"),
    "cut mat": (cut(samples.minflux_mat, 0.5), "MATLAB file is damaged"),
    "cut tsf": (cut(samples.tsf, 0.5), "tagged spot file is damaged"),
    "cut parquet": (cut(samples.parquet, 0.5), "Parquet or Arrow file is damaged"),
    "pickle in npy": (pickled, "pickled Python objects, which are never loaded"),
    "npy of 10^12 rows": (npy_of_many, "is cut short"),
    "other npy": (lambda p: _save(p, np.zeros((3, 3))), "without MINFLUX's field"),
    "external link": (hdf5_with_external_link, "'locs' is a link, which is not followed"),
    "soft link": (hdf5_with_soft_link, "'locs' is a link, which is not followed"),
    "external storage": (hdf5_with_external_storage, "lies in another file"),
    "hdf5 of 10^12 rows": (hdf5_of_many, "claims more data than the file can hold"),
    "other hdf5": (hdf5_of_something_else, "is an HDF5 file, but not of Picasso"),
    "yaml with an object tag": (
        picasso_with_yaml("!!python/object/apply:os.mkdir ['exploded']\n"),
        "holds an object tag, which is never loaded",
    ),
    "yaml that merges": (picasso_with_yaml("a: &a {k: 1}\nb: {<<: *a}\n"), "merges keys"),
    "yaml of odd values": (picasso_with_yaml("a: !!int ''\n"), "does not say how large a pixel is"),
    "broken yaml": (picasso_with_yaml("a: [1\n"), "is not valid YAML"),
    "yaml with a wrong pixel size": (picasso_with_yaml("Pixelsize: large\n"), "Pixelsize is 'large'"),
    "manifest that promises too much": (manifest(lambda m: m["files"][0].update(rows=10**9)), "rows of 32 bytes"),
    "manifest without tables": (manifest(lambda m: m["files"].clear()), "names no table"),
    "manifest of another shape": (manifest(lambda m: m.pop("formats")), "manifest.json is damaged"),
    "manifest with an object column": (
        manifest(lambda m: m["formats"]["t"].update(dtype=["object"] * 5)),
        "does not hold numbers",
    ),
}


def _save(path: Path, array: Any) -> None:
    with path.open("wb") as file:
        np.save(file, array)


@pytest.mark.parametrize("case", BAD)
def test_one_sentence_names_the_file_and_the_place(case: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    write, sentence = BAD[case]
    path = tmp_path / "bad.file"
    write(path)
    with pytest.raises(fm.InputError, match=sentence) as caught:
        fm.read(path)
    said = str(caught.value)
    assert "bad." in said and "\n" not in said and len(said) < 500
    assert not Path("exploded").exists()


def test_folder_missing_file_and_no_permission(tmp_path: Path) -> None:
    with pytest.raises(fm.InputError, match="is a folder; give a file"):
        fm.read(tmp_path)
    with pytest.raises(fm.InputError, match="there is no such file"):
        fm.read(tmp_path / "missing.csv")
    path = tmp_path / "secret.csv"
    path.write_text("1,2,3,4,5\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(fm.InputError, match="permission denied"):
        fm.read(path)


@pytest.mark.parametrize("case", ["zip bomb", "gzip bomb", "bzip2 inside zip", "hdf5 of 10^12 rows"])
def test_bombs_stay_within_memory(case: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    BAD[case][0](path)
    script = "import sys, flatmetric as fm\ntry:\n    fm.read(sys.argv[1])\nexcept fm.InputError:\n    pass\n"
    script += "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400_000  # kB


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(samples.STANDARD)
    for options, sentence in (
        ({"unit": "inch"}, "unit is 'inch'; give one of nm, um, m, px"),
        ({"pixel_size": -1}, "pixel_size is -1; give one positive number"),
        ({"pixel_size": (1, 2, 3)}, "pixel_size is 1, 2, 3; give"),
        ({"pixel_size": float("nan")}, "pixel_size is nan"),
        ({"origin": "middle"}, "origin is 'middle'; give corner or center"),
        ({"origin": "center"}, "half a pixel is to be added and the pixel size is not known"),
        ({"shift": (1,)}, "shift is 1; give dx,dy"),
        ({"columns": {"depth": 3}}, "columns names 'depth'; give frame, x, y"),
        ({"columns": {"x": 9, "y": 1}}, "no column '9' for x; it has 5 columns"),
        ({"columns": {"x": 1}}, "no column is known as y"),
        ({"format": "excel"}, "no format 'excel'; give one of"),
        ({"format": "thunderstorm"}, "as ThunderSTORM it lacks a header"),
        ({"frame_base": 1.5}, "frame_base is 1.5; give the number"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            fm.read(path, **options)


def test_nothing_of_a_pickle_is_run(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "p.bin"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(fm.InputError):
        fm.read(path)
    assert not (tmp_path / "exploded").exists()
    pickle.loads(path.read_bytes())
    assert (tmp_path / "exploded").exists()  # it would have
