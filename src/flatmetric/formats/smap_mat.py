"""SMAP _sml.mat: MATLAB 7.3, which is HDF5."""

from __future__ import annotations

from flatmetric._arrays import whole_numbers
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.formats.hdf5 import opened, recognised
from flatmetric.options.reading import ReadOptions

_GROUP = "saveloc/loc"
_COLUMNS = {
    "frame": "frame",
    "x": "xnm",
    "y": "ynm",
    "z": "znm",
    "photons": "phot",
    "background": "bg",
    "uncertainty": "locprecnm",
    "channel": "channel",
}


def _recognise(candidate: Candidate) -> str | None:
    if recognised(candidate, f"{_GROUP}/xnm", f"{_GROUP}/frame"):
        return "a MATLAB 7.3 file with SMAP's saveloc/loc"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    columns = {}
    with opened(candidate.source) as file:
        for ours, theirs in _COLUMNS.items():
            values = file.array(f"{_GROUP}/{theirs}")
            if values is not None:
                columns[ours] = values.ravel()
    if "channel" in columns:
        channel = columns.pop("channel")
        whole = whole_numbers(channel) if channel.dtype.kind in "fiu" else None
        if whole is not None:
            columns["channel"] = whole
    for column in ("frame", "x", "y"):
        if column not in columns:
            raise InputError(f"{candidate.source.name}: saveloc/loc lacks {_COLUMNS[column]}")
    return checked(Native(columns, unit="nm", frame_base=1, first_pixel=None), options, candidate.source.name)


FORMAT = Format("smap", "SMAP _sml.mat", _recognise, _read)
