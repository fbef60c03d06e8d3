"""What defines a movie as far as it can be measured: camera, spot, background, molecules.

What detection distorts (dim molecules that are missed, crowded ones that merge) is corrected by indirect inference: the
same program looks at the movie and at simulated ones, whose parameters move until it reports the same of both.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import whole_file, write_columns
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Workers
from flatmetric.localizers.base import PER_MAD
from flatmetric.localizers.registry import StackCamera, shape_from_beads
from flatmetric.simulation.blinking import Photophysics
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.datasets import PLACES, Dataset
from flatmetric.simulation.folder import STACK, simulate_folder
from flatmetric.simulation.optics import Gaussian, Measured
from flatmetric.simulation.scene import Scene
from flatmetric.stacks import Stack, open_stack
from flatmetric.twins.camera import camera_for
from flatmetric.twins.drift import drift_of
from flatmetric.twins.seen import Seen, course_of, odds, seen_in

_ROUNDS, _AVERAGED, _STEP = 10, 5, 0.8  # of the inference, and how much of a difference each takes away
_CLEAR = 3.0  # standard errors of how much dimmer molecules are at first
_DIMMING = 1.5  # of the difference in how much dimmer molecules are at first: twice that would take it all away
_FITTED = 200  # frames of the simulated movies, at most
_FEWEST = 40  # detections: fewer don't determine photons and times
_POINTS = 8  # of the courses of time
_SMOOTH = 1.5  # pixels: the background of a pixel is that around it, so that its noise is not copied
_BLUR = 0.1  # pixels, of the places: about as precise as they are known
_COPIES, _NEAR = 5, 4  # of each place, moved by half the distance of so many neighbours, or else molecules would lie
_FURTHEST = 3.0  # upon each other; pixels that a place is moved by, at most
_FOCAL_DEPTH = 400.0  # nm at which a spot is wider by sqrt(2): good objectives with red light
_DEPTH_STEP = 4e5  # nm2 of depth for each unit of the spread of widths, from simulations
_DEEPEST = 600.0  # nm, the spread of depths
_MOST_SPREAD = 1.0  # of the logarithm of photons: labels differ by less, detections that are false by more
_HALO_AT, _MOST_HALO = 2.5, 0.2  # widths from the middle, and the part of the light: an Airy pattern has 16 %
_PATCH = 8.0  # pixels: the background is corrected in parts as large
_MODEL_ERROR = 0.07  # of density and photons: spots have tails that a Gaussian has not
_WIDTH_ERROR = 0.03  # of the width of spots, by tests on spots of 0.6 to 2.6 pixels
_MOLECULES = 1500.0  # rows in a twin, for a Flat Metric to a few percent
_SHORTEST, _LONGEST = 60, 600  # frames of a twin


@dataclass(frozen=True, slots=True, eq=False)
class MovieEstimates:
    """A movie in numbers: lengths in nm, times in frames, light in photons, density in shining molecules per um2.

    Spots are Gaussians of width `sigma`, with a part `halo` of their light further out and depths that spread by
    `depth`, or look like `beads` at the depths of `places`. `drift` is None where the structure does not show it.
    `errors` are relative standard errors, by name. `notes` say what had to be assumed, and what that costs.
    """

    stack_camera: StackCamera
    camera: Camera
    width: int
    height: int
    frames: int
    sigma: float
    aspect: float
    halo: float
    depth: float
    beads: Measured | None
    density: float
    photons: float
    photons_spread: float
    on_time: float
    dark_time: float
    blinks: float
    partial: float
    background: FloatArray
    readout: FloatArray | None
    course: tuple[float, ...]
    fading: tuple[float, ...]
    places: FloatArray
    drift: float | None
    errors: Mapping[str, float]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain values, for JSON; the background as its mean, the places as their number."""
        named = (
            "width",
            "height",
            "frames",
            "sigma",
            "aspect",
            "halo",
            "depth",
            "density",
            "photons",
            "photons_spread",
            "on_time",
            "dark_time",
            "blinks",
            "partial",
            "drift",
        )
        camera = dataclasses.asdict(self.camera) | {"photons_per_count": self.stack_camera.photons_per_count}
        return {
            "pixel_size": self.stack_camera.pixel_size,
            **{name: getattr(self, name) for name in named},
            "background": float(self.background.mean()),
            "places": len(self.places),
            "course": list(self.course),
            "fading": list(self.fading),
            "camera": camera,
            "relative_errors": dict(self.errors),
            "notes": list(self.notes),
        }

    @property
    def twin_frames(self) -> int:
        """Frames of a twin: enough molecules to tell programs apart, and no more than the movie has."""
        area = self.width * self.height * self.stack_camera.pixel_size**2 / 1e6
        enough = math.ceil(_MOLECULES / max(self.density * area, 1e-9))
        return min(self.frames, max(_SHORTEST, min(enough, _LONGEST)))

    def dataset(self, name: str, folder: Path, frames: int | None = None) -> Dataset:
        """The data set of a twin; its places and background are files in `folder`."""
        size = self.stack_camera.pixel_size
        return Dataset(
            name=name,
            structure=PLACES,
            frames=self.twin_frames if frames is None else frames,
            density=self.density,
            photons=self.photons,
            background=float(self.background.mean()),
            photons_spread=self.photons_spread,
            beam=0.0,
            pixels=self.width,
            rows=self.height,
            pixel_size=size,
            depth=0.0,
            photophysics=Photophysics(self.on_time, self.dark_time, self.blinks, self.partial),
            optics=self.beads or self._spot,
            camera=self.camera,
            scene=Scene(
                places=_places_file(_spread_out(self.places, self.depth, size), folder),
                blur=_BLUR * size,
                background=_image_file("background", self.background, folder),
                readout="" if self.readout is None else _image_file("readout", self.readout, folder),
                course=self.course,
                fading=self.fading,
            ),
        )

    @property
    def _spot(self) -> Gaussian:
        return Gaussian(self.sigma, _FOCAL_DEPTH, aspect=self.aspect**2, halo=self.halo)

    def drawn(self, rng: np.random.Generator) -> MovieEstimates:
        """The same with every number moved by its error: one of the movies that this may be."""
        names = ("sigma", "density", "photons", "photons_spread", "on_time")
        moved = {name: getattr(self, name) * math.exp(rng.normal(0.0, self.errors[name])) for name in names}
        return dataclasses.replace(self, **moved)


def estimated(
    stack: Stack,
    camera: StackCamera,
    multiplies: bool | None = None,
    *,
    beads: Measured | None = None,
    seed: int = 0,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> tuple[MovieEstimates, Seen]:
    """Measure a movie; `multiplies` says whether its camera multiplies electrons (EMCCD), None if that is not known.

    With `beads` spots look like these at depths that are found with them.
    """
    _say(progress, 0)
    shape = None if beads is None else shape_from_beads(Path(beads.file), beads.z_step, camera.pixel_size)
    seen = seen_in(stack, camera, shape, workers)
    if len(seen.found) < _FEWEST:
        raise InputError(
            f"{stack.path}: has {len(seen.found)} spots in the {len(seen.frames)} frames that were looked at, too few "
            f"to make a twin; it takes {_FEWEST}"
        )
    guess = _first_guess(stack, camera, seen, multiplies, beads)
    frames = min(_FITTED, len(seen.frames))
    with tempfile.TemporaryDirectory(prefix="flatmetric-twin-") as place:
        guesses = [guess]
        for turn in range(_ROUNDS):
            _say(progress, turn + 1)
            folder = Path(place) / str(turn)
            # Whatever changes in time is the mean of what was looked at.
            steady = dataclasses.replace(guess, course=(), fading=())
            simulate_folder(folder, steady.dataset("guess", folder.parent, frames), seed + turn)
            guess = _nearer(guess, seen, seen_in(open_stack(folder / STACK), camera, shape, workers))
            guesses.append(guess)
    return dataclasses.replace(_middle(guesses[-_AVERAGED:]), errors=_errors(seen, frames)), seen


def _say(progress: Progress | None, done: int) -> None:
    if progress is not None:
        progress("measuring the movie", done, _ROUNDS + 1)


def _first_guess(
    stack: Stack, camera: StackCamera, seen: Seen, multiplies: bool | None, beads: Measured | None
) -> MovieEstimates:
    made = camera_for(stack, camera, multiplies)
    width = seen.width
    size = camera.pixel_size
    area = stack.width * stack.height * size**2 / 1e6
    each = np.median(seen.light, axis=(1, 2))
    noise = np.full(len(each), 1.5 * float(np.std(np.diff(each)) / math.sqrt(2)) if len(each) > 1 else 1.0)
    # A molecule that stays on is counted in all its frames at once.
    lumped = np.sqrt(np.maximum(seen.counts.mean(), 0.1) * (1 + 2 * odds(seen.lasting)) * np.ones(len(seen.counts)))
    returning, dark_time = seen.returning
    columns = [seen.found.x, seen.found.y, *([] if seen.found.z is None else [seen.found.z])]
    return MovieEstimates(
        stack_camera=camera,
        camera=made.camera,
        width=stack.width,
        height=stack.height,
        frames=stack.frames,
        sigma=width.sigma * size,
        aspect=width.aspect,
        halo=0.0,
        depth=0.0,
        beads=beads,
        density=max(seen.per_frame / area, 1e-6),
        photons=seen.photons,
        photons_spread=max(0.05, min(seen.spread, _MOST_SPREAD)),
        on_time=max(0.3, odds(seen.lasting)),
        dark_time=dark_time,
        blinks=1 / (1 - returning),
        partial=1.0,
        background=_background(seen),
        readout=None if made.readout is None else made.readout * made.camera.gain,
        course=course_of(each, seen.frames, stack.frames, noise, _POINTS),
        fading=course_of(seen.counts, seen.frames, stack.frames, lumped, _POINTS),
        places=np.column_stack(columns),
        drift=drift_of(seen.found, camera.pixel_size),
        errors={},
        notes=made.notes,
    )


def _background(seen: Seen) -> FloatArray:
    """The background, smooth where its pixels differ by no more than their noise: what is left of their differences
    when that is taken off is a fixed pattern of the camera.
    """
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(seen.background, _SMOOTH, mode="nearest")
    left = seen.background - smooth
    noise = PER_MAD * np.median(np.abs(np.diff(seen.light, axis=0)), axis=0) / math.sqrt(2)
    by_chance = float(np.mean((1.25 * noise) ** 2)) / len(seen.frames)
    pattern = max(0.0, 1 - by_chance / max(float(np.mean(left**2)), 1e-12))
    return np.asarray(np.maximum(smooth + pattern * left, 0.0))


def _nearer(guess: MovieEstimates, movie: Seen, twin: Seen) -> MovieEstimates:
    """The guess with what the program sees differently in the two taken away."""
    from scipy.ndimage import gaussian_filter

    def moved(value: float, seen: float, made: float, least: float, most: float) -> float:
        ratio = min(max(seen / max(made, 1e-9), 1 / 3), 3.0)
        return float(min(max(value * ratio**_STEP, least), most))

    if len(twin.found) < _FEWEST / 2:  # nothing was found: more light and more molecules
        return dataclasses.replace(guess, photons=2 * guess.photons, density=1.5 * guess.density)
    light = movie.background / np.maximum(twin.background, 1e-3)
    light = gaussian_filter(np.clip(light, 0.2, 5.0), _PATCH, mode="nearest")
    deep = guess.depth**2 + _DEPTH_STEP * (movie.width.spread - twin.width.spread)
    far = max(2, round(_HALO_AT * movie.width.sigma))
    halo = min(max(guess.halo + movie.beside(far) - twin.beside(far), 0.0), _MOST_HALO)
    ends = movie.dimmer_at_first, twin.dimmer_at_first
    partial = guess.partial
    if ends[0] is not None and ends[1] is not None:
        apart = ends[1][0] - ends[0][0]
        # A shutter that is open all the time is usual: only a clear difference speaks for flashes.
        if abs(apart) > _CLEAR * math.hypot(ends[0][1], ends[1][1]):
            partial = float(min(max(partial + _DIMMING * apart, 0.0), 1.0))
    return dataclasses.replace(
        guess,
        partial=partial,
        halo=halo,
        sigma=moved(guess.sigma, movie.width.sigma, twin.width.sigma, 1.0, 1e5),
        depth=0.0 if guess.beads is not None else math.sqrt(min(max(deep, 0.0), _DEEPEST**2)),
        density=moved(guess.density, movie.per_frame, twin.per_frame, 1e-6, 100.0),
        photons=moved(guess.photons, movie.photons, twin.photons, 1.0, 1e7),
        photons_spread=moved(guess.photons_spread, movie.spread, twin.spread, 0.02, _MOST_SPREAD),
        on_time=moved(guess.on_time, odds(movie.lasting), odds(twin.lasting), 0.05, 1e4),
        background=guess.background * light**_STEP,
    )


def _middle(guesses: Sequence[MovieEstimates]) -> MovieEstimates:
    """The mean of the last guesses, which move about the answer since each twin is drawn anew."""
    positive = ("sigma", "density", "photons", "photons_spread", "on_time")
    means: dict[str, Any] = {
        name: math.exp(float(np.mean([math.log(getattr(one, name)) for one in guesses]))) for name in positive
    }
    means |= {name: float(np.mean([getattr(one, name) for one in guesses])) for name in ("halo", "depth", "partial")}
    background = np.mean([one.background for one in guesses], axis=0)
    return dataclasses.replace(guesses[-1], **means, background=background)


def _errors(movie: Seen, frames: int) -> dict[str, float]:
    """Relative standard errors by the number of molecules in the movie and in the simulated ones."""
    share = frames / len(movie.frames)
    few = math.sqrt(1 / movie.runs + 1 / max(1.0, share * movie.runs))
    return {
        "sigma": _WIDTH_ERROR,
        "density": math.hypot(few, _MODEL_ERROR),
        "photons": math.hypot(1.25 * movie.spread * few, _MODEL_ERROR),
        "photons_spread": few,
        "on_time": min(0.5, few / max(movie.lasting, 0.05)),
    }


def _spread_out(places: FloatArray, depth: float, pixel_size: float) -> FloatArray:
    """Places (k, 3) where molecules may be: around those of detections, as far as these lie apart, at normal depths.

    A molecule that was detected in several frames counts as one place, since it lies nearest to itself.
    """
    from scipy.spatial import KDTree

    rng = np.random.default_rng(0)
    tree = KDTree(places[:, :2])
    own = tree.query_ball_point(places[:, :2], _BLUR * 3 * pixel_size, return_length=True)
    count = min(len(places), _NEAR + 1 + int(np.median(own)))
    apart = tree.query(places[:, :2], k=count)[0].reshape(len(places), -1)[:, -1] / 2
    reach = np.minimum(apart, _FURTHEST * pixel_size)
    copies = np.repeat(places, _COPIES, axis=0)
    copies[:, :2] += rng.normal(size=(len(copies), 2)) * np.repeat(reach, _COPIES)[:, None]
    if copies.shape[1] == 3:
        return copies
    return np.column_stack([copies, rng.normal(0.0, depth, len(copies))])


def _places_file(places: FloatArray, folder: Path) -> str:
    columns = {name: column.round(2) for name, column in zip("xyz", places.T, strict=False)}
    path = folder / f"places-{hashlib.sha256(places.round(2).tobytes()).hexdigest()[:12]}.csv"
    if not path.exists():
        write_columns(columns, path)
    return str(path)


def _image_file(name: str, image: FloatArray, folder: Path) -> str:
    held = io.BytesIO()
    np.save(held, image.astype(np.float32))
    path = folder / f"{name}-{hashlib.sha256(held.getvalue()).hexdigest()[:12]}.npy"
    if not path.exists():
        with whole_file(path) as unfinished:
            unfinished.write_bytes(held.getvalue())
    return str(path)
