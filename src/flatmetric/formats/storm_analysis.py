"""storm-analysis HDF5: one group for each frame, positions in pixels, z in micrometres."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import CENTER, Native, checked
from flatmetric.formats.hdf5 import Hdf5, opened, recognised
from flatmetric.options.reading import ReadOptions

_GROUP = re.compile(r"^fr_(\d{1,15})$")
_COLUMNS = {"x": "x", "y": "y", "z": "z", "photons": "sum", "background": "background", "sigma": "xsigma"}


def _recognise(candidate: Candidate) -> str | None:
    if not recognised(candidate):
        return None
    with opened(candidate.source) as file:
        if file.attribute("/", "sa_type") is not None or any(map(_GROUP.match, file.members())):
            return "an HDF5 file with storm-analysis' groups fr_0, fr_1, ..."
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    with opened(candidate.source) as file:
        size = file.attribute("/", "pixel_size")
        groups = sorted((int(match[1]), match[0]) for match in map(_GROUP.match, file.members()) if match)
        frames = [(number, _frame(file, group)) for number, group in groups]
    frames = [(number, columns) for number, columns in frames if columns]
    shared = [c for c in _COLUMNS if all(c in columns for _, columns in frames)]
    if frames and not {"x", "y"} <= set(shared):
        raise InputError(f"{name}: a frame lacks x or y")
    joined = {
        c: np.concatenate([columns[c] for _, columns in frames]) if frames else np.zeros(0) for c in shared or "xy"
    }
    lengths = [len(columns["x"]) for _, columns in frames]
    joined["frame"] = np.repeat(np.array([number for number, _ in frames], dtype=np.int64), lengths)
    native = Native(joined, unit="px", z_unit="um", frame_base=0, first_pixel=CENTER)
    if isinstance(size, (float, int, np.number)) and 0 < float(size) < float("inf"):
        native.pixel_size = float(size), float(size)
    if any(columns.get("drift") is not None for _, columns in frames):
        native.notes.append("the drift (dx, dy, dz) stored with each frame was added")
    return checked(native, options, name)


def _frame(file: Hdf5, group: str) -> dict[str, npt.NDArray[Any]]:
    columns = {}
    for ours, theirs in _COLUMNS.items():
        values = file.array(f"{group}/{theirs}")
        if values is not None:
            if values.ndim != 1 or values.dtype.kind not in "fiu":
                raise InputError(f"{file.name}: {group}/{theirs} does not hold one number for each row")
            columns[ours] = values.astype(np.float64)
    if not columns:
        return {}
    for axis in "xyz":
        drift = file.attribute(group, f"d{axis}")
        if axis in columns and isinstance(drift, (float, int, np.number)) and drift != 0:
            columns[axis] += float(drift)
            columns["drift"] = np.zeros(0)
    return columns


FORMAT = Format("storm-analysis", "storm-analysis HDF5", _recognise, _read)
