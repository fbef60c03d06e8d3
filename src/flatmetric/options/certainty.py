"""How intervals and p-values are computed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.options.base import option

_FEWEST_DRAWS = 100  # fewer can't give a p-value of 0.01


@dataclass(frozen=True)
class Certainty:
    """The confidence level of intervals, `ci`, in percent (None: no intervals are asked for), the random draws behind
    simultaneous p-values, and the length of an independent block.

    Examples
    --------
    >>> Certainty(seed=-1)
    Traceback (most recent call last):
    flatmetric.errors.InputError: the seed is -1; give a whole number from 0
    """

    SECTION: ClassVar[str] = "Confidence"

    ci: float | None = option(95.0, "Level of the confidence intervals, percent.", metavar="PERCENT")
    resamples: int = option(10_000, "Random draws for simultaneous p-values.", metavar="N")
    seed: int = option(0, "Seed of these draws; the same seed gives the same p-values.", metavar="N")
    block: int | None = option(
        None, "Length of an independent block, frames; default: estimated from the data.", metavar="FRAMES"
    )

    def __post_init__(self) -> None:
        for name, optional in (("ci", True), ("resamples", False), ("seed", False), ("block", True)):
            value, whole = getattr(self, name), name != "ci"
            fits = isinstance(value, (int, np.integer)) if whole else isinstance(value, (int, float, np.number))
            if isinstance(value, bool) or not (fits or (optional and value is None)):
                raise InputError(f"{name} is {value!r:.40}; give a {'whole ' if whole else ''}number")
        if self.seed < 0:
            raise InputError(f"the seed is {self.seed}; give a whole number from 0")
        if not 1 <= self.level < 100:
            raise InputError(f"the confidence level is {self.level:g}; give a percentage from 1 to below 100, e.g. 95")
        if self.resamples < _FEWEST_DRAWS:
            raise InputError(f"the number of resamples is {self.resamples}; give at least {_FEWEST_DRAWS}")
        if self.block is not None and self.block < 1:
            raise InputError(f"the block is {self.block} frames; give at least 1")

    @property
    def level(self) -> float:
        """The confidence level in percent, also where no intervals are asked for: pages show them anyway."""
        return Certainty().level if self.ci is None else self.ci
