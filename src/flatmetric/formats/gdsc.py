"""GDSC SMLM (PeakFit) text: a header of comments that holds the calibration."""

from __future__ import annotations

import re

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import CORNER, Native
from flatmetric.formats.headers import find_columns
from flatmetric.formats.text import TextHead
from flatmetric.options.reading import ReadOptions

_NM_PER_PIXEL = re.compile(r"nmPerPixel\W*?([0-9][0-9.eE+-]*)", re.IGNORECASE)


def _recognise(candidate: Candidate) -> str | None:
    comments = candidate.head.comments
    if comments and comments[0].text.lower().startswith("#localisation results file"):
        return "the first line is '#Localisation Results File', as GDSC SMLM (PeakFit) writes it"
    return None


def _nm_per_pixel(head: TextHead) -> float | None:
    for line in head.comments:
        if match := _NM_PER_PIXEL.search(line.text):
            try:
                size = float(match[1])
            except ValueError:
                continue
            if 0 < size < float("inf"):
                return size
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    header = candidate.head.header
    named = find_columns([h.text for h in header] if header else [])
    # Not the pixel of the maximum, origX, but the fitted position; not the peak value but the whole signal.
    for column in ("frame", "x", "y"):
        if column not in named:
            raise InputError(f"{candidate.source.name}: as GDSC SMLM text its header lacks {column}")
    wanted = {name: column.index for name, column in named.items() if name != "id"}
    table = candidate.head.read(wanted, options.skip_bad_rows)
    size = _nm_per_pixel(candidate.head)
    unit = named["x"].unit
    native = Native(
        table.columns,
        unit=unit if unit in ("nm", "um") else "px",
        z_unit=named["z"].unit if "z" in named else "nm",
        frame_base=1,
        first_pixel=CORNER,
        pixel_size=None if size is None else (size, size),
        dropped=table.dropped,
        notes=table.notes,
    )
    if named.get("uncertainty") is not None and named["uncertainty"].unit == "nm":
        native.width_units["uncertainty"] = "nm"
    return native


FORMAT = Format("gdsc", "GDSC SMLM (PeakFit) text", _recognise, _read)
