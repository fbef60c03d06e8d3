"""The images of a movie, one by one: TIFF files of any kind by tifffile, those of Nikon and Zeiss by their readers."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from flatmetric._files import check_readable, largest_content, open_ordinary
from flatmetric.errors import InputError

Image = npt.NDArray[Any]

_ND2 = b"\xda\xce\xbe\x0a"
_CZI = b"ZISRAWFILE"
_EXTRA = "pip install '.[microscopes]' in a clone of flatmetric"
_PER_UNIT_NM = {"nm": 1.0, "um": 1e3, "\N{MICRO SIGN}m": 1e3, "\N{GREEK SMALL LETTER MU}m": 1e3, "mm": 1e6}
_ONE_FRAME = "give one grey image for each frame"


class OpenMovie(Protocol):
    """An open movie: how many frames it has, its pixel size in nm if it says so, and its images."""

    frames: int
    pixel_size: float | None

    def image(self, at: int) -> Image:
        """The image of a frame, from 0."""


@contextmanager
def opened_movie(path: Path) -> Iterator[OpenMovie]:
    """A movie that is open within a block."""
    check_readable(path)
    with open_ordinary(path) as file:
        start = file.read(len(_CZI))
    with ExitStack() as opened:
        if start.startswith(_ND2):
            yield _Nikon(path, opened)
        elif start.startswith(_CZI):
            yield _Zeiss(path, opened)
        else:
            yield _Tiff(path, opened)


def _only_one(sizes: dict[str, int], path: Path) -> str | None:
    """The one axis of frames, of axes besides y and x, whatever it is called; None for a single image."""
    long = {axis: size for axis, size in sizes.items() if size > 1}
    if len(long) > 1:
        named = " x ".join(f"{axis} {size}" for axis, size in long.items())
        raise InputError(f"{path}: has the axes {named}; {_ONE_FRAME}")
    return next(iter(long), None)


class _Tiff:
    """A TIFF file: plain, OME, ImageJ or of any other kind that tifffile knows."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        from tifffile import TiffFile, TiffFileError

        self._path, self._errors = path, opened.enter_context(_collected_errors())
        try:
            file = opened.enter_context(TiffFile(path))
            self._pages = self._of_series(file)
            self.pixel_size = _pixel_size(file)
        except InputError:
            raise
        except TiffFileError as error:
            raise InputError(f"{path}: is not a TIFF file; give a stack of images") from error
        except OSError as error:
            raise InputError(f"{path}: can't be read, {error.strerror or error}") from error
        except Exception as error:  # on a damaged file the library may raise anything
            raise _damaged(path, error) from error
        self.frames = len(self._pages)

    def _of_series(self, file: Any) -> Any:
        """The pages of the series of images that is the movie, or its images."""
        path = self._path
        if len(file.pages) == 0:
            raise InputError(f"{path}: holds no image; give a stack of images")
        first = file.pages[0]
        self._check_claims(first)
        if len(first.shape) != 2:
            raise InputError(f"{path}: holds colour; {_ONE_FRAME}")
        lengths = [math.prod(series.shape) // math.prod(series.shape[-2:]) for series in file.series]
        if not (file.is_ome or file.is_imagej) and (len(lengths) > 1 or lengths[0] < len(file.pages) > 1):
            return file.pages  # images that differ, as the first of them that does will say
        if lengths.count(max(lengths)) > 1:
            raise InputError(f"{path}: holds {len(lengths)} series of images; give a file with one")
        series = file.series[lengths.index(max(lengths))]
        _only_one(dict(zip(series.axes[:-2], series.shape[:-2], strict=True)), path)
        pages, frames = series.pages, max(lengths)
        if len(pages) == 1 and frames > 1:  # ImageJ writes large stacks as one page and a shape
            pages = series.asarray().reshape(frames, *series.shape[-2:])
        if self._errors or len(pages) != frames or (file.is_ome and any(page is None for page in pages)):
            raise InputError(f"{path}: is damaged or cut off; get the whole file")
        return pages

    def _check_claims(self, page: Any) -> None:
        """Fail before anything is allocated if a page has no pixel, or more than the file can hold."""
        stored, claimed = self._path.stat().st_size, math.prod(page.shape) * page.dtype.itemsize
        if claimed == 0:
            raise InputError(f"{self._path}: its images have no pixel; give a stack of images")
        packed = int(page.compression) != 1
        if claimed > (largest_content(stored) if packed else stored):
            size = " x ".join(map(str, page.shape))
            raise InputError(f"{self._path}: claims images of {size} pixels, more than it can hold")

    def image(self, at: int) -> Image:
        """The image of a frame."""
        page = self._pages[at]
        try:
            return np.asarray(page if isinstance(page, np.ndarray) else page.asarray())
        except Exception as error:
            raise _damaged(self._path, error) from error


class _Nikon:
    """An .nd2 file."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        try:
            import nd2
        except ImportError as error:
            raise InputError(f"{path}: files of Nikon need the package nd2; {_EXTRA}") from error
        try:
            self._file = opened.enter_context(nd2.ND2File(path))
            sizes = {axis: int(size) for axis, size in self._file.sizes.items()}
            pixel = float(self._file.voxel_size().x) * _PER_UNIT_NM["um"]
        except Exception as error:  # on a damaged file the library may raise anything
            raise _damaged(path, error) from error
        _only_one({axis: size for axis, size in sizes.items() if axis not in "YX"}, path)
        self._path, self.frames = path, math.prod(size for axis, size in sizes.items() if axis not in "YXCS")
        self.pixel_size = pixel if 0 < pixel < math.inf else None

    def image(self, at: int) -> Image:
        """The image of a frame."""
        try:
            return np.squeeze(np.asarray(self._file.read_frame(at)))
        except Exception as error:
            raise _damaged(self._path, error) from error


class _Zeiss:
    """A .czi file."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        try:
            from pylibCZIrw import czi
        except ImportError as error:
            raise InputError(f"{path}: files of Zeiss need the package pylibCZIrw; {_EXTRA}") from error
        try:
            self._file = opened.enter_context(czi.open_czi(str(path)))
            sizes = {axis: high - low for axis, (low, high) in self._file.total_bounding_box.items()}
            self.pixel_size = _zeiss_pixel_size(self._file.metadata)
        except Exception as error:  # on a damaged file the library may raise anything
            raise _damaged(path, error) from error
        self._axis = _only_one({axis: size for axis, size in sizes.items() if axis not in "YX"}, path)
        self._path, self.frames = path, 1 if self._axis is None else sizes[self._axis]

    def image(self, at: int) -> Image:
        """The image of a frame."""
        try:
            plane = {} if self._axis is None else {self._axis: at}
            return np.squeeze(np.asarray(self._file.read(plane=plane)), axis=-1)
        except Exception as error:
            raise _damaged(self._path, error) from error


def _zeiss_pixel_size(metadata: Any) -> float | None:
    """The pixel size, nm, from the distances in metres of a .czi file's metadata; None where it is not stated."""
    try:
        items = metadata["ImageDocument"]["Metadata"]["Scaling"]["Items"]["Distance"]
        sizes = {item["@Id"]: float(item["Value"]) * 1e9 for item in items}
        size, other = sizes["X"], sizes["Y"]
    except (KeyError, TypeError, ValueError):
        return None
    return size if 0 < size < math.inf and math.isclose(size, other, rel_tol=0.01) else None


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


def _damaged(path: Path, error: Exception) -> InputError:
    if "imagecodecs" in str(error) or isinstance(error, ImportError):
        return InputError(f"{path}: is compressed in a way that needs the package imagecodecs; install it")
    return InputError(f"{path}: is damaged, {error}")


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
