"""When molecules shine: not yet activated, on, dark, bleached; and for which part of each frame they are on."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError

_LIFETIMES_BEFORE = 8.0  # from the start of activation to the first frame, so that the stack starts in steady state


@dataclass(frozen=True, slots=True)
class Photophysics:
    """Four states. A molecule is activated once, then goes between on and dark until it bleaches.

    `on_time` and `dark_time` are the mean stays in frames, both exponential; `blinks` is the mean number of times that
    a molecule is on (geometric: after each time it bleaches with probability 1/blinks, else it turns dark). A molecule
    that is on for a part of a frame is dimmer there: with `partial` 1 in proportion, with 0 not at all, as if frames
    were lit by flashes. The defaults are those of the SMLM 2016 Challenge.
    """

    on_time: float = 1.0
    dark_time: float = 2.5
    blinks: float = 1.5
    partial: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.partial <= 1:
            raise InputError(f"partial is {self.partial}; give a number from 0 to 1")
        for name, least in (("on_time", 0.0), ("dark_time", 0.0), ("blinks", 1.0)):
            value = getattr(self, name)
            if not least <= value < 1e6 or (name != "blinks" and value == 0):
                least_words = "from 1" if name == "blinks" else "above 0"
                raise InputError(f"{name} is {value}; give a number {least_words} and below 1e6")

    @property
    def frames_on(self) -> float:
        """The mean number of frames in which a molecule is seen.

        A stay of length t touches t + 1 frames on average. A frame is counted twice if the next stay begins in the
        frame in which the last one ended, which has probability 1 - E[min(dark time, 1)].
        """
        again_in_the_frame = 1 - self.dark_time * -math.expm1(-1 / self.dark_time)
        return self.blinks * (self.on_time + 1) - (self.blinks - 1) * again_in_the_frame

    @property
    def lifetime(self) -> float:
        """Frames from activation to bleaching, on average."""
        return self.blinks * self.on_time + (self.blinks - 1) * self.dark_time


@dataclass(frozen=True, slots=True, eq=False)
class Stays:
    """Times during which molecules are on, in frames: frame k lasts from k - 1 to k."""

    molecule: IntArray
    start: FloatArray
    end: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OnFractions:
    """The fraction of each frame, above 0 and up to 1, for which a molecule is on; by frame, then by molecule."""

    molecule: IntArray
    frame: IntArray
    fraction: FloatArray


def molecules_needed(per_frame: float, frames: int, physics: Photophysics) -> tuple[float, float]:
    """How many molecules give `per_frame` shining ones in each frame, and when the activation begins (frames, below 0).

    Examples
    --------
    >>> needed, begin = molecules_needed(9.0, 100, Photophysics(on_time=2, dark_time=20, blinks=3))
    >>> round(needed, 1), begin
    (470.6, -368.0)
    """
    begin = -_LIFETIMES_BEFORE * physics.lifetime
    return per_frame / physics.frames_on * (frames - begin), begin


def stays_on(activated: FloatArray, physics: Photophysics, rng: np.random.Generator) -> Stays:
    """All times that molecules are on, given when each is activated (frames).

    Examples
    --------
    >>> stays = stays_on(np.zeros(1000), Photophysics(on_time=2, dark_time=20, blinks=3), np.random.default_rng(0))
    >>> bool(abs(np.mean(stays.end - stays.start) - 2) < 0.2), bool(abs(len(stays.start) / 1000 - 3) < 0.3)
    (True, True)
    """
    times = rng.geometric(1 / physics.blinks, len(activated))
    molecule = np.repeat(np.arange(len(activated)), times)
    on = rng.exponential(physics.on_time, len(molecule))
    dark = rng.exponential(physics.dark_time, len(molecule))
    first = np.cumsum(times) - times
    passed = np.cumsum(on + dark)
    # The clock of each molecule starts at its activation: subtract the time of the molecules before it.
    before = passed[first] - (on + dark)[first]
    start = activated[molecule] + passed - (on + dark) - np.repeat(before, times)
    return Stays(molecule, start, start + on)


def on_fractions(stays: Stays, frames: int) -> OnFractions:
    """The fraction of each of the frames 1 to `frames` for which every molecule is on.

    Examples
    --------
    >>> stays = Stays(np.array([0]), np.array([0.75]), np.array([2.5]))
    >>> seen = on_fractions(stays, frames=2)
    >>> seen.frame.tolist(), seen.fraction.tolist()
    ([1, 2], [0.25, 1.0])
    """
    start, end = np.clip(stays.start, 0, frames), np.clip(stays.end, 0, frames)
    first, last = np.floor(start).astype(np.int64), np.ceil(end).astype(np.int64)
    touched = np.where(end > start, last - first, 0)
    stay = np.repeat(np.arange(len(start)), touched)
    frame = first[stay] + np.arange(len(stay)) - np.repeat(np.cumsum(touched) - touched, touched) + 1
    fraction = np.minimum(end[stay], frame) - np.maximum(start[stay], frame - 1)
    # A molecule that was on twice within a frame is there once.
    molecules = int(stays.molecule.max(initial=0)) + 1
    key, place = np.unique(frame * molecules + stays.molecule[stay], return_inverse=True)
    total = np.bincount(place, fraction, minlength=len(key))
    return OnFractions(key % molecules, key // molecules, np.minimum(total, 1.0))
