"""The camera of a movie for the simulator: its kind and readout noise, from the noise of its images."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD
from flatmetric.localizers.photon_transfer import photon_transfer
from flatmetric.localizers.registry import StackCamera
from flatmetric.simulation.camera import Camera
from flatmetric.stacks import Stack

_GAIN = 300.0  # of a camera that multiplies; the noise depends on it by a percent
_DROWNED = 0.3  # photons: what is left of the readout noise after multiplication
_PAIRS, _DARKEST = 100, 0.1  # pairs of frames, and the part of the pixels, that show the readout noise
_MAP_PAIRS = 60  # fewer don't tell a noisy pixel from chance
_ALONE = 4.0  # times the variance of its neighbours
_NOISY = 5.0  # standard errors above the others: a pixel with a readout noise of its own


@dataclass(frozen=True, slots=True, eq=False)
class MovieCamera:
    """A camera for the simulator, the readout noise of each pixel in photons if pixels differ, and what was assumed."""

    camera: Camera
    readout: FloatArray | None
    notes: tuple[str, ...]


def camera_for(stack: Stack, camera: StackCamera, multiplies: bool | None) -> MovieCamera:
    """The camera of a stack; `multiplies` says whether it multiplies electrons (EMCCD), None if that is not known."""
    notes = [] if camera.assumption is None else [camera.assumption]
    if multiplies is None:
        multiplies = None if camera.assumption is not None else _multiplies(stack, camera)
        if multiplies is None:
            multiplies = False
            notes.append(
                "the kind of the camera is not known and was taken for CCD or sCMOS; on an EMCCD, molecules and "
                "background have twice the photons, and the expected Flat Metric is a little too high (kind=)"
            )
    per_count = camera.photons_per_count
    readout, pixels = (_DROWNED, None) if multiplies else _readout(stack, camera)
    gain = _GAIN if multiplies else 1.0
    made = Camera(
        quantum_efficiency=1.0,
        spurious=0.0,
        gain=gain,
        readout=readout * gain,
        electrons_per_count=per_count * gain,
        offset=min(max(camera.offset, 0.0), 60_000.0),
        multiplies=multiplies,
    )
    return MovieCamera(made, pixels, tuple(notes))


def _multiplies(stack: Stack, camera: StackCamera) -> bool | None:
    """Whether noise grows with light as on an EMCCD, twice as fast as photons alone make it; None if that is not seen.

    Only how it grows tells: what a CCD adds by its readout is noise, too, but the same everywhere.
    """
    free, fixed = photon_transfer(stack), photon_transfer(stack, camera.offset)
    if free is not None:
        return free.slope * camera.photons_per_count > math.sqrt(2)
    if fixed is not None and fixed.slope * camera.photons_per_count < math.sqrt(2):
        return False
    return None


def _readout(stack: Stack, camera: StackCamera) -> tuple[float, FloatArray | None]:
    """The readout noise in photons: in the darkest pixels, their noise less that of their light; and that of each pixel
    if some have clearly more.
    """
    from scipy.ndimage import median_filter

    firsts = np.unique(np.linspace(1, stack.frames - 1, min(stack.frames - 1, _PAIRS)).astype(np.int64))
    before, after = (
        np.stack([image for _, image in stack.images((firsts + step).tolist())]).astype(np.float64) for step in (0, 1)
    )
    light = ((before + after) / 2 - camera.offset) * camera.photons_per_count
    noise = (PER_MAD * np.median(np.abs(after - before), axis=0) * camera.photons_per_count) ** 2 / 2
    level = np.median(light, axis=0)
    dark = level <= np.quantile(level, _DARKEST)
    own = noise - np.maximum(level, 0.0)
    usual = math.sqrt(max(0.0, float(np.median(own[dark]))))
    if len(firsts) < _MAP_PAIRS:
        return usual, None
    # The variance by the median of absolute differences has a relative standard error of 2.3 / sqrt(pairs).
    error = 2.3 / math.sqrt(len(firsts)) * (usual**2 + np.maximum(level, 1e-9))
    # Where molecules blink, the pixels around are as restless; a noisy pixel is so alone.
    alone = own > _ALONE * np.maximum(median_filter(own, 3, mode="nearest"), usual**2)
    noisy = (own - usual**2 > _NOISY * error) & alone
    if not noisy.any():
        return usual, None
    return usual, np.where(noisy, np.sqrt(np.maximum(own, 0.0)), usual)
