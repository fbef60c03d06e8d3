"""The Flat Metric of a data set: pooled over all frames, in its parts, and as a mean over frames."""

from __future__ import annotations

from functools import partial

from flatmetric._dataclass import dataclass
from flatmetric.metrics.base import NO_TRUTH, Reason, count, error

_NO_MASS = Reason("no frame has true mass", lambda s: s.frames_with_mass == 0)
_proof = partial(error, interval=False, shown=False)


@dataclass(frozen=True, slots=True)
class FlatScore:
    """The Flat Metric pooled over all frames, nm per true molecule, its parts, its proof, and the mean over frames."""

    value: float | None = error(
        "Flat Metric",
        lambda s: (s.displaced + s.missed + s.false) / s.mass,
        NO_TRUTH,
        meaning="least cost of turning the detections into the true molecules, per true molecule, all frames together",
        equation="displaced + missed + false; with photons as weights, shares of photons count instead of molecules",
        line="budget",
    )
    displaced: float | None = error(
        "displaced",
        lambda s: s.displaced / s.mass,
        NO_TRUTH,
        meaning="part from molecules that were detected at another place",
        equation="sum of distances moved / molecules",
        line="budget",
    )
    missed: float | None = error(
        "missed",
        lambda s: s.missed / s.mass,
        NO_TRUTH,
        meaning="part from molecules without a detection",
        equation="lam x missed / molecules",
        line="budget",
    )
    false: float | None = error(
        "false",
        lambda s: s.false / s.mass,
        NO_TRUTH,
        meaning="part from detections without a molecule",
        equation="lam x false / molecules",
        line="budget",
    )
    merged: float | None = error(
        "missed, merged with another",
        lambda s: s.merged / s.mass,
        NO_TRUTH,
        meaning="part of missed whose molecules lie within 2 lam of a detection that belongs to another molecule: one "
        "detection for two",
        equation="lam x merged / molecules",
        shown=False,
    )
    split: float | None = error(
        "false, split off another",
        lambda s: s.split / s.mass,
        NO_TRUTH,
        meaning="part of false whose detections lie within 2 lam of a molecule that belongs to another detection: two "
        "detections for one",
        equation="lam x split / molecules",
        shown=False,
    )
    lower_bound: float | None = _proof(
        "lower bound",
        lambda s: s.lower_bound / s.mass,
        NO_TRUTH,
        meaning="the value of the dual problem, which no plan can undercut",
        equation="potentials of molecules - those of detections, summed / molecules",
        better=None,
    )
    gap: float | None = _proof(
        "gap",
        lambda s: (s.displaced + s.missed + s.false) / s.mass - s.lower_bound / s.mass,
        NO_TRUTH,
        meaning="distance between value and lower bound; 0 proves the value",
        equation="value - lower bound",
        better="zero",
        format=".1g",
        limits=(float("-inf"), float("inf")),
        line="frames",
        label="gap to the lower bound {} nm",
    )
    frame_mean: float | None = error(
        "Flat Metric, mean over frames with truth",
        lambda s: s.own_flat / s.frames_with_mass,
        NO_TRUTH,
        _NO_MASS,
        meaning="mean of the Flat Metric of each frame by itself, over the frames that have a true molecule",
        equation="mean of value over frames with truth",
        line="frames",
        label="mean of the Flat Metric over frames with truth {} nm",
    )
    frames_without_truth: int = count(
        "frames with detections and no truth",
        lambda s: s.frames_without_truth,
        meaning="frames that have detections and no true molecule; these detections count as false",
        equation="count",
        shown=False,
        line="frames",
        label="{} frames with detections and no truth",
    )
