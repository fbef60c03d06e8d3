"""What a data set takes from a real movie: where molecules are, its background, and how both change in time."""

from __future__ import annotations

import csv
import functools
import io
import math
from pathlib import Path

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric._files import open_ordinary
from flatmetric.errors import InputError

_MOMENTS = 401  # between which the rate of activation is taken as straight
_MOST_BYTES = 1_000_000_000  # of a file of places or background


@dataclass(frozen=True, slots=True)
class Scene:
    """Files and courses of time; what is empty is as the rest of the data set says.

    `places` is a CSV file with columns x, y and perhaps z (nm) and, if they differ, weight: molecules lie at places
    drawn from it, moved sideways by a normal error of `blur` nm. `background` is an array of photons per pixel and
    frame (.npy, rows along y), `readout` one of the readout noise of each pixel in electrons (sCMOS).
    `course` and `fading` say how the background and the number of molecules change from the first frame to the last:
    relative values at even distances.
    """

    places: str = ""
    blur: float = 0.0
    background: str = ""
    readout: str = ""
    course: tuple[float, ...] = ()
    fading: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.blur < 1e6:
            raise InputError(f"blur is {self.blur}; give a length in nm from 0")
        for name in ("course", "fading"):
            values = getattr(self, name)
            if values and not (all(0 <= value < 1e9 for value in values) and sum(values) > 0):
                raise InputError(f"{name} is {list(values)}; give numbers from 0, not all of them 0")

    def drawn(self, count: int, rng: np.random.Generator) -> FloatArray:
        r"""Places (count, 3) of molecules, nm.

        Examples
        --------
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "places.csv"
        >>> _ = path.write_text("x,y\n100,200\n")
        >>> Scene(places=str(path)).drawn(2, np.random.default_rng(0)).tolist()
        [[100.0, 200.0, 0.0], [100.0, 200.0, 0.0]]
        """
        xyz, weight = _read_places(self.places)
        drawn = xyz[rng.choice(len(xyz), count, p=weight)]
        drawn[:, :2] += rng.normal(0.0, self.blur, (count, 2))
        return drawn

    def background_at(self, frame: int, frames: int, level: float, shape: tuple[int, int]) -> FloatArray | float:
        """The background of a frame (from 0), photons per pixel, where `level` is that of the data set.

        Examples
        --------
        >>> Scene(course=(1.0, 3.0)).background_at(5, 11, 20.0, (8, 8))
        40.0
        """
        image = _image(self.background, shape) if self.background else level
        return image * _at(self.course, frame / max(1, frames - 1))

    def readout_of(self, shape: tuple[int, int]) -> FloatArray | None:
        """The readout noise of each pixel, electrons; None where all have that of the camera.

        Examples
        --------
        >>> Scene().readout_of((8, 8)) is None
        True
        """
        return _image(self.readout, shape) if self.readout else None

    def activated(self, begin: float, frames: int, count: float, rng: np.random.Generator) -> FloatArray:
        """When molecules are activated, in frames from `begin`, if without fading there were `count` on average.

        Before the first frame it is as in the first frame, and on average over the frames as without fading.

        Examples
        --------
        >>> times = Scene(fading=(1.0, 0.0)).activated(0.0, 100, 1000, np.random.default_rng(0))
        >>> bool(times.mean() < 40), bool(abs(len(times) - 1000) < 150)
        (True, True)
        """
        if not self.fading:
            return np.asarray(rng.uniform(begin, frames, int(rng.poisson(count))))
        moments = np.linspace(begin, frames, _MOMENTS)
        rate = np.array([_at(self.fading, min(max(moment / frames, 0.0), 1.0)) for moment in moments])
        usual = float(np.mean([_at(self.fading, part) for part in np.linspace(0, 1, _MOMENTS)]))
        passed = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2)])
        times = rng.random(int(rng.poisson(count * float(rate.mean()) / usual)))
        return np.asarray(np.interp(times, passed / passed[-1], moments))


def _image(path: str, shape: tuple[int, int]) -> FloatArray:
    image = _read_image(path)
    if image.shape != shape:
        raise InputError(f"{path}: has {image.shape[0]} x {image.shape[1]} pixels, not {shape[0]} x {shape[1]}")
    return image


def _at(course: tuple[float, ...], part: float) -> float:
    return float(np.interp(part, np.linspace(0, 1, len(course)), course)) if course else 1.0


def _content(path: str) -> bytes:
    try:
        with open_ordinary(Path(path), _MOST_BYTES) as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror}") from error


@functools.lru_cache(maxsize=4)
def _read_places(path: str) -> tuple[FloatArray, FloatArray]:
    """Places (k, 3) in nm, and the share of each."""
    rows = list(csv.DictReader(io.StringIO(_content(path).decode("utf-8", "replace"))))
    try:
        xyz = np.array([(float(row["x"]), float(row["y"]), float(row.get("z") or 0)) for row in rows])
        weight = np.array([float(row.get("weight") or 1) for row in rows])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: is no list of places; give a CSV file with columns x and y in nm") from error
    if len(xyz) == 0 or not np.isfinite(xyz).all() or not (weight >= 0).all() or not 0 < weight.sum() < math.inf:
        raise InputError(f"{path}: has no places that can be drawn; give at least one row of numbers")
    return xyz, weight / weight.sum()


@functools.lru_cache(maxsize=4)
def _read_image(path: str) -> FloatArray:
    try:
        image = np.load(io.BytesIO(_content(path)), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: is no array of NumPy; give an image as .npy") from error
    if image.ndim != 2 or image.dtype.kind not in "fiu" or not np.isfinite(image).all() or (image < 0).any():
        raise InputError(f"{path}: is no image; give numbers from 0, rows along y")
    return np.asarray(image, dtype=np.float64)
