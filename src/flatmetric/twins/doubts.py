"""What makes a movie unfit for a twin, or a twin of it doubtful: one sentence for each."""

from __future__ import annotations

import math

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.errors import InputError
from flatmetric.localizers.base import PER_MAD
from flatmetric.localizers.photon_transfer import photon_transfer
from flatmetric.localizers.registry import StackCamera
from flatmetric.stacks import Stack

_FRAMES = 120  # that are looked at, in a row where order matters
_ZEROS = 0.02  # of the pixels: a camera that writes them has no offset, or what was below was cut off
_FULL = 20  # pixels at the highest value
_COARSE = 1.0  # noise: steps between numbers that are as large hide dim molecules
_STRONG = 5.0  # standard errors: two frames that share molecules
_PAIRS, _LIFT = 30, 3.0  # such pairs, and how much more frequent they must be among neighbours
_SAME = 0.35  # correlation of two halves of the field: two views of the same molecules


def doubts_about(stack: Stack, camera: StackCamera) -> list[str]:
    """What is wrong with a movie as far as it matters for a twin; raises where a twin would mislead."""
    last = min(stack.frames, _FRAMES)
    counts = np.stack([image for _, image in stack.images(range(1, last + 1))])
    kind = counts.dtype
    counts = counts.astype(np.float64)
    noise = PER_MAD * float(np.median(np.abs(np.diff(counts, axis=0)))) / math.sqrt(2) if len(counts) > 1 else 0.0
    _refuse_without_background(stack, counts, noise)
    found = [_full_pixels(counts, kind), _coarse(counts, noise), _resampled(stack, camera)]
    left = counts - np.median(counts, axis=0)
    found += [_two_views(left), _order(left)]
    return [f"{stack.path}: {sentence}" for sentence in found if sentence is not None]


def _refuse_without_background(stack: Stack, counts: FloatArray, noise: float) -> None:
    zeros = float((counts == 0).mean())
    if zeros > _ZEROS and counts.min() >= 0 and np.median(counts) <= 2 * max(noise, 1.0):
        state = f"{100 * zeros:.0f} % of its pixels are 0"
    elif counts.min() < 0 and abs(float(np.median(counts))) < max(noise, 1e-9):
        state = "its pixels lie around 0"
    else:
        return
    raise InputError(
        f"{stack.path}: {state}, so its background was taken away, and with it the light that the noise is made of; "
        "give the movie as the camera wrote it"
    )


def _full_pixels(counts: FloatArray, kind: np.dtype[np.generic]) -> str | None:
    """Whether bright pixels end at one value."""
    top = float(counts.max())
    full = counts == top
    below = (counts > 0.97 * top) & ~full
    if full.sum() < _FULL or full.sum() < 2 * below.sum():
        return None
    share = 100 * float(full.any(axis=(1, 2)).mean())
    return (
        f"{share:.0f} % of the frames have pixels that are full at {top:g} counts ({kind.name}); bright molecules look "
        "wider and dimmer than they are, in the movie and so in the twin"
    )


def _coarse(counts: FloatArray, noise: float) -> str | None:
    """Whether numbers are so far apart that noise is lost between them, as in 8 bits."""
    values = np.unique(counts[: max(1, len(counts) // 4)])
    if len(values) < 3:
        return None
    step = float(np.median(np.diff(values[: max(3, len(values) // 2)])))
    if step < _COARSE * noise and noise > 0:
        return None
    return (
        f"its numbers lie {step:g} apart, which is more than the noise of {noise:.2g}: it was compressed, and dim "
        "molecules vanish; programs may do better on the twin than on the movie"
    )


def _resampled(stack: Stack, camera: StackCamera) -> str | None:
    if photon_transfer(stack, camera.offset) is not None:
        return None
    return (
        "its noise does not grow with its light as that of photons; it may be filtered or resampled, and then programs "
        "do worse on the twin than on the movie"
    )


def _two_views(left: FloatArray) -> str | None:
    """Whether two halves of the field show the same molecules at the same time."""
    for axis, name in ((2, "side by side"), (1, "above each other")):
        half = left.shape[axis] // 2
        one, other = np.take(left, range(half), axis), np.take(left, range(half, 2 * half), axis)
        alike = _best_correlation(one, other)
        if alike > _SAME:
            return (
                f"its halves {name} show the same molecules (correlation {alike:.2f}); give one channel, or every "
                "molecule counts twice"
            )
    return None


def _best_correlation(one: FloatArray, other: FloatArray) -> float:
    """The correlation of two movies at the best shift of a few pixels, over all frames."""
    spectrum = (np.conj(np.fft.rfft2(one)) * np.fft.rfft2(other)).sum(axis=0)
    together = np.fft.irfft2(spectrum, one.shape[1:])
    near = np.concatenate([together[:6], together[-5:]])
    near = np.concatenate([near[:, :6], near[:, -5:]], axis=1)
    return float(near.max() / max(math.sqrt(float((one**2).sum() * (other**2).sum())), 1e-12))


def _order(left: FloatArray) -> str | None:
    """Whether frames that share molecules are neighbours, as they are in the order in which they were taken."""
    if len(left) < 20:
        return None
    flat = left.reshape(len(left), -1)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    alike = flat @ flat.T
    first, second = np.triu_indices(len(left), 1)
    pairs = alike[first, second]
    spread = PER_MAD * float(np.median(np.abs(pairs - np.median(pairs))))
    strong = pairs - np.median(pairs) > _STRONG * max(spread, 1e-12)
    beside = second - first == 1
    if strong.sum() < _PAIRS or strong[beside].mean() > _LIFT * strong.mean():
        return None
    return (
        "frames that share molecules are no neighbours, so they may be in the wrong order; the time that molecules are "
        "on is then wrong"
    )
