"""What was tried when a localizer was tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flatmetric.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flatmetric.challenges.tuning import Tuned

_WIDE = 8.0  # times the least value: then the axis is logarithmic
_STAGES = (style.GREY, style.SKY, style.BLUE)


def draw_trials(tuned: Tuned) -> Figure:
    """The Flat Metric of every trial against each setting that was varied; trials on more frames are darker.

    Examples
    --------
    >>> from flatmetric.challenges.tuning import Trial, Tuned
    >>> trials = tuple(Trial({"threshold": value, "box": 7.0}, 9, 50 + value) for value in (1.0, 2.0))
    >>> len(draw_trials(Tuned("dog", "MT0", {"threshold": 1.0, "box": 7.0}, trials)).axes)
    1
    """
    varied = [name for name in tuned.defaults if len({trial.settings[name] for trial in tuned.trials}) > 1]
    stages = sorted({trial.frames for trial in tuned.trials})[-len(_STAGES) :]
    with style.house_style():
        figure = style.new_figure(2.6 * max(1, len(varied)) + 0.6, 2.8)
        panels = figure.subplots(1, max(1, len(varied)), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, varied or list(tuned.defaults)[:1], strict=True):
            for frames, color in zip(stages, _STAGES[-len(stages) :], strict=True):
                some = [trial for trial in tuned.trials if trial.frames == frames]
                axes.plot(
                    [trial.settings[name] for trial in some],
                    [trial.value for trial in some],
                    "o",
                    color=color,
                    markersize=3.5,
                    label=f"on {frames} frame{'s' if frames > 1 else ''}",
                )
            for trial, mark, label in ((tuned.usual, "D", "defaults"), (tuned.best, "*", "chosen")):
                axes.plot(
                    trial.settings[name],
                    trial.value,
                    mark,
                    color=style.VERMILION if mark == "*" else style.BLACK,
                    markerfacecolor="none" if mark == "D" else None,
                    markersize=11 if mark == "*" else 7,
                    label=label,
                )
            values = [trial.settings[name] for trial in tuned.trials]
            wide = min(values) > 0 and max(values) > _WIDE * min(values)
            axes.set(xlabel=name.replace("_", " "), yscale="log", xscale="log" if wide else "linear")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}")
        panels[0].set(ylabel="Flat Metric [nm]")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
        figure.suptitle(style.literal(f"{tuned.method} on {tuned.dataset}"))
    return figure
