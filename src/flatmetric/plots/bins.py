"""Scores against depth, photons, density or time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flatmetric.plots import style
from flatmetric.scoring.breakdown import QUANTITIES, Bin, Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scores_by(axes: Axes, bins: Sequence[Bin], quantity: Quantity) -> Axes:
    """Flat Metric in nm on the left axis, Jaccard in percent on the right, for each bin of `score_in_bins`.

    Examples
    --------
    >>> from flatmetric.scoring.breakdown import score_in_bins
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> bins = score_in_bins(fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}), "frame", bins=2)
    >>> scores_by(new_figure(3, 3).subplots(), bins, "frame").get_xlabel()
    'frame'
    """
    if not bins:
        axes.set_title("no true molecule to compare with")
        return axes
    edges = np.array([bins[0].low, *(each.high for each in bins)])
    if edges[0] == edges[-1]:  # an axis without extent would show nothing
        one = bins[0]
        shown = "undefined" if one.flat_metric is None else f"{one.flat_metric:.2f} nm"
        note = f"Flat Metric {shown}\n{QUANTITIES[quantity]}: {one.low:g} everywhere"
        axes.text(0.5, 0.5, note, ha="center", va="center", transform=axes.transAxes)
        axes.set_axis_off()
        return axes
    flat = np.array([each.flat_metric for each in bins], dtype=np.float64)  # None becomes NaN
    jaccard = np.array([each.challenge.jaccard for each in bins], dtype=np.float64)
    axes.stairs(flat, edges, color=style.BLUE, linewidth=2, baseline=None, label="Flat Metric")
    axes.set(xlabel=QUANTITIES[quantity], ylabel="Flat Metric [nm]", ylim=(0, None))
    right = axes.twinx()
    right.stairs(jaccard, edges, color=style.VERMILION, linestyle="--", linewidth=2, baseline=None, label="Jaccard")
    right.set(ylabel="Jaccard [%]", ylim=(0, 105))
    right.spines["right"].set_visible(True)
    axes.yaxis.label.set_color(style.BLUE)
    right.yaxis.label.set_color(style.VERMILION)
    return axes
