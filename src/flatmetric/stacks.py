"""Image stacks: 16-bit TIFF files, read frame by frame and written as OME-TIFF."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import IntArray
from flatmetric._dataclass import dataclass
from flatmetric._files import check_readable, largest_content, whole_file
from flatmetric.errors import InputError
from flatmetric.version import __version__

Image = npt.NDArray[np.uint16]

_BIG = 2**32 - 2**25  # larger files need 64-bit offsets
_PAGE_OVERHEAD = 512  # bytes, generously
_PER_UNIT_NM = {"nm": 1.0, "um": 1e3, "\N{MICRO SIGN}m": 1e3, "\N{GREEK SMALL LETTER MU}m": 1e3, "mm": 1e6}


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack on disk: frames, height and width in pixels, and the pixel size in nm if the file states it."""

    path: Path
    frames: int
    height: int
    width: int
    pixel_size: float | None

    def blocks(self, size: int, frames: Sequence[int] | IntArray | None = None) -> Iterator[tuple[IntArray, Image]]:
        """Up to `size` frames at a time, all of them or some: their numbers from 1, and (k, height, width) images."""
        wanted = np.arange(1, self.frames + 1) if frames is None else np.asarray(frames, dtype=np.int64)
        with ExitStack() as opened:
            errors = opened.enter_context(_collected_errors())
            pages = _pages(_open(self.path, opened), self.path, errors)
            for first in range(0, len(wanted), size):
                block = wanted[first : first + size]
                yield block, np.stack([_image(pages[frame - 1], self) for frame in block.tolist()])

    def images(self, frames: Iterable[int]) -> Iterator[tuple[int, Image]]:
        """The images of some frames, by their numbers from 1."""
        with ExitStack() as opened:
            errors = opened.enter_context(_collected_errors())
            pages = _pages(_open(self.path, opened), self.path, errors)
            for frame in frames:
                yield frame, _image(pages[frame - 1], self)


def open_stack(path: Path) -> Stack:
    """Look at a TIFF file: one grey 16-bit image for each frame, all of one size.

    Examples
    --------
    >>> open_stack(Path("README.md"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: README.md: is not a TIFF file; give a stack of 16-bit images
    """
    with ExitStack() as opened:
        errors = opened.enter_context(_collected_errors())
        file = _open(path, opened)
        pages = _pages(file, path, errors)
        first = pages[0]
        if first.dtype != np.uint16 or len(first.shape) != 2:
            kind = "colour" if len(first.shape) != 2 else f"{first.dtype} numbers"
            raise InputError(f"{path}: holds {kind}; give a stack of grey 16-bit images (uint16)")
        return Stack(path, len(pages), first.shape[0], first.shape[1], _pixel_size(file))


def _open(path: Path, opened: ExitStack) -> Any:
    from tifffile import TiffFile, TiffFileError

    check_readable(path)
    try:
        return opened.enter_context(TiffFile(path))
    except TiffFileError as error:
        raise InputError(f"{path}: is not a TIFF file; give a stack of 16-bit images") from error
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror or error}") from error
    except Exception as error:  # on a damaged file the library may raise anything
        raise _damaged(path, error) from error


@contextmanager
def _collected_errors() -> Iterator[list[str]]:
    """Collect tifffile's error messages, and keep them off the terminal."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR:
                messages.append(record.getMessage())

    logger = logging.getLogger("tifffile")
    handler, before = Collector(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def _pages(file: Any, path: Path, errors: list[str]) -> Any:
    try:
        count = len(file.pages)
        if count == 0:
            raise InputError(f"{path}: holds no image; give a stack of 16-bit images")
        _check_claims(file.pages[0], path)
        grey = len(file.pages[0].shape) == 2
        series = file.series[0]
        if grey and len(series.shape) > 3:
            raise InputError(f"{path}: has the axes {series.axes}; give one image for each frame")
        # ImageJ writes large stacks as one grey page and a shape.
        pages = series.asarray() if count == 1 and grey and len(series.shape) == 3 else file.pages
        if errors or (grey and len(series.shape) == 3 and series.shape[0] > len(pages)):
            raise InputError(f"{path}: is damaged or cut off; get the whole file")
        return pages
    except InputError:
        raise
    except Exception as error:
        raise _damaged(path, error) from error


def _check_claims(page: Any, path: Path) -> None:
    """Fail before anything is allocated if a page has no pixel, or more than the file can hold."""
    stored, claimed = path.stat().st_size, math.prod(page.shape) * page.dtype.itemsize
    if claimed == 0:
        raise InputError(f"{path}: its images have no pixel; give a stack of 16-bit images")
    packed = int(page.compression) != 1
    if claimed > (largest_content(stored) if packed else stored):
        raise InputError(f"{path}: claims images of {' x '.join(map(str, page.shape))} pixels, more than it can hold")


def _damaged(path: Path, error: Exception) -> InputError:
    if "imagecodecs" in str(error) or isinstance(error, ImportError):
        return InputError(f"{path}: is compressed in a way that needs the package imagecodecs; install it")
    return InputError(f"{path}: is damaged, {error}")


def _image(page: Any, stack: Stack) -> Image:
    try:
        image = np.asarray(page if isinstance(page, np.ndarray) else page.asarray())
    except Exception as error:
        raise _damaged(stack.path, error) from error
    if image.shape != (stack.height, stack.width) or image.dtype != np.uint16:
        raise InputError(
            f"{stack.path}: frames differ, {image.shape} {image.dtype} after "
            f"({stack.height}, {stack.width}) uint16; give images of one size and kind"
        )
    return image


def _pixel_size(file: Any) -> float | None:
    """The pixel size from the OME or ImageJ metadata, nm; None where it is not stated, or differs along x and y."""
    import xml.etree.ElementTree as ElementTree

    if file.is_imagej and not file.is_ome:
        return _imagej_pixel_size(file)
    if not file.is_ome:
        return None
    try:
        pixels = ElementTree.fromstring(file.ome_metadata).find(".//{*}Pixels")
    except ElementTree.ParseError:
        return None
    if pixels is None or "PhysicalSizeX" not in pixels.attrib:
        return None
    try:
        size = float(pixels.attrib["PhysicalSizeX"]) * _PER_UNIT_NM[pixels.attrib.get("PhysicalSizeXUnit", "um")]
        unit = _PER_UNIT_NM[pixels.attrib.get("PhysicalSizeYUnit", "um")]
        other = float(pixels.attrib.get("PhysicalSizeY", size / unit)) * unit
    except (ValueError, KeyError):
        return None
    return size if 0 < size < math.inf and math.isclose(size, other, rel_tol=0.01) else None


def _imagej_pixel_size(file: Any) -> float | None:
    """ImageJ writes pixels per unit as the resolution of the first page, and the unit into its own metadata."""
    unit = str((file.imagej_metadata or {}).get("unit", "")).replace("\\u00B5", "\N{MICRO SIGN}")
    tags = file.pages[0].tags
    sizes = []
    for name in ("XResolution", "YResolution"):
        value = tags[name].value if name in tags else None
        if unit.replace("micron", "um") not in _PER_UNIT_NM or not isinstance(value, tuple) or not value[0]:
            return None
        sizes.append(value[1] / value[0] * _PER_UNIT_NM[unit.replace("micron", "um")])
    return sizes[0] if math.isclose(sizes[0], sizes[1], rel_tol=0.01) else None


def write_stack(
    path: Path, images: Iterable[Image], *, frames: int, pixels: int, pixel_size: float, channels: int = 1
) -> None:
    """Write square images (pixels, pixels) as OME-TIFF with the pixel size in nm: whole or not at all.

    With several `channels` an image is as many squares side by side.

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

    description = _ome_xml(frames, pixels * channels, pixels, pixel_size)
    big = frames * (pixels * channels * pixels * 2 + _PAGE_OVERHEAD) > _BIG
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
