"""What a program and simple counts see in a movie: the same for the movie and for its twins, so that both compare."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.execution.workers import Workers
from flatmetric.localizations import Localizations
from flatmetric.localizers.registry import StackCamera, localize_stack, participant
from flatmetric.localizers.shapes import KnownShape
from flatmetric.localizers.spot_width import SpotWidth, spot_width
from flatmetric.matching.matcher import neighbours
from flatmetric.stacks import Stack

_BLOCKS, _IN_A_BLOCK = 8, 50  # stretches of frames that are looked at, over the whole movie
_FEWEST = 30  # detections, for a median to 20 %
_REACH = 1.0  # pixels between two detections of a molecule in successive frames
_SURE = 6.0  # times the noise: hardly any detection is false, which no twin would have in the same number
_RETURNS = 20  # frames: a molecule that was dark for longer is a new one, since places are drawn with repetition
_SPOT = 3.0  # widths of a spot around a detection: beyond, next to none of its light is left
_FREE = 0.05  # of the frames: with fewer free of spots, the background of a pixel is that around it
_SMOOTH = 2.0  # pixels: what is filled in is no copy of single pixels
_LEAST_LIGHT = 1e-3  # photons: a background of 0 has no logarithm


@dataclass(frozen=True, eq=False)
class Seen:
    """Some frames of a movie: their light in photons (k, height, width), how wide its bright spots are, and what the
    baseline finds in them.
    """

    frames: IntArray
    light: FloatArray
    found: Localizations
    pixel_size: float
    width: SpotWidth

    def beside(self, pixels: int) -> float:
        """How alike pixels so far apart are, once the background is taken off: a correlation."""
        left = self.light - self.background
        across = float((left[:, :, :-pixels] * left[:, :, pixels:]).mean())
        down = float((left[:, :-pixels] * left[:, pixels:]).mean())
        return (across + down) / 2 / max(float((left**2).mean()), 1e-12)

    @cached_property
    def counts(self) -> FloatArray:
        """The number of detections in each frame."""
        return np.array([np.count_nonzero(self.found.frame == frame) for frame in self.frames], dtype=np.float64)

    @property
    def per_frame(self) -> float:
        """Detections in a frame, on average."""
        return len(self.found) / len(self.frames)

    @property
    def photons(self) -> float:
        """The median of the photons of detections."""
        return float(np.median(self._photons))

    @property
    def spread(self) -> float:
        """How far the logarithms of the photons of detections spread, as a standard deviation."""
        low, high = np.quantile(np.log(self._photons), [0.25, 0.75])
        return float((high - low) / 1.349)

    @property
    def _photons(self) -> FloatArray:
        assert self.found.photons is not None
        return np.maximum(self.found.photons, 1.0)

    @property
    def lasting(self) -> float:
        """The part of the detections with another at their place in the next frame, among those in frames that have a
        next one.
        """
        follows = np.isin(self.found.frame + 1, self.frames)
        return float(self._beside(1)[follows].mean()) if follows.any() else 0.0

    @property
    def dimmer_at_first(self) -> tuple[float, float] | None:
        """The photons of molecules in their first frame over those in frames between two others, and the standard error
        of that; None if too few.
        """
        earlier, later = (self._beside(step) for step in (-1, 1))
        between, first = earlier & later, later & ~earlier & np.isin(self.found.frame - 1, self.frames)
        if between.sum() < _FEWEST or first.sum() < _FEWEST:
            return None
        ratio = float(np.median(self._photons[first]) / np.median(self._photons[between]))
        return ratio, ratio * 1.25 * self.spread * math.sqrt(1 / int(first.sum()) + 1 / int(between.sum()))

    @property
    def returning(self) -> tuple[float, float]:
        """How often a molecule comes back after it was dark, on average, and for how many frames it was dark.

        What is expected by chance is taken off: detections at the same place in frames further away.
        """
        later, far = self._beside(1), np.isin(self.found.frame + 3 * _RETURNS, self.frames)
        ends = ~later & np.isin(self.found.frame + _RETURNS, self.frames)
        if (ends & far).sum() < _FEWEST:
            return 0.0, 1.0
        left, share, gaps = ends & far, 0.0, 0.0
        count = float(left.sum())
        for step in range(2, _RETURNS + 1):
            back = left & self._beside(step)
            by_chance = (left & self._beside(step + 2 * _RETURNS)).sum()
            excess = (float(back.sum()) - float(by_chance)) / count
            share, gaps = share + excess, gaps + excess * (step - 1)
            left = left & ~back
        if share * count < 3 * math.sqrt(count * max(share, 1 / count)):
            return 0.0, 1.0
        return min(share, 0.9), max(gaps / share, 1.0)

    def _beside(self, step: int) -> BoolArray:
        """Which detections have another at their place so many frames later."""
        moved = Localizations(frame=self.found.frame - step, x=self.found.x, y=self.found.y)
        distance, _ = neighbours(moved, self.found, dim=2, within=_REACH * self.pixel_size)
        return np.isfinite(distance)

    @cached_property
    def background(self) -> FloatArray:
        """The light of each pixel when no molecule shines there: the median over the frames without a detection nearby,
        and where hardly any are, what the pixels around have.
        """
        background = np.median(self.light, axis=0)
        often = self._frames_with_spots()
        free = len(self.frames) - often.sum(axis=0)
        few = free < max(2.0, _FREE * len(self.frames))
        if few.all():
            return np.maximum(background, _LEAST_LIGHT)
        some = often.any(axis=0) & ~few
        light = np.sort(np.where(often[:, some], np.inf, self.light[:, some]), axis=0)
        middle, at = free[some], np.arange(light.shape[1])
        background[some] = (light[(middle - 1) // 2, at] + light[middle // 2, at]) / 2
        return np.maximum(_filled(background, few), _LEAST_LIGHT)

    def _frames_with_spots(self) -> BoolArray:
        """Where and when light may be that of a detected spot: (k, height, width)."""
        marked = np.zeros(self.light.shape, dtype=bool)
        _, height, width = self.light.shape
        frame = np.searchsorted(self.frames, self.found.frame)
        column = np.floor(self.found.x / self.pixel_size).astype(np.int64)
        row = np.floor(self.found.y / self.pixel_size).astype(np.int64)
        reach = math.ceil(_SPOT * self.width.sigma)
        for down in range(-reach, reach + 1):
            across = math.isqrt(reach**2 - down**2)
            for right in range(-across, across + 1):
                marked[frame, np.clip(row + down, 0, height - 1), np.clip(column + right, 0, width - 1)] = True
        return marked

    @property
    def runs(self) -> float:
        """About how many independent molecules there are: detections without one at their place in the frame before."""
        return max(1.0, len(self.found) * (1 - self.lasting))


def _filled(image: FloatArray, unknown: BoolArray) -> FloatArray:
    """The image with what the nearest known pixels have, smoothed, where it is not known."""
    from scipy.ndimage import distance_transform_edt, gaussian_filter

    nearest = image[tuple(distance_transform_edt(unknown, return_distances=False, return_indices=True))]
    return np.where(unknown, gaussian_filter(nearest, _SMOOTH, mode="nearest"), image)


def looked_at(frames: int) -> IntArray:
    """The frames, from 1, that are looked at in a movie of so many: all of a short one, else stretches of it.

    Examples
    --------
    >>> len(looked_at(200)), len(looked_at(10_000)), int(looked_at(10_000)[-1])
    (200, 400, 10000)
    """
    if frames <= _BLOCKS * _IN_A_BLOCK:
        return np.arange(1, frames + 1)
    starts = np.linspace(1, frames - _IN_A_BLOCK + 1, _BLOCKS).astype(np.int64)
    return np.asarray((starts[:, None] + np.arange(_IN_A_BLOCK)).ravel())


def light_of(stack: Stack, camera: StackCamera) -> tuple[IntArray, FloatArray]:
    """The frames of `looked_at`, and their light in photons."""
    some = looked_at(stack.frames)
    counts = np.stack([image for _, image in stack.images(some.tolist())]).astype(np.float64)
    return some, (counts - camera.offset) * camera.photons_per_count


def seen_in(stack: Stack, camera: StackCamera, shape: KnownShape | None = None, workers: Workers | None = None) -> Seen:
    """Look at a stack: the light of the frames of `looked_at`, and detections there.

    They are centres of mass, which are quick: what they distort they distort alike in the movie and in its twins. Where
    the `shape` of spots is known, spots are fitted for their depths.
    """
    some, light = light_of(stack, camera)
    width = spot_width(light)
    known = {"sigma": width.sigma, "aspect": width.aspect}  # not to be measured again
    quick = participant("baseline", known | ({"fitted": 0.0, "threshold": _SURE} if shape is None else {}))
    found = localize_stack(stack, quick, camera, shape=shape, frames=some.tolist(), workers=workers)
    return Seen(some, light, found, camera.pixel_size, width)


def odds(share: float) -> float:
    """Odds of a share, away from 0 and 1.

    Examples
    --------
    >>> odds(0.5), round(odds(0.0), 3)
    (1.0, 0.005)
    """
    kept = min(max(share, 0.005), 0.995)
    return kept / (1 - kept)


def course_of(values: FloatArray, frames: IntArray, last: int, error: FloatArray, points: int) -> tuple[float, ...]:
    """How a value changes over a movie, relative to its mean, at `points` even distances; empty where it hardly does.

    `error` is the standard error of each value.

    Examples
    --------
    >>> frames = np.arange(1, 101)
    >>> course_of(np.ones(100), frames, 100, np.full(100, 0.1), 5)
    ()
    >>> [round(one, 1) for one in course_of(np.linspace(2, 0, 100), frames, 100, np.full(100, 0.1), 3)]
    [1.7, 1.0, 0.3]
    """
    parts = np.array_split(np.argsort(frames, kind="stable"), min(points, max(1, len(frames) // 5)))
    level = np.array([values[part].mean() for part in parts])
    noise = np.array([math.sqrt(float((error[part] ** 2).sum())) / len(part) for part in parts])
    middle = float(np.average(level, weights=[len(part) for part in parts]))
    if len(parts) < 2 or middle <= 0:
        return ()
    excess = float(np.mean(((level - middle) / np.maximum(noise, 1e-12)) ** 2))
    if excess < 3 or float(np.std(level)) < 0.03 * middle:
        return ()
    at = np.array([frames[part].mean() for part in parts])
    asked = np.linspace(1, last, points)
    return tuple(float(one) for one in np.round(np.maximum(np.interp(asked, at, level / middle), 0.0), 4))
