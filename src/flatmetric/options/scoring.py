"""How the metrics are computed, and all that a score depends on besides its files."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.options.base import assignments, group, numbers, option
from flatmetric.options.certainty import Certainty
from flatmetric.options.execution import Execution
from flatmetric.options.reading import LIMITS, ReadOptions
from flatmetric.options.rules import Protocol

Weights = Literal["uniform", "photons"]
AxisScale = tuple[float, ...] | None
DEFAULT_LAM = 125.0
"""Cost of a missed molecule or a false detection, nm, as in the paper's comparison with the challenge."""
BINS = 10
"""In how many bins a score is shown: as many as fit a screen."""
_MOST_DIGITS = 290  # of c^p: sums of such powers stay below the largest floating-point number, 1.8e308


@dataclass(frozen=True, kw_only=True)
class Imaging:
    """How molecules were imaged: what the precision bound needs besides their photons.

    `pixel_size` and `sigma`, the width of a spot in focus, in nm; `background` in photons per pixel and frame; `em` for
    an electron-multiplying camera; `quantum_efficiency` turns photons into electrons (1 where photons are counted as
    detected). With `focal_depth` (nm) spots widen with depth z like a Gaussian beam. Where the truth has columns sigma
    or background, these are used instead.

    Examples
    --------
    >>> Imaging.parse({"pixel_size": 100, "sigma": 110, "background": 60, "em": 1}).em
    True
    """

    pixel_size: float
    sigma: float
    background: float
    em: bool = False
    quantum_efficiency: float = 1.0
    focal_depth: float | None = None

    def __post_init__(self) -> None:
        for name, least, most in (("pixel_size", 1e-3, 1e6), ("sigma", 1e-3, 1e6), ("quantum_efficiency", 1e-3, 1.0)):
            if not least <= getattr(self, name) <= most:
                raise InputError(f"bound: {name} is {getattr(self, name):g}; give a number from {least:g} to {most:g}")
        if not 0 <= self.background < 1e9:
            raise InputError(f"bound: background is {self.background:g}; give photons per pixel from 0")
        if self.focal_depth is not None and not 0 < self.focal_depth < 1e6:
            raise InputError(f"bound: focal_depth is {self.focal_depth:g}; give a length in nm above 0")

    @classmethod
    def parse(cls, given: Mapping[str, float]) -> Imaging:
        """Imaging from numbers by name."""
        fields = {field.name: field.default for field in dataclasses.fields(cls)}
        for name in given:
            if name not in fields:
                raise InputError(f"bound has no {name!r}; it has {', '.join(sorted(fields))}")
        for name, default in fields.items():
            if default is dataclasses.MISSING and name not in given:
                raise InputError(f"bound lacks {name}; give pixel_size, sigma and background")
        values: dict[str, Any] = dict(given)
        values["em"] = bool(values.get("em", False))
        return cls(**values)


def _imaging(text: str) -> Imaging:
    values = {}
    for name, value in assignments("bound")(text).items():
        (values[name],) = numbers(f"bound: {name}")(value)
    return Imaging.parse(values)


@dataclass(frozen=True)
class Link:
    """Detections within `radius` nm of each other, with at most `gap` empty frames in between, are one molecule.

    Examples
    --------
    >>> Link(50, -1)
    Traceback (most recent call last):
    flatmetric.errors.InputError: link: the gap is -1; give a whole number of frames from 0
    """

    radius: float
    gap: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.radius < 1e6:
            raise InputError(f"link: the radius is {self.radius:g}; give a length in nm above 0")
        if int(self.gap) != self.gap or not 0 <= self.gap < 1e9:
            raise InputError(f"link: the gap is {self.gap:g}; give a whole number of frames from 0")


def _link(text: str) -> Link:
    radius, *gap = numbers("link")(text)
    if len(gap) != 1 or gap[0] != int(gap[0]):
        raise InputError(f"link is {text!r}; give a radius in nm and a whole number of frames, as 50,1")
    return Link(radius, int(gap[0]))


@dataclass(frozen=True, kw_only=True)
class MetricOptions:
    """How the metrics are computed.

    Examples
    --------
    >>> MetricOptions(lam=100).cutoff
    200.0
    """

    SECTION: ClassVar[str] = "Metrics"

    lam: float = option(DEFAULT_LAM, "Cost of a missed molecule or a false detection, nm.", metavar="NM")
    weights: Weights = option(
        "uniform", "uniform, or photons to weigh molecules by their photons.", metavar="NAME", accepts="str"
    )
    axis_scale: AxisScale = option(
        None,
        "Factor for each axis in the Flat Metric, e.g. 1,1,0.5.",
        metavar="SX,SY[,SZ]",
        parse=numbers("axis_scale"),
        accepts="Sequence[float] | None",
    )
    alpha_xy: float = option(1.0, "Weight of the lateral error in the efficiency, 1/nm.", metavar="W")
    alpha_z: float = option(0.5, "Weight of the axial error in the efficiency, 1/nm.", metavar="W")
    gospa_p: float = option(1.0, "Order of GOSPA and OSPA.", metavar="P")
    gospa_c: float | None = option(None, "Cutoff of GOSPA and OSPA, nm; default: twice lam.", metavar="NM")
    bound: Imaging | None = option(
        None,
        "Also compare the RMSE with the Cramer-Rao bound: pixel_size and sigma in nm, background in photons per "
        "pixel, em=1 for an EMCCD, and if known quantum_efficiency and focal_depth (nm).",
        metavar="pixel_size=...,sigma=...,background=...",
        parse=_imaging,
    )
    link: Link | None = option(
        None,
        "Also link detections over frames: within RADIUS nm, over at most GAP empty frames.",
        metavar="RADIUS,GAP",
        parse=_link,
    )
    images: bool = option(False, "Also compare rendered images: SNR and Fourier ring correlation.")

    def __post_init__(self) -> None:
        for name in ("lam", "alpha_xy", "alpha_z", "gospa_p", "gospa_c"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if name == "gospa_c" and value is None else _finite(value, name))
        if not self.lam > 0:
            raise InputError(f"lam is {self.lam:g}; give a positive length in nm")
        _check_order(self.gospa_p, self.cutoff)
        if self.weights not in ("uniform", "photons"):
            raise InputError(f"weights is {self.weights!r}; give uniform or photons")
        for name, kind in (("bound", Imaging), ("link", Link)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InputError(f"{name} is {value!r:.60}; give {kind.__name__}(...)")
        if self.axis_scale is not None:
            try:
                scale = tuple(float(factor) for factor in np.atleast_1d(self.axis_scale))
            except (TypeError, ValueError) as error:
                raise InputError(f"axis_scale: {error}") from error
            object.__setattr__(self, "axis_scale", scale)

    @property
    def cutoff(self) -> float:
        """The cutoff of GOSPA and OSPA, nm."""
        return 2 * self.lam if self.gospa_c is None else self.gospa_c


def _finite(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}; give a finite number")
    return float(value)


def _check_order(p: float, c: float) -> None:
    """The order of GOSPA must be at least 1 and its cutoff a positive length in nm."""
    if not 1 <= p < math.inf:
        raise InputError(f"the order p of GOSPA and OSPA is {p:g}; give a number of at least 1")
    if not 0 < c < math.inf:
        raise InputError(f"the cutoff c of GOSPA and OSPA is {c:g}; give a positive length in nm")
    if abs(p * math.log10(c)) > _MOST_DIGITS:
        raise InputError(
            f"the cutoff {c:g} nm to the order {p:g} of GOSPA and OSPA is out of range; give a lower order"
        )


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """The options of `score`: how both files are read, by which rules they are compared, and what is computed."""

    metrics: MetricOptions = group(MetricOptions)
    rules: Protocol = group(Protocol)
    certainty: Certainty = group(Certainty, only=("ci", "block"), ci=None)
    check: bool = option(
        True, "Check the result for mistakes: frames, axes, unit, scale, shift and others.", section="Check"
    )
    pred: ReadOptions = group(ReadOptions, file="RESULT")
    truth: ReadOptions = group(
        ReadOptions, file="TRUTH", prefix="truth_", shared=("pixel_size", "skip_bad_rows"), without=LIMITS
    )
    execution: Execution = group(Execution, only=("threads",))

    def for_one(self, threads: int) -> ScoreOptions:
        """The same options for one of many results: scored in so many threads, and without intervals of its own."""
        certainty = dataclasses.replace(self.certainty, ci=None)
        return dataclasses.replace(self, certainty=certainty, execution=Execution(threads=threads))

    def settings(self) -> dict[str, Any]:
        """Plain values that differ whenever scores or ranks could: the key of the store is made of them."""
        content = plain(self.metrics) | {"protocol": self.rules.to_dict(), "wobble": None}
        if self.rules.wobble is not None:
            content["wobble"] = [column.tolist() for column in plain(self.rules.wobble).values()]
        for name in ("bound", "link"):
            content[name] = None if content[name] is None else plain(content[name])
        content["read"] = [str(self.truth), str(self.pred)]
        content |= {"check": self.check}
        certainty = plain(self.certainty)
        return content | {"certainty": {"level": certainty.pop("ci"), **certainty}, "fov_given": self.rules.fov_given}


def plain(record: Any) -> dict[str, Any]:
    """The fields of a dataclass as a dict, without looking into them.

    Examples
    --------
    >>> plain(Link(50.0, 1))
    {'radius': 50.0, 'gap': 1}
    """
    return {entry.name: getattr(record, entry.name) for entry in dataclasses.fields(record)}


@dataclass(frozen=True, kw_only=True)
class RangeOptions(ScoreOptions):
    """The options of `score_in_ranges`: no intervals and no rendered images, which need all rows at once."""

    metrics: MetricOptions = group(MetricOptions, without=("images",))
    certainty: Certainty = group(Certainty, only=(), ci=None)
    execution: Execution = group(Execution, only=("jobs", "rows_at_a_time", "scratch"))
