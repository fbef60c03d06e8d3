"""What was measured of a movie, kept in a file, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._files import open_ordinary, whole_file
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.localizers.registry import StackCamera
from flatmetric.localizers.spot_width import spot_width
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.optics import Measured
from flatmetric.stacks import Stack
from flatmetric.twins.estimates import MovieEstimates
from flatmetric.twins.seen import Seen, light_of

_LARGEST = 2_000_000_000  # bytes
_ARRAYS = ("background", "places", "readout")


def keep(path: Path, key: str, known: MovieEstimates, seen: Seen) -> None:
    """Write estimates and what they were made from; `key` says for which movie and options they are."""
    plain: dict[str, Any] = {name: getattr(known, name) for name in MovieEstimates.__slots__ if name not in _ARRAYS}
    camera, stack_camera = known.camera, known.stack_camera
    plain["camera"] = {name: getattr(camera, name) for name in Camera.__slots__}
    plain["stack_camera"] = {name: getattr(stack_camera, name) for name in StackCamera.__slots__}
    plain["beads"] = None if known.beads is None else [known.beads.file, known.beads.z_step]
    plain["errors"] = dict(known.errors)
    arrays = {name: getattr(known, name) for name in _ARRAYS if getattr(known, name) is not None}
    found = {f"found_{name}": getattr(seen.found, name) for name in ("frame", "x", "y", "z", "photons")}
    found = {name: column for name, column in found.items() if column is not None}
    held = io.BytesIO()
    np.savez(held, key=np.array(key), plain=np.array(json.dumps(plain)), **arrays, **found)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(held.getvalue())


def recalled(path: Path, key: str, stack: Stack, camera: StackCamera) -> tuple[MovieEstimates, Seen] | None:
    """What was kept for this `key`; None where nothing was, or something else."""
    if not path.is_file():
        return None
    try:
        with open_ordinary(path, _LARGEST) as file:
            held = np.load(io.BytesIO(file.read()), allow_pickle=False)
        if str(held["key"]) != key:
            return None
        plain = json.loads(str(held["plain"]))
        plain["camera"], plain["stack_camera"] = Camera(**plain["camera"]), StackCamera(**plain["stack_camera"])
        plain["beads"] = None if plain["beads"] is None else Measured(*plain["beads"])
        for name in ("course", "fading", "notes"):
            plain[name] = tuple(plain[name])
        arrays: dict[str, Any] = {name: held.get(name) for name in _ARRAYS}
        found = {name.removeprefix("found_"): held[name] for name in held.files if name.startswith("found_")}
        known = MovieEstimates(**plain, **arrays)
        frames, light = light_of(stack, camera)
        return known, Seen(frames, light, Localizations(**found), camera.pixel_size, spot_width(light))
    except (KeyError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, InputError):
        return None  # damaged, or of another version: it is measured again
