"""The Flat Metric of a data set: pooled over all frames, in its parts, and as a mean over frames."""

from __future__ import annotations

from dataclasses import dataclass

from flatmetric.metrics.base import NO_TRUTH, Reason, metric

_NO_MASS = Reason("no frame has true mass", lambda s: s.frames_with_mass == 0)


@dataclass(frozen=True, slots=True)
class FlatScore:
    """The Flat Metric pooled over all frames, nm per true molecule, its parts, its proof, and the mean over frames.

    `frame_mean` is the mean of each frame's own Flat Metric over the frames that have a true molecule;
    `frames_without_truth` have only detections.
    """

    value: float | None = metric(
        "Flat Metric",
        lambda s: (s.displaced + s.missed + s.false) / s.mass,
        unit="nm",
        better="lower",
        undefined=(NO_TRUTH,),
    )
    displaced: float | None = metric(
        "displaced", lambda s: s.displaced / s.mass, unit="nm", better="lower", undefined=(NO_TRUTH,)
    )
    missed: float | None = metric(
        "missed", lambda s: s.missed / s.mass, unit="nm", better="lower", undefined=(NO_TRUTH,)
    )
    false: float | None = metric("false", lambda s: s.false / s.mass, unit="nm", better="lower", undefined=(NO_TRUTH,))
    lower_bound: float | None = metric(
        "lower bound", lambda s: s.lower_bound / s.mass, unit="nm", undefined=(NO_TRUTH,), interval=False, shown=False
    )
    gap: float | None = metric(
        "gap",
        lambda s: (s.displaced + s.missed + s.false) / s.mass - s.lower_bound / s.mass,
        unit="nm",
        format=".1g",
        better="zero",
        undefined=(NO_TRUTH,),
        interval=False,
        shown=False,
    )
    frame_mean: float | None = metric(
        "Flat Metric, mean over frames",
        lambda s: s.own_flat / s.frames_with_mass,
        unit="nm",
        better="lower",
        undefined=(NO_TRUTH, _NO_MASS),
    )
    frames_without_truth: int = metric(
        "frames without truth", lambda s: s.frames_without_truth, format="d", interval=False, shown=False
    )
