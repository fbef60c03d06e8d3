"""The errors of matched molecules: where they scatter, how they are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric.plots import style
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKS = 5000  # more marks hide each other, and make large files
_CORE = 90.0  # percent of the molecules, in an inset where the tails reach much further
_MUCH_FURTHER = 4.0  # times the core: then an inset shows all errors
AXES = "xyz"


def error_scatter(axes: Axes, score: Score) -> Axes:
    """Dx against dy of matched molecules, nm, with the bias as a cross and the RMSE as a circle.

    More than 5000 are a density in logarithmic colours; of fewer, an inset shows the core where tails are long.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    >>> axes = error_scatter(new_figure(3, 3).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> axes.get_title()
    'bias (+3.0, +4.0) nm, RMSE 5.0 nm'
    """
    from matplotlib.patches import Circle

    errors = score.matched.errors
    axes.set(xlabel="dx [nm]", ylabel="dy [nm]")
    axes.set_aspect("equal")
    if len(errors) == 0:
        axes.set_title("no match")
        return axes
    x, y = errors[:, 0], errors[:, 1]
    if len(errors) > _MOST_MARKS:
        axes.hexbin(x, y, gridsize=60, cmap="cividis", bins="log", mincnt=1)
    else:
        axes.scatter(x, y, s=6, color=style.PRED, alpha=0.4, linewidths=0)
        core = max(1.0, float(np.percentile(np.abs(errors[:, :2]), _CORE)))
        if np.abs(errors[:, :2]).max() > _MUCH_FURTHER * core:
            inset = axes.inset_axes((0.62, 0.62, 0.36, 0.36), xlim=(-core, core), ylim=(-core, core))
            inset.scatter(x, y, s=4, color=style.PRED, alpha=0.4, linewidths=0)
            inset.set_title(f"inner {_CORE:g} %", fontsize=7)
            inset.tick_params(labelsize=6)
            inset.set_aspect("equal")
    rmse = float(np.sqrt(np.mean(x**2 + y**2)))
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.axvline(0, color=style.GREY, linewidth=0.6)
    axes.add_patch(Circle((0, 0), rmse, fill=False, color=style.VERMILION, linestyle="--"))
    axes.plot(x.mean(), y.mean(), marker="+", markersize=12, markeredgewidth=2, color=style.VERMILION)
    axes.set_title(f"bias ({x.mean():+.1f}, {y.mean():+.1f}) nm, RMSE {rmse:.1f} nm")
    return axes


def error_histogram(axes: Axes, score: Score, axis: int) -> Axes:
    """Distribution of the errors along one axis (0, 1, 2 for x, y, z), nm, with bias and RMSE.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    >>> axes = error_histogram(new_figure(3, 3).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}), 1)
    >>> axes.get_title()
    'bias +4.0 nm, RMSE 4.0 nm'
    """
    values = score.matched.errors[:, axis]
    axes.set(xlabel=f"d{AXES[axis]} [nm]", ylabel="molecules")
    if len(values) == 0:
        axes.set_title("no match")
        return axes
    axes.hist(values, bins=min(60, 5 + int(np.sqrt(len(values)))), color=style.PRED)
    axes.axvline(0, color=style.GREY, linewidth=0.8)
    axes.axvline(values.mean(), color=style.VERMILION, linestyle="--")
    axes.set_title(f"bias {values.mean():+.1f} nm, RMSE {np.sqrt(np.mean(values**2)):.1f} nm")
    return axes
