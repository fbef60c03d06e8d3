"""DECODE HDF5: positions as one array, unit and pixel size as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import CENTER, Native, checked
from flatmetric.formats.decode_csv import decode_metadata
from flatmetric.options.reading import ReadOptions


def _recognise(candidate: Candidate) -> str | None:
    if candidate.hdf5 is not None and candidate.hdf5.holds("data/xyz", "data/frame_ix"):
        return "an HDF5 file with DECODE's datasets data/xyz and data/frame_ix"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    file = candidate.opened_hdf5
    names = ("xyz", "frame_ix", "xyz_sig", "phot", "bg", "id")
    xyz, frame, deviation, *found = file.arrays([f"data/{column}" for column in names])
    others = dict(zip(("photons", "background", "id"), found, strict=True))
    unit, size = file.attributes([("meta", "xy_unit"), ("meta", "px_size")])
    if xyz is None or frame is None or xyz.ndim != 2 or xyz.shape[1] != 3 or frame.ndim != 1:
        raise InputError(f"{name}: data/xyz is not an array of three columns, as DECODE writes it")
    columns: dict[str, Any] = {"frame": frame, "x": xyz[:, 0], "y": xyz[:, 1], "z": xyz[:, 2]}
    columns |= {ours: values for ours, values in others.items() if values is not None and values.shape == frame.shape}
    if deviation is not None and deviation.shape == xyz.shape and deviation.dtype.kind == "f":
        columns["uncertainty"] = np.mean(deviation[:, :2], axis=1, dtype=np.float64)
    if "id" in columns and columns["id"].dtype.kind not in "iu":
        del columns["id"]
    native = Native(columns, unit=None, frame_base=0, first_pixel=CENTER)
    decode_metadata(unit, size, native, name, options)
    return checked(native, options, name)


FORMAT = Format("decode", "DECODE HDF5", _recognise, _read)
