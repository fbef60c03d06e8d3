"""All localizers by name, and a localizer with its settings: a participant of a challenge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.localizations import Localizations, Provenance
from flatmetric.localizers import baseline, daostorm, neural, photutils, picasso, skimage, trackpy
from flatmetric.localizers.base import Localizer, Setting, Settings, usual
from flatmetric.localizers.photon_transfer import photon_transfer
from flatmetric.localizers.shapes import KnownShape
from flatmetric.simulation.folder import simulated_camera, simulated_optics
from flatmetric.simulation.optics import Gaussian, Measured, Optics, channels_of, psf_of
from flatmetric.simulation.pupil import Pupil
from flatmetric.stacks import Stack

_PIXELS_AT_ONCE = 1_000_000  # read and searched together: it bounds the memory
# Variance over light: 1 for photons that are counted one by one, 2 after multiplication, and a quarter more or less for
# an efficiency that photons_per_count may include or not.
_LEAST_NOISE, _MOST_NOISE = 0.6, 3.2
_LEARNED = 60  # frames that a method learns from: some hundred spots
_BLOCKS_IN_RANGE = 4  # blocks of frames in a task: enough work to outweigh sending it
_EXTRA = "pip install '.[localizers]' in a clone of flatmetric"
_PROGRAMS = "make programs in a clone of flatmetric"


Columns = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Method:
    """A localizer: its function, its settings, the package it needs and how to install that.

    A method that uses the `shape` of spots gets it, and finds their depths: "known", if it is known, "depth", where
    spots tell depths by it or beads are given, or "needed", since depth is all that it is for. Those that need it read
    depth from astigmatism. A method that needs `photons` finds the wrong spots where light is in counts. What it has to
    learn from the movie before, `prepare` takes from some of its images; `doubts` says why a movie is none for it.
    """

    run: Localizer
    settings: Mapping[str, Setting]
    package: str | None = None
    install: str = _EXTRA
    shape: Literal["known", "depth", "needed"] | None = None
    photons: bool = False
    prepare: Callable[[FloatArray, Settings], Settings] | None = None
    doubts: Callable[[FloatArray], list[str]] | None = None

    @property
    def available(self) -> bool:
        """Whether its package is installed."""
        return self.package is None or find_spec(self.package) is not None

    @property
    def needs(self) -> str:
        """What to install; empty where all is there."""
        return "" if self.available else f"needs the package {self.package}, which is not installed; {self.install}"


METHODS: dict[str, Method] = {
    "baseline": Method(baseline.localize, baseline.SETTINGS, shape="depth", prepare=baseline.prepared),
    "baseline-psf": Method(baseline.localize, baseline.SETTINGS, shape="known", prepare=baseline.prepared),
    "neural": Method(neural.localize, neural.SETTINGS, photons=True, doubts=neural.doubts),
    "trackpy": Method(trackpy.localize, trackpy.SETTINGS, "trackpy", photons=True),
    "daofind": Method(photutils.localize, photutils.SETTINGS, "photutils"),
    "daofind-psf": Method(photutils.localize_psf, photutils.SETTINGS_PSF, "photutils"),
    "log": Method(skimage.localize_log, skimage.SETTINGS, "skimage"),
    "dog": Method(skimage.localize_dog, skimage.SETTINGS, "skimage"),
    "daostorm-2d": Method(daostorm.localize_2d, daostorm.SETTINGS, "sdt", _PROGRAMS, photons=True),
    "daostorm-2d-fixed": Method(daostorm.localize_2d_fixed, daostorm.SETTINGS, "sdt", _PROGRAMS, photons=True),
    "daostorm-3d": Method(daostorm.localize_3d, daostorm.SETTINGS_3D, "sdt", _PROGRAMS, "needed", True),
    "picasso-lq": Method(picasso.localize_lq, picasso.SETTINGS, "picasso", _PROGRAMS, photons=True),
    "picasso-mle": Method(picasso.localize_mle, picasso.SETTINGS, "picasso", _PROGRAMS, photons=True),
    "picasso-lq-3d": Method(picasso.localize_lq_3d, picasso.SETTINGS_3D, "picasso", _PROGRAMS, "needed", True),
    "picasso-mle-3d": Method(picasso.localize_mle_3d, picasso.SETTINGS_3D, "picasso", _PROGRAMS, "needed", True),
}


@dataclass(frozen=True, slots=True)
class Participant:
    """A localizer with all its settings."""

    method: str
    settings: Settings


def participant(name: str, changes: Mapping[str, float] | None = None) -> Participant:
    """A method with its usual settings, and `changes` on top of them.

    Examples
    --------
    >>> participant("baseline", {"threshold": 6.0}).settings["threshold"]
    6.0
    """
    if name not in METHODS:
        raise InputError(f"method is {name!r}; give one of {', '.join(METHODS)}")
    method = METHODS[name]
    for setting, value in (changes or {}).items():
        if setting not in method.settings:
            raise InputError(f"{name} has no setting {setting!r}; it has {', '.join(method.settings)}")
        wrong = method.settings[setting].fault(value)
        if wrong is not None:
            raise InputError(f"{setting} is {value:g}; {wrong}")
    if method.needs:
        raise InputError(f"{name} {method.needs}")
    return Participant(name, {**usual(method.settings), **(changes or {})})


@dataclass(frozen=True, slots=True)
class StackCamera:
    """How counts of a stack become photons: pixel size in nm, counts in the dark, photons per count.

    `assumption` names what had to be assumed; `in_photons` is False where light stays in counts.
    """

    pixel_size: float
    offset: float
    photons_per_count: float
    assumption: str | None = None
    in_photons: bool = True


def missing_of_camera(offset: float | None, photons_per_count: float | None) -> str:
    """What has to be given for light to be in photons.

    Examples
    --------
    >>> missing_of_camera(100.0, None)
    'photons_per_count='
    """
    given = {"offset=": offset, "photons_per_count=": photons_per_count}
    return " and ".join(name for name, one in given.items() if one is None)


def _check_offset(stack: Stack, offset: float) -> None:
    if not math.isfinite(offset):
        raise InputError(f"offset is {offset}; give a number of counts")
    ((_, first),) = stack.images([1])
    if 0 < (largest := float(first.max())) < offset:
        raise InputError(
            f"offset is {offset:g}, but the brightest pixel of the first frame has {largest:g} counts; "
            "give what the camera writes in the dark"
        )


def camera_of(
    stack: Stack, pixel_size: float | None = None, offset: float | None = None, photons_per_count: float | None = None
) -> StackCamera:
    """The camera of a stack: as given, as simulated, measured from the noise of its images, or assumed."""
    known = simulated_camera(stack.path)
    pixel_size = stack.pixel_size if pixel_size is None else pixel_size
    if pixel_size is None:
        raise InputError(f"{stack.path}: does not say its pixel size; give pixel_size= in nm")
    if not 0 < pixel_size < 1e6:
        raise InputError(f"pixel_size is {pixel_size}; give a length in nm above 0")
    if known is not None:
        offset = known.offset if offset is None else offset
        photons_per_count = known.photons_per_count if photons_per_count is None else photons_per_count
    if offset is not None:
        _check_offset(stack, offset)
    if photons_per_count is not None and not 0 < photons_per_count < 1e6:
        raise InputError(f"photons_per_count is {photons_per_count}; give a number above 0")
    if offset is not None and photons_per_count is not None:
        return StackCamera(pixel_size, offset, photons_per_count)
    measured = photon_transfer(stack, offset)
    if measured is None:
        assumption = (
            f"{stack.path}: the camera is not known, so thresholds and photons are in counts above "
            f"{offset or 0:g}; give {missing_of_camera(offset, photons_per_count)}"
        )
        return StackCamera(pixel_size, offset or 0.0, photons_per_count or 1.0, assumption, in_photons=False)
    found = [
        *([f"offset {measured.offset:.3g}"] if offset is None else []),
        *([f"{1 / measured.slope:.2g} photons per count"] if photons_per_count is None else []),
    ]
    multiplied = " (twice as many on an EMCCD camera)" if photons_per_count is None else ""
    assumption = (
        f"{stack.path}: {' and '.join(found)}{multiplied}, measured from the noise to {100 * measured.error:.0f} %; "
        "give offset= and photons_per_count= where they are known"
    )
    return StackCamera(
        pixel_size,
        measured.offset if offset is None else offset,
        photons_per_count or 1 / measured.slope,
        assumption,
    )


def shape_of(stack: Stack, pixel_size: float) -> KnownShape | None:
    """How spots look in a simulated stack, from the parameters beside it; None where they don't say, or are Gaussian.

    Spots are taken where they are seen: what moves them sideways with depth is left in, as for any other program.
    """
    return _shape(simulated_optics(stack.path), pixel_size)


@lru_cache(maxsize=2)  # the same shape for all ranges of a stack, so that what is made from it is made once
def _shape(optics: Optics | None, pixel_size: float) -> KnownShape | None:
    if optics is None or isinstance(optics, Gaussian):
        return None
    if isinstance(optics, Pupil):
        optics = dataclasses.replace(optics, wobble_x=(), wobble_y=())
    psfs = [psf_of(optics, pixel_size, channel) for channel in range(channels_of(optics))]
    return KnownShape(psfs, round_spot=isinstance(optics, Pupil) and optics.is_round)


def shape_from_beads(beads: Path, step: float, pixel_size: float) -> KnownShape:
    """How spots look, from a bead stack that was focused through in steps of `step` nm."""
    return KnownShape([psf_of(Measured(str(beads), step), pixel_size)], round_spot=False)


def _block(stack: Stack) -> int:
    """How many frames of a stack are searched together."""
    return max(1, _PIXELS_AT_ONCE // (stack.height * stack.width))


def localize_range(
    stack: Stack, chosen: Participant, camera: StackCamera, shape: KnownShape | None, frames: IntArray
) -> Columns:
    """Run a participant on some frames of a stack: frame, x, y (pixels), photons and, if it finds them, z (nm)."""
    method = METHODS[chosen.method]
    more: dict[str, KnownShape | None] = {}
    if method.shape is not None:
        known = shape_of(stack, camera.pixel_size) if shape is None else shape
        # The look of a round spot is an advantage that other programs don't have: "baseline-psf" has it by its name.
        blind = shape is None and known is not None and method.shape == "depth" and known.least_is_real
        more = {"shape": None if blind else known}
    columns = []
    for numbers, counts in stack.blocks(_block(stack), frames):
        light = (counts.astype(np.float64) - camera.offset) * camera.photons_per_count
        spots = method.run(light, chosen.settings, **more)
        columns.append((numbers[spots.image], spots.x, spots.y, spots.photons, *([] if spots.z is None else [spots.z])))
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))


def _noise_doubts(stack: Stack, camera: StackCamera) -> list[str]:
    """Whether the noise is that of the photons that the camera is said to count."""
    measured = photon_transfer(stack, camera.offset)
    if measured is None:
        return []
    noise = measured.slope * camera.photons_per_count
    if _LEAST_NOISE < noise < _MOST_NOISE:
        return []
    return [
        f"by the noise a count is about {1 / measured.slope:.2g} photons (twice that on an EMCCD camera), not "
        f"{camera.photons_per_count:.2g}; check photons_per_count= and offset="
    ]


def localize_stack(
    stack: Stack,
    chosen: Participant,
    camera: StackCamera,
    progress: Progress | None = None,
    shape: KnownShape | None = None,
    frames: Sequence[int] | None = None,
    workers: Workers | None = None,
) -> Localizations:
    """Run a participant on a stack: rows in nm from the outer corner of the first pixel, frames from 1.

    `shape` is how spots look; by default as simulated. Only some `frames` are read where they are given. A long stack
    is cut into ranges of frames, which all `workers` share, with the same answer.

    Examples
    --------
    >>> import tempfile
    >>> from flatmetric.stacks import open_stack, write_stack
    >>> path = Path(tempfile.mkdtemp()) / "dark.ome.tif"
    >>> write_stack(path, [np.full((32, 32), 100, np.uint16)] * 2, frames=2, pixels=32, pixel_size=100.0)
    >>> len(localize_stack(open_stack(path), participant("baseline"), StackCamera(100.0, 100.0, 0.2)))
    0
    """
    method = METHODS[chosen.method]
    if method.photons and not camera.in_photons:
        raise InputError(
            f"{stack.path}: {chosen.method} needs photons, and the camera can't be measured from the noise of these "
            "images; give offset= and photons_per_count="
        )
    optics = simulated_optics(stack.path)
    channels = shape.channels if shape is not None else 1 if optics is None else channels_of(optics)
    if stack.width % channels:
        raise InputError(f"{stack.path}: is {stack.width} pixels wide; give {channels} channels of equal width")
    if channels > 1 and method.shape is None:
        readers = ", ".join(name for name, one in METHODS.items() if one.shape in ("known", "depth"))
        raise InputError(
            f"{stack.path}: has {channels} channels side by side; {chosen.method} reads one, {readers} all"
        )
    wanted = np.arange(1, stack.frames + 1) if frames is None else np.asarray(frames, dtype=np.int64)
    step = _BLOCKS_IN_RANGE * _block(stack)
    ranges = [wanted[first : first + step] for first in range(0, len(wanted), step)]
    workers = workers or Workers(1)
    warnings: list[str] = []
    if method.prepare is not None or method.doubts is not None:
        some = np.unique(np.linspace(1, stack.frames, min(stack.frames, _LEARNED)).astype(np.int64))
        counts = np.concatenate([block for _, block in stack.blocks(_block(stack), some)])
        light = (counts[:, :, : stack.width // channels] - camera.offset) * camera.photons_per_count
        if method.prepare is not None:
            chosen = Participant(chosen.method, method.prepare(light, chosen.settings))
        if method.doubts is not None:
            warnings = [f"{stack.path}: {doubt}" for doubt in [*method.doubts(light), *_noise_doubts(stack, camera)]]
    placed = dataclasses.replace(stack, path=stack.path.absolute()) if workers.elsewhere else stack
    parts: list[Columns | Failed] = workers.run(
        localize_range,
        [(placed, chosen, camera, shape, some) for some in ranges],
        what=f"{chosen.method} on {stack.path.name}",
        progress=progress,
    )
    columns = []
    for some, part in zip(ranges, parts, strict=True):
        if isinstance(part, Failed):
            raise InputError(f"{stack.path}: frames {some[0]} to {some[-1]}: {part.reason}")
        columns.append(part)
    frame, x, y, photons, *depth = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Localizations(
        frame=frame,
        x=(x + 0.5) * camera.pixel_size,
        y=(y + 0.5) * camera.pixel_size,
        z=depth[0] if depth else None,
        photons=photons,
        provenance=Provenance(
            pixel_size=(camera.pixel_size, camera.pixel_size),
            fov=(stack.width // channels * camera.pixel_size, stack.height * camera.pixel_size),
            assumptions=() if camera.assumption is None else (camera.assumption,),
            warnings=tuple(warnings),
        ),
    )
