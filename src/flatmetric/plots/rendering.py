"""The whole field: an image with missed molecules or false detections marked, and the share that was missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from flatmetric.plots import style
from flatmetric.scoring.field import field_map
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PIXELS = 400  # along each side: about one for each pixel of a printed column
_BLUR_PIXELS = 1.0  # hides the grid and keeps single molecules visible
_MOST_MARKS = 2000  # more marks hide the picture below
_BRIGHTEST = 98.0  # percentile of the pixels that hold light, drawn white


def rendering(axes: Axes, score: Score, side: Literal["truth", "pred"]) -> Axes:
    """All frames in one image, with missed molecules (truth) or false detections (pred) marked.

    At most 2000 marks are drawn, spread evenly over the frames.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> axes = rendering(new_figure(3, 3).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}), "truth")
    >>> axes.get_title()
    'truth, 1 missed'
    """
    from scipy.ndimage import gaussian_filter

    truth, pred, costs = score.matched.kept_truth, score.matched.kept_pred, score.costs
    axes.set(xlabel="x [nm]", ylabel="y [nm]")
    if len(truth) + len(pred) == 0:
        axes.set_title("nothing to compare")
        return axes
    x, y = np.concatenate([truth.x, pred.x]), np.concatenate([truth.y, pred.y])
    low, size = (x.min(), y.min()), max(float(np.ptp(x)), float(np.ptp(y)), 1.0)
    table = truth if side == "truth" else pred
    image, _, _ = np.histogram2d(
        table.y, table.x, bins=_PIXELS, range=[[low[1], low[1] + size], [low[0], low[0] + size]]
    )
    image = gaussian_filter(image, _BLUR_PIXELS)
    brightest = float(np.percentile(image[image > 0.01], _BRIGHTEST)) if image.any() else 1.0
    axes.imshow(
        image,
        cmap="gray",
        vmax=brightest,
        extent=(low[0], low[0] + size, low[1] + size, low[1]),
        interpolation="nearest",
    )
    single = costs.truth_partner < 0 if side == "truth" else costs.pred_partner < 0
    rows = np.flatnonzero(single)
    shown = rows[:: max(1, -(-len(rows) // _MOST_MARKS))]
    mark, color = ("+", style.MISSED) if side == "truth" else ("x", style.FALSE)
    axes.scatter(table.x[shown], table.y[shown], marker=mark, s=14, linewidths=0.8, color=color)
    part = "missed" if side == "truth" else "false"
    some = "" if len(shown) == len(rows) else f", {len(shown)} of them marked"
    axes.set_title(f"{side if side == 'truth' else 'found'}, {len(rows)} {part}{some}")
    return axes


def missed_share(axes: Axes, score: Score) -> Axes:
    """The part of the molecules that were missed, in squares of the field: a blind border or corner is seen at once.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> axes = missed_share(new_figure(3, 3).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}))
    >>> axes.get_title()
    '1 of 2 molecules missed'
    """
    truth, missed = score.matched.kept_truth, score.costs.truth_partner < 0
    axes.set(xlabel="x [nm]", ylabel="y [nm]", aspect="equal")
    axes.set_title(f"{int(missed.sum())} of {len(truth)} molecules missed")
    if len(truth) == 0:
        return axes
    field = field_map(score)
    drawn = axes.imshow(field.share, cmap="viridis_r", vmin=0, vmax=1, extent=field.extent, interpolation="nearest")
    axes.figure.colorbar(drawn, ax=axes, shrink=0.8, label="share missed")
    return axes
