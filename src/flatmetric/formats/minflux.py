"""MINFLUX (Abberior): metres, traces, no frames: all valid localizations are one point set."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.delimited import Delimited, drop_invalid
from flatmetric.formats.native import Native, ReadOptions, checked
from flatmetric.formats.registry import Candidate, Format
from flatmetric.formats.source import largest_content

_NPY = b"\x93NUMPY"
_MAT5 = b"MATLAB 5.0 MAT-file"


def _is_npy(candidate: Candidate) -> str | None:
    return "a NumPy file; MINFLUX exports are such" if candidate.source.head.startswith(_NPY) else None


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
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read_header[version](content)
    except Exception as error:  # numpy raises many kinds on a damaged header
        raise InputError(f"{name}: its NumPy header is damaged; get the file again") from error
    if dtype.hasobject:
        raise InputError(f"{name}: holds pickled Python objects, which are never loaded; save numbers instead")
    rest = content.getbuffer()[content.tell() :]
    rows = int(np.prod(shape, dtype=object))
    if dtype.itemsize == 0 or rows * dtype.itemsize > len(rest):
        raise InputError(f"{name}: is cut short: its header promises {rows} records")
    return np.frombuffer(rest, dtype=dtype, count=rows).reshape(shape)


def _flags(records: npt.NDArray[Any], name: str) -> npt.NDArray[np.bool_]:
    if name not in (records.dtype.names or ()):
        return np.ones(len(records), dtype=bool)
    return np.asarray(records[name]).astype(bool)


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
        return "a MATLAB 5 file; MINFLUX exports are such"
    return None


def _read_mat(candidate: Candidate, options: ReadOptions) -> Native:
    from scipy.io import loadmat

    name = candidate.source.name
    with candidate.source.opened() as file:
        try:
            # Named variables only: nothing else in the file is even looked at.
            content = loadmat(file, variable_names=["itr", "vld", "tid"], simplify_cells=True)
        except Exception as error:  # scipy raises nearly every kind on damaged files
            raise InputError(f"{name}: the MATLAB file is damaged or cut short; get the file again") from error
    iterations = content.get("itr")
    if not isinstance(iterations, dict) or "loc" not in iterations:
        raise InputError(f"{name}: is a MATLAB file without MINFLUX's itr.loc; save the table as CSV")
    where = np.asarray(iterations["loc"])
    if where.ndim == 3:
        where = where[:, -1]
    rows = len(where) if where.ndim else 0
    valid = np.asarray(content.get("vld", np.ones(rows))).ravel()
    trace = content.get("tid")
    if valid.dtype.kind not in "buif":
        raise InputError(f"{name}: its vld does not hold flags")
    trace = None if trace is None else np.asarray(trace).ravel()
    return _point_set(where, trace, valid.astype(bool), options, name)


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
