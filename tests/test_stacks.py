"""TIFF stacks: what goes in comes out, and what is no stack is one sentence."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import tifffile

from flatmetric.errors import InputError
from flatmetric.stacks import open_stack, write_stack

IMAGES = np.random.default_rng(0).integers(0, 65536, (25, 16, 16)).astype(np.uint16)


@pytest.fixture
def stack(tmp_path: Path) -> Path:
    path = tmp_path / "stack.ome.tif"
    write_stack(path, IMAGES, frames=25, pixels=16, pixel_size=97.5)
    return path


def test_a_stack_comes_back_in_blocks(stack: Path) -> None:
    opened = open_stack(stack)
    assert (opened.frames, opened.height, opened.width, opened.pixel_size) == (25, 16, 16, 97.5)
    blocks = list(opened.blocks(10))
    assert [numbers.tolist()[0] for numbers, _ in blocks] == [1, 11, 21]
    np.testing.assert_array_equal(np.concatenate([images for _, images in blocks]), IMAGES)
    ((numbers, some),) = opened.blocks(10, [3, 9, 25])
    assert numbers.tolist() == [3, 9, 25]
    np.testing.assert_array_equal(some, IMAGES[[2, 8, 24]])


def test_others_read_it_as_ome(stack: Path) -> None:
    with tifffile.TiffFile(stack) as file:
        assert file.is_ome
        assert file.series[0].axes == "TYX" and file.series[0].shape == (25, 16, 16)
        np.testing.assert_array_equal(file.asarray(), IMAGES)
        pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
    assert pixels["PhysicalSizeX"] == 97.5 and pixels["PhysicalSizeXUnit"] == "nm" and pixels["SizeT"] == 25


def test_the_same_images_are_the_same_file(stack: Path, tmp_path: Path) -> None:
    write_stack(tmp_path / "again.ome.tif", IMAGES, frames=25, pixels=16, pixel_size=97.5)
    assert (tmp_path / "again.ome.tif").read_bytes() == stack.read_bytes()


@pytest.mark.parametrize("how", [{}, {"imagej": True}, {"bigtiff": True}, {"compression": "zlib"}])
def test_stacks_of_other_programs_are_read(tmp_path: Path, how: dict[str, bool]) -> None:
    path = tmp_path / "other.tif"
    tifffile.imwrite(path, IMAGES, photometric="minisblack", **how)
    opened = open_stack(path)
    assert opened.pixel_size is None
    np.testing.assert_array_equal(np.concatenate([images for _, images in opened.blocks(7)]), IMAGES)


@pytest.mark.parametrize(("unit", "size"), [("nm", 100.0), ("\u00b5m", 0.1), ("um", 0.1)])
def test_the_pixel_size_of_other_programs_is_understood(tmp_path: Path, unit: str, size: float) -> None:
    path = tmp_path / "other.ome.tif"
    metadata = {"axes": "TYX", "PhysicalSizeX": size, "PhysicalSizeXUnit": unit}
    tifffile.imwrite(path, IMAGES, ome=True, metadata=metadata, photometric="minisblack")
    assert open_stack(path).pixel_size == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("images", "sentence"),
    [
        (IMAGES.astype(np.complex64), "holds complex64 numbers; give one grey image of numbers for each frame"),
        (np.zeros((16, 16, 3), np.uint16), "holds colour"),
    ],
)
def test_images_of_another_kind_are_refused(tmp_path: Path, images: np.ndarray, sentence: str) -> None:
    path = tmp_path / "other.tif"
    tifffile.imwrite(path, images, photometric="rgb" if images.shape[-1] == 3 else "minisblack")
    with pytest.raises(InputError, match=sentence):
        open_stack(path)


KINDS = ["uint8", "uint16", "uint32", "int8", "int16", "int32", "float32", "float64"]
WIDE = np.random.default_rng(1).normal(100, 20, (6, 12, 20))  # not square


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "how", [{}, {"compression": "zlib"}, {"byteorder": ">"}], ids=["plain", "packed", "big-endian"]
)
def test_numbers_of_every_kind_are_read(tmp_path: Path, kind: str, how: dict[str, Any]) -> None:
    path, images = tmp_path / "kind.tif", WIDE.astype(kind)
    tifffile.imwrite(path, images, photometric="minisblack", **how)
    opened = open_stack(path)
    assert (opened.frames, opened.height, opened.width, opened.kind) == (6, 12, 20, kind)
    np.testing.assert_array_equal(np.concatenate([block for _, block in opened.blocks(4)]), images)


HYPERSTACKS: dict[str, dict[str, Any]] = {
    "time, by ImageJ": {"imagej": True, "metadata": {"axes": "TYX"}},
    "slices, by ImageJ": {"imagej": True, "metadata": {"axes": "ZYX"}},
    "channels, by ImageJ": {"imagej": True, "metadata": {"axes": "CYX"}},
    "time, OME": {"ome": True, "metadata": {"axes": "TYX"}},
    "slices, OME": {"ome": True, "metadata": {"axes": "ZYX"}},
}


@pytest.mark.parametrize("how", HYPERSTACKS)
def test_frames_may_be_any_one_axis(tmp_path: Path, how: str) -> None:
    path, images = tmp_path / "hyper.tif", WIDE.astype(np.uint16)
    tifffile.imwrite(path, images, photometric="minisblack", **HYPERSTACKS[how])
    np.testing.assert_array_equal(np.concatenate([block for _, block in open_stack(path).blocks(4)]), images)


def test_of_several_series_the_longest_is_the_movie(tmp_path: Path) -> None:
    path, images = tmp_path / "series.ome.tif", WIDE.astype(np.uint16)
    with tifffile.TiffWriter(path, ome=True) as writer:
        writer.write(images[:1, ::2, ::2], photometric="minisblack", metadata={"axes": "TYX"})
        writer.write(images, photometric="minisblack", metadata={"axes": "TYX"})
    np.testing.assert_array_equal(np.concatenate([block for _, block in open_stack(path).blocks(4)]), images)
    with tifffile.TiffWriter(path, ome=True) as writer:
        for _ in range(2):
            writer.write(images, photometric="minisblack", metadata={"axes": "TYX"})
    with pytest.raises(InputError, match="holds 2 series of images; give a file with one"):
        open_stack(path)


def test_pixels_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    images = WIDE.astype(np.float32)
    images[4, 3, 2] = np.nan
    tifffile.imwrite(tmp_path / "nan.tif", images, photometric="minisblack")
    with pytest.raises(InputError, match="frame 5 has pixels that are not numbers"):
        list(open_stack(tmp_path / "nan.tif").blocks(10))


@pytest.mark.more
@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
def test_files_of_zeiss_are_read(tmp_path: Path, kind: str) -> None:
    czi = pytest.importorskip("pylibCZIrw.czi")
    path, images = tmp_path / "movie.czi", WIDE.astype(kind)
    with czi.create_czi(str(path)) as writer:
        for at, image in enumerate(images):
            writer.write(image[..., None], plane={"T": at, "C": 0, "Z": 0})
        writer.write_metadata("movie", scale_x=1.1e-7, scale_y=1.1e-7)
    opened = open_stack(path)
    assert opened.pixel_size == pytest.approx(110) and opened.frames == 6
    np.testing.assert_array_equal(np.concatenate([block for _, block in opened.blocks(4)]), images)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(InputError, match="is damaged"):
        open_stack(path)


class Nikon:
    """What the reader of .nd2 files has, as far as it is used; nothing writes such files."""

    sizes: ClassVar = {"T": 6, "Y": 12, "X": 20}

    def __init__(self, path: Path) -> None: ...
    def __enter__(self) -> Nikon:
        return self

    def __exit__(self, *_: object) -> None: ...
    def voxel_size(self) -> Any:
        return types.SimpleNamespace(x=0.11, y=0.11, z=1.0)

    def read_frame(self, at: int) -> Any:
        return WIDE[at].astype(np.uint16)


def test_files_of_nikon_are_given_to_their_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "movie.nd2"
    path.write_bytes(b"\xda\xce\xbe\x0a" + bytes(100))
    monkeypatch.setitem(sys.modules, "nd2", None)
    with pytest.raises(InputError, match="files of Nikon need the package nd2; pip install"):
        open_stack(path)
    monkeypatch.setitem(sys.modules, "nd2", types.SimpleNamespace(ND2File=Nikon))
    opened = open_stack(path)
    assert (opened.frames, opened.height, opened.width) == (6, 12, 20) and opened.pixel_size == pytest.approx(110)
    np.testing.assert_array_equal(next(opened.blocks(6))[1], WIDE.astype(np.uint16))
    monkeypatch.setattr(Nikon, "sizes", {"T": 3, "C": 2, "Y": 12, "X": 20})
    with pytest.raises(InputError, match="has the axes T 3 x C 2"):
        open_stack(path)


def test_files_that_are_no_stack_are_refused(tmp_path: Path, stack: Path) -> None:
    text = tmp_path / "text.tif"
    text.write_text("frame,x,y\n1,2,3\n")
    with pytest.raises(InputError, match="is not a TIFF file"):
        open_stack(text)
    with pytest.raises(InputError, match="there is no such file"):
        open_stack(tmp_path / "none.tif")
    with pytest.raises(InputError, match="is a folder"):
        open_stack(tmp_path)
    cut = tmp_path / "cut.tif"
    cut.write_bytes(stack.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"cut\.tif"):
        list(open_stack(cut).blocks(100))


def test_stacks_that_are_cut_between_frames_are_refused(tmp_path: Path, stack: Path) -> None:
    whole = stack.read_bytes()
    for length in range(3000, len(whole) - 1, 997):
        cut = tmp_path / "cut.tif"
        cut.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut\.tif"):
            list(open_stack(cut).blocks(100))


def test_pages_that_are_fewer_than_the_metadata_say_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "short.ome.tif"
    write_stack(path, IMAGES[:5], frames=25, pixels=16, pixel_size=100.0)
    with pytest.raises(InputError, match="damaged or cut off"):
        open_stack(path)


@pytest.mark.parametrize("how", [{"imagej": True}, {"metadata": {"axes": "TZYX"}}, {"ome": True}])
def test_images_of_more_than_time_are_refused(tmp_path: Path, how: dict[str, Any]) -> None:
    path = tmp_path / "hyper.tif"
    tifffile.imwrite(path, IMAGES[:10].reshape(2, 5, 16, 16), photometric="minisblack", **how)
    with pytest.raises(InputError, match=r"has the axes .*; give one grey image for each frame"):
        open_stack(path)


def test_the_library_says_nothing_by_itself(tmp_path: Path, stack: Path, caplog: pytest.LogCaptureFixture) -> None:
    cut = tmp_path / "cut.tif"
    cut.write_bytes(stack.read_bytes()[:9000])
    with pytest.raises(InputError):
        open_stack(cut)
    assert caplog.records == []


def test_frames_of_another_size_are_told(tmp_path: Path) -> None:
    path = tmp_path / "mixed.tif"
    with tifffile.TiffWriter(path) as writer:
        for side in (16, 8):
            writer.write(np.zeros((side, side), np.uint16), photometric="minisblack", metadata=None)
    with pytest.raises(InputError, match="frames differ"):
        list(open_stack(path).blocks(10))


def test_a_stack_that_ends_early_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> object:
        yield IMAGES[0]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_stack(tmp_path / "a.tif", broken(), frames=2, pixels=16, pixel_size=100.0)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_pixel_size_of_an_imagej_file_is_read(tmp_path: Path) -> None:
    import tifffile

    images = np.zeros((3, 8, 8), np.uint16)
    for unit, resolution, size in (("um", 10, 100.0), ("micron", 8, 125.0), ("nm", 0.01, 100.0)):
        path = tmp_path / f"{unit}.tif"
        tifffile.imwrite(path, images, imagej=True, resolution=(resolution, resolution), metadata={"unit": unit})
        assert open_stack(path).pixel_size == pytest.approx(size, rel=1e-3)
    tifffile.imwrite(tmp_path / "uneven.tif", images, imagej=True, resolution=(10, 5), metadata={"unit": "um"})
    tifffile.imwrite(tmp_path / "mute.tif", images, imagej=True)
    assert open_stack(tmp_path / "uneven.tif").pixel_size is None
    assert open_stack(tmp_path / "mute.tif").pixel_size is None
