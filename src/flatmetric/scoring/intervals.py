"""Confidence intervals of a score, as `statistics` computes them."""

from __future__ import annotations

from flatmetric._dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Intervals:
    """Confidence intervals of a score's metrics, by their key in the JSON; None where the data give none.

    They are for this structure, with new blinking and new noise. `block` is the length of an independent block in
    frames, `blocks` their number, `unit` what was taken as independent: "blocks" or
    "molecules". `remark` warns when not to rely on them.
    """

    level: float
    resamples: int
    seed: int
    block: int
    blocks: int
    unit: str
    remark: str | None
    intervals: dict[str, tuple[float, float] | None]
