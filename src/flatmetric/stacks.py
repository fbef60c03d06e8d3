"""Image stacks: movies of any kind of number, read frame by frame, and written as OME-TIFF of 16 bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import IntArray
from flatmetric._dataclass import dataclass
from flatmetric._files import whole_file
from flatmetric.errors import InputError
from flatmetric.movies import Image, opened_movie
from flatmetric.version import __version__

_BIG = 2**32 - 2**25  # larger files need 64-bit offsets
_PAGE_OVERHEAD = 512  # bytes, generously


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack on disk: frames, height and width in pixels, the kind of its numbers, and the pixel size in nm if the
    file states it.
    """

    path: Path
    frames: int
    height: int
    width: int
    pixel_size: float | None
    kind: str = "uint16"

    def blocks(self, size: int, frames: Sequence[int] | IntArray | None = None) -> Iterator[tuple[IntArray, Image]]:
        """Up to `size` frames at a time, all of them or some: their numbers from 1, and (k, height, width) images."""
        wanted = np.arange(1, self.frames + 1) if frames is None else np.asarray(frames, dtype=np.int64)
        with opened_movie(self.path) as movie:
            for first in range(0, len(wanted), size):
                block = wanted[first : first + size]
                yield block, np.stack([self._checked(movie.image(frame - 1), frame) for frame in block.tolist()])

    def images(self, frames: Iterable[int]) -> Iterator[tuple[int, Image]]:
        """The images of some frames, by their numbers from 1."""
        with opened_movie(self.path) as movie:
            for frame in frames:
                yield frame, self._checked(movie.image(frame - 1), frame)

    def _checked(self, image: Image, frame: int) -> Image:
        if image.shape != (self.height, self.width) or str(image.dtype) != self.kind:
            raise InputError(
                f"{self.path}: frames differ, {image.shape} {image.dtype} after "
                f"({self.height}, {self.width}) {self.kind}; give images of one size and kind"
            )
        if image.dtype.kind == "f" and not np.isfinite(image).all():
            raise InputError(f"{self.path}: frame {frame} has pixels that are not numbers; give finite ones")
        return image.astype(np.float32) if image.dtype == np.float16 else image  # filters take no halves


def open_stack(path: Path) -> Stack:
    """Look at a movie: one grey image of whole or floating-point numbers for each frame, all of one size.

    TIFF files may be plain, OME or ImageJ's; .nd2 and .czi files need the packages of the extra `microscopes`.

    Examples
    --------
    >>> open_stack(Path("README.md"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: README.md: is not a TIFF file; give a stack of images
    """
    with opened_movie(path) as movie:
        first = movie.image(0)
        if first.ndim != 2 or first.dtype.kind not in "uif":
            kind = "colour" if first.ndim != 2 else f"{first.dtype} numbers"
            raise InputError(f"{path}: holds {kind}; give one grey image of numbers for each frame")
        height, width = first.shape
        return Stack(path, movie.frames, height, width, movie.pixel_size, str(first.dtype))


def write_stack(
    path: Path,
    images: Iterable[npt.NDArray[np.uint16]],
    *,
    frames: int,
    pixels: int,
    pixel_size: float,
    channels: int = 1,
    rows: int | None = None,
) -> None:
    """Write images (rows, pixels), by default square, as OME-TIFF with the pixel size in nm: whole or not at all.

    With several `channels` an image is as many of them side by side.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.ome.tif"
    >>> write_stack(path, [np.zeros((8, 8), np.uint16)] * 3, frames=3, pixels=8, pixel_size=100.0)
    >>> stack = open_stack(path)
    >>> stack.frames, stack.pixel_size
    (3, 100.0)
    """
    from tifffile import TiffWriter

    height = rows or pixels
    description = _ome_xml(frames, pixels * channels, height, pixel_size)
    big = frames * (pixels * channels * height * 2 + _PAGE_OVERHEAD) > _BIG
    with whole_file(path) as unfinished, TiffWriter(unfinished, bigtiff=big) as writer:
        for at, image in enumerate(images):
            writer.write(
                image,
                photometric="minisblack",
                description=description if at == 0 else None,
                metadata=None,
                contiguous=False,
                software=False,
            )


def _ome_xml(frames: int, width: int, height: int, pixel_size: float) -> str:
    sizes = " ".join(f'PhysicalSize{axis}="{pixel_size!r}" PhysicalSize{axis}Unit="nm"' for axis in "XY")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:schemaLocation="http://www.openmicroscopy.org/Schemas/OME/2016-06 '
        'http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd" '
        f'Creator="flatmetric {__version__}"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYTCZ" '
        f'Type="uint16" SizeX="{width}" SizeY="{height}" SizeT="{frames}" SizeC="1" SizeZ="1" {sizes} '
        f'BigEndian="false">'
        f'<Channel ID="Channel:0:0" SamplesPerPixel="1"/><TiffData IFD="0" PlaneCount="{frames}"/>'
        "</Pixels></Image></OME>"
    )
