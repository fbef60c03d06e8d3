"""SMAP _sml.mat: MATLAB 7.3, which is HDF5."""

from __future__ import annotations

from flatmetric._arrays import whole_numbers
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
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
    if candidate.hdf5 is not None and candidate.hdf5.holds(f"{_GROUP}/xnm", f"{_GROUP}/frame"):
        return "a MATLAB 7.3 file with SMAP's saveloc/loc"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    arrays = candidate.opened_hdf5.arrays([f"{_GROUP}/{theirs}" for theirs in _COLUMNS.values()])
    columns = {ours: values.ravel() for ours, values in zip(_COLUMNS, arrays, strict=True) if values is not None}
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
