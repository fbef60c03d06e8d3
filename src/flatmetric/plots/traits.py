"""A simulated data set beside a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric.plots import style
from flatmetric.simulation.structures import CROWDED_NM
from flatmetric.simulation.traits import Likeness, Shining

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_likeness(likeness: Likeness) -> Figure:
    """Six distributions of a simulated data set over those of the truth that it is compared with.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> from flatmetric.simulation.movie import molecules
    >>> from flatmetric.simulation.traits import likeness
    >>> dataset = named("MT0.N1.LD").with_frames(100)
    >>> figure = draw_likeness(likeness(dataset, molecules(dataset, seed=1), seed=2))
    >>> len(figure.axes)
    6
    """
    with style.house_style():
        figure = style.new_figure(8.0, 4.6)
        panels = figure.subplots(2, 3).ravel()
        pair = (likeness.real, likeness.simulated)
        _whole_numbers(panels[0], [side.per_frame for side in pair], "molecules in a frame")
        _binned(panels[1], [_photons(side) for side in pair], "photons of a row")
        _nearest(panels[2], pair)
        _whole_numbers(panels[3], [side.run_lengths for side in pair], "frames of a run")
        _whole_numbers(panels[4], [side.dark_frames for side in pair], "dark frames between runs")
        _binned(panels[5], [np.empty(0) if side.truth.z is None else side.truth.z for side in pair], "z [nm]")
        panels[0].legend()
    return figure


_NAMES = ("the truth given", "simulated")
_COLORS = (style.BLACK, style.BLUE)
_DASHES = ("-", "--")


def _photons(side: Shining) -> FloatArray:
    return np.empty(0) if side.truth.photons is None else side.truth.photons


def _whole_numbers(axes: Axes, pair: list[IntArray], name: str) -> None:
    """Shares of whole numbers, up to where nearly all lie."""
    most = max((int(np.quantile(values, 0.995)) for values in pair if len(values)), default=1)
    for values, label, color, dashes in zip(pair, _NAMES, _COLORS, _DASHES, strict=True):
        if len(values):
            shares = np.bincount(values, minlength=most + 1)[: most + 1] / len(values)
            axes.stairs(shares, np.arange(most + 2) - 0.5, label=label, color=color, linestyle=dashes, linewidth=1.4)
    axes.set(xlabel=name, ylabel="share", ylim=(0, None))


def _binned(axes: Axes, pair: list[FloatArray], name: str) -> None:
    both = np.concatenate(pair)
    edges = np.linspace(both.min(), both.max(), 41) if len(both) and np.ptp(both) > 0 else np.array([0.0, 1.0])
    for values, color, dashes in zip(pair, _COLORS, _DASHES, strict=True):
        if len(values):
            shares = np.histogram(values, edges)[0] / len(values)
            axes.stairs(shares, edges, color=color, linestyle=dashes, linewidth=1.4)
    axes.set(xlabel=name, ylabel="share", ylim=(0, None))


def _nearest(axes: Axes, pair: tuple[Shining, Shining]) -> None:
    distances = np.linspace(0, 2000, 101)
    for side, color, dashes in zip(pair, _COLORS, _DASHES, strict=True):
        share = np.searchsorted(np.sort(side.nearest), distances) / len(side.nearest)
        axes.plot(distances, share, color=color, linestyle=dashes)
    axes.axvline(CROWDED_NM, color=style.GREY, linestyle=":", linewidth=1)
    axes.set(xlabel="nearest in the frame [nm]", ylabel="share that is closer", ylim=(0, None))
