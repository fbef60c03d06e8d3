"""How a file is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from flatmetric._arrays import COLUMNS, LARGEST_WHOLE
from flatmetric._dataclass import dataclass
from flatmetric._files import MOST_MEMBERS
from flatmetric.errors import InputError
from flatmetric.options.base import as_given, assignments, check_whole, numbers, option

Unit = Literal["nm", "um", "m", "px"]
Origin = Literal["corner", "center"]
OF_A_SUBMISSION = ("format", "unit", "pixel_size", "frame_base", "origin", "swap_xy", "columns", "skip_bad_rows")
"""What a team may say about a file that it hands in to a challenge on the web."""
LIMITS = ("max_rows", "max_bytes", "max_members")
"""Limits on what a file from a stranger may hold."""


@dataclass(frozen=True)
class ReadOptions:
    """What the user knows about a file; None leaves it to the file.

    Examples
    --------
    >>> ReadOptions(pixel_size=100).pixel_size
    (100.0, 100.0)
    """

    SECTION: ClassVar[str] = "Reading {file}"

    format: str | None = option(None, "Format of {file}; default: recognised by its content.", metavar="NAME")
    unit: Unit | None = option(
        None,
        "Unit of x and y in {file}: nm, um, m or px; default: as in the file.",
        metavar="UNIT",
        accepts="str | None",
    )
    pixel_size: tuple[float, float] | None = option(
        None,
        "Pixel size, nm; two numbers if x and y differ; default: as in the file.",
        metavar="NM[,NM]",
        parse=numbers("pixel_size"),
        accepts="float | Sequence[float] | None",
    )
    frame_base: int | None = option(
        None, "Number of the first frame in {file}, 0 or 1; default: that of the format.", metavar="N"
    )
    origin: Origin | None = option(
        None,
        "Where the zero of {file} lies in the first pixel: corner or center; default: that of the format.",
        metavar="PLACE",
        accepts="str | None",
    )
    shift: tuple[float, float, float] | None = option(
        None,
        "Added to the positions of {file} after all conversions, nm.",
        metavar="DX,DY[,DZ]",
        parse=numbers("shift"),
        accepts="Sequence[float] | None",
    )
    swap_xy: bool = option(False, "Exchange x and y of {file}.")
    columns: Mapping[str, int | str] | None = option(
        None,
        "Columns of {file}, a text table, by number from 1 or by header.",
        metavar="frame=2,x=3,...",
        parse=assignments("columns"),
    )
    skip_bad_rows: bool = option(False, "Drop and count rows that can't be read, instead of stopping at the first.")
    max_rows: int | None = option(None, "Reject {file} if it has more rows; default: no limit.", metavar="N")
    max_bytes: int | None = option(None, "Reject {file} if it unpacks to more bytes; default: no limit.", metavar="N")
    max_members: int | None = option(
        None, f"Reject {{file}} if it is an archive of more files; default: {MOST_MEMBERS}.", metavar="N"
    )

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in get_args(Unit):
            raise InputError(f"unit is {self.unit!r}; give one of {', '.join(get_args(Unit))}")
        if self.origin is not None and self.origin not in get_args(Origin):
            raise InputError(f"origin is {self.origin!r}; give corner or center (of the first pixel)")
        base = self.frame_base
        if base is not None and (
            isinstance(base, bool) or not isinstance(base, (int, np.integer)) or abs(base) >= LARGEST_WHOLE
        ):
            raise InputError(f"frame_base is {base!r}; give the number of the first frame, 0 or 1")
        for name in LIMITS:
            check_whole(getattr(self, name), name, least=0)
        if self.columns is not None and not isinstance(self.columns, Mapping):
            raise InputError(f"columns is {self.columns!r:.60}; give names and places, as {{'frame': 2, 'x': 3}}")
        for name in self.columns or {}:
            if name not in COLUMNS:
                raise InputError(f"columns names {name!r}; give {', '.join(COLUMNS)}")
        if self.pixel_size is not None:
            object.__setattr__(self, "pixel_size", _pixel_size(self.pixel_size))
        if self.shift is not None:
            object.__setattr__(self, "shift", _shift(self.shift))


def _floats(value: Any, name: str, what: str) -> list[float]:
    try:
        given = [float(number) for number in np.atleast_1d(value)]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {as_given(value)}; give {what}") from error
    if not all(math.isfinite(number) for number in given):
        raise InputError(f"{name} is {as_given(value)}; give {what}")
    return given


def _pixel_size(value: Any) -> tuple[float, float]:
    what = "one positive number in nm, or two for x and y"
    sizes = _floats(value, "pixel_size", what)
    if len(sizes) not in (1, 2) or min(sizes) <= 0:
        raise InputError(f"pixel_size is {as_given(value)}; give {what}")
    return sizes[0], sizes[-1]


def _shift(value: Any) -> tuple[float, float, float]:
    what = "dx,dy or dx,dy,dz in nm"
    steps = _floats(value, "shift", what)
    if len(steps) not in (2, 3):
        raise InputError(f"shift is {as_given(value)}; give {what}")
    return steps[0], steps[1], steps[2] if len(steps) == 3 else 0.0
