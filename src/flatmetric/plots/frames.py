"""The score frame by frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric.explanations import per_frame
from flatmetric.plots import style
from flatmetric.scoring import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_FRAMES = 600  # more are averaged over neighbours
_PARTS = (("displaced", style.DISPLACED), ("missed", style.MISSED), ("false", style.FALSE))


def score_per_frame(axes: Axes, score: Score) -> Axes:
    """What each frame costs, nm: displaced, missed and false summed over its molecules; long movies are averaged.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> from flatmetric.scoring import score
    >>> truth = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    >>> axes = score_per_frame(new_figure(4, 2).subplots(), score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> axes.get_ylabel()
    'cost of the frame [nm]'
    """
    columns = per_frame(score)
    axes.set_xlabel("frame")
    if "displaced" not in columns:
        axes.set_title("no true molecule to compare with")
        return axes
    frames = columns["frame"]
    together = -(-len(frames) // _MOST_FRAMES)
    starts = np.arange(0, len(frames), together)
    counts = np.diff(np.append(starts, len(frames)))
    molecules = len(score.compared.truth_counts)
    heights = [np.add.reduceat(columns[part], starts) / counts * molecules for part, _ in _PARTS]
    axes.stackplot(
        frames[starts],
        heights,
        colors=[color for _, color in _PARTS],
        labels=[part for part, _ in _PARTS],
        step="mid",
    )
    axes.set_ylabel("cost of the frame [nm]" if together == 1 else f"cost of a frame [nm], mean of {together}")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return axes
