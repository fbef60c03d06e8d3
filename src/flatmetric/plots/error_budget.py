"""Where the Flat Metric comes from, as a bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flatmetric.plots import style
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PARTS = (("displaced", style.DISPLACED, ""), ("missed", style.MISSED, "//"), ("false", style.FALSE, ".."))
_NARROW = 0.06  # of the longest bar: below this a part has no room for its number


def error_budget(axes: Axes, scores: Mapping[str, Score]) -> Axes:
    """A bar for each program, by name: displaced, missed and false, in nm per true molecule.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> score = fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})
    >>> axes = error_budget(new_figure(4, 1).subplots(), {"mine": score})
    >>> [round(float(bar.get_width()), 3) for bar in axes.patches]
    [2.5, 62.5, 0.0]
    """
    totals = [score.flat_metric.value or 0.0 for score in scores.values()]
    longest = max(totals, default=0.0) or 1.0
    for row, (score, total) in enumerate(zip(scores.values(), totals, strict=True)):
        start = 0.0
        for part, color, hatch in _PARTS:
            width = getattr(score.flat_metric, part) or 0.0
            label = part if row == 0 else None
            axes.barh(row, width, left=start, color=color, hatch=hatch, edgecolor="white", height=0.7, label=label)
            if width > _NARROW * longest:
                axes.text(
                    start + width / 2,
                    row,
                    f"{width:.1f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
                )
            start += width
        axes.text(total, row, f" {total:.1f} nm", va="center", fontsize=8)
    axes.set_yticks(range(len(scores)), [style.literal(name) for name in scores])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * longest)
    axes.set_xlabel("Flat Metric [nm per true molecule]")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes
