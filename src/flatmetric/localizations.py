"""The table of localizations: positions in nm, frames from 1, and where it all came from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import COLUMNS, LARGEST_WHOLE, MAY_HAVE_GAPS, WHOLE_COLUMNS, FloatArray, IntArray, chunks
from flatmetric._core import all_within, table_of
from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric._validation import check_unmasked, thread_count
from flatmetric.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_REQUIRED = ("frame", "x", "y")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a table came from and what was done to it.

    `unit`, `frame_base`, `pixel_size` (nm), `shift` (nm) and `swap_xy` are what was used to read it; with
    `frame_base_assumed` the first frame is a guess. `fov` (nm) is the field of view where the file states it, `unused`
    are the names of columns that were not read. `conversions` lists in order the steps that turned the file's numbers
    into nm and frames from 1, `assumptions` what the file did not say, `dropped` counts rows left out, by reason, and
    `warnings` lists what looks wrong.

    Examples
    --------
    >>> Provenance(file="result.csv", format="thunderstorm").dropped
    {}
    """

    file: str | None = None
    sha256: str | None = None
    format: str | None = None
    reason: str | None = None
    unit: str | None = None
    frame_base: int | None = None
    frame_base_assumed: bool = False
    pixel_size: tuple[float, float] | None = None
    shift: tuple[float, float, float] | None = None
    swap_xy: bool = False
    fov: tuple[float, float] | None = None
    unused: tuple[str, ...] = ()
    conversions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    dropped: Mapping[str, int] = dataclasses.field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def assumed(self, prefix: str = "") -> list[str]:
        """What had to be assumed, as one sentence with the file's name; empty if nothing was.

        `prefix` comes before the names of the arguments to give: ``"truth_"`` for the truth of `score`.
        """
        assumptions = "; ".join(self.assumptions)
        for name in ("unit", "origin", "frame_base", "columns"):
            assumptions = re.sub(rf"\b{name}=", f"{prefix}{name}=", assumptions)
        return [f"{self.file or 'table'}: {assumptions}"] if assumptions else []


@dataclass(frozen=True, slots=True, eq=False)
class Localizations(Displayed):
    """Localizations of one data set, one row each.

    Parameters
    ----------
    frame
        Whole numbers, the first frame is 1.
    x, y, z
        Positions in nm; the origin is the outer corner of the first pixel, z = 0 the focal plane; `z` is None in 2D.
    photons
        Number of photons, None when unknown.
    sigma, uncertainty, background
        Width of the spot (nm), claimed precision (nm), background photons for each pixel; None when unknown, NaN for
        rows that lack it.
    id, channel
        Whole numbers, None when unknown. Rows of one molecule share their id.
    provenance
        Where the table came from.

    Examples
    --------
    >>> t = Localizations(frame=[1, 1, 2], x=[10.0, 500.0, 20.0], y=[0.0, 5.0, 7.0], photons=[900, 1500, 1200])
    >>> len(t), t.z is None, t.extent["x"]
    (3, True, (10.0, 500.0))
    >>> t.select(t.x < 100).frame
    array([1, 2])
    """

    frame: IntArray
    x: FloatArray
    y: FloatArray
    z: FloatArray | None = None
    photons: FloatArray | None = None
    sigma: FloatArray | None = None
    uncertainty: FloatArray | None = None
    background: FloatArray | None = None
    id: IntArray | None = None
    channel: IntArray | None = None
    provenance: Provenance = dataclasses.field(default_factory=Provenance)
    _points: dict[int, FloatArray] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        rows = len(_one_dimensional(self.frame, "frame"))
        for name in COLUMNS:
            value = getattr(self, name)
            if value is None and name not in _REQUIRED:
                continue
            column = _whole(value, name) if name in WHOLE_COLUMNS else _numbers(value, name)
            if len(column) != rows:
                raise InputError(f"{name} has {len(column)} rows and frame has {rows}; give one value for each row")
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        frames = f"frames {self.frame.min()} to {self.frame.max()}" if len(self) else "no frames"
        source = f", from {self.provenance.file}" if self.provenance.file else ""
        return f"<Localizations: {len(self)} rows, {frames}, {'2D' if self.z is None else '3D'}{source}>"

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns present, by name.

        Examples
        --------
        >>> list(Localizations(frame=[1], x=[0.0], y=[0.0]).columns())
        ['frame', 'x', 'y']
        """
        return {name: getattr(self, name) for name in COLUMNS if getattr(self, name) is not None}

    def points(self, dim: int, threads: int | None = None) -> FloatArray:
        """Positions in nm as a read-only (rows, dim) array, `dim` 2 or 3, made once by `threads` threads.

        Examples
        --------
        >>> Localizations(frame=[1], x=[3.0], y=[4.0]).points(2)
        array([[3., 4.]])
        """
        if dim not in (2, 3):
            raise InputError(f"dim is {dim!r}; give 2 or 3")
        if dim not in self._points:
            axes = [self.x, self.y] if dim == 2 else [self.x, self.y, self._depth()]
            points = table_of(axes, thread_count(threads))
            points.setflags(write=False)
            self._points[dim] = points
        return self._points[dim]

    @property
    def extent(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest coordinate on each axis, nm; empty if there are no rows.

        Examples
        --------
        >>> Localizations(frame=[1, 1], x=[3.0, 9.0], y=[4.0, 4.0]).extent
        {'x': (3.0, 9.0), 'y': (4.0, 4.0)}
        """
        axes = {"x": self.x, "y": self.y} | ({} if self.z is None else {"z": self.z})
        return {name: (float(axis.min()), float(axis.max())) for name, axis in axes.items() if len(axis)}

    def check_has_rows(self) -> None:
        """Raise if a truth has no row: a result can't be scored then.

        Examples
        --------
        >>> Localizations(frame=[1], x=[3.0], y=[4.0]).check_has_rows()
        """
        if len(self) == 0:
            raise InputError(f"{self.provenance.file or 'truth'}: the truth has no row; give the true molecules")

    def select(self, rows: npt.ArrayLike) -> Localizations:
        """The rows selected by a mask or an index array, as a new table.

        Examples
        --------
        >>> Localizations(frame=[1, 2], x=[3.0, 9.0], y=[4.0, 4.0]).select([False, True]).x
        array([9.])
        """
        picked = np.asarray(rows)
        return Localizations(
            **{name: column[picked] for name, column in self.columns().items()}, provenance=self.provenance
        )

    def in_3d(self) -> Localizations:
        """The table itself; an error if it has no z.

        Examples
        --------
        >>> Localizations(frame=[1], x=[3.0], y=[4.0], z=[9.0]).in_3d().z
        array([9.])
        """
        self._depth()
        return self

    def to_pandas(self) -> pd.DataFrame:
        """The columns present as a pandas DataFrame, in nm and with frames from 1.

        Examples
        --------
        >>> Localizations(frame=[1], x=[3.0], y=[4.0]).to_pandas()
           frame    x    y
        0      1  3.0  4.0
        """
        import pandas as pd

        return pd.DataFrame(self.columns())

    def _depth(self) -> FloatArray:
        if self.z is None:
            name = self.provenance.file or "the table"
            raise InputError(f"{name}: it has no z, so it can't be used in 3D; use 2D, or give a file with z")
        return self.z


def _one_dimensional(value: Any, name: str) -> npt.NDArray[Any]:
    check_unmasked(value, name)
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} has rows of different lengths; give one value for each row") from error
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; give one value for each row")
    if array.size > 0 and array.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {array.dtype}, not numbers; convert that column")
    return array


def _numbers(value: Any, name: str) -> FloatArray:
    column = np.ascontiguousarray(_one_dimensional(value, name), dtype=np.float64)
    if name in MAY_HAVE_GAPS:
        return column
    if not all(all_within(column[part, None], np.finfo(np.float64).max) for part in chunks(len(column))):
        at = int(np.argmin(np.isfinite(column)))
        raise InputError(f"row {at + 1} of {name} is {column[at]}; drop or fix that row")
    return column


def _whole(value: Any, name: str) -> IntArray:
    array = _one_dimensional(value, name)
    if array.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            whole = array == np.floor(array)
        if not whole.all():
            at = int(np.argmin(whole))
            raise InputError(f"row {at + 1} of {name} is {array[at]}, not a whole number; fix or drop that row")
    if array.size > 0 and (array.max() >= LARGEST_WHOLE or array.min() <= -LARGEST_WHOLE):
        at = int(np.argmax(np.abs(array.astype(np.float64))))
        raise InputError(f"row {at + 1} of {name} is {array[at]}, which is too large; fix or drop that row")
    return np.ascontiguousarray(array, dtype=np.int64)
