"""Octane: four columns without a header, in pixels."""

from __future__ import annotations

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.challenge_csv import is_frame
from flatmetric.formats.conversion import CENTER, Native
from flatmetric.options.reading import ReadOptions

_COLUMNS = ("frame", "x", "y", "photons")


def _recognise(candidate: Candidate) -> str | None:
    row = candidate.head.first_row
    if candidate.head.header is not None or row is None or len(row) != len(_COLUMNS):
        return None
    if not is_frame(row[0]):
        return None
    return "no header, four columns, whole numbers in the first: Octane's layout frame, x, y, intensity"


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    if options.unit in (None, "px") and options.pixel_size is None:
        raise InputError(
            f"{name}: four columns without a header are read as Octane's, in pixels, and need pixel_size= in nm; "
            "if they are something else, give columns={'frame': 1, 'x': 2, 'y': 3} and unit="
        )
    wanted = {column: at for at, column in enumerate(_COLUMNS)}
    table = candidate.head.read(wanted, options.skip_bad_rows)
    return Native(
        table.columns,
        unit="px",
        frame_base=1,
        first_pixel=CENTER,
        dropped=table.dropped,
        notes=table.notes,
        assumptions=[
            "four columns without a header taken as Octane's frame, x, y, intensity (otherwise give columns=)"
        ],
    )


FORMAT = Format("octane", "Octane", _recognise, _read)
