"""MINFLUX (Abberior): metres, traces, no frames: all valid localizations are one point set."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._files import largest_content
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import Native, checked
from flatmetric.formats.delimited import Delimited, drop_invalid
from flatmetric.formats.mat5 import Mat5Error, variables
from flatmetric.options.reading import ReadOptions

_NPY = b"\x93NUMPY"
_MAT5 = b"MATLAB 5.0 MAT-file"


def _is_npy(candidate: Candidate) -> str | None:
    return "a NumPy file, one of MINFLUX's export formats" if candidate.source.head.startswith(_NPY) else None


def _read_npy(candidate: Candidate, options: ReadOptions) -> Native:
    records = _npy_records(candidate)
    name = candidate.source.name
    fields = records.dtype.names or ()
    if "itr" not in fields or records.ndim != 1:
        raise InputError(f"{name}: is a NumPy file without MINFLUX's field 'itr'; save the table as CSV")
    iterations = records["itr"]
    if iterations.dtype.names and "loc" in iterations.dtype.names and iterations.ndim == 2 and iterations.shape[1]:
        where = iterations["loc"][:, -1]  # the last iteration is the localization
    elif "loc" in fields:
        where = records["loc"]
    else:
        raise InputError(f"{name}: its MINFLUX records hold no field 'loc'")
    valid = _flags(records, "vld") & _flags(records, "fnl")
    return _point_set(where, records["tid"] if "tid" in fields else None, valid, options, name)


def _npy_records(candidate: Candidate) -> npt.NDArray[Any]:
    name = candidate.source.name
    with candidate.source.opened() as file:
        content = io.BytesIO(file.read(largest_content(candidate.source.size)))
    try:
        version = np.lib.format.read_magic(content)
        later = np.lib.format.read_array_header_2_0
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): later, (3, 0): later}
        shape, _, dtype = read_header[version](content)
    except Exception as error:  # numpy raises many kinds on a damaged header
        raise InputError(f"{name}: its NumPy header is damaged; get the file again") from error
    if dtype.hasobject:
        raise InputError(f"{name}: holds pickled Python objects, which are never loaded; save numbers instead")
    rest = content.getbuffer()[content.tell() :]
    rows = math.prod(shape)
    if any(length < 0 for length in shape):
        raise InputError(f"{name}: its NumPy header is damaged; get the file again")
    if dtype.itemsize == 0 or rows * dtype.itemsize > len(rest):
        raise InputError(f"{name}: is cut short: its header promises {rows} records")
    return np.frombuffer(rest, dtype=dtype, count=rows).reshape(shape)


def _flags(records: npt.NDArray[Any], name: str) -> npt.NDArray[np.bool_]:
    if name not in (records.dtype.names or ()):
        return np.ones(len(records), dtype=bool)
    flags = np.asarray(records[name])
    if flags.ndim != 1 or flags.dtype.kind not in "buif":
        return np.ones(len(records), dtype=bool)
    return flags.astype(bool)


def _point_set(
    where: npt.NDArray[Any],
    trace: npt.NDArray[Any] | None,
    valid: npt.NDArray[np.bool_],
    options: ReadOptions,
    name: str,
) -> Native:
    if where.ndim != 2 or where.shape[1] != 3 or where.dtype.kind != "f":
        raise InputError(f"{name}: its localizations are not triples of numbers")
    columns = {axis: where[:, at].astype(np.float64) for at, axis in enumerate("xyz")}
    if not columns["z"].any():
        del columns["z"]
    if trace is not None and trace.dtype.kind in "iu" and trace.shape == columns["x"].shape:
        columns["id"] = trace.astype(np.int64)
    native = Native(columns, unit="m", z_unit="m", has_pixels=False)
    if valid.shape == columns["x"].shape:
        drop_invalid(native, valid)
    return checked(native, options, name)


def _is_mat(candidate: Candidate) -> str | None:
    if candidate.source.head.startswith(_MAT5):
        return "a MATLAB 5 file, one of MINFLUX's export formats"
    return None


def _read_mat(candidate: Candidate, options: ReadOptions) -> Native:
    source, name = candidate.source, candidate.source.name
    largest = largest_content(source.size)
    with source.opened() as file:
        try:
            content = variables(file.read(largest), {"itr", "vld", "tid"}, largest)
        except Mat5Error as error:
            raise InputError(f"{name}: the MATLAB file is damaged or cut short ({error}); get it again") from error
    iterations = content.get("itr")
    if not isinstance(iterations, dict) or "loc" not in iterations:
        raise InputError(f"{name}: is a MATLAB file without MINFLUX's itr.loc; save the table as CSV")
    where = iterations["loc"]
    if where is not None and where.ndim == 3 and where.shape[1]:
        where = where[:, -1]
    if where is None or where.ndim != 2:
        raise InputError(f"{name}: its itr.loc does not hold triples of numbers")
    trace, valid = content.get("tid"), content.get("vld")
    flags = np.ones(len(where), dtype=bool) if valid is None or isinstance(valid, dict) else valid.ravel() != 0
    return _point_set(where, None if trace is None or isinstance(trace, dict) else trace.ravel(), flags, options, name)


NPY = Format("minflux-npy", "MINFLUX NumPy export", _is_npy, _read_npy)
MAT = Format("minflux-mat", "MINFLUX MATLAB export", _is_mat, _read_mat)
CSV = Delimited(
    name="minflux-csv",
    title="a MINFLUX trace table",
    known_by=("tid", "x", "y"),
    columns={"x": ("x",), "y": ("y",), "z": ("z",), "id": ("tid",)},
    unit="nm",
    frame_base=1,
    first_pixel=None,
    has_pixels=False,
).format()
