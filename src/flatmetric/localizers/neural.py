"""A small convolutional network, trained by the Flat Metric on simulated images.

The network gives each pixel the probability that a molecule is nearest to it, and where that molecule lies. It was
trained on round spots 0.8 to 1.8 pixels wide, in and out of focus, of 500 to 30 000 photons, in images of photons. The
script examples/train_localizer.py makes the weights; running them takes NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.localizers.base import Setting, Settings, Spots, image_by_image, inside, uneven_background
from flatmetric.localizers.shapes import axis_shares
from flatmetric.localizers.spot_width import spot_width

SETTINGS = {
    "probability": Setting(
        0.5, 0.01, 1.0, tuned=(0.2, 0.9), meaning="least probability of a molecule, of 3 x 3 pixels"
    ),
    "sigma": Setting(1.3, 0.3, 20.0, meaning="width of a spot in focus, pixels, which turns light into photons"),
}
_TILE = 256  # pixels
NARROWEST, WIDEST = 0.75, 1.85  # pixels: of the spots it was trained on, with 3 % for measuring
_ROUNDEST = 1.2  # width along x over that along y: beyond, one spot is often found as two
_STEEPEST = 4.0  # brightest over darkest background: beyond, the noise is twice as large on one side as on the other
FARTHEST = 1.2  # pixels: how far from the middle of its pixel a molecule may be


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """A convolution with its bias: (out, in, side, side) and (out,); `reach` is the distance between its taps."""

    weights: FloatArray
    bias: FloatArray
    reach: int

    def __call__(self, image: FloatArray) -> FloatArray:
        """From (in, height, width) to (out, height, width), with 0 around the image."""
        outputs, inputs, side, _ = self.weights.shape
        rim = self.reach * (side // 2)
        _, height, width = image.shape
        padded = np.pad(image, ((0, 0), (rim, rim), (rim, rim)))
        taps = sliding_window_view(padded, (height, width), axis=(1, 2))[:, :: self.reach, :: self.reach]
        columns = taps.reshape(inputs * side * side, height * width)
        result = self.weights.reshape(outputs, -1) @ columns + self.bias[:, None]
        return np.asarray(result.reshape(outputs, height, width))


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """Convolutions in a row: the first, then pairs beside an identity, then the last."""

    convolutions: tuple[Convolution, ...]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Network:
        """A network from what `arrays` of another gave."""
        count = len(arrays["reach"])
        return cls(
            tuple(
                Convolution(arrays[f"weights_{k}"], arrays[f"bias_{k}"], int(arrays["reach"][k])) for k in range(count)
            )
        )

    def arrays(self) -> dict[str, FloatArray]:
        """Weights, biases and reaches by name, for a file."""
        arrays = {"reach": np.array([one.reach for one in self.convolutions])}
        for k, one in enumerate(self.convolutions):
            arrays |= {f"weights_{k}": one.weights, f"bias_{k}": one.bias}
        return arrays

    def __call__(self, photons: FloatArray) -> FloatArray:
        """From an image in photons to (3, height, width): the logit of the probability that a molecule is nearest to a
        pixel, and its x and y from the middle of that pixel, in pixels.
        """
        scaled = np.sqrt(np.maximum(photons, 0).astype(np.float32) + 1)  # noise of about the same size everywhere
        middle = (scaled.size - 1) // 2
        scaled = (scaled - np.partition(scaled.ravel(), middle)[middle]) / 3
        height, width = scaled.shape
        result = np.empty((3, height, width), dtype=np.float32)
        # Tile by tile, which bounds the memory; each sees as much around it as the network looks at.
        rim = sum(one.reach * (one.weights.shape[-1] // 2) for one in self.convolutions)
        for top in range(0, height, _TILE):
            for left in range(0, width, _TILE):
                above, beside = max(0, top - rim), max(0, left - rim)
                tile = self._applied(scaled[above : top + _TILE + rim, beside : left + _TILE + rim])
                place = result[:, top : top + _TILE, left : left + _TILE]
                rows, columns = place.shape[1:]
                place[:] = tile[:, top - above : top - above + rows, left - beside : left - beside + columns]
        return result

    def _applied(self, scaled: FloatArray) -> FloatArray:
        first, *pairs, last = self.convolutions
        hidden = np.maximum(first(scaled[None]), 0)
        for one, other in zip(pairs[::2], pairs[1::2], strict=True):
            hidden = np.maximum(hidden + other(np.maximum(one(hidden), 0)), 0)
        result = last(hidden)
        result[1:] = FARTHEST * np.tanh(result[1:])
        return result


@lru_cache(maxsize=1)
def trained() -> Network:
    """The network that comes with the package."""
    with (files("flatmetric") / "data" / "neural.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return Network.from_arrays(arrays)


def peaks(output: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """Return x and y in pixels of maxima of the probability whose 3 x 3 pixels add up to `least`, at their mean place.

    `found` is what the network gives for one image.

    Examples
    --------
    >>> output = np.full((3, 8, 8), -9.0)
    >>> output[:, 2, 5] = 4.0, 0.25, -0.5
    >>> x, y = peaks(output, 0.5)
    >>> x.round(1), y.round(1)
    (array([5.2]), array([1.5]))
    """
    logits, *offsets = np.asarray(output, dtype=np.float64)
    likely = 1 / (1 + np.exp(-logits))
    mass = _around(likely).sum(axis=(2, 3))
    row, column = np.nonzero((likely == _around(likely).max(axis=(2, 3))) & (mass >= least))
    y, x = np.indices(likely.shape)
    xs, ys = (
        _around(likely * (at + offset)).sum(axis=(2, 3))[row, column] / mass[row, column]
        for at, offset in zip((x, y), offsets, strict=True)
    )
    return xs, ys


def _around(image: FloatArray) -> FloatArray:
    """The 3 x 3 pixels around each pixel, with 0 outside of the image."""
    return sliding_window_view(np.pad(image, 1), (3, 3))


def level(image: FloatArray) -> FloatArray:
    """An image without the slopes of its background, which the network was not trained on; one without is left alone.

    Examples
    --------
    >>> slope = np.linspace(20, 200, 64) * np.ones((64, 64))
    >>> bool(np.ptp(level(slope)) < 5), level(np.full((64, 64), 7.0)).mean()
    (True, np.float64(7.0))
    """
    background = uneven_background(image)
    return image if background is None else np.asarray(image - background + np.median(background))


def doubts(images: FloatArray) -> list[str]:
    """Why the spots of images (k, height, width) of photons are none that the network was trained on.

    Examples
    --------
    >>> doubts(np.zeros((2, 64, 64)))
    []
    """
    measured = spot_width(images)
    found = []
    if not NARROWEST <= measured.sigma <= WIDEST:
        found.append(
            f"neural was trained on spots {NARROWEST:g} to {WIDEST:g} pixels wide, and these are "
            f"{measured.sigma:.2g}; use another method, or pixels of another size"
        )
    if not 1 / _ROUNDEST < measured.aspect**2 < _ROUNDEST:
        found.append(
            f"neural was trained on round spots, and these are {measured.aspect**2:.2g} times as wide along x as "
            "along y; use another method"
        )
    background = uneven_background(np.median(images, axis=0))
    if background is not None and background.max() > _STEEPEST * max(float(background.min()), 1.0):
        found.append(
            "neural was trained on an even background, and this one varies by a factor of "
            f"{background.max() / max(float(background.min()), 1.0):.0f}; use another method"
        )
    return found


def localize(images: FloatArray, settings: Settings) -> Spots:
    """Find spots in images (k, height, width) of photons; the photons of a spot are those of one in focus.

    Examples
    --------
    >>> from flatmetric.simulation.optics import Gaussian, spots
    >>> molecule = np.array([[3210.0, 3190.0, 0.0]])
    >>> image = 50 + spots(molecule, np.array([4000.0]), Gaussian(), pixels=64, pixel_size=100.0)
    >>> noisy = np.random.default_rng(0).poisson(image)[None].astype(float)
    >>> spots = localize(noisy, {"probability": 0.5, "sigma": 1.3})
    >>> len(spots.x), bool(abs(spots.x[0] - 31.6) < 0.2)
    (1, True)
    """
    network = trained()

    def find(image: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        x, y = peaks(network(level(image)), settings["probability"])
        kept = inside(images, x, y)
        return x[kept], y[kept], _photons(image, x[kept], y[kept], settings["sigma"])

    return image_by_image(images, find)


def _photons(image: FloatArray, x: FloatArray, y: FloatArray, sigma: float) -> FloatArray:
    """The light around each place that a spot of this width explains, by least squares; what overlaps counts twice."""
    half = int(np.ceil(3 * sigma))
    light = np.pad(image - np.median(image), half)
    column, row = np.rint(x).astype(np.int64), np.rint(y).astype(np.int64)
    boxes = sliding_window_view(light, (2 * half + 1, 2 * half + 1))[row, column]
    across, down = (axis_shares(at, np.full_like(at, sigma), 2 * half + 1)[0] for at in (x - column, y - row))
    shares = down[:, :, None] * across[:, None, :]
    return np.asarray(np.maximum((shares * boxes).sum(axis=(1, 2)) / (shares**2).sum(axis=(1, 2)), 0.0))
