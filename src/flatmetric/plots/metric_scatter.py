"""One metric against another over many programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flatmetric._arrays import FloatArray
from flatmetric.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "os^vDPX<>*"
_ROOM_FOR_NOTE = 0.15  # of the axis


def metric_scatter(
    axes: Axes,
    x: FloatArray,
    y: FloatArray,
    groups: Sequence[str],
    *,
    order: Sequence[str] | None = None,
    x_name: str,
    y_name: str,
    x_shown: tuple[float, float] | None = None,
    y_shown: tuple[float, float] | None = None,
    note: str = "",
) -> Axes:
    """Draw a mark for each program, of a colour and a shape for each group; `note` goes into a corner.

    `order` lists all groups of several panels, so that each looks the same in all of them. `x_shown` and `y_shown` are
    the first and the last value on an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from flatmetric.plots.style import new_figure
    >>> axes = new_figure(3, 3).subplots()
    >>> axes = metric_scatter(axes, np.ones(2), np.ones(2), ["a", "b"], x_name="Jaccard [%]", y_name="RMSE [nm]")
    >>> axes.get_legend_handles_labels()[1]
    ['a', 'b']
    """
    for at, group in enumerate(order if order is not None else dict.fromkeys(groups)):
        rows = [k for k, name in enumerate(groups) if name == group]
        if not rows:
            continue
        axes.scatter(
            x[rows],
            y[rows],
            s=22,
            marker=_MARKERS[at % len(_MARKERS)],
            color=style.SERIES[at % len(style.SERIES)],
            edgecolors="white",
            linewidths=0.4,
            label=style.literal(group),
        )
    axes.set(xlabel=x_name, ylabel=y_name)
    if x_shown is not None:
        axes.set_xlim(x_shown)
    if y_shown is not None:
        axes.set_ylim(y_shown)
    if note and axes.yaxis_inverted():
        axes.text(0.98, 0.02, note, transform=axes.transAxes, ha="right", va="bottom", fontsize=8)
    elif note:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + _ROOM_FOR_NOTE * (high - low))
        axes.text(0.98, 0.98, note, transform=axes.transAxes, ha="right", va="top", fontsize=8)
    return axes
