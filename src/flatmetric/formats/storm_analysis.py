"""storm-analysis HDF5: one group for each frame, positions in pixels, z in micrometres."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import CENTER, Native, checked
from flatmetric.formats.hdf5 import Hdf5
from flatmetric.options.reading import ReadOptions

_GROUP = re.compile(r"^fr_(\d{1,15})$")
_COLUMNS = {"x": "x", "y": "y", "z": "z", "photons": "sum", "background": "background", "sigma": "xsigma"}


def _recognise(candidate: Candidate) -> str | None:
    file = candidate.hdf5
    if file is not None and (file.attribute("/", "sa_type") is not None or any(map(_GROUP.match, file.members()))):
        return "an HDF5 file with storm-analysis' groups fr_0, fr_1, ..."
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name = candidate.source.name
    file = candidate.opened_hdf5
    size = file.attribute("/", "pixel_size")
    groups = sorted((int(match[1]), match[0]) for match in map(_GROUP.match, file.members()) if match)
    of_groups = _columns(file, [group for _, group in groups])
    frames = [(number, columns) for (number, _), columns in zip(groups, of_groups, strict=True) if columns]
    shared = [c for c in _COLUMNS if all(c in columns for _, columns in frames)]
    if frames and not {"x", "y"} <= set(shared):
        raise InputError(f"{name}: a frame lacks x or y")
    joined = {
        c: np.concatenate([columns[c] for _, columns in frames]) if frames else np.zeros(0) for c in shared or "xy"
    }
    lengths = [len(columns["x"]) for _, columns in frames]
    joined["frame"] = np.repeat(np.array([number for number, _ in frames], dtype=np.int64), lengths)
    native = Native(joined, unit="px", z_unit="um", frame_base=0, first_pixel=CENTER)
    if isinstance(size, (float, int)) and 0 < size < float("inf"):
        native.pixel_size = float(size), float(size)
    if any(columns.get("drift") is not None for _, columns in frames):
        native.notes.append("the drift (dx, dy, dz) stored with each frame was added")
    return checked(native, options, name)


def _columns(file: Hdf5, groups: list[str]) -> list[dict[str, npt.NDArray[Any]]]:
    """The columns of each frame, with its drift added."""
    paths = [(group, ours, f"{group}/{theirs}") for group in groups for ours, theirs in _COLUMNS.items()]
    frames: dict[str, dict[str, npt.NDArray[Any]]] = {group: {} for group in groups}
    for (group, ours, path), values in zip(paths, file.arrays([path for *_, path in paths]), strict=True):
        if values is not None:
            if values.ndim != 1 or values.dtype.kind not in "fiu":
                raise InputError(f"{file.name}: {path} does not hold one number for each row")
            frames[group][ours] = values.astype(np.float64)
    wanted = [(group, axis) for group in groups for axis in "xyz" if axis in frames[group]]
    drifts = file.attributes([(group, f"d{axis}") for group, axis in wanted])
    for (group, axis), drift in zip(wanted, drifts, strict=True):
        if isinstance(drift, (float, int)) and drift != 0:
            frames[group][axis] += drift
            frames[group]["drift"] = np.zeros(0)
    return list(frames.values())


FORMAT = Format("storm-analysis", "storm-analysis HDF5", _recognise, _read)
