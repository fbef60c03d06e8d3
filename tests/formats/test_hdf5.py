"""HDF5 files: every kind is read as h5py reads it or refused, and none can harm the process that reads it."""

from __future__ import annotations

import itertools
import os
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import tables

import flatmetric as fm
from flatmetric.formats import hdf5
from flatmetric.formats.hdf5 import Hdf5, is_hdf5
from flatmetric.formats.source import Source
from tests.formats import samples

RNG = np.random.default_rng(0)
TABLE = np.zeros(
    5,
    dtype=[("frame", "u4"), ("x", "f4"), ("m", "f8", (2, 3)), ("n", [("a", "i2"), ("b", ">f8")]), ("s", "S3")],
)
TABLE["x"], TABLE["m"], TABLE["n"]["b"], TABLE["s"] = RNG.normal(size=5), RNG.normal(size=(5, 2, 3)), np.pi, b"ab"
NUMBERS = RNG.normal(size=(100, 7))
Make = Callable[[h5py.File], None]


def dataset(values: Any = NUMBERS, **options: Any) -> Make:
    return lambda file: file.create_dataset("a", data=values, **options) and None


def compact(file: h5py.File) -> None:
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((5,))
    h5py.h5d.create(file.id, b"a", h5py.h5t.py_create(TABLE.dtype), space, made).write(
        h5py.h5s.ALL, h5py.h5s.ALL, TABLE
    )


def filtered(*order: str) -> Make:
    """Chunks with filters in an order of our own."""

    def make(file: h5py.File) -> None:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((30, 4))
        for name in order:
            {"fletcher32": made.set_fletcher32, "shuffle": made.set_shuffle, "gzip": made.set_deflate}[name]()
        space = h5py.h5s.create_simple(NUMBERS.shape, (h5py.h5s.UNLIMITED, 7))
        made = h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F64LE, space, made)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS)

    return make


def virtual(file: h5py.File) -> None:
    file["source"] = NUMBERS
    layout = h5py.VirtualLayout((200, 7), "f8")
    layout[50:150] = h5py.VirtualSource(".", "source", shape=NUMBERS.shape)
    file.create_virtual_dataset("a", layout, fillvalue=-1)


def many_members(file: h5py.File) -> None:
    for k in range(300):
        file[f"g/{k}"] = np.arange(k % 5)
    file["a"] = NUMBERS


def sparse(file: h5py.File) -> None:
    file.create_dataset("a", shape=(100, 100), chunks=(10, 10), dtype="f4", fillvalue=7.5)[5:8, 50:60] = 1


def unnormalised(file: h5py.File) -> None:
    """Floats whose leading one is stored."""
    kind = h5py.h5t.IEEE_F32LE.copy()
    kind.set_norm(h5py.h5t.NORM_NONE)
    made = h5py.h5d.create(file.id, b"a", kind, h5py.h5s.create_simple((3,)))
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1.5, -2.25, 1e3], "f4"))


def padded_with_spaces(file: h5py.File) -> None:
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(6)
    kind.set_strpad(h5py.h5t.STR_SPACEPAD)
    made = h5py.h5d.create(file.id, b"a", kind, h5py.h5s.create_simple((2,)))
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([b"ab    ", b"c     "]), kind)


CHUNKS: dict[str, Any] = {"chunks": (30, 4), "maxshape": (None, None)}
KINDS: dict[str, Make] = {
    "contiguous": dataset(),
    "compact": compact,
    "ten fixed chunks": dataset(NUMBERS[:, 0], chunks=(10,)),
    "one chunk": dataset(chunks=(100, 7)),
    "one growing axis": dataset(chunks=(30, 4), maxshape=(None, 7)),
    "two growing axes": dataset(**CHUNKS),
    "sparse": sparse,
    "gzip": dataset(compression="gzip", **CHUNKS),
    "lzf": dataset(compression="lzf", **CHUNKS),
    "shuffle": dataset(shuffle=True, **CHUNKS),
    "scale and offset": dataset(np.arange(200).reshape(20, 10), scaleoffset=0, **CHUNKS),
    "gzip, shuffle, fletcher32": dataset(compression="gzip", shuffle=True, fletcher32=True, **CHUNKS),
    "fletcher32 first": filtered("fletcher32", "shuffle", "gzip"),
    "fletcher32 between": filtered("shuffle", "fletcher32", "gzip"),
    "blosc": dataset(**hdf5plugin.Blosc(), **CHUNKS),
    "zstd": dataset(**hdf5plugin.Zstd(), **CHUNKS),
    "bitshuffle": dataset(**hdf5plugin.Bitshuffle(), **CHUNKS),
    "virtual": virtual,
    "many members": many_members,
    "a table": dataset(TABLE, chunks=(2,), compression="gzip"),
    "big-endian": dataset(np.arange(10, dtype=">i4")),
    "half precision": dataset(np.arange(5, dtype="f2")),
    "long double": dataset(np.arange(5, dtype=np.longdouble)),
    "booleans": dataset(np.array([True, False])),
    "complex": dataset(np.array([1 + 2j, 3])),
    "text of one length": dataset(np.array([b"abc", b"d"])),
    "text of any length": dataset("a longer text"),
    "texts of any length": dataset(["a", "longer", ""]),
    "padded with spaces": padded_with_spaces,
    "not normalised": unnormalised,
    "arrays of arrays": dataset(np.zeros(3, dtype=[("m", "f4", (2, 2))])["m"]),
    "a number": dataset(3.5),
    "no row": dataset(np.zeros((0, 4))),
    "nothing": dataset(h5py.Empty("f4")),
    "enumeration": dataset(np.array([0, 1]), dtype=h5py.enum_dtype({"a": 0, "b": 1})),
}
REFUSED: dict[str, Make] = {
    "lists": dataset(np.array([np.arange(2.0), np.arange(3.0)], dtype=object), dtype=h5py.vlen_dtype("f8")),
    "references": lambda file: file.create_dataset("a", data=[file.ref], dtype=h5py.ref_dtype) and None,
}
LIBRARIES = [("earliest", "v108"), ("earliest", "latest"), "v108", "v110", "v112", "v114", "latest"]
ATTRIBUTES: dict[str, Any] = {
    **{f"number {k}": float(k) for k in range(12)},
    "text": "nm",
    "bytes": np.bytes_(b"px"),
    "list": [1.0, 2.0],
    "texts": ["a", "b"],
    "large": np.arange(1000),
}


def opened(path: Path) -> closing[Hdf5]:
    return closing(Hdf5(Source(path)))


def expected(path: Path) -> npt.NDArray[Any] | None:
    """What h5py makes of it, in this process; text is bytes."""
    with h5py.File(path) as file:
        values = file["a"][()]
    if isinstance(values, h5py.Empty):
        return None
    if isinstance(values, bytes) or np.asarray(values).dtype.kind == "O":
        return np.asarray(values, dtype="S")
    return np.asarray(values)


@pytest.mark.parametrize("order", [False, True], ids=["by name", "in order"])
@pytest.mark.parametrize("libver", LIBRARIES, ids=str)
def test_every_kind_is_read_as_the_library_reads_it(libver: Any, order: bool, tmp_path: Path) -> None:
    userblock = 1024 if order else 0
    for kind, make in itertools.chain(KINDS.items(), REFUSED.items()):
        if kind == "virtual" and "v108" in libver:
            continue  # 1.8 has none
        path = tmp_path / f"{kind}.h5"
        with h5py.File(path, "w", libver=libver, track_order=order, userblock_size=userblock) as file:
            make(file)
            for name, value in ATTRIBUTES.items():
                file.attrs[name] = value
        assert is_hdf5(Source(path))
        with opened(path) as content:
            assert content.attributes([("/", name) for name in ATTRIBUTES]) == [
                np.asarray(value).tolist() if name != "bytes" else "px" for name, value in ATTRIBUTES.items()
            ]
            if kind in REFUSED:
                with pytest.raises(fm.InputError, match="'a' holds references or lists, not numbers or text"):
                    content.array("a")
                continue
            found, right = content.array("a"), expected(path)
            if right is None or found is None:
                assert found is right, kind
            else:
                assert found.dtype == right.dtype and found.shape == right.shape, kind
                assert found.tobytes() == right.tobytes() or found.tolist() == right.tolist(), kind


FRAME = pd.DataFrame(
    {"frame": [1, 2, 3], "x": [1.5, 2, 3], "y": [4.0, 5, 6], "photons": np.array([7, 8, 9], np.float32)}
)


@pytest.mark.parametrize("packing", [None, "zlib", "bzip2", "blosc", "blosc:lz4", "blosc:zstd", "blosc2"])
@pytest.mark.parametrize("how", ["fixed", "table", "columns", "PyTables"])
def test_tables_of_pandas_and_pytables(
    how: str, packing: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.h5"
    # PyTables makes chunks as large as the third cache of the machine, which may have hundreds of megabytes.
    monkeypatch.setattr("tables.leaf.get_cpu_info", dict)
    if how == "PyTables":
        filters = tables.Filters(5, packing) if packing else None
        with tables.open_file(path, "w") as file:
            file.create_table("/some", "points", FRAME.to_records(index=False), createparents=True, filters=filters)
    else:
        columns: Any = {"data_columns": True} if how == "columns" else {}
        form: Any = "fixed" if how == "fixed" else "table"
        FRAME.to_hdf(path, key="locs", format=form, complevel=5 if packing else 0, complib=packing, **columns)  # type: ignore[arg-type]
    table = fm.read(path)
    assert table.provenance.format == "hdf5-table"
    for name, values in FRAME.items():
        assert table.columns()[str(name)].tolist() == values.tolist()


def test_names_of_columns_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    FRAME.to_hdf(path, key="a", format="table")
    with h5py.File(path, "r+") as file:
        harm = f"cposix\nmkdir\n(S'{tmp_path}/exploded'\ntR.".encode()
        file["a/table"].attrs["values_block_0_kind"] = np.bytes_(harm)
    with pytest.raises(fm.InputError, match=r"the names of the columns of 'a/table' can't be read"):
        fm.read(path)
    assert not (tmp_path / "exploded").exists()


def test_several_tables_are_named(tmp_path: Path) -> None:
    for key in ("first", "second"):
        FRAME.to_hdf(tmp_path / "a.h5", key=key)
    with pytest.raises(fm.InputError, match=r"holds several tables \(first, second\); give a file with one"):
        fm.read(tmp_path / "a.h5")


@pytest.mark.parametrize("libver", ["v108", "latest"])
@pytest.mark.parametrize("order", [False, True])
def test_the_drift_of_storm_analysis_is_added_however_it_is_stored(libver: str, order: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    with h5py.File(path, "w", libver=libver, track_order=order) as file:
        file.attrs["sa_type"], file.attrs["pixel_size"] = "unknown", 100.0
        group = file.create_group("fr_0", track_order=order)
        group["x"], group["y"] = [10.0], [10.0]
        for k in range(12):
            group.attrs[f"other {k}"] = k
        group.attrs["dx"] = 3.0
    assert fm.read(path).x.tolist() == [1350.0]


def test_a_flipped_bit_under_a_checksum_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.hdf5"
    samples.picasso(path, yaml=False)
    with h5py.File(path, "r+") as file:
        locs = file["locs"][()]
        del file["locs"]
        place = file.create_dataset("locs", data=locs, chunks=(3,), fletcher32=True).id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[place + 6] ^= 1
    path.write_bytes(content)
    with pytest.raises(fm.InputError, match="the HDF5 file is damaged or cut short"):
        fm.read(path, pixel_size=100)


def test_data_in_other_files_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["locs"] = NUMBERS
    layout = h5py.VirtualLayout(NUMBERS.shape, "f8")
    layout[:] = h5py.VirtualSource(tmp_path / "b.h5", "locs", shape=NUMBERS.shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("locs", layout)
    with pytest.raises(fm.InputError, match="'locs' is made of data in other files"):
        fm.read(tmp_path / "a.h5")


def test_a_filter_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("locs", data=TABLE, chunks=(2,), **hdf5plugin.Blosc())
    (tmp_path / "hdf5plugin.py").write_text("raise ImportError\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(hdf5, "_idle", {})
    with pytest.raises(fm.InputError, match="packed by blosc, which needs the Python package hdf5plugin"):
        fm.read(tmp_path / "a.h5")
    hdf5.end_children()


# Files that were made to do harm


def tree_of_one_node(path: Path) -> None:
    """A group of two thousand million names: 30 000 entries name one node, whose 30 000 entries name another."""
    with h5py.File(path, "w") as file:
        file["fr_0"] = file["fr_1"] = 1.0
    content = bytearray(path.read_bytes())
    small, lower = content.index(b"TREE"), len(content)
    (names,) = struct.unpack_from("<Q", content, small + 32)
    count = 30_000
    upper = lower + 24 + 16 * count + 8
    for level, child in ((0, names), (1, lower)):
        content += b"TREE" + struct.pack("<BBHQQ", 0, level, count, 2**64 - 1, 2**64 - 1)
        content += struct.pack("<QQ", 8, child) * count + struct.pack("<Q", 8)
    content[18:20] = struct.pack("<H", count // 2)  # the size of nodes
    content[40:48] = struct.pack("<Q", len(content))  # the end of the file
    path.write_bytes(content.replace(struct.pack("<Q", small), struct.pack("<Q", upper)))


def headers_without_end(path: Path) -> None:
    """An object whose header is continued a thousand times by one block of a megabyte."""
    with h5py.File(path, "w") as file:
        file["fr_0"] = 1.0
    content = bytearray(path.read_bytes())
    header, block = len(content), len(content) + 16 + 1000 * 24
    content += struct.pack("<BBHIII", 1, 0, 65_000, 1, 1000 * 24, 0)
    content += struct.pack("<HHBBBBQQ", 16, 16, 0, 0, 0, 0, block, 1 << 20) * 1000
    content += struct.pack("<HHI", 0, 8, 0).ljust(16, b"\0") * (1 << 16)
    content[64:72] = struct.pack("<Q", header)
    content[40:48] = struct.pack("<Q", len(content))
    path.write_bytes(content)


def one_text_named_often(path: Path) -> None:
    """A hundred thousand texts that are all the same megabyte."""
    samples.picasso(path, yaml=False)
    with h5py.File(path, "r+") as file:
        texts = file.create_dataset("metadata", shape=(100_000,), dtype=h5py.string_dtype())
        texts[0], texts[1] = "x" * (1 << 20), ""
        place = texts.id.get_offset()
    content = bytearray(path.read_bytes())
    content[place : place + 16 * 100_000] = content[place : place + 16] * 100_000
    path.write_bytes(content)


def one_dataset_named_often(path: Path) -> None:
    """Two thousand frames that share one column."""
    with h5py.File(path, "w") as file:
        column = file.create_dataset("column", data=np.zeros(1 << 20), compression="gzip")
        for k in range(2000):
            for name in ("x", "y"):
                file[f"fr_{k}/{name}"] = column


BOMBS = {
    "a tree of one node": (tree_of_one_node, "takes longer than a file of its size|damaged|claims more"),
    "headers without end": (headers_without_end, "damaged or cut short|is an HDF5 file, but not of|claims more"),
    "one text named often": (one_text_named_often, "claims more data than|damaged"),
    "one dataset named often": (one_dataset_named_often, "claims more data than the file can hold"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_end_in_a_sentence(bomb: str, tmp_path: Path) -> None:
    write, sentence = BOMBS[bomb]
    write(tmp_path / "bomb.h5")
    assert (tmp_path / "bomb.h5").stat().st_size < 3_000_000
    with pytest.raises(fm.InputError, match=f"bomb.h5: .*({sentence})"):
        fm.read(tmp_path / "bomb.h5", pixel_size=100)
    samples.picasso(tmp_path / "next.h5")
    assert len(fm.read(tmp_path / "next.h5")) == 3


# The child process


def test_the_limit_of_time_ends_what_takes_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "_SECONDS", 0.5)
    samples.picasso(tmp_path / "a.h5")
    with opened(tmp_path / "a.h5") as file, pytest.raises(fm.InputError, match=r"a\.h5: reading takes longer than"):
        file.arrays(["locs"] * 1_000_000)


@pytest.fixture
def broken_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Replaces the script of the child."""

    def replace(script: str) -> None:
        (tmp_path / "child.py").write_text(script)
        monkeypatch.setattr(hdf5, "_SCRIPT", tmp_path / "child.py")
        monkeypatch.setattr(hdf5, "_idle", {})

    yield replace
    hdf5.end_children()


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("import os\nos.abort()", "the HDF5 file is damaged"),
        ("import sys\nsys.stdin.readline()", "the HDF5 file is damaged"),
        ("import sys, time\nsys.stdin.readline()\ntime.sleep(1000)", "reading takes longer than a file of its size"),
    ],
    ids=["crashes", "ends", "never answers"],
)
def test_a_child_that_fails_is_one_sentence(
    script: str, sentence: str, broken_child: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples.picasso(tmp_path / "a.h5")
    broken_child(script)
    if "sleep" in script:
        monkeypatch.setattr(hdf5, "_PATIENCE_S", 1.0)
    with pytest.raises(fm.InputError, match=rf"a\.h5: {sentence}"):
        fm.read(tmp_path / "a.h5")


def test_one_child_reads_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "_idle", {})
    started = []

    class Counted(hdf5._Child):
        def __init__(self) -> None:
            started.append(self)
            super().__init__()

    monkeypatch.setattr(hdf5, "_Child", Counted)
    for k in range(20):
        samples.picasso(tmp_path / f"{k}.h5")
        assert len(fm.read(tmp_path / f"{k}.h5")) == 3
    assert len(started) == 1
    hdf5.end_children()
    assert started[0]._process.poll() is not None


@pytest.mark.parametrize("asks_again", [False, True], ids=["then closed", "then asked"])
def test_a_fork_that_ends_between_two_questions_leaves_the_next_file_alone(
    asks_again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5, "_idle", {})
    samples.picasso(tmp_path / "a.h5")
    with opened(tmp_path / "a.h5") as file:
        assert file.holds("locs")
        child = file._child
        assert child is not None
        main = child._process.pid
        (fork,) = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        os.kill(int(fork), signal.SIGKILL)
        if asks_again:
            with pytest.raises(fm.InputError, match=r"a\.h5: the HDF5 file is damaged"):
                file.members("locs")
    for _ in range(3):
        assert len(fm.read(tmp_path / "a.h5")) == 3
    assert hdf5._idle[os.getpid()] == [child]
    hdf5.end_children()


def test_a_fork_of_this_process_has_a_child_of_its_own(tmp_path: Path) -> None:
    samples.picasso(tmp_path / "a.h5")
    fm.read(tmp_path / "a.h5")
    mine = list(hdf5._idle[os.getpid()])
    child = os.fork()
    if child == 0:
        os._exit(0 if hdf5._Child.borrowed() not in mine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_arrays_come_back_through_a_file_where_there_is_no_shared_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(hdf5, "_idle", {})
    samples.picasso(tmp_path / "a.h5")
    assert len(fm.read(tmp_path / "a.h5")) == 3
    folder = Path(hdf5._idle[os.getpid()][0]._folder.name)  # type: ignore[union-attr]
    assert folder.exists()
    hdf5.end_children()
    assert not folder.exists()
