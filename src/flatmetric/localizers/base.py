"""What a localizer takes and returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass

Settings = Mapping[str, float]
PER_MAD = 1.4826
"""From the median absolute deviation to the standard deviation."""
_BACKGROUND = 16.0  # pixels along a side, in which the median is background even where spots are dense
_SLOPE = 2.0  # noise of a pixel: a background that varies by less is even


@dataclass(frozen=True, slots=True)
class Setting:
    """The default of a setting and its limits, both included; `odd` for the side of a square centred on a pixel.

    `tuned` is the range in which tuning looks for a better value; without it the setting stays as it is. `meaning` says
    what it is, with its unit.
    """

    usual: float
    least: float
    most: float
    odd: bool = False
    tuned: tuple[float, float] | None = None
    meaning: str = ""

    def fault(self, value: float) -> str | None:
        """What is wrong with a value, or None.

        Examples
        --------
        >>> Setting(7, 3, 31, odd=True).fault(4), Setting(7, 3, 31, odd=True).fault(5)
        ('give an odd number from 3 to 31', None)
        """
        fits = self.least <= value <= self.most and (not self.odd or value % 2 == 1)
        return (
            None if fits else f"give {'an odd number' if self.odd else 'a number'} from {self.least:g} to {self.most:g}"
        )

    def place(self, value: float) -> float:
        """Where a value lies in the range for tuning, from 0 to 1: by its logarithm where the range is above 0.

        Examples
        --------
        >>> round(Setting(4, 0, 100, tuned=(1, 16)).place(4), 6)
        0.5
        """
        low, high = self._scaled()
        return (self._scale(value) - low) / (high - low)

    def at(self, place: float) -> float:
        """The value at a place of the range for tuning, rounded to three digits, or to an odd number.

        Examples
        --------
        >>> Setting(4, 0, 100, tuned=(1, 16)).at(0.5), Setting(7, 3, 31, odd=True, tuned=(3, 9)).at(0.6)
        (4.0, 5.0)
        """
        low, high = self._scaled()
        scaled = low + min(max(place, 0.0), 1.0) * (high - low)
        value = math.exp(scaled) if self._by_logarithm else scaled
        return 2.0 * math.floor(value / 2) + 1 if self.odd else float(f"{value:.3g}")

    @property
    def _by_logarithm(self) -> bool:
        return self.tuned is not None and self.tuned[0] > 0

    def _scale(self, value: float) -> float:
        return math.log(value) if self._by_logarithm else value

    def _scaled(self) -> tuple[float, float]:
        assert self.tuned is not None
        return self._scale(self.tuned[0]), self._scale(self.tuned[1])


def usual(settings: Mapping[str, Setting]) -> dict[str, float]:
    """Every setting at its usual value.

    Examples
    --------
    >>> usual({"box": Setting(7, 3, 31, odd=True)})
    {'box': 7}
    """
    return {name: setting.usual for name, setting in settings.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Spots:
    """Spots in a block of images: which image (from 0), the place in pixels, photons, and z in nm; one value for each.

    The middle of the first pixel is 0, 0; x goes along the rows of the image.
    """

    image: IntArray
    x: FloatArray
    y: FloatArray
    photons: FloatArray
    z: FloatArray | None = None


Localizer = Callable[..., Spots]
"""From images (k, height, width) in photons, and settings by name, to spots; some also take the shape of spots."""


def inside(images: FloatArray, x: FloatArray, y: FloatArray) -> BoolArray:
    """Which positions lie within images of this shape; NaN lies outside.

    Examples
    --------
    >>> inside(np.zeros((1, 8, 8)), np.array([-0.5, 7.4, 8.0, np.nan]), np.zeros(4)).tolist()
    [True, True, False, False]
    """
    height, width = images.shape[-2:]
    return np.asarray((x >= -0.5) & (x < width - 0.5) & (y >= -0.5) & (y < height - 0.5))


def image_by_image(
    images: FloatArray, find: Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]
) -> Spots:
    """Run a function that finds x, y and photons in one image on each of them.

    Examples
    --------
    >>> one = np.array([1.0])
    >>> image_by_image(np.zeros((2, 8, 8)), lambda image: (one, one, one)).image
    array([0, 1])
    """
    parts = [find(image) for image in images]
    counts = [len(x) for x, _, _ in parts]
    columns = [np.concatenate([part[axis] for part in parts]) if parts else np.empty(0) for axis in range(3)]
    x, y, photons = (np.asarray(column, dtype=np.float64) for column in columns)
    return Spots(np.repeat(np.arange(len(parts)), counts), x, y, photons)


def _bands(size: int, count: int) -> list[tuple[slice, slice, int]]:
    """A side cut as by `np.array_split`, parts of one length together: which parts, their pixels, and the length."""
    length, longer = divmod(size, count)
    edge = longer * (length + 1)
    bands = [(slice(0, longer), slice(0, edge), length + 1), (slice(longer, count), slice(edge, size), length)]
    return bands if longer else bands[1:]


def uneven_background(image: FloatArray) -> FloatArray | None:
    """The background of an image in photons, from the medians of its parts; None where it is even.

    Examples
    --------
    >>> uneven_background(np.full((64, 64), 7.0)) is None
    True
    """
    from scipy.ndimage import map_coordinates

    height, width = image.shape
    rows, columns = (round(size / _BACKGROUND) for size in (height, width))
    if rows < 2 or columns < 2:
        return None
    coarse = np.empty((rows, columns))
    for down, across, tall in _bands(height, rows):
        for right, along, wide in _bands(width, columns):
            parts = image[across, along].reshape(down.stop - down.start, tall, -1, wide)
            coarse[down, right] = np.median(parts, axis=(1, 3))
    if np.ptp(coarse) < _SLOPE * np.sqrt(max(float(np.median(coarse)), 1.0)):
        return None
    beyond = np.pad(coarse, 1, mode="reflect", reflect_type="odd")  # goes on as it went, to the edge
    row, column = ((np.arange(size) + 0.5) * count / size + 0.5 for size, count in ((height, rows), (width, columns)))
    return np.asarray(map_coordinates(beyond, np.meshgrid(row, column, indexing="ij"), order=1, mode="nearest"))
