"""DECODE CSV: comment lines with JSON, one of which holds unit and pixel size."""

from __future__ import annotations

import json

from flatmetric.formats.base import Candidate
from flatmetric.formats.conversion import CENTER, Native, known_length
from flatmetric.formats.delimited import Delimited
from flatmetric.options.reading import ReadOptions


def _metadata(candidate: Candidate, native: Native, options: ReadOptions) -> None:
    for line in candidate.head.comments:
        try:
            meta = json.loads(line.text.lstrip("# "))
        except (ValueError, RecursionError):
            continue
        if isinstance(meta, dict) and "xy_unit" in meta:
            decode_metadata(meta["xy_unit"], meta.get("px_size"), native, candidate.source.name, options)


def decode_metadata(unit: object, pixel_size: object, native: Native, name: str, options: ReadOptions) -> None:
    """Take DECODE's unit and pixel size, where they make sense."""
    native.unit = known_length(str(unit), "xy_unit", name, options) if isinstance(unit, str) else None
    try:
        sizes = [] if isinstance(pixel_size, str) else [float(size) for size in pixel_size]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return
    if len(sizes) == 2 and all(0 < size < float("inf") for size in sizes):
        native.pixel_size = sizes[0], sizes[1]


FORMAT = Delimited(
    name="decode-csv",
    title="DECODE CSV",
    known_by=("x", "y", "z", "phot", "frame_ix"),
    columns={
        "frame": ("frame_ix",),
        "x": ("x",),
        "y": ("y",),
        "z": ("z",),
        "photons": ("phot",),
        "background": ("bg",),
        "uncertainty": ("x_sig",),
        "id": ("id",),
    },
    unit=None,
    frame_base=0,
    first_pixel=CENTER,
    refine=_metadata,
).format()
