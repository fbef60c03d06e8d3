"""The options of `check`."""

from __future__ import annotations

import os

from flatmetric._dataclass import dataclass
from flatmetric.options.base import group, option
from flatmetric.options.execution import Execution
from flatmetric.options.reading import LIMITS, ReadOptions
from flatmetric.options.rules import Protocol
from flatmetric.options.scoring import MetricOptions


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of `check`."""

    metrics: MetricOptions = group(MetricOptions, only=("lam",))
    rules: Protocol = group(Protocol, only=("dim", "fov", "border", "first_frame", "last_frame"))
    pred: ReadOptions = group(ReadOptions, file="RESULT")
    truth: ReadOptions = group(
        ReadOptions, file="TRUTH", prefix="truth_", shared=("pixel_size", "skip_bad_rows"), without=LIMITS
    )
    execution: Execution = group(Execution, only=("threads",))
    apply: str | os.PathLike[str] | None = option(
        None, "Write RESULT with everything fixed that can be.", section="Output", metavar="OUT"
    )
