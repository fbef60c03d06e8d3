"""The transport plan as a map: what was moved, missed, or falsely detected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.plots import style
from flatmetric.scoring.score import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class MapColors:
    """The colours of a transport map; `filled` where true points are discs and not circles.

    Examples
    --------
    >>> MapColors(truth="red").filled
    False
    """

    truth: str = style.TRUTH
    pred: str = style.PRED
    moved: str = style.DISPLACED
    missed: str = style.MISSED
    false: str = style.FALSE
    filled: bool = False


OWN = MapColors()
"""Those that keep their order in grey and for the colour-blind."""


def transport_map(
    axes: Axes,
    truth: FloatArray,
    pred: FloatArray,
    truth_rows: IntArray,
    pred_rows: IntArray,
    *,
    scale_bar: bool = True,
    colors: MapColors = OWN,
) -> Axes:
    """Draw (n, 2) true and (m, 2) predicted positions in nm and the plan between them.

    Row `truth_rows[k]` of the truth is joined by a line with row `pred_rows[k]` of pred. As in the paper, a cross
    marks a detection that is destroyed (false), a plus mass that is created at a true point (missed). y points down, as
    in images. `scale_bar` draws a length of one, two or five times a power of ten nm.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth, pred = np.array([[0.0, 0.0], [900.0, 0.0]]), np.array([[30.0, 40.0]])
    >>> pairs = fm.flat_metric(truth, pred, lam=125).pairs
    >>> axes = transport_map(new_figure(3, 3).subplots(), truth, pred, pairs.truth, pairs.pred)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['truth', 'found', 'moved', 'missed']
    """
    from matplotlib.collections import LineCollection

    missed = np.setdiff1d(np.arange(len(truth)), truth_rows)
    false = np.setdiff1d(np.arange(len(pred)), pred_rows)
    inside = colors.truth if colors.filled else "none"
    _mark(axes, truth, "truth", s=26, facecolors=inside, edgecolors=colors.truth, linewidths=1.0, zorder=3)
    _mark(axes, pred, "found", s=26 if colors.filled else 9, color=colors.pred, zorder=4)
    if len(truth_rows):
        ends = np.stack([truth[truth_rows], pred[pred_rows]], axis=1).tolist()
        axes.add_collection(LineCollection(ends, colors=colors.moved, linewidths=1.2, label="moved", zorder=2))
    if len(missed):
        _mark(axes, truth[missed], "missed", s=90, marker="+", color=colors.missed, linewidths=2, zorder=5)
    if len(false):
        _mark(axes, pred[false], "false", s=70, marker="x", color=colors.false, zorder=5)
    axes.set_aspect("equal")
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.set_xlabel("x [nm]")
    axes.set_ylabel("y [nm]")
    if scale_bar:
        _draw_scale_bar(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axes


def frame_map(axes: Axes, score: Score, frame: int) -> Axes:
    """The transport map of one frame of a score, over what counts there.

    Examples
    --------
    >>> from flatmetric.plots.style import new_figure
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> axes = frame_map(new_figure(3, 3).subplots(), fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]}), frame=1)
    >>> axes.get_title()
    'frame 1: 2 true, 1 found, 65.0 nm per molecule'
    """
    matched, costs = score.matched, score.costs
    of_truth, of_pred = matched.kept_truth.frame == frame, matched.kept_pred.frame == frame
    if not of_truth.any() and not of_pred.any():
        there = score.sums.frame
        span = f"they go from {there.min()} to {there.max()}" if len(there) else "there are none"
        raise InputError(f"frame is {frame!r}, which has no molecule and no detection; {span}")
    partner = costs.truth_partner[of_truth]
    paired = np.flatnonzero(partner >= 0)
    truth, pred = matched.kept_truth.points(2)[of_truth], matched.kept_pred.points(2)[of_pred]
    transport_map(axes, truth, pred, paired, np.searchsorted(matched.pred_kept[of_pred], partner[paired]))
    total = costs.displaced[of_truth].sum() + costs.missed[of_truth].sum() + costs.false[of_pred].sum()
    each = f", {total * len(of_truth) / len(truth):.1f} nm per molecule" if len(truth) else ""
    axes.set_title(f"frame {frame}: {len(truth)} true, {len(pred)} found{each}")
    return axes


def _mark(axes: Axes, points: FloatArray, label: str, **look: Any) -> None:
    axes.scatter(points[:, 0], points[:, 1], label=label, **look)


def _draw_scale_bar(axes: Axes) -> None:
    """A round length between a tenth and a quarter of the width, below on the right."""
    left, right = sorted(axes.get_xlim())
    bottom, top = axes.get_ylim()
    length = round_length((right - left) / 4)
    end = right - 0.04 * (right - left)
    height = bottom - 0.05 * (bottom - top)
    axes.plot([end - length, end], [height, height], color=style.BLACK, linewidth=3, solid_capstyle="butt", zorder=6)
    axes.annotate(
        f"{length:g} nm", (end - length / 2, height), (0, 4), textcoords="offset points", ha="center", va="bottom"
    )
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)


def round_length(longest: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is at most `longest`, in the same unit.

    Examples
    --------
    >>> round_length(740.0), round_length(0.03)
    (500.0, 0.02)
    """
    power = 10.0 ** np.floor(np.log10(longest))
    return float(max(factor * power for factor in (1, 2, 5) if factor * power <= longest * (1 + 1e-12)))
