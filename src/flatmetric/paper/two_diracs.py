"""Figure 2: the Flat Metric between two single points, against their distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric._dataclass import dataclass
from flatmetric.plots import style
from flatmetric.transport.flat_metric import flat_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRUTH_MASS = 0.85  # as in the paper
PRED_MASS = 0.55  # as in the paper
LAM = 0.8  # as in the paper
LONGEST = 2.4  # three times lam: the flat end shows


@dataclass(frozen=True, slots=True, eq=False)
class TwoDiracs:
    """Flat Metric of two points at each distance, by the solver and in closed form; all in one unit of length."""

    distance: FloatArray
    flat_metric: FloatArray
    closed_form: FloatArray

    @property
    def largest_difference(self) -> float:
        """How far the solver is from the closed form, at most."""
        return float(np.abs(self.flat_metric - self.closed_form).max())


def two_diracs(steps: int = 241) -> TwoDiracs:
    """Solve for `steps` distances from 0 to three times lam, with the paper's masses.

    Examples
    --------
    >>> result = two_diracs(steps=4)
    >>> result.flat_metric.round(3).tolist()
    [0.24, 0.68, 1.12, 1.12]
    >>> result.largest_difference < 1e-12
    True
    """
    distance = np.linspace(0.0, LONGEST, steps)
    values = [
        flat_metric([[0.0]], [[d]], lam=LAM, truth_weights=[TRUTH_MASS], pred_weights=[PRED_MASS]).value
        for d in distance
    ]
    carried = min(TRUTH_MASS, PRED_MASS) * np.minimum(distance, 2 * LAM)
    return TwoDiracs(distance, np.array(values), abs(TRUTH_MASS - PRED_MASS) * LAM + carried)


def draw(result: TwoDiracs) -> Figure:
    """The sketch of the two points and the curve below it.

    Examples
    --------
    >>> len(draw(two_diracs(steps=4)).axes)
    2
    """
    with style.house_style():
        figure = style.new_figure(4.6, 4.4)
        above, below = figure.subplots(2, 1, height_ratios=[1, 2])
        _sketch(above)
        _curve(below, result)
    return figure


def _sketch(axes: Axes) -> None:
    at = (0.2, 1.3)
    named = (TRUTH_MASS, "$a_1 = 0.85$", style.TRUTH, "$x_1$"), (PRED_MASS, "$b_1 = 0.55$", style.PRED, "$y_1$")
    for x, (mass, name, color, place) in zip(at, named, strict=True):
        axes.annotate("", (x, mass), (x, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2})
        axes.annotate(name, (x, mass), (6, -4), textcoords="offset points", color=color)
        axes.annotate(place, (x, 0), (0, -13), textcoords="offset points", ha="center", color=color)
    axes.axhline(0, color=style.GREY, linewidth=0.8)
    axes.annotate("", (at[1], 0.18), (at[0], 0.18), arrowprops={"arrowstyle": "<->", "color": style.GREY})
    axes.annotate("$|x_1 - y_1|$", (sum(at) / 2, 0.18), (0, 4), textcoords="offset points", ha="center")
    axes.set(xlim=(0, LONGEST), ylim=(-0.25, 1.05))
    axes.axis("off")


def _curve(axes: Axes, result: TwoDiracs) -> None:
    axes.plot(result.distance, result.closed_form, color=style.ORANGE, linewidth=4, label="closed form")
    axes.plot(result.distance, result.flat_metric, color=style.BLACK, linewidth=1.2, label="solver")
    low, high = (TRUTH_MASS - PRED_MASS) * LAM, (TRUTH_MASS + PRED_MASS) * LAM
    axes.axvline(2 * LAM, color=style.GREY, linestyle=":", linewidth=1)
    axes.set_xticks([0, LAM, 2 * LAM, LONGEST], ["0", "$\\lambda$ = 0.8", "$2\\lambda$", f"{LONGEST:g}"])
    axes.set_yticks([low, high], [f"$(a_1 - b_1)\\lambda$\n{low:g}", f"$(a_1 + b_1)\\lambda$\n{high:g}"])
    axes.set(xlim=(0, LONGEST), ylim=(0, 1.25), xlabel="$|x_1 - y_1|$", ylabel="Flat Metric")
    axes.legend(loc="lower right")
