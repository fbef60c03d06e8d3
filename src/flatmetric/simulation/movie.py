"""Draw a data set: the molecules that shine in each frame, and their images."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.simulation.blinking import molecules_needed, on_fractions, stays_on
from flatmetric.simulation.datasets import PLACES, Dataset
from flatmetric.simulation.optics import channels_of, spots
from flatmetric.simulation.structures import STRUCTURES, Tubes, label

_MOST_STAYS = 50_000_000  # several numbers for each: a few GB
_DIMMEST = 0.0075  # of the data set's photons: dimmer rows are dropped, as in the challenge's truth
_BEAM_FLATNESS = 1.45  # 1: a Gaussian beam; that of the challenge is flatter in the middle
_TRUTH, _IMAGES = 0, 1  # random streams of their own


def structure(dataset: Dataset, seed: int) -> Tubes:
    """The structure of a data set.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> structure(named("MT3.N2.LD"), seed=1).radius
    12.5
    """
    return _structure(dataset, seed)[0]


def _structure(dataset: Dataset, seed: int) -> tuple[Tubes, np.random.Generator]:
    """The structure, and the random numbers that follow those it was drawn with."""
    rng = np.random.default_rng([seed, _TRUTH])
    if dataset.structure == PLACES:
        return Tubes((), 0.0), rng
    tubes, rng.bit_generator.state = _drawn(dataset.structure, max(dataset.width, dataset.height), dataset.depth, seed)
    return tubes, rng


@functools.lru_cache(maxsize=256)  # each has some ten kB
def _drawn(name: str, field: float, depth: float, seed: int) -> tuple[Tubes, Any]:
    """A structure and the state of its random numbers. Drawing takes a third of a second, and the same structure serves
    all densities and modalities.
    """
    rng = np.random.default_rng([seed, _TRUTH])
    tubes = STRUCTURES[name](field, depth, rng)
    for line in tubes.lines:
        line.flags.writeable = False
    return tubes, rng.bit_generator.state


def molecules(dataset: Dataset, seed: int, tubes: Tubes | None = None) -> Localizations:
    """The truth: a row for each molecule and frame in which it shines, with its id (from 1) and its photons.

    The density of shining molecules is that of the field; labels outside it are dropped. With `tubes`, of
    `structure`, the molecules sit on these: the same structure with new blinking.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> truth = molecules(named("MT3.N2.LD").with_frames(50), seed=1)
    >>> int(truth.frame.min()) >= 1, int(truth.frame.max()) <= 50
    (True, True)
    """
    tubes, rng = _structure(dataset, seed) if tubes is None else (tubes, np.random.default_rng([seed, _TRUTH]))
    expected, begin = molecules_needed(dataset.per_frame, dataset.frames, dataset.photophysics)
    if expected * dataset.photophysics.blinks > _MOST_STAYS:
        raise InputError(
            f"{dataset.name}: would take {expected:.3g} molecules that are on {dataset.photophysics.blinks:g} times; "
            "give fewer frames, a lower density, or shorter dark_time and fewer blinks"
        )
    if dataset.structure == PLACES:
        activated = dataset.scene.activated(begin, dataset.frames, expected, rng)
        count = len(activated)
        places = dataset.scene.drawn(count, rng)
    else:
        count = int(rng.poisson(expected))
        places = label(tubes, count, rng)
        activated = rng.uniform(begin, dataset.frames, count)
    # The mean of a log-normal of this median is 1.
    brightness = rng.lognormal(-(dataset.photons_spread**2) / 2, dataset.photons_spread, count)
    shining = on_fractions(stays_on(activated, dataset.photophysics, rng), dataset.frames)
    partial = dataset.photophysics.partial
    fraction = shining.fraction if partial == 1 else 1 - partial * (1 - shining.fraction)
    photons = dataset.photons * (brightness * _illumination(places, dataset))[shining.molecule] * fraction
    inside = np.asarray(((places[:, :2] >= 0) & (places[:, :2] < (dataset.width, dataset.height))).all(axis=1))
    kept = np.flatnonzero((photons >= _DIMMEST * dataset.photons) & inside[shining.molecule])
    molecule = shining.molecule[kept]
    _, ids = np.unique(molecule, return_inverse=True)
    x, y, z = places[molecule].T
    return Localizations(frame=shining.frame[kept], x=x, y=y, z=z, photons=photons[kept], id=ids + 1)


def _illumination(places: FloatArray, dataset: Dataset) -> FloatArray:
    """How much of the light in the middle of the field there is at each place."""
    if dataset.beam == 0:
        return np.ones(len(places))
    off_centre = np.hypot(*(places[:, :2] - (dataset.width / 2, dataset.height / 2)).T)
    return np.asarray(np.exp(-((off_centre**2 / (2 * dataset.beam**2)) ** _BEAM_FLATNESS)))


def images(
    truth: Localizations, dataset: Dataset, seed: int, frames: range | None = None
) -> Iterator[npt.NDArray[np.uint16]]:
    """The frames in order, each (rows, pixels) with rows along y, in counts of the camera; channels side by side.

    With `frames` (from 0) only those, the same as in the whole movie.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> dataset = named("MT3.N2.LD").with_frames(3)
    >>> [image.shape for image in images(molecules(dataset, 1), dataset, 1)]
    [(64, 64), (64, 64), (64, 64)]
    """
    assert truth.z is not None and truth.photons is not None
    order = np.argsort(truth.frame, kind="stable")
    xyz = np.column_stack([truth.x, truth.y, truth.z])[order]
    photons = truth.photons[order]
    channels, down = channels_of(dataset.optics), dataset.rows or dataset.pixels
    starts = np.searchsorted(truth.frame[order], np.arange(1, dataset.frames + 2))
    for frame in range(dataset.frames) if frames is None else frames:
        rows = slice(starts[frame], starts[frame + 1])
        lit = spots(
            xyz[rows], photons[rows], dataset.optics, pixels=dataset.pixels, pixel_size=dataset.pixel_size, rows=down
        )
        background = dataset.scene.background_at(frame, dataset.frames, dataset.background, (down, dataset.pixels))
        expected = background / channels + lit
        # Each frame has its own random stream, so it does not depend on the number of frames.
        random = np.random.default_rng([seed, _IMAGES, frame])
        yield dataset.camera.expose(expected, random, dataset.scene.readout_of(expected.shape))
