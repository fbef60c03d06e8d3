"""From a file's own units to nm and frames from 1: every step is recorded, and what the file did not say is named."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import LARGEST_WHOLE, MAY_HAVE_GAPS, chunks, whole_numbers
from flatmetric._core import LARGEST, all_within
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations, Provenance
from flatmetric.options.reading import LIMITS, ReadOptions, Unit

_NM = {"nm": 1.0, "um": 1e3, "m": 1e9}
# Centre of the first pixel, in pixels. Internally zero is the outer corner of that pixel, so its centre is at CORNER.
CORNER = 0.5
CENTER = 0.0  # px: zero is the middle of the first pixel
_NO_LIMITS: dict[str, Any] = dict.fromkeys(LIMITS)


@dataclass(slots=True)
class Native:
    """A file's columns in its own units, and what the file or its format states about them. Conversion works in place,
    on the arrays themselves.

    `first_pixel` is where the middle of the first pixel lies, in pixels (0.5: zero is the outer corner). None
    means: neither in the file nor fixed by the format.
    """

    columns: dict[str, npt.NDArray[Any]]
    unit: str | None
    y_unit: str | None = None  # where it is not that of x
    z_unit: str | None = "nm"
    width_units: dict[str, str] = field(default_factory=dict)  # of sigma and uncertainty, where not that of x and y
    frame_base: int | None = 1
    first_pixel: float | None = None
    has_pixels: bool = True
    pixel_size: tuple[float, float] | None = None
    fov: tuple[float, float] | None = None  # nm
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)  # columns


@dataclass(slots=True)
class _Record:
    """What was done, what had to be guessed, and the arguments that make the guess unnecessary."""

    notes: list[str]
    guesses: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    unit: str | None = None
    frame_base: int | None = None
    frame_base_assumed: bool = False

    def guess(self, text: str, *options: str) -> None:
        self.guesses.append(text)
        self.options.extend(options)


def to_localizations(native: Native, options: ReadOptions, provenance: Provenance) -> Localizations:
    """Convert, and record what was done in the provenance, which comes with the file's name, hash and format."""
    name = provenance.file
    columns = dict(native.columns)
    record = _Record(list(native.notes))
    pixel = options.pixel_size or native.pixel_size
    if pixel is not None:
        whose = "as given" if options.pixel_size else "from the file"
        size = f"{pixel[0]:g}" if pixel[0] == pixel[1] else f"{pixel[0]:g} x {pixel[1]:g}"
        record.notes.append(f"pixel size {size} nm, {whose}")
    if options.swap_xy:
        columns["x"], columns["y"] = columns["y"], columns["x"]
        record.notes.append("x and y swapped, as asked")
    _scale_to_nm(columns, native, options, pixel, name, record)
    _move_origin(columns, native, options, pixel, name, record)
    if options.shift is not None:
        for axis, step in zip("xyz", options.shift, strict=True):
            if step and axis not in columns:
                raise InputError(f"{name}: it has no z to shift by {step:g} nm; give shift=(dx, dy)")
            if step:
                columns[axis] += step
        record.notes.append("shifted by " + ", ".join(f"{step:g}" for step in options.shift) + " nm, as asked")
    _count_frames_from_one(columns, native, options, record)
    _check_size(columns, name)
    warnings, assumptions = list[str](), list(native.assumptions)
    if record.guesses:
        better = ", ".join(dict.fromkeys(record.options))
        assumptions.append(f"{', '.join(record.guesses)} (otherwise give {better})")
    if len(columns["x"]) == 0:
        warnings.append("the table has no row: nothing was found")
    for reason, count in native.dropped.items():
        warnings.append(f"{count} {'row' if count == 1 else 'rows'} dropped: {reason}")
    full = dataclasses.replace(
        provenance,
        unit=record.unit,
        frame_base=record.frame_base,
        frame_base_assumed=record.frame_base_assumed,
        pixel_size=pixel,
        shift=options.shift,
        swap_xy=options.swap_xy,
        fov=native.fov,
        unused=tuple(native.unused),
        assumptions=tuple(assumptions),
        conversions=tuple(record.notes),
        dropped=dict(native.dropped),
        warnings=tuple(warnings),
    )
    try:
        return Localizations(**columns, provenance=full)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def converted(table: Localizations, options: ReadOptions, name: str) -> Localizations:
    """A table in nm with reading options applied to it as if it were a file; itself without any.

    Examples
    --------
    >>> converted(Localizations(frame=[0], x=[1.0], y=[2.0]), ReadOptions(frame_base=0), "pred").frame
    array([1])
    """
    unlimited = dataclasses.replace(options, **_NO_LIMITS)
    if dataclasses.replace(unlimited, columns=None, skip_bad_rows=False) == ReadOptions():
        return table
    if options.format is not None:
        raise InputError(f"format is {options.format!r}, but {name} is a table, not a file; leave it out")
    columns = {column: values.copy() for column, values in table.columns().items()}
    native = Native(columns, "nm", first_pixel=CORNER, pixel_size=table.provenance.pixel_size)
    return to_localizations(native, options, dataclasses.replace(table.provenance, file=table.provenance.file or name))


def _scale_to_nm(
    columns: dict[str, npt.NDArray[Any]],
    native: Native,
    options: ReadOptions,
    pixel: tuple[float, float] | None,
    name: str | None,
    record: _Record,
) -> None:
    unit = options.unit or native.unit
    if unit is None:
        unit = "nm"
        record.guess("taken as nm", "unit=")
    if unit == "px" and pixel is None:
        raise InputError(
            f"{name}: positions are in pixels and the file does not say how large a pixel is; give pixel_size= in nm"
        )
    record.unit = unit
    y_unit = unit if options.unit is not None or native.y_unit is None else native.y_unit
    if y_unit == "px" and pixel is None:
        raise InputError(f"{name}: y is in pixels and the file does not say how large one is; give pixel_size= in nm")
    size = pixel or (1.0, 1.0)
    factors = [size[k] if u == "px" else _NM.get(u, 1.0) for k, u in enumerate((unit, y_unit))]
    width = math.sqrt(factors[0] * factors[1])
    # Depths are in pixels only where the file states it: unit="px" is about x and y.
    z_unit = options.unit if options.unit not in (None, "px") else native.z_unit or "nm"
    if z_unit == "px" and "z" in columns and pixel is None:
        raise InputError(
            f"{name}: z is in pixels and the file does not say how large a pixel is; give pixel_size= in nm"
        )
    deep = math.sqrt(pixel[0] * pixel[1]) if z_unit == "px" and pixel is not None else _NM.get(z_unit, 1.0)
    scale = {"x": factors[0], "y": factors[1], "z": deep}
    for column in ("sigma", "uncertainty"):
        own = native.width_units.get(column) or unit
        scale[column] = math.sqrt(size[0] * size[1]) if own == "px" else _NM.get(own, width)
        if own == "px" and pixel is None and column in columns:
            del columns[column]
            record.notes.append(f"{column} is in pixels of unknown size and was left out")
    for column, factor in scale.items():
        if column in columns:
            columns[column] = np.ascontiguousarray(columns[column], dtype=np.float64)
            if factor != 1:
                columns[column] *= factor
    whose = "as given" if options.unit else "by the file or its format" if native.unit else "assumed"
    units = f"x, y in {unit}" if y_unit == unit else f"x in {unit}, y in {y_unit}"
    to_nm = "" if unit == y_unit == "nm" else " turned into nm"
    record.notes.append(f"{units} ({whose}){to_nm}")
    if "z" in columns and z_unit != "nm":
        record.notes.append(f"z in {z_unit} turned into nm")


def _move_origin(
    columns: dict[str, npt.NDArray[Any]],
    native: Native,
    options: ReadOptions,
    pixel: tuple[float, float] | None,
    name: str | None,
    record: _Record,
) -> None:
    if not native.has_pixels and options.origin is None:
        return
    first = native.first_pixel
    if options.origin is not None:
        first = CORNER if options.origin == "corner" else CENTER
        if options.origin == "center" and pixel is None:
            raise InputError(
                f"{name}: half a pixel is to be added and the pixel size is not known; give pixel_size= in nm"
            )
    whose = "as given" if options.origin else "by the format"
    if first is None:
        record.guess("zero at the outer corner of the first pixel", "origin=")
    elif first == CORNER:
        record.notes.append(f"zero is the outer corner of the first pixel ({whose})")
    elif pixel is None:
        record.guess(
            "half a pixel not added, although zero is the middle of the first pixel, as its size is unknown",
            "pixel_size=",
            "origin=",
        )
    else:
        steps = [(CORNER - first) * size for size in pixel]
        columns["x"] += steps[0]
        columns["y"] += steps[1]
        record.notes.append(
            f"the middle of the first pixel is at {first:g} px ({whose}): {steps[0]:+g}, {steps[1]:+g} nm added to x, y"
        )


def _check_size(columns: Mapping[str, npt.NDArray[Any]], name: str | None) -> None:
    for column in ("x", "y", "z", "photons"):
        values = columns.get(column)
        if values is None or all(
            all_within(values[part].astype(np.float64, copy=False)[:, None], LARGEST) for part in chunks(len(values))
        ):
            continue
        at = int(np.argmax(np.abs(values)))
        raise InputError(f"{name}: {column} of data row {at + 1} is {values[at]:g}, which can't be right; fix that row")


def _count_frames_from_one(
    columns: dict[str, npt.NDArray[Any]], native: Native, options: ReadOptions, record: _Record
) -> None:
    if "frame" not in columns:
        columns["frame"] = np.ones(len(columns["x"]), dtype=np.int64)
        record.notes.append("no frames: all rows are one point set, frame 1")
        return
    base = options.frame_base if options.frame_base is not None else native.frame_base
    whose = "as given" if options.frame_base is not None else "by the format"
    if base is None:
        base = 0 if len(columns["frame"]) and columns["frame"].min() == 0 else 1
        why = "the least is 0" if base == 0 else "none is 0"
        record.guess(f"frames from {base}, as {why}", "frame_base=")
        whose, record.frame_base_assumed = "assumed", len(columns["frame"]) > 0
    record.frame_base = base
    if base != 1:
        frames = columns["frame"]
        in_place = frames if frames.dtype == np.int64 and frames.flags.writeable else None
        columns["frame"] = np.add(frames, 1 - base, out=in_place)
    record.notes.append(f"frames count from {base} ({whose})" + (f": {1 - base:+d}" if base != 1 else ""))


def checked(native: Native, options: ReadOptions, name: str) -> Native:
    """Reject, or drop, rows of a binary table with numbers that are not finite or frames that are not whole."""
    rows = {column: len(values) for column, values in native.columns.items()}
    if len(set(rows.values())) > 1:
        raise InputError(f"{name}: its columns differ in length ({', '.join(f'{c} {n}' for c, n in rows.items())})")
    good = np.ones(rows["x"], dtype=bool)
    for column, values in native.columns.items():
        if values.ndim != 1 or values.dtype.kind not in "fiu":
            raise InputError(f"{name}: the column {column} does not hold one number for each row")
        if column.startswith(MAY_HAVE_GAPS) or (values.dtype.kind in "iu" and values.dtype.itemsize < 8):
            continue  # small whole numbers are always fine
        fine = np.ones(len(values), dtype=bool)
        for part in chunks(len(values)):
            chunk = values[part]
            fine[part] = np.isfinite(chunk)
            if column == "frame":
                fine[part] &= (np.floor(chunk) == chunk) & (np.abs(chunk.astype(np.float64)) < LARGEST_WHOLE)
        good &= fine
        if not options.skip_bad_rows and not fine.all():
            at = int(np.argmin(fine))
            raise InputError(
                f"{name}: row {at + 1}, column {column}, is {values[at]}; fix or drop that row, or use skip_bad_rows="
            )
    lost = int(np.count_nonzero(~good))
    if lost:
        native.columns = {column: values[good] for column, values in native.columns.items()}
        native.dropped["NaN, infinity or a frame that is not a whole number"] = lost
    if "frame" in native.columns:
        frames = whole_numbers(native.columns["frame"])
        assert frames is not None  # rows with others were dropped
        native.columns["frame"] = frames
    return native


def known_length(unit: str | None, what: str, name: str, options: ReadOptions) -> str | None:
    """The unit of length that a file names; an unknown one is an error unless the user gives the unit."""
    if unit is None or unit in get_args(Unit) or options.unit is not None:
        return unit if unit in get_args(Unit) else None
    raise InputError(f"{name}: {what} is in {unit!r:.20}, which is not known; give unit= nm, um, m or px")
