"""The score frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flatmetric.plots import style
from flatmetric.scoring.breakdown import averaged_frames
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_FRAMES = 600  # more are averaged over neighbours
_COLORS = (style.DISPLACED, style.MISSED, style.FALSE)


def score_per_frame(axes: Axes, score: Score) -> Axes:
    """What each frame costs, nm: displaced, missed and false summed over its molecules; long movies are averaged.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> axes = score_per_frame(new_figure(4, 2).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> axes.get_ylabel()
    'cost of the frame [nm]'
    """
    frames, heights, together = averaged_frames(score, _MOST_FRAMES)
    axes.set_xlabel("frame")
    if not heights:
        axes.set_title("no true molecule to compare with")
        return axes
    axes.stackplot(frames, list(heights.values()), colors=_COLORS, labels=list(heights), step="mid")
    axes.set_ylabel("cost of the frame [nm]" if together == 1 else f"cost of a frame [nm], mean of {together}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes
