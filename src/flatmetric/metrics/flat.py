"""The Flat Metric of a data set: pooled over all frames, in its parts, and as a mean over frames."""

from __future__ import annotations

from dataclasses import dataclass

from flatmetric.metrics.base import NO_TRUTH, Reason, count, error

_NO_MASS = Reason("no frame has true mass", lambda s: s.frames_with_mass == 0)


@dataclass(frozen=True, slots=True)
class FlatScore:
    """The Flat Metric pooled over all frames, nm per true molecule, its parts, its proof, and the mean over frames.

    `merged` is the part of `missed` whose molecules have a detection within 2 lam that belongs to another molecule: one
    detection for two. `split` is the part of `false` whose detections have a molecule within 2 lam that belongs to
    another detection: two detections for one. `frame_mean` is the mean of each frame's own Flat Metric over the frames
    that have a true molecule: others have no such value and are left out. `frames_without_truth` is the number of
    frames that have detections and no true molecule; what is detected there counts in `false`.
    """

    value: float | None = error("Flat Metric", lambda s: (s.displaced + s.missed + s.false) / s.mass, NO_TRUTH)
    displaced: float | None = error("displaced", lambda s: s.displaced / s.mass, NO_TRUTH)
    missed: float | None = error("missed", lambda s: s.missed / s.mass, NO_TRUTH)
    false: float | None = error("false", lambda s: s.false / s.mass, NO_TRUTH)
    merged: float | None = error("missed, merged with another", lambda s: s.merged / s.mass, NO_TRUTH, shown=False)
    split: float | None = error("false, split off another", lambda s: s.split / s.mass, NO_TRUTH, shown=False)
    lower_bound: float | None = error(
        "lower bound", lambda s: s.lower_bound / s.mass, NO_TRUTH, better=None, interval=False, shown=False
    )
    gap: float | None = error(
        "gap",
        lambda s: (s.displaced + s.missed + s.false) / s.mass - s.lower_bound / s.mass,
        NO_TRUTH,
        better="zero",
        interval=False,
        shown=False,
    )
    frame_mean: float | None = error(
        "Flat Metric, mean over frames with truth", lambda s: s.own_flat / s.frames_with_mass, NO_TRUTH, _NO_MASS
    )
    frames_without_truth: int = count(
        "frames with detections and no truth", lambda s: s.frames_without_truth, shown=False
    )
