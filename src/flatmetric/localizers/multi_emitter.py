"""Images as a sum of spots over a smooth background, all fitted together by maximum likelihood.

After each fit the model is subtracted, and what sticks out of the rest joins the next fit. A spot stays if the images
are much likelier with it than without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flatmetric._arrays import BoolArray, FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import PER_MAD, uneven_background
from flatmetric.localizers.shapes import Shape

_RIM = 13  # pixels around each image that count for nothing, so that boxes may reach over the edge
_STEPS = 12  # of Newton's method at most; a fit that has converged ends earlier
_JOINT = 5  # steps of conjugate gradients: more than that spots hardly overlap
_LARGEST_STEP = 0.5  # pixels
_CONVERGED = 1e-3  # pixels
_CLOSEST = 1.0  # pixels: a new spot is at least so far from others
_SAME = 0.6  # pixels: of two spots that are closer, one is dropped
_HALO_REACH = 6.0  # pixels
_NEAR = 4.0  # pixels: spots that could take over each other's light
_AT_ONCE = 2000  # spots: it bounds the memory


@dataclass(slots=True)
class FittedSpots:
    """The image of each spot, from 0, and its x, y (pixels), photons and form."""

    image: IntArray
    values: FloatArray

    def take(self, kept: BoolArray) -> FittedSpots:
        """Some of them."""
        return FittedSpots(self.image[kept], self.values[kept])

    def with_more(self, other: FittedSpots) -> FittedSpots:
        """Both together."""
        return FittedSpots(np.concatenate([self.image, other.image]), np.concatenate([self.values, other.values]))


@dataclass(frozen=True, slots=True)
class Acceptance:
    """When a spot is believed: `threshold` in units of the noise to be looked at, `likelihood` to stay, and at least
    `halo` of the photons of one that it is close to.
    """

    threshold: float
    likelihood: float
    halo: float


def fit_images(images: FloatArray, shape: Shape, limits: Acceptance, rounds: int) -> FittedSpots:
    """Find and fit spots in images (k, channels, height, width) of photons.

    Examples
    --------
    >>> from flatmetric.localizers.shapes import GaussianShape
    >>> from flatmetric.simulation.optics import Gaussian, spots
    >>> molecules = np.array([[1400.0, 1500.0, 0.0], [1700.0, 1500.0, 0.0]])
    >>> image = 10 + spots(molecules, np.array([4000.0, 3000.0]), Gaussian(), pixels=32, pixel_size=100.0)
    >>> fitted = fit_images(image[None, None], GaussianShape(1.2, 3.5), Acceptance(4.0, 30.0, 0.1), 3)
    >>> np.sort(100 * (fitted.values[:, 0] + 0.5)).round(-1).tolist()
    [1400.0, 1700.0]
    """
    scene = _Scene(images, shape, limits)
    for _ in range(rounds):
        new = scene.maxima()
        if len(new.image) == 0:
            break
        scene.join(new)
        scene.fit()
        scene.drop()
    if len(scene.spots.image):  # once more without those that were dropped
        scene.fit()
        scene.drop()
    order = np.argsort(scene.spots.image, kind="stable")
    values = scene.spots.values[order]
    values[:, :2] -= _RIM
    return FittedSpots(scene.spots.image[order], values)


class _Scene:
    def __init__(self, images: FloatArray, shape: Shape, limits: Acceptance) -> None:
        rim = ((0, 0), (0, 0), (_RIM, _RIM), (_RIM, _RIM))
        self.shape, self.limits = shape, limits
        self.inner = images.shape[2:]
        self.data = np.maximum(np.pad(images, rim, mode="edge"), 0.0)
        self.counts = np.pad(np.ones(images.shape), rim)
        level = np.maximum(np.median(images, axis=(2, 3)), 0.01)
        self.background = np.broadcast_to(level[:, :, None, None], self.data.shape).copy()
        for at in np.ndindex(images.shape[:2]):
            uneven = uneven_background(images[at])
            if uneven is not None:
                self.background[at] = np.maximum(np.pad(uneven, _RIM, mode="edge"), 0.01)
        self.light = np.zeros(self.data.shape)
        self.smooth_rows, self.smooth_columns = (_smoothing(size, shape.smooth) for size in self.data.shape[2:])
        self.spots = FittedSpots(np.empty(0, dtype=np.int64), np.empty((0, 4)))

    def maxima(self) -> FittedSpots:
        """Where a spot would explain most of what the model leaves, in units of the noise, and of which form."""
        from scipy import ndimage

        model = self.background + self.light
        left = (self.data - model) / np.sqrt(model) * self.counts
        spectrum = np.fft.rfft2(left)
        best, form = np.full(left[:, 0].shape, -np.inf), np.zeros(left[:, 0].shape)
        for candidate in self.shape.forms:
            response = _correlated(spectrum, self._template(candidate), left.shape[2:])
            inner = response[:, _RIM:-_RIM, _RIM:-_RIM]
            level = np.median(inner)
            response = (response - level) / (PER_MAD * np.median(np.abs(inner - level)) + 1e-12)
            form = np.where(response > best, candidate, form)
            best = np.maximum(response, best)
        highest = ndimage.maximum_filter(best, (1, self.shape.apart, self.shape.apart), mode="nearest")
        peaks = (best == highest) & (best > self.limits.threshold) & (self.counts[:, 0] > 0)
        image, row, column = np.nonzero(peaks)
        if len(self.spots.image) and len(image):
            far = self._tree().query(self._apart(image, np.column_stack([column, row])))[0] >= _CLOSEST
            image, row, column = image[far], row[far], column[far]
        values = np.column_stack([column, row, np.ones(len(row)), form[image, row, column]]).astype(np.float64)
        new = FittedSpots(image, values)
        for half, members in self._groups(new):
            places, at = self._boxes(new, half, members)
            share = self.shape.light(at, half)
            above = (self.data - model).ravel()[places]
            new.values[members, 2] = np.maximum((share * above).sum(axis=1) / (share**2).sum(axis=1), 1.0)
        return new

    def _template(self, form: float) -> FloatArray:
        """A spot of this form (channels, side, side), of length 1."""
        at = np.array([[0.0, 0.0, 1.0, form]])
        half = int(self.shape.halves(at[:, 3])[0])
        box = self.shape.light(at, half).reshape(self.shape.channels, 2 * half + 1, 2 * half + 1)
        return np.asarray(box / np.sqrt((box**2).sum()))

    def _apart(self, image: IntArray, xy: FloatArray | IntArray) -> FloatArray:
        """Places in which different images are far from each other."""
        return np.column_stack([image * 10.0 * max(self.data.shape[2:]), xy])

    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self._apart(self.spots.image, self.spots.values[:, :2]))

    def join(self, new: FittedSpots) -> None:
        """Add spots to the model."""
        self.spots = self.spots.with_more(new)
        self._add(new, 1.0)

    def _groups(self, spots: FittedSpots, among: BoolArray | None = None) -> Iterator[tuple[int, IntArray]]:
        """Some of the spots by the half side of their boxes."""
        halves = self.shape.halves(spots.values[:, 3])
        for half in np.unique(halves if among is None else halves[among]):
            yield int(half), np.flatnonzero((halves == half) if among is None else (halves == half) & among)

    def _boxes(self, spots: FittedSpots, half: int, members: IntArray) -> tuple[IntArray, FloatArray]:
        """Places in the flat images, and the values of spots relative to the middle of their boxes."""
        values = spots.values[members].copy()
        centre = np.rint(values[:, :2])
        values[:, :2] -= centre
        _, channels, height, width = self.data.shape
        reach = np.arange(-half, half + 1)
        column, row = centre.astype(np.int64).T
        first = (spots.image[members] * channels * height + row) * width + column
        box = (np.arange(channels)[:, None, None] * height + reach[:, None]) * width + reach
        return first[:, None] + box.ravel(), values

    def _add(self, spots: FittedSpots, sign: float, among: BoolArray | None = None) -> None:
        """Add the light of spots to the model, or take it away."""
        flat = self.light.reshape(-1)
        for half, members in self._groups(spots, among):
            places, at = self._boxes(spots, half, members)
            np.add.at(flat, places, sign * self.shape.light(at, half))

    def _update_background(self) -> None:
        """Smooth what the spots leave; their light outside of their boxes comes on top."""
        beyond = self._light_beyond_boxes()
        smooth = self.smooth_rows @ (self.data - self.light - beyond) @ self.smooth_columns.T
        self.background = np.maximum(smooth, 0.01) + beyond

    def _light_beyond_boxes(self) -> FloatArray | float:
        half = self.shape.widest_half
        if half == 0 or len(self.spots.image) == 0:
            return 0.0
        whole = np.zeros(self.light.size)
        for first in range(0, len(self.spots.image), _AT_ONCE):
            members = np.arange(first, min(first + _AT_ONCE, len(self.spots.image)))
            places, at = self._boxes(self.spots, half, members)
            np.add.at(whole, places, self.shape.light(at, half))
        return np.maximum(whole.reshape(self.light.shape) - self.light, 0.0)

    def fit(self) -> None:
        """Newton's method with the expected curvature, for all spots together."""
        active = np.ones(len(self.spots.image), dtype=bool)
        height, width = self.data.shape[2:]
        least = np.array([_RIM - 1, _RIM - 1, -np.inf, self.shape.least])
        most = np.array([width - _RIM, height - _RIM, np.inf, self.shape.most])
        for number in range(_STEPS):
            if number % 3 == 0:
                self._update_background()
            step = self._step(active)
            self._add(self.spots, -1.0, active)
            step[:, (0, 1, 3)] = np.clip(step[:, (0, 1, 3)], -_LARGEST_STEP, _LARGEST_STEP)
            photons = self.spots.values[:, 2]
            step[:, 2] = np.clip(step[:, 2], -photons / 2, photons)
            self.spots.values = np.clip(self.spots.values + step, least, most)
            self._add(self.spots, 1.0, active)
            active &= np.abs(step[:, :2]).max(axis=1) > _CONVERGED
            if not active.any():
                break
        self._update_background()

    def _step(self, active: BoolArray) -> FloatArray:
        """The step of the active spots, which may overlap, by conjugate gradients; 0 for the others."""
        data, counts = self.data.reshape(-1), self.counts.reshape(-1)
        model = (self.background + self.light).reshape(-1)
        parts = []
        gradient, curvature = np.zeros((len(active), 4)), np.broadcast_to(np.eye(4), (len(active), 4, 4)).copy()
        for half, members in self._groups(self.spots, active):
            places, at = self._boxes(self.spots, half, members)
            slopes, weight = self.shape.slopes(at, half), counts[places] / model[places]
            gradient[members] = np.einsum("kpi,kp->ki", slopes, weight * (data[places] - model[places]))
            own = np.matmul(slopes.transpose(0, 2, 1), slopes * weight[:, :, None])
            diagonal = np.einsum("kii->ki", own)
            # What the data do not constrain stays where it is.
            least = 1e-6 * diagonal + 1e-12 * diagonal.max(axis=1, keepdims=True) + 1e-300
            curvature[members] = own + least[:, :, None] * np.eye(4)
            parts.append((members, places, slopes, weight))
        change = np.zeros(data.size)

        def curved(step: FloatArray) -> FloatArray:
            """The curvature of all spots together, times a step."""
            for members, places, slopes, _ in parts:
                np.add.at(change, places, np.einsum("kpi,ki->kp", slopes, step[members]))
            result = np.zeros_like(step)
            for members, places, slopes, weight in parts:
                result[members] = np.einsum("kpi,kp->ki", slopes, weight * change[places])
            for _, places, _, _ in parts:
                change[places] = 0.0
            return result

        alone = np.linalg.inv(curvature)
        step, left = np.zeros_like(gradient), gradient
        better = np.einsum("kij,kj->ki", alone, left)
        direction, length = better, _by_image(left * better, self.spots.image)
        for _ in range(_JOINT):
            along = curved(direction)
            bend = _by_image(direction * along, self.spots.image)
            far = np.where(bend > 0, length / np.where(bend > 0, bend, 1.0), 0.0)[self.spots.image, None]
            step, left = step + far * direction, left - far * along
            better = np.einsum("kij,kj->ki", alone, left)
            before, length = length, _by_image(left * better, self.spots.image)
            turn = np.where(before > 0, length / np.where(before > 0, before, 1.0), 0.0)[self.spots.image, None]
            direction = better + turn * direction
        return step

    def drop(self) -> None:
        """Drop spots without which the images are nearly as likely, and those that another explains."""
        model, data, counts = ((self.background + self.light).ravel(), self.data.ravel(), self.counts.ravel())
        inner = counts > 0
        left = (data - model)[inner] / np.sqrt(model[inner])
        spread = max((PER_MAD * float(np.median(np.abs(left - np.median(left))))) ** 2, 1e-6)
        gain = np.zeros(len(self.spots.image))
        for half, members in self._groups(self.spots):
            places, at = self._boxes(self.spots, half, members)
            with_it = model[places]
            without = np.maximum(with_it - self.shape.light(at, half), 1e-3)
            likelier = counts[places] * (data[places] * np.log(with_it / without) - (with_it - without))
            gain[members] = 2 * likelier.sum(axis=1) / spread
        gain = np.minimum(gain, self._beside_a_stronger(gain, model, counts) / spread)
        x, y, _, form = self.spots.values.T
        kept = (gain >= self.limits.likelihood) & (form < self.shape.most)
        kept &= (form > self.shape.least) | self.shape.least_is_real
        for at_axis, size in ((x, self.inner[1]), (y, self.inner[0])):
            kept &= (at_axis >= _RIM - 0.5) & (at_axis < _RIM + size - 0.5)
        kept &= ~self._explained(gain)
        self._add(self.spots, -1.0, ~kept)
        self.spots = self.spots.take(kept)

    def _beside_a_stronger(self, gain: FloatArray, model: FloatArray, counts: FloatArray) -> FloatArray:
        """The same for spots close to a stronger one, which could take over their light: the photons squared over their
        variance when both are fitted together. Infinite for others.
        """
        significance = np.full(len(gain), np.inf)
        if len(gain) < 2:
            return significance
        tree = self._tree()
        away, nearest = (column[:, 1] for column in tree.query(tree.data, k=2))
        for half, members in self._groups(self.spots, (away < _NEAR) & (gain < gain[nearest])):
            places, at = self._boxes(self.spots, half, members)
            other = self.spots.values[nearest[members]].copy()
            other[:, :2] -= np.rint(self.spots.values[members, :2])
            slopes = np.concatenate([self.shape.slopes(at, half), self.shape.slopes(other, half)], axis=2)
            information = np.matmul(slopes.transpose(0, 2, 1), slopes * (counts[places] / model[places])[:, :, None])
            scale = 1 / np.sqrt(np.einsum("kii->ki", information) + 1e-300)
            scaled = information * scale[:, :, None] * scale[:, None, :] + 1e-9 * np.eye(8)
            variance = np.linalg.inv(scaled)[:, 2, 2] * scale[:, 2] ** 2
            significance[members] = at[:, 2] ** 2 / variance
        return significance

    def _explained(self, gain: FloatArray) -> BoolArray:
        """Spots that have become the same as one that the images need more, or lie in the halo of a brighter one."""
        explained = np.zeros(len(gain), dtype=bool)
        pairs = self._tree().query_pairs(_HALO_REACH, output_type="ndarray")
        weaker = np.where(gain[pairs[:, 0]] < gain[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
        stronger = pairs.sum(axis=1) - weaker
        away = np.hypot(*(self.spots.values[weaker, :2] - self.spots.values[stronger, :2]).T)
        photons = self.spots.values[:, 2]
        faint = photons[weaker] < self.limits.halo * photons[stronger]
        explained[weaker[(away < _SAME) | faint]] = True
        return explained


def _smoothing(size: int, width: float) -> FloatArray:
    """What turns a line of pixels into its smooth background, from those inside the image."""
    at = np.arange(size)
    weights = np.exp(-(((at[:, None] - at) / width) ** 2) / 2)
    weights[:, :_RIM] = weights[:, size - _RIM :] = 0.0
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _correlated(spectrum: Any, template: FloatArray, size: tuple[int, ...]) -> FloatArray:
    """Images of this size, given by their spectra (k, channels, ...), correlated with a template (channels, ...)."""
    half = template.shape[1] // 2
    padded = np.zeros((len(template), *size))
    padded[:, : 2 * half + 1, : 2 * half + 1] = template
    padded = np.roll(padded, (-half, -half), axis=(1, 2))
    product = (spectrum * np.conj(np.fft.rfft2(padded))).sum(axis=1)
    return np.asarray(np.fft.irfft2(product, s=size))


def _by_image(values: FloatArray, image: IntArray) -> FloatArray:
    """Sums over the spots of each image."""
    return np.asarray(np.bincount(image, values.sum(axis=1)))
