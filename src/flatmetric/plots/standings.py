"""A leaderboard with its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flatmetric.plots import style
from flatmetric.statistics.ranking import Standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def standings(axes: Axes, places: Sequence[Standing]) -> Axes:
    """The rank of each program as a dot and its interval as a line, best on top, with the Flat Metric (nm) beside it.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> places = [Standing("a", 1.0, (1.0, 1.5), 40.2), Standing("b", 2.0, (1.5, 2.0), 44.0)]
    >>> [label.get_text() for label in standings(new_figure(4, 2).subplots(), places).get_yticklabels()]
    ['a', 'b']
    """
    for row, place in enumerate(places):
        axes.plot(place.rank_interval, [row, row], color=style.BLUE, linewidth=3, alpha=0.5, solid_capstyle="butt")
        axes.plot([place.rank], [row], marker="o", color=style.BLUE)
        axes.annotate(
            f"{place.flat_metric:.1f} nm",
            (1.0, row),
            (4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(range(len(places)), [style.literal(place.program) for place in places])
    axes.invert_yaxis()
    axes.set_xlabel("rank, with interval")
    return axes
