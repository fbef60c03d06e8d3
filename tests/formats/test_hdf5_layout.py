"""HDF5 read in plain Python, against the HDF5 library: every kind of data that programs write, any byte damaged."""

from __future__ import annotations

import io
import random
import struct
from contextlib import suppress
from typing import Any

import h5py
import numpy as np
import pytest

from flatmetric.formats.hdf5_layout import DamagedError, Layout, UnsupportedError

RNG = np.random.default_rng(0)
TABLE = np.zeros(5, dtype=[("frame", "u4"), ("x", "f4"), ("m", "f8", (2, 3)), ("n", [("a", "i2"), ("b", ">f8")])])
TABLE["x"], TABLE["m"], TABLE["n"]["b"] = RNG.normal(size=5), RNG.normal(size=(5, 2, 3)), RNG.normal(size=5)
ARRAYS: dict[str, Any] = {
    "floats": RNG.normal(size=(7, 3)),
    "big-endian": np.arange(10, dtype=">i4"),
    "half": np.arange(5, dtype="f2"),
    "bytes": np.arange(5, dtype="u1"),
    "booleans": np.array([True, False]),
    "fixed text": np.array([b"abc", b"d"]),
    "a number": 3.5,
    "table": TABLE,
    "no row": np.zeros((0, 4)),
}


def layout_of(content: bytes, start: int = 0) -> Layout:
    return Layout(io.BytesIO(content), start, 1 << 24)


def written(libver: str = "earliest", userblock: int = 0, **options: Any) -> bytes:
    file = io.BytesIO()
    with h5py.File(file, "w", libver=libver, userblock_size=userblock) as content:
        for name, values in list(ARRAYS.items())[: 7 if libver == "latest" else None]:  # more make a large group
            chunked = options if np.ndim(values) > 0 and np.size(values) else {}
            content.create_dataset(name, data=values, **chunked)
        content["text"] = "hello"
        content.attrs["unit"] = "nm"
        content.attrs["sizes"] = [1.0, 2.0]
    return file.getvalue()


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("userblock", [0, 512])
def test_values_are_those_of_the_library(libver: str, userblock: int) -> None:
    layout = layout_of(written(libver, userblock), userblock)
    members = layout.members(layout.root)
    assert set(members) - {"text"} <= set(ARRAYS) and len(members) >= 8
    for name, values in ((name, ARRAYS[name]) for name in members if name != "text"):
        address = members[name].address
        assert address is not None
        found = layout.array(address)
        assert found is not None and found.shape == np.shape(values)
        expected = np.asarray(values)
        expected = expected.view(np.int8) if expected.dtype == bool else expected
        assert str(found.tolist()) == str(expected.tolist()), name
    text = layout.array(members["text"].address or 0)
    assert text is not None and text.item() == b"hello"
    assert layout.attribute(layout.root, "unit") == b"nm" and layout.attribute(layout.root, "sizes").tolist() == [1, 2]
    assert layout.attribute(layout.root, "none") is None


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"shuffle": True},
        {"fletcher32": True},
        {"maxshape": None, "chunks": True},
    ],
    ids=str,
)
def test_chunks_are_unpacked(options: dict[str, Any]) -> None:
    values = RNG.normal(size=(1000, 7))
    file = io.BytesIO()
    with h5py.File(file, "w") as content:
        content.create_dataset("a", data=values, **{"chunks": (300, 4), **options, "maxshape": (None, None)})
        content.create_dataset("sparse", shape=(100, 100), chunks=(10, 10), dtype="f4", fillvalue=7.5)[5:8, 50:60] = 1
        content.create_dataset("never", shape=(4,), dtype="i4", fillvalue=-3)
        sparse = content["sparse"][()]
    layout = layout_of(file.getvalue())
    members = layout.members(layout.root)
    for name, expected in (("a", values), ("sparse", sparse), ("never", np.full(4, -3))):
        found = layout.array(members[name].address or 0)
        assert found is not None and found.tolist() == expected.tolist(), name


def test_large_groups_and_types_kept_elsewhere() -> None:
    file = io.BytesIO()
    with h5py.File(file, "w") as content:
        for k in range(700):
            content[f"g/fr_{k}"] = np.arange(k % 5)
        content["kind"] = np.dtype("f8")
        content.create_dataset("a", data=[1.0, 2.0], dtype=content["kind"])
        content["soft"] = h5py.SoftLink("/a")
        content["outside"] = h5py.ExternalLink("b.h5", "a")
    layout = layout_of(file.getvalue())
    members = layout.members(layout.root)
    assert members["soft"].address is None and members["outside"].address is None
    assert layout.array(members["a"].address or 0).tolist() == [1.0, 2.0]  # type: ignore[union-attr]
    assert len(layout.members(members["g"].address or 0)) == 700


@pytest.mark.parametrize("what", ["lzf", "large group", "growing chunks", "vlen"])
def test_what_is_not_read_is_said(what: str) -> None:
    file = io.BytesIO()
    with h5py.File(file, "w", libver="earliest" if what in ("lzf", "vlen") else "latest") as content:
        if what == "large group":
            for k in range(20):
                content[f"a{k}"] = 1.0
        elif what == "vlen":
            content.create_dataset("a", shape=(2,), dtype=h5py.vlen_dtype(np.float64))
        else:
            options = {"compression": "lzf"} if what == "lzf" else {"maxshape": (None,)}
            content.create_dataset("a", data=np.zeros(1000), chunks=(10,), **options)
    layout = layout_of(file.getvalue())
    with pytest.raises(UnsupportedError):
        layout.array(layout.members(layout.root)["a"].address or 0)


def read_all(content: bytes) -> None:
    layout = layout_of(content)
    for name, link in layout.members(layout.root).items():
        if link.address is not None:
            layout.array(link.address)
            layout.attribute(link.address, name)
    layout.attribute(layout.root, "unit")


def test_any_byte_may_be_any_other() -> None:
    """Nothing but the two errors of the reader, whatever a byte of the structure becomes."""
    file = io.BytesIO()
    with h5py.File(file, "w") as content:
        content.create_dataset("locs", data=TABLE, chunks=(2,), compression="gzip", shuffle=True)
        content["metadata"] = "[]"
        content.attrs["unit"] = "nm"
    whole = file.getvalue()
    random_bytes = random.Random(0)
    for at in [k for k in range(len(whole)) if whole[k] or random_bytes.random() < 0.2]:
        for byte in (random_bytes.randrange(256), whole[at] ^ 1 << random_bytes.randrange(8)):
            damaged = bytearray(whole)
            damaged[at] = byte
            with suppress(DamagedError, UnsupportedError):
                read_all(bytes(damaged))


@pytest.mark.parametrize("cut", [0.0005, 0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_short(cut: float) -> None:
    whole = written(compression="gzip")
    with pytest.raises(DamagedError):
        read_all(whole[: int(cut * len(whole))])


def test_one_chunk_listed_again_and_again_is_read_once() -> None:
    """Else a small file could name the same data a million times."""
    file = io.BytesIO()
    with h5py.File(file, "w") as content:
        content.create_dataset("a", data=np.arange(30.0), chunks=(10,))
    damaged = file.getvalue()
    for whole, other in [
        (struct.pack("<QQ", 30, 30), struct.pack("<QQ", 10, 10)),  # how many rows there are
        *((struct.pack("<IIQQ", 80, 0, at, 0), struct.pack("<IIQQ", 80, 0, 0, 0)) for at in (10, 20)),  # of each chunk
    ]:
        assert damaged.count(whole) == 1
        damaged = damaged.replace(whole, other)
    with pytest.raises(DamagedError, match="more chunks than fit"):
        read_all(damaged)
