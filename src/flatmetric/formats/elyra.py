"""Zeiss Elyra text: Latin-1, with a footer after a blank line."""

from __future__ import annotations

import re

from flatmetric.formats.base import Candidate
from flatmetric.formats.conversion import Native
from flatmetric.formats.delimited import Delimited
from flatmetric.formats.source import HEAD_BYTES
from flatmetric.options.reading import ReadOptions

_VOXEL = re.compile(rb"VoxelSize([XY])\s*:\s*([0-9.]+)\s*[\xb5\xc2u]")


def _pixel_from_footer(candidate: Candidate, native: Native, options: ReadOptions) -> None:
    del options
    last = b""
    for piece in candidate.source.pieces():
        last = (last + piece)[-HEAD_BYTES:]
    sizes = {axis: 1e3 * float(um) for axis, um in _VOXEL.findall(last)}
    if 0 < sizes.get(b"X", 0) < 1e9 and 0 < sizes.get(b"Y", 0) < 1e9:
        native.pixel_size = sizes[b"X"], sizes[b"Y"]


FORMAT = Delimited(
    name="elyra",
    title="Zeiss Elyra",
    known_by=("first frame", "position x [nm]", "position y [nm]"),
    columns={
        "id": ("index",),
        "frame": ("first frame",),
        "x": ("position x [nm]",),
        "y": ("position y [nm]",),
        "z": ("position z [nm]",),
        "photons": ("number photons",),
        "sigma": ("psf half width [nm]",),
        "uncertainty": ("precision [nm]",),
        "channel": ("channel",),
    },
    unit="nm",
    frame_base=1,
    first_pixel=None,
    ends_at_blank_line=True,
    refine=_pixel_from_footer,
).format()
