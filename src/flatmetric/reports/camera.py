"""Camera images of some frames, small enough for a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.reports.packing import packed
from flatmetric.stacks import Stack, open_stack

_MOST_BYTES = 2_500_000  # of all images together
_BYTES_FOR_A_PIXEL = 1.1  # measured: 8 bits, square root, compressed, in base64
_SAMPLED = 20  # images, enough for the percentiles of the grey levels
_DARKEST, _BRIGHTEST = 0.1, 99.99  # percentiles


@dataclass(frozen=True, slots=True)
class Movie:
    """The stack that the molecules were found in, and its pixel size in nm."""

    stack: Stack
    pixel_size: float


def open_movie(path: Path, *tables: Localizations) -> Movie:
    """A stack; where it does not say its pixel size, the tables may.

    Examples
    --------
    >>> open_movie(Path("none.tif"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: none.tif: there is no such file
    """
    stack = open_stack(path)
    stated = [table.provenance.pixel_size for table in tables if table.provenance.pixel_size is not None]
    size = stack.pixel_size or next((sizes[0] for sizes in stated), None)
    if size is None:
        raise InputError(f"{path}: does not say its pixel size; give pixel_size= in nm")
    return Movie(stack, size)


def camera_content(movie: Movie, frames: Sequence[int]) -> dict[str, Any]:
    """The images of the first of these frames that fit, in 256 steps that grow with the noise of light.

    A count is low + (step / 255)^2 (high - low).

    Examples
    --------
    >>> import tempfile
    >>> from flatmetric.stacks import write_stack
    >>> path = Path(tempfile.mkdtemp()) / "a.ome.tif"
    >>> write_stack(path, [np.full((8, 8), k, np.uint16) for k in (1, 5, 9)], frames=3, pixels=8, pixel_size=100.0)
    >>> content = camera_content(open_movie(path), [3, 1, 7])
    >>> content["pixel"], list(content["images"])
    (100.0, ['3', '1'])
    """
    stack = movie.stack
    there = [frame for frame in frames if 1 <= frame <= stack.frames]
    room = max(1, int(_MOST_BYTES / (_BYTES_FOR_A_PIXEL * stack.width * stack.height)))
    chosen = there[:room]
    shape = {"pixel": movie.pixel_size, "width": stack.width, "height": stack.height}
    if not chosen:
        return shape | {"low": 0.0, "high": 1.0, "images": {}}
    sampled = np.stack([image for _, image in stack.images(chosen[:: -(-len(chosen) // _SAMPLED)])])
    low, high = (float(value) for value in np.percentile(sampled, [_DARKEST, _BRIGHTEST]))
    high = max(high, low + 1)
    images = {}
    for frame, image in stack.images(chosen):
        share = np.clip((image.astype(np.float64) - low) / (high - low), 0, 1)
        images[str(frame)] = packed(np.rint(255 * np.sqrt(share)), np.uint8)
    return shape | {"low": low, "high": high, "images": images}
