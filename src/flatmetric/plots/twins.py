"""A movie beside a twin, how alike they are, and what was measured of the movie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.plots import style
from flatmetric.twins.likeness import FAR, Resemblance
from flatmetric.twins.seen import Seen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flatmetric.twins.estimates import MovieEstimates

_BRIGHT = 0.998  # of the pixels of the movie, the end of the contrast
_COLUMNS = 4  # of small plots
_BINS = 40  # of histograms
_TALLEST = 2.0  # times its width: a taller movie is drawn narrower
_LEAST_REACH = 0.01  # of a value, that a small plot shows


def side_by_side(movie: Seen, twin: Seen) -> Figure:
    """A usual frame of the movie and one of a twin, with the same contrast, and the means over all frames below."""
    with style.house_style():
        height, width = movie.light.shape[1:]
        figure = style.new_figure(6.4, 0.4 + 5.8 * min(height / width, _TALLEST))
        grid = figure.subplots(2, 2)
        for row, pick in enumerate((_usual_frame, _mean)):
            images = [pick(movie), pick(twin)]
            low, high = np.quantile(images[0], [0.01, _BRIGHT])
            for axes, image, name in zip(grid[row], images, ("movie", "twin"), strict=True):
                axes.imshow(image, cmap="gray", vmin=low, vmax=max(high, low + 1e-9), interpolation="nearest")
                axes.set_title(f"{name}, {'one frame' if row == 0 else 'mean'}")
                axes.set_xticks([])
                axes.set_yticks([])
    return figure


def _usual_frame(seen: Seen) -> FloatArray:
    """The frame whose number of detections is in the middle."""
    return np.asarray(seen.light[int(np.argsort(seen.counts, kind="stable")[len(seen.counts) // 2])])


def _mean(seen: Seen) -> FloatArray:
    return np.asarray(seen.light.mean(axis=0))


def likeness_plots(rows: Sequence[Resemblance]) -> Figure:
    """A small plot for each statistic: the movie as a line, its twins as dots, and in grey where it would be alike."""
    with style.house_style():
        down = -(-len(rows) // _COLUMNS)
        figure = style.new_figure(8.0, 0.95 * down)
        for place, row in enumerate(rows):
            axes = figure.add_subplot(down, _COLUMNS, place + 1)
            color = style.BLUE if row.is_alike else style.VERMILION
            middle = float(np.mean(row.twins))
            spread = abs(row.movie - middle) / max(abs(row.spreads), 1e-9) if row.spreads else 0.0
            axes.axvspan(middle - FAR * spread, middle + FAR * spread, color=style.GREY, alpha=0.15, linewidth=0)
            axes.plot(row.twins, np.zeros(len(row.twins)), "o", color=style.GREY, markersize=4)
            axes.axvline(row.movie, color=color, linewidth=2, linestyle="-" if row.is_alike else "--")
            reach = 1.15 * max(abs(row.movie - middle), FAR * spread, _LEAST_REACH * abs(middle), 1e-9)
            axes.set_xlim(middle - reach, middle + reach)
            axes.set_yticks([])
            axes.tick_params(axis="x", labelsize=6)
            axes.locator_params(axis="x", nbins=3)
            axes.ticklabel_format(axis="x", useOffset=False)
            axes.set_title(row.name if row.is_alike else f"{row.name}: unlike", fontsize=7, color=color)
            for side in ("left", "right", "top"):
                axes.spines[side].set_visible(False)
    return figure


def estimates_plots(known: MovieEstimates, movie: Seen, twin: Seen) -> Figure:
    """What was measured: the background, the light of the detections, how many there are over time, and the spot."""
    with style.house_style():
        figure = style.new_figure(8.0, 4.6)
        grid = figure.subplots(2, 2)
        image = grid[0, 0].imshow(known.background, cmap="viridis", interpolation="nearest")
        figure.colorbar(image, ax=grid[0, 0], label="photons")
        grid[0, 0].set(title="background", xticks=[], yticks=[])
        _histogram(grid[0, 1], movie, twin)
        _over_time(grid[1, 0], movie)
        _profile(grid[1, 1], known)
    return figure


def _histogram(axes: Axes, movie: Seen, twin: Seen) -> None:
    photons = [np.maximum(one.found.photons, 1.0) for one in (movie, twin) if one.found.photons is not None]
    every = np.concatenate(photons)
    edges = np.geomspace(np.quantile(every, 0.005), np.quantile(every, 0.995) + 1, _BINS)
    for values, name, color in zip(photons, ("movie", "twin"), (style.BLUE, style.ORANGE), strict=True):
        axes.hist(values, list(edges), density=True, histtype="step", color=color, label=name, linewidth=1.5)
    axes.set(xscale="log", xlabel="photons of a detection", yticks=[], title="brightness")
    axes.xaxis.set_minor_formatter("")
    if edges[-1] < 10 * edges[0]:  # perhaps without a power of ten
        axes.set_xticks([float(f"{edge:.1g}") for edge in (edges[0], edges[_BINS // 2], edges[-1])])
        axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False)


def _over_time(axes: Axes, movie: Seen) -> None:
    counts = movie.counts
    parts = np.array_split(np.arange(len(counts)), min(_BINS, len(counts)))
    at = [float(movie.frames[part].mean()) for part in parts]
    axes.plot(at, [counts[part].mean() for part in parts], ".-", color=style.BLUE)
    light = axes.twinx()
    light.plot(at, [np.median(movie.light[part]) for part in parts], ".-", color=style.ORANGE)
    light.set_ylabel("background [photons]", color=style.ORANGE)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="frame", title="over time")
    axes.set_ylabel("detections", color=style.BLUE)


def _profile(axes: Axes, known: MovieEstimates) -> None:
    from flatmetric.simulation.optics import HALO_WIDTH

    away = np.linspace(0, 5 * known.sigma, 200)
    core, wide = (np.exp(-(away**2) / (2 * (factor * known.sigma) ** 2)) / factor**2 for factor in (1.0, HALO_WIDTH))
    axes.plot(away, (1 - known.halo) * core + known.halo * wide, color=style.BLUE, label="spot")
    if known.halo:
        axes.plot(away, known.halo * wide, "--", color=style.GREY, label="its halo")
        axes.legend(frameon=False)
    axes.set(xlabel="distance from the middle [nm]", yscale="log", ylim=(1e-3, 1.5), title="spot")
