"""Figure 2: the Flat Metric between two single points, against their distance."""

from __future__ import annotations

import math
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
_ELSEWHERE = (0.85, 0.5)  # the other point of the drawing: well within 2 lam
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
    """The two points in the plane, and the curve beside them.

    Examples
    --------
    >>> len(draw(two_diracs(steps=4)).axes)
    2
    """
    with style.house_style():
        figure = style.new_figure(7.0, 3.0)
        left, right = figure.subplots(1, 2, width_ratios=[3, 4])
        _plane(left)
        _curve(right, result)
    return figure


def _plane(axes: Axes) -> None:
    """Both points in the plane, of areas like their masses: within the dotted circle of 2 lam one goes to the other."""
    from matplotlib.patches import Circle

    (x, y), reach = _ELSEWHERE, 2 * LAM
    axes.add_patch(Circle((0, 0), reach, fill=False, edgecolor=style.GREY, linestyle=":", linewidth=1.4))
    edge = (-reach * math.sqrt(0.5), reach * math.sqrt(0.5))
    axes.annotate("", edge, (0, 0), arrowprops={"arrowstyle": "->", "color": style.GREY, "shrinkA": 6, "shrinkB": 0})
    axes.annotate("$2\\lambda$", (edge[0] / 2, edge[1] / 2), (-5, -5), textcoords="offset points", ha="right", va="top")
    axes.plot((0, x), (0, y), color=style.BLACK, linewidth=1, zorder=1)
    axes.annotate("$|x_1 - y_1|$", (x / 2, y / 2), (4, -4), textcoords="offset points", va="top")
    for at, mass, name, color, away in (
        ((0.0, 0.0), TRUTH_MASS, "$x_1$\n$a_1 = 0.85$", style.TRUTH, -8),
        ((x, y), PRED_MASS, "$y_1$\n$b_1 = 0.55$", style.PRED, 8),
    ):
        axes.scatter(*at, s=160 * mass, color=color, zorder=2)
        axes.annotate(
            name,
            at,
            (0, away),
            textcoords="offset points",
            color=color,
            ha="center",
            va="bottom" if away > 0 else "top",
        )
    axes.set(xlim=(-1.05 * reach, 1.05 * reach), ylim=(-1.05 * reach, 1.05 * reach), aspect="equal")
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
