"""Insight3 .bin: fixed records of 18 four-byte numbers, in pixels counted from 1."""

from __future__ import annotations

import numpy as np

from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.options.reading import ReadOptions

_MAGIC = b"M425"
_HEADER_BYTES = 16  # by the format: M425, frames, molecules, status
_FLOATS = ("x", "y", "xc", "yc", "h", "a", "w", "phi", "ax", "bg", "i")
_RECORD = np.dtype(
    [(n, "<f4") for n in _FLOATS] + [(n, "<i4") for n in ("c", "fi", "fr", "tl", "lk")] + [("z", "<f4"), ("zc", "<f4")]
)
# Insight3 puts the middle of the first pixel at 1.
_FIRST_PIXEL = 1.0


def _recognise(candidate: Candidate) -> str | None:
    return "the file begins with Insight3's M425" if candidate.source.head.startswith(_MAGIC) else None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    source = candidate.source
    count = int.from_bytes(source.head[12:_HEADER_BYTES], "little", signed=True)
    if len(source.head) < _HEADER_BYTES or count < 0:
        raise InputError(f"{source.name}: the Insight3 header is damaged; get the file again")
    with source.opened() as file:
        file.seek(_HEADER_BYTES)
        content = file.read(min(count * _RECORD.itemsize, largest_content(source.size)))
    if len(content) < count * _RECORD.itemsize:
        raise InputError(
            f"{source.name}: is cut short: its header promises {count} rows, "
            f"and it holds {len(content) // _RECORD.itemsize}"
        )
    rows = np.frombuffer(content, dtype=_RECORD, count=count)
    moved = any(rows[c].any() and not np.array_equal(rows[c], rows[c[0]]) for c in ("xc", "yc", "zc"))
    chosen = ("xc", "yc", "zc") if moved else ("x", "y", "z")
    columns = {name: rows[field].astype(np.float64) for name, field in zip("xyz", chosen, strict=True)}
    columns |= {"photons": rows["a"].astype(np.float64), "background": rows["bg"].astype(np.float64)}
    native = Native(
        columns | {"frame": rows["fr"].astype(np.int64), "channel": rows["c"].astype(np.int64)},
        unit="px",
        frame_base=1,
        first_pixel=_FIRST_PIXEL,
        notes=["positions are the drift-corrected xc, yc, zc" if moved else "positions are x, y, z"],
    )
    return checked(native, options, source.name)


FORMAT = Format("insight3", "Insight3 .bin", _recognise, _read)
