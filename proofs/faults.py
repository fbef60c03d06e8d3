"""Faults planted in results that are right, each at several sizes: what `check` must find."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatmetric as fm
from flatmetric._arrays import FloatArray

Plant = Callable[[fm.Localizations], fm.Localizations]


@dataclass(frozen=True)
class Fault:
    """A kind of finding, its size in words, how it is planted, and in which files: those whose path begins so."""

    kind: str
    size: str
    plant: Plant
    files: str = ""


def _turned(table: fm.Localizations, degrees: float) -> fm.Localizations:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    centre = [(axis.min() + axis.max()) / 2 for axis in (table.x, table.y)]
    x, y = table.x - centre[0], table.y - centre[1]
    return dataclasses.replace(table, x=centre[0] + cos * x - sin * y, y=centre[1] + sin * x + cos * y)


def _shuffled(table: fm.Localizations, part: float) -> fm.Localizations:
    rng = np.random.default_rng(1)
    frame, some = table.frame.copy(), rng.random(len(table)) < part
    frame[some] = rng.permutation(frame[some])
    return dataclasses.replace(table, frame=frame)


def _drifted(table: fm.Localizations, length: float) -> fm.Localizations:
    time = (table.frame - table.frame.min()) / max(1, int(np.ptp(table.frame)))
    return dataclasses.replace(table, x=table.x + 0.8 * length * time, y=table.y - 0.6 * length * time)


def _some(table: fm.Localizations, part: float) -> fm.Localizations:
    return table.select(np.arange(len(table)) % round(1 / part) == 0)


def _mirrored(table: fm.Localizations, part: float) -> fm.Localizations:
    size = max(table.x.max(), table.y.max())
    kept = _some(table, part)
    return dataclasses.replace(kept, y=size - kept.y)


def _swapped(table: fm.Localizations, part: float) -> fm.Localizations:
    kept = _some(table, part)
    return dataclasses.replace(kept, x=kept.y, y=kept.x)


def _scaled(table: fm.Localizations, factor: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x * factor, y=table.y * factor)


def _moved(table: fm.Localizations, length: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x + 0.8 * length, y=table.y - 0.6 * length)


def _repeated(table: fm.Localizations, part: float) -> fm.Localizations:
    rows = np.arange(len(table))
    return table.select(np.sort(np.r_[rows, rows[:: max(1, round(1 / part))]]))


def _cut(table: fm.Localizations, part: float) -> fm.Localizations:
    last = table.frame.min() + (1 - part) * np.ptp(table.frame)
    return table.select(table.frame <= last)


def _frameless(table: fm.Localizations, part: float) -> fm.Localizations:
    kept = _some(table, part)
    return dataclasses.replace(kept, frame=np.ones(len(kept), dtype=np.int64))


def _stretched_along_x(table: fm.Localizations, factor: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x * factor)


def _leaning(table: fm.Localizations, part: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x + part * (table.y - table.y.mean()))


def _time(table: fm.Localizations) -> FloatArray:
    """From 0 in the first frame to 1 in the last."""
    time: FloatArray = (table.frame - table.frame.min()) / max(1, int(np.ptp(table.frame)))
    return time


def _swinging(table: fm.Localizations, size: float) -> fm.Localizations:
    return dataclasses.replace(table, x=table.x + size * np.sin(4 * math.pi * _time(table)))


def _walking(table: fm.Localizations, size: float) -> fm.Localizations:
    frames = int(table.frame.max()) + 1
    path = np.random.default_rng(3).normal(size=(frames, 2)).cumsum(axis=0)
    path *= size / np.hypot(*(path - path.mean(axis=0)).T).max()
    return dataclasses.replace(table, x=table.x + path[table.frame, 0], y=table.y + path[table.frame, 1])


def _every(table: fm.Localizations, step: float) -> fm.Localizations:
    return table.select(table.frame % int(step) == 1)


def _with_gap(table: fm.Localizations, part: float) -> fm.Localizations:
    return table.select(np.abs(_time(table) - 0.5) > part / 2)


def _joined(tables: list[fm.Localizations]) -> fm.Localizations:
    columns = [table.columns() for table in tables]
    joined: dict[str, Any] = {
        name: None if first is None else np.concatenate([column[name] for column in columns])
        for name, first in columns[0].items()
    }
    both = fm.Localizations(**joined)
    return both.select(np.argsort(both.frame, kind="stable"))


def _twice(table: fm.Localizations, part: float) -> fm.Localizations:
    again = table.select(np.random.default_rng(4).random(int(table.frame.max()) + 1)[table.frame] < part)
    return _joined([table, dataclasses.replace(again, frame=again.frame + 1)])


def _nearly_twice(table: fm.Localizations, part: float) -> fm.Localizations:
    rng = np.random.default_rng(5)
    again = table.select(rng.random(len(table)) < part)
    moved = {axis: getattr(again, axis) + rng.normal(0, 8, len(again)) for axis in "xy"}
    return _joined([table, dataclasses.replace(again, **moved)])


def _jittered(table: fm.Localizations, part: float) -> fm.Localizations:
    rng = np.random.default_rng(6)
    step = np.where(rng.random(len(table)) < part, rng.choice([-1, 1], len(table)), 0)
    return dataclasses.replace(table, frame=np.maximum(1, table.frame + step))


def _empty(table: fm.Localizations, part: float) -> fm.Localizations:
    return table.select(table.x < table.x.min() + (1 - part) * np.ptp(table.x))


def _counted(table: fm.Localizations, factor: float) -> fm.Localizations:
    assert table.photons is not None
    return dataclasses.replace(table, photons=factor * table.photons)


def _shallow(table: fm.Localizations, part: float) -> fm.Localizations:
    z = _depths(table)
    return table.select(z < np.quantile(z, 1 - part))


def _upside_down(table: fm.Localizations, part: float) -> fm.Localizations:
    kept = _some(table, part)
    assert kept.z is not None
    return dataclasses.replace(kept, z=-kept.z)


def _stretched(table: fm.Localizations, factor: float) -> fm.Localizations:
    return dataclasses.replace(table, z=factor * _depths(table))


def _tilted(table: fm.Localizations, rise: float) -> fm.Localizations:
    return dataclasses.replace(table, z=_depths(table) + rise * (table.x - table.x.min()) / np.ptp(table.x))


def _deeper(table: fm.Localizations, length: float) -> fm.Localizations:
    return dataclasses.replace(table, z=_depths(table) + length)


def _sinking(table: fm.Localizations, fall: float) -> fm.Localizations:
    return dataclasses.replace(table, z=_depths(table) - fall * (table.frame - 1) / max(1, int(table.frame.max()) - 1))


def _depths(table: fm.Localizations) -> FloatArray:
    assert table.z is not None
    return table.z


def _blind(table: fm.Localizations, width: float) -> fm.Localizations:
    edges = [np.minimum(axis, axis.max() - axis) for axis in (table.x, table.y)]
    return table.select(np.minimum(*edges) > width)


def _of_another_movie(table: fm.Localizations, part: float) -> fm.Localizations:
    kept = _some(table, part)
    return dataclasses.replace(kept, frame=200_000 - 7 * kept.frame)


def _later(table: fm.Localizations, frames: float) -> fm.Localizations:
    return dataclasses.replace(table, frame=table.frame + int(frames))


def _faults(
    kind: str,
    plant: Callable[[fm.Localizations, float], fm.Localizations],
    sizes: dict[str, float],
    files: str = "",
) -> list[Fault]:
    return [Fault(kind, name, lambda table, size=size: plant(table, size), files) for name, size in sizes.items()]  # type: ignore[misc]


def _percent(words: str, *parts: float) -> dict[str, float]:
    return {f"{100 * part:g} % {words}": part for part in parts}


FAULTS: list[Fault] = [
    *_faults("no_frames", _frameless, _percent("of the rows", 0.1, 0.25, 0.5, 1.0)),
    *_faults("frame_offset", _later, {f"{k:+d}": k for k in (1, -1, 2, -37, 1000)}),
    *_faults("no_overlap", _of_another_movie, _percent("of the rows", 0.05, 0.1, 0.25, 1.0)),
    *_faults("shuffled_frames", _shuffled, _percent("of the rows", 0.5, 0.75, 0.9, 1.0)),
    *_faults("swapped_axes", _swapped, _percent("of the rows", 0.05, 0.1, 0.25, 1.0)),
    *_faults("flipped_axis", _mirrored, _percent("of the rows", 0.05, 0.1, 0.25, 1.0)),
    *_faults(
        "rotated_axes",
        lambda table, part: _turned(_some(table, part), 90),
        _percent("of the rows", 0.05, 0.1, 0.25, 1.0),
    ),
    *_faults("unit", _scaled, {"um": 1e-3, "m": 1e-9, "pixels of 100 nm": 0.01, "pixels of 160 nm": 1 / 160}),
    *_faults("scale", _scaled, {"0.5 %": 1.005, "1 %": 1.01, "3 %": 1.03, "-5 %": 0.95, "10 %": 1.1}),
    *_faults("rotation", _turned, {f"{k:g} degrees": k for k in (0.25, 0.5, 1.0, 3.0, -10.0)}),
    *_faults("drift", _drifted, {f"{k:g} nm": k for k in (15.0, 30.0, 60.0, 120.0, 300.0)}),
    *_faults("shift", _moved, {f"{k:g} nm": k for k in (10.0, 15.0, 30.0, 100.0, 700.0)}),
    *_faults("duplicates", _repeated, _percent("of the rows", 0.002, 0.01, 0.05, 1.0)),
    *_faults("truncated", _cut, _percent("of the frames", 0.02, 0.1, 0.5, 0.9)),
    *_faults("shear", _stretched_along_x, {"x by 1 %": 1.01, "x by 2 %": 1.02, "x by -5 %": 0.95, "x by 10 %": 1.1}),
    *_faults("shear", _leaning, {f"{k:g} degrees": math.radians(k) for k in (0.5, 1.0, 2.0, 4.0)}),
    *_faults("wander", _swinging, {f"two waves of {k:g} nm": k for k in (15.0, 30.0, 60.0, 120.0)}),
    *_faults("wander", _walking, {f"a random path of {k:g} nm": k for k in (30.0, 60.0, 120.0, 150.0)}),
    *_faults("missing_frames", _every, {"every 2nd is there": 2, "every 3rd": 3, "every 5th": 5, "every 10th": 10}),
    *_faults("missing_frames", _with_gap, _percent("in the middle", 0.05, 0.1, 0.25, 0.5)),
    *_faults("repeated_frames", _twice, _percent("of the frames", 0.02, 0.1, 0.3, 1.0)),
    *_faults("near_duplicates", _nearly_twice, _percent("of the rows", 0.03, 0.1, 0.3, 1.0)),
    *_faults("frame_jitter", _jittered, _percent("of the rows", 0.05, 0.1, 0.3, 0.6)),
    *_faults("empty_region", _empty, _percent("of the width", 0.1, 0.25, 0.5, 0.75), "nairr"),
    *_faults("blind_border", _blind, {f"{k:g} nm": k for k in (100.0, 200.0, 400.0, 600.0)}, "nairr"),
]
DEEP: list[Fault] = [
    *_faults("z_sign", _upside_down, _percent("of the rows", 0.05, 0.1, 0.25, 1.0)),
    *_faults("z_scale", _stretched, {"0.85": 0.85, "1.15": 1.15, "1.5": 1.5, "2": 2.0}),
    *_faults("z_tilt", _tilted, {f"{k:g} nm": k for k in (120.0, 250.0, 500.0, 1000.0)}),
    *_faults("photon_unit", _counted, {f"{k:g}": k for k in (0.02, 0.2, 5.0, 45.0)}),
    *_faults("blind_depth", _shallow, _percent("of the depths", 0.1, 0.25, 0.5, 0.75)),
    *_faults("z_drift", _sinking, {f"{k:g} nm": k for k in (60.0, 120.0, 250.0, 500.0)}),
    *_faults("z_shift", _deeper, {f"{k:g} nm": k for k in (30.0, 60.0, 120.0, 250.0)}),
]
"""For results in 3D."""
