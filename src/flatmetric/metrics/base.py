"""The metric type: a field of its family's result class, with a description and a formula of sums over frames."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.matching.matched import Matched
from flatmetric.options.scoring import MetricOptions

Better = Literal["lower", "higher", "zero", "one"]
Measure = float | str
"""A value, or the reason why there is none."""
Reasons = dict[str, str]
"""Why fields of a result are undefined, by name."""


@dataclass(frozen=True, slots=True)
class FormulaSettings:
    """What formulas need besides the sums: the dimension, whether both sides have photons, and the options."""

    dim: int
    photons_known: bool = False
    options: MetricOptions = field(default_factory=MetricOptions)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over a set of frames. Each field is one number, or a column with one number for each of many sets.

    Lengths in nm, errors are pred minus truth. Photons of matched rows are centred and scaled, so that their squares
    keep full precision.
    """

    n_truth: FloatArray  # molecules and detections that count, and matched pairs of them
    n_pred: FloatArray
    tp: FloatArray
    mass: FloatArray  # share of the true mass, and parts of the Flat Metric
    displaced: FloatArray
    missed: FloatArray
    false: FloatArray
    own_flat: FloatArray  # Flat Metric of each frame by itself, and how many frames have true mass
    frames_with_mass: FloatArray
    error_x: FloatArray  # errors of matched pairs, their absolute values and squares
    error_y: FloatArray
    error_z: FloatArray
    abs_x: FloatArray
    abs_y: FloatArray
    abs_z: FloatArray
    square_x: FloatArray
    square_y: FloatArray
    square_z: FloatArray
    photons_truth: FloatArray  # photons of matched pairs, their squares and products
    photons_pred: FloatArray
    photons_truth_square: FloatArray
    photons_pred_square: FloatArray
    photons_product: FloatArray
    nearest_truth: FloatArray  # squared distances to the nearest point of the other side, and how many points have one
    nearest_pred: FloatArray
    with_nearest_truth: FloatArray
    with_nearest_pred: FloatArray
    pairs: FloatArray  # of the best assignment: pairs, and their distances to the power p
    moved: FloatArray
    larger: FloatArray  # points of the side that has more of them, frame by frame
    own_gospa: FloatArray  # GOSPA and OSPA of each frame by itself
    own_ospa: FloatArray
    frames: FloatArray
    lower_bound: FloatArray  # of the Flat Metric
    frames_without_truth: FloatArray
    claims: FloatArray  # matched pairs whose detection claims an uncertainty
    claimed_weight: FloatArray  # 1 over its square; the errors times that, and the squares of the errors over the claim
    claimed_x: FloatArray
    claimed_y: FloatArray
    claimed_square_x: FloatArray
    claimed_square_y: FloatArray
    merged: FloatArray  # parts of `missed` and `false` next to a point that has another partner
    split: FloatArray
    bounds: FloatArray  # matched pairs with a precision bound; its square, and the squares of their lateral errors
    bound_square: FloatArray
    bounded_square: FloatArray
    settings: FormulaSettings

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], settings: FormulaSettings) -> Sums:
        """Sums by name; what is not given is 0.

        Examples
        --------
        >>> Sums.from_columns({"tp": np.array([3.0, 4.0])}, FormulaSettings(dim=2)).n_pred
        array(0.)
        """
        nothing = np.zeros(())
        return cls(**{name: np.asarray(columns.get(name, nothing)) for name in SUMMED}, settings=settings)

    @classmethod
    def from_table(cls, table: FloatArray, settings: FormulaSettings) -> Sums:
        """Sums from the columns of a (sets, quantities) array, in the order of `SUMMED`."""
        return cls.from_columns(dict(zip(SUMMED, table.T, strict=True)), settings)


SUMMED = tuple(column.name for column in dataclasses.fields(Sums) if column.name != "settings")
"""The names of all quantities that are summed over frames."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a metric has no value, and a test of whether this applies to a set of frames. A `quiet` one goes without
    saying: the terminal leaves such metrics out.
    """

    text: str
    applies: Callable[[Sums], Any]
    quiet: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What metrics that are not sums over frames are computed from: the matched tables, and how."""

    matched: Matched
    options: MetricOptions
    fov: tuple[float, float] | None


Formula = Callable[[Sums], FloatArray | float]
NEEDS_ROWS = "it needs all rows at once"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its `key` in the JSON, its `meaning` and `equation`, how it is computed and shown.

    A metric that adds over frames has a `formula` of the sums; any other is measured on the `Rows`, by `measure` or by
    its family. `undefined` lists the reasons why it may have no value; the first that applies is given. `interval`:
    whether a confidence interval makes sense, `limits` where it ends at the latest, `shown` whether pages list the
    metric. In the terminal it is printed in the `line` of this name, as `label`, whose braces hold the value.
    """

    key: str
    title: str
    meaning: str
    equation: str
    unit: str
    format: str
    better: Better | None
    formula: Formula | None
    measure: Callable[[Rows], Measure] | None
    undefined: tuple[Reason, ...]
    interval: bool
    limits: tuple[float, float]
    shown: bool
    line: str | None
    label: str

    @property
    def heading(self) -> str:
        """Title and unit, for the head of a column.

        Examples
        --------
        >>> from flatmetric.metrics.table import METRICS
        >>> METRICS["challenge.jaccard"].heading
        'Jaccard [%]'
        """
        return f"{self.title} [{self.unit}]" if self.unit else self.title

    @property
    def direction(self) -> str:
        """Which values are good.

        Examples
        --------
        >>> from flatmetric.metrics.table import METRICS
        >>> METRICS["challenge.jaccard"].direction, METRICS["calibration.xy"].direction
        ('higher is better', '1 is best')
        """
        return _DIRECTIONS[self.better]

    def show(self, value: float | None) -> str:
        """A value as text, without its unit; a dash where it is undefined.

        Examples
        --------
        >>> from flatmetric.metrics.table import METRICS
        >>> METRICS["challenge.jaccard"].show(71.0843), METRICS["challenge.jaccard"].show(None)
        ('71.08', '-')
        """
        return "-" if value is None else format(value, self.format)

    def show_interval(self, interval: tuple[float, float]) -> str:
        """An interval as text, without its unit."""
        return f"{self.show(interval[0])} to {self.show(interval[1])}"


_DIRECTIONS: dict[Better | None, str] = {
    "lower": "lower is better",
    "higher": "higher is better",
    "zero": "0 is best",
    "one": "1 is best",
    None: "for information",
}


def metric(
    title: str,
    formula: Formula | None = None,
    *undefined: Reason,
    meaning: str,
    equation: str,
    measure: Callable[[Rows], Measure] | None = None,
    unit: str = "",
    format: str = ".2f",
    better: Better | None = None,
    interval: bool = True,
    limits: tuple[float, float] = (-math.inf, math.inf),
    shown: bool = True,
    line: str | None = None,
    label: str | None = None,
) -> Any:
    """A field of a family's result class that is a metric; see `Metric`. One that is `shown` has a place in the
    terminal too: by default in the line "more", under its title.
    """
    described: dict[str, Any] = {"title": title, "meaning": meaning, "equation": equation, "unit": unit}
    described |= {"format": format, "better": better, "shown": shown, "limits": limits}
    described |= {"formula": formula, "measure": measure, "undefined": undefined}
    described["interval"] = interval and formula is not None
    described["line"] = line or ("more" if shown else None)
    described["label"] = label or f"{title} {{}} {unit}".rstrip()
    return dataclasses.field(metadata={"metric": described})


error = partial(metric, unit="nm", better="lower", limits=(0.0, math.inf))
fraction = partial(metric, format=".3f", better="higher", limits=(0.0, 1.0))
percent = partial(metric, unit="%", better="higher", limits=(0.0, 100.0))
count = partial(metric, format="d", interval=False, limits=(0.0, math.inf))

_AXES = {
    "xy": ("in the plane", "dx^2 + dy^2", "|dx| + |dy|"),
    "z": ("along z", "dz^2", "|dz|"),
    "xyz": ("in space", "dx^2 + dy^2 + dz^2", "|dx| + |dy| + |dz|"),
}


def rmse_of(axes: str, of: str, over: str) -> dict[str, Any]:
    """The words of a root mean square error, which several families have."""
    where, squares, _ = _AXES[axes]
    return {"meaning": f"root mean square error {where}, of {of}", "equation": f"sqrt(mean of {squares} over {over})"}


def mad_of(axes: str, of: str, over: str) -> dict[str, Any]:
    """The words of a mean absolute error."""
    where, _, sizes = _AXES[axes]
    return {"meaning": f"mean absolute error {where}, of {of}", "equation": f"mean of {sizes} over {over}"}


def metrics_of(part: str, family: type[Any]) -> dict[str, Metric]:
    """The metrics of a family by field; `part` is its name in the JSON.

    Examples
    --------
    >>> from flatmetric.metrics.rmsmd import Rmsmd
    >>> metrics_of("rmsmd", Rmsmd)["whole_set"].key
    'rmsmd.whole_set'
    """
    fields = dataclasses.fields(family)
    return {entry.name: Metric(f"{part}.{entry.name}", **entry.metadata["metric"]) for entry in fields}


T = TypeVar("T")


def evaluate(family: type[T], sums: Sums, measured: Mapping[str, Measure] | None = None) -> tuple[T, Reasons]:
    """The result of a family for one set of frames, and why fields of it are undefined.

    Metrics without a formula come from `measured`.

    Examples
    --------
    >>> from flatmetric.metrics.jaccard_rmse import ChallengeScore
    >>> sums = {"tp": 1.0, "n_truth": 2.0, "n_pred": 1.0, "error_x": 3.0, "square_x": 9.0, "square_y": 16.0}
    >>> result, reasons = evaluate(ChallengeScore, Sums.from_columns(sums, FormulaSettings(dim=2)))
    >>> result.jaccard, result.rmse_xy, result.rmse_z, reasons["rmse_z"]
    (50.0, 5.0, None, 'scored in 2D')
    """
    values: dict[str, float | None] = {}
    reasons: Reasons = {}
    for entry in dataclasses.fields(family):  # type: ignore[arg-type]  # every family is a dataclass
        name, told = entry.name, entry.metadata["metric"]
        value: Measure
        if told["formula"] is None:
            value = (measured or {}).get(name, NEEDS_ROWS)
        else:
            reason = next((reason.text for reason in told["undefined"] if reason.applies(sums)), None)
            with np.errstate(divide="ignore", invalid="ignore"):
                value = float(told["formula"](sums)) if reason is None else reason
        if isinstance(value, str):
            values[name], reasons[name] = None, value
        else:
            values[name] = int(value) if told["format"] == "d" else value
    return family(**values), reasons


def evaluate_many(metrics: Mapping[str, Metric], sums: Sums) -> dict[str, FloatArray]:
    """The metrics with `interval`, for many sets of frames at once, by key; NaN where undefined.

    In 2D, metrics that exist only in 3D are left out.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            key: np.asarray(entry.formula(sums))
            for key, entry in metrics.items()
            if entry.interval and entry.formula is not None and not (IN_2D in entry.undefined and IN_2D.applies(sums))
        }


IN_2D = Reason("scored in 2D", lambda s: s.settings.dim == 2, quiet=True)
NO_MATCH = Reason("no detection was matched", lambda s: s.tp == 0)
NO_TRUTH = Reason("no true molecule is left to compare with", lambda s: s.n_truth == 0)
