"""Figures 1a and 1b: Flat Metric and efficiency over recall and localization error."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatmetric._arrays import FloatArray, IntArray
from flatmetric._dataclass import dataclass
from flatmetric._validation import thread_count
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.localizations import Localizations
from flatmetric.matching.matcher import match_frames
from flatmetric.options.base import option
from flatmetric.options.scoring import DEFAULT_LAM
from flatmetric.plots import style
from flatmetric.transport.flat_metric import flat_metric
from flatmetric.transport.lp import MAX_PAIRS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIELD_NM = 6400.0  # side of the square field, as in the paper
LARGEST_RADIUS_NM = 250.0  # as in the paper
TOLERANCE_NM = 250.0  # of the matching, as in the SMLM 2016 Challenge
PER_RMSE = 2 * math.sqrt(2) / 3
"""Flat Metric per RMSE when errors are uniform in a disk: the mean distance 2r/3 over the RMSE r/sqrt(2)."""

_COLORS = "cividis"  # the same for all kinds of colour vision
_LP_SAMPLE = 40  # problems timed: about a second in all
_MOST_POINTS = 100_000  # a trial then takes seconds; more is surely a typo


@dataclass(frozen=True, slots=True)
class SurfaceExperiment:
    """The experiment of Figure 1: true points in each trial, lam in nm, steps along each axis, trials at each node."""

    SECTION: ClassVar[str] = "Figure 1"

    points: int = option(100, "True points in each trial.", metavar="N")
    lam: float = option(DEFAULT_LAM, "Cost of a missed molecule or a false detection, nm.", metavar="NM")
    steps: int = option(51, "Steps of recall and of the error radius.", metavar="N")
    trials: int = option(50, "Trials at each step.", metavar="N")
    seed: int = option(0, "Seed of Figures 1 and 3; the same seed gives the same numbers.", metavar="N")

    def __post_init__(self) -> None:
        if not 0 < self.lam < math.inf:
            raise InputError(f"lam is {self.lam}; give a length in nm above 0, as 125")
        for name, least, most in (("points", 1, _MOST_POINTS), ("steps", 2, 1001), ("trials", 1, 100_000)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(f"{name} is {value}; give a whole number from {least} to {most}")
        if self.seed < 0:
            raise InputError(f"seed is {self.seed}; give a whole number from 0")
        if self.points * self.steps * self.trials > 200_000_000:
            raise InputError(
                f"{self.points} points x {self.steps} steps x {self.trials} trials are held at once; "
                "give fewer: at most 200 million"
            )

    @property
    def radius(self) -> FloatArray:
        """Radii of the disk of errors, nm."""
        return np.linspace(0.0, LARGEST_RADIUS_NM, self.steps)

    @property
    def detected(self) -> IntArray:
        """The number of points detected at each recall."""
        return np.rint(np.linspace(0.0, 1.0, self.steps) * self.points).astype(np.int64)

    @property
    def problems(self) -> int:
        """How many Flat Metrics there are to solve."""
        return self.steps * self.steps * self.trials


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """All trials of one radius: positions in nm, and the frame number, from 1, that identifies the trial."""

    truth: FloatArray
    truth_frame: IntArray
    pred: FloatArray
    pred_frame: IntArray
    distance: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Surfaces:
    """Means over trials, (steps, steps) by radius and recall; NaN where a metric is undefined.

    `flat_metric` and `rmse` in nm, `efficiency` and `jaccard` in percent. `own_partner`, by radius, is what the Flat
    Metric would be at full recall if each point had to go to the one it was drawn from, or be left for 2 lam.
    """

    settings: SurfaceExperiment
    radius: FloatArray
    recall: FloatArray
    flat_metric: FloatArray
    flat_metric_sd: FloatArray
    efficiency: FloatArray
    jaccard: FloatArray
    rmse: FloatArray
    own_partner: FloatArray
    solve_seconds: float

    def columns(self) -> dict[str, FloatArray | IntArray]:
        """One row for each node, radius by radius."""
        steps = self.settings.steps
        return {
            "radius_nm": np.repeat(self.radius, steps),
            "recall": np.tile(self.recall, steps),
            "flat_metric": self.flat_metric.ravel(),
            "flat_metric_sd": self.flat_metric_sd.ravel(),
            "efficiency": self.efficiency.ravel(),
            "jaccard": self.jaccard.ravel(),
            "rmse": self.rmse.ravel(),
            "trials": np.full(steps * steps, self.settings.trials),
        }


def surfaces(settings: SurfaceExperiment, progress: Progress | None = None) -> Surfaces:
    """Run the experiment: points uniform in a 6.4 um square, some of them detected, displaced uniformly in a disk.

    Every detection belongs to a point (precision 100 %). The same seed gives the same numbers.

    Examples
    --------
    >>> s = surfaces(SurfaceExperiment(points=20, steps=3, trials=4))
    >>> s.flat_metric[0].tolist()  # no error: lam (1 - recall)
    [125.0, 62.5, 0.0]
    """
    shape = (settings.steps, settings.steps)
    names = ("flat_metric", "flat_metric_sd", "efficiency", "jaccard", "rmse")
    means = {name: np.full(shape, np.nan) for name in names}
    own_partner = np.zeros(settings.steps)
    seconds = 0.0
    for row in range(settings.steps):
        trials = make_trials(settings, row)
        start = time.perf_counter()
        value = _flat_metrics(settings, trials)
        seconds += time.perf_counter() - start
        jaccard, rmse = _challenge_metrics(settings, trials)
        means["flat_metric"][row] = value.mean(axis=1)
        means["flat_metric_sd"][row] = value.std(axis=1, ddof=1) if settings.trials > 1 else np.nan
        means["jaccard"][row], means["rmse"][row] = jaccard.mean(axis=1), rmse.mean(axis=1)
        means["efficiency"][row] = (100 - np.hypot(100 - jaccard, rmse)).mean(axis=1)
        full_recall = trials.distance[-settings.points * settings.trials :]
        own_partner[row] = np.minimum(full_recall, 2 * settings.lam).mean()
        if progress is not None:
            progress("Figure 1", row + 1, settings.steps)
    return Surfaces(
        settings=settings,
        radius=settings.radius,
        recall=settings.detected / settings.points,
        **means,
        own_partner=own_partner,
        solve_seconds=seconds,
    )


def make_trials(settings: SurfaceExperiment, row: int) -> Trials:
    """The point sets of one radius, by recall and then by trial, from a random stream of their own.

    Examples
    --------
    >>> trials = make_trials(SurfaceExperiment(points=20, steps=3, trials=4), row=2)
    >>> len(trials.truth), len(trials.pred), bool(trials.distance.max() <= 250)
    (240, 120, True)
    """
    rng = np.random.default_rng([settings.seed, row])
    frames, n = settings.steps * settings.trials, settings.points
    truth = rng.uniform(0.0, FIELD_NM, (frames * n, 2))
    frame = np.repeat(np.arange(1, frames + 1), n)
    # Points are independent and alike, so the first of a trial are as good as any.
    kept = np.flatnonzero(np.tile(np.arange(n), frames) < np.repeat(settings.detected, settings.trials * n))
    distance = settings.radius[row] * np.sqrt(rng.random(len(kept)))
    angle = rng.uniform(0.0, 2 * math.pi, len(kept))
    pred = truth[kept]
    pred[:, 0] += distance * np.cos(angle)
    pred[:, 1] += distance * np.sin(angle)
    return Trials(truth, frame, pred, frame[kept], distance)


def _flat_metrics(settings: SurfaceExperiment, trials: Trials) -> FloatArray:
    """The Flat Metric of each trial, (recall, trial), each with the paper's weights 1/points."""
    result = flat_metric(
        trials.truth, trials.pred, lam=settings.lam, truth_frames=trials.truth_frame, pred_frames=trials.pred_frame
    )
    assert result.frames is not None
    frames = settings.steps * settings.trials  # all weigh 1/(points * frames) in the pooled value
    return result.frames.value.reshape(settings.steps, settings.trials) * frames


def _challenge_metrics(settings: SurfaceExperiment, trials: Trials) -> tuple[FloatArray, FloatArray]:
    """Jaccard in percent and RMSE in nm of each trial; RMSE is NaN where nothing was found."""
    truth = Localizations(frame=trials.truth_frame, x=trials.truth[:, 0], y=trials.truth[:, 1])
    pred = Localizations(frame=trials.pred_frame, x=trials.pred[:, 0], y=trials.pred[:, 1])
    matches = match_frames(
        truth,
        pred,
        dim=2,
        tolerance=TOLERANCE_NM,
        tolerance_z=math.inf,
        matching="greedy",
        threads=thread_count(None),
    )
    shape = (settings.steps, settings.trials)
    trial = trials.truth_frame[matches.truth] - 1
    matched = np.bincount(trial, minlength=shape[0] * shape[1]).reshape(shape)
    squares = np.bincount(trial, matches.distance**2, minlength=shape[0] * shape[1]).reshape(shape)
    detected = settings.detected[:, None]
    jaccard = 100 * matched / (settings.points + detected - matched)
    rmse = np.full(shape, np.nan)
    np.divide(squares, matched, out=rmse, where=matched > 0)
    return jaccard, np.sqrt(rmse)


@dataclass(frozen=True, slots=True, eq=False)
class Deviation:
    """Where the Flat Metric at full recall leaves the line c RMSE = 2r/3, by radius, in nm.

    `flat_metric` = `line` + `cap` + `partners` + `chance`: the saving from the cap at 2 lam, the saving from better
    partners than the point's own, and sampling noise. `standard_error` is that of the mean Flat Metric.
    """

    radius_nm: FloatArray
    flat_metric: FloatArray
    line: FloatArray
    cap: FloatArray
    partners: FloatArray
    chance: FloatArray
    standard_error: FloatArray


def deviation(result: Surfaces) -> Deviation:
    """Split the difference between the surface and its line at full recall.

    Examples
    --------
    >>> d = deviation(surfaces(SurfaceExperiment(points=20, steps=3, trials=4)))
    >>> bool(np.allclose(d.flat_metric, d.line + d.cap + d.partners + d.chance))
    True
    """
    radius, longest = result.radius, 2 * result.settings.lam
    line = 2 * radius / 3
    # The mean of min(distance, longest) over a disk of a larger radius.
    capped = np.where(radius > longest, longest - longest**3 / (3 * np.maximum(radius, longest) ** 2), line)
    value = result.flat_metric[:, -1]
    return Deviation(
        radius_nm=radius,
        flat_metric=value,
        line=line,
        cap=capped - line,
        partners=value - result.own_partner,
        chance=result.own_partner - capped,
        standard_error=result.flat_metric_sd[:, -1] / math.sqrt(result.settings.trials),
    )


def dense_lp_seconds(settings: SurfaceExperiment) -> float | None:
    """The time that the paper's dense linear program would need for all problems: the mean of a sample, times all.

    The sample covers radii and recalls evenly. None if there are too many points for the program.

    Examples
    --------
    >>> dense_lp_seconds(SurfaceExperiment(points=3, steps=2, trials=2)) > 0
    True
    >>> dense_lp_seconds(SurfaceExperiment(points=1000)) is None
    True
    """
    if settings.points**2 > MAX_PAIRS:
        return None
    flat_metric([[0.0]], [[1.0]], lam=settings.lam, method="lp")  # so that loading the solver is not timed
    sample = min(_LP_SAMPLE, settings.steps * settings.steps)
    seconds = []
    for k in range(sample):
        # Two incommensurate strides: an even pattern over the square of radii and recalls.
        row = int((k + 0.5) / sample * settings.steps)
        column = int((k * 0.6180339887) % 1 * settings.steps)
        one = SurfaceExperiment(settings.points, settings.lam, settings.steps, 1, settings.seed)
        trials = make_trials(one, row)
        truth = trials.truth[trials.truth_frame == column + 1]
        pred = trials.pred[trials.pred_frame == column + 1]
        start = time.perf_counter()
        flat_metric(truth, pred, lam=settings.lam, method="lp")
        seconds.append(time.perf_counter() - start)
    return float(np.mean(seconds)) * settings.problems


def draw_flat_metric(result: Surfaces, *, as_printed: bool = False) -> Figure:
    """Figure 1a: the surface, with lam (1 - J) along no error and c RMSE along full recall; `as_printed` in the paper's
    colours.

    Examples
    --------
    >>> figure = draw_flat_metric(surfaces(SurfaceExperiment(points=20, steps=3, trials=4)))
    """
    lam = result.settings.lam
    return _draw_surface(
        result,
        result.flat_metric,
        "Flat Metric [nm]",
        no_error=(lam * (1 - result.recall), "$\\lambda\\,(1 - J)$"),
        full_recall=(PER_RMSE * result.radius / math.sqrt(2), "$c\\,$RMSE, $c = 2\\sqrt{2}/3$"),
        colors="viridis" if as_printed else _COLORS,
        elevation=24,
        azimuth=-125,
    )


def draw_efficiency(result: Surfaces, *, as_printed: bool = False) -> Figure:
    """Figure 1b: the surface, with J along no error and 100 - RMSE along full recall; recall 0 is left out;
    `as_printed` in the paper's colours.

    Examples
    --------
    >>> figure = draw_efficiency(surfaces(SurfaceExperiment(points=20, steps=3, trials=4)))
    """
    return _draw_surface(
        result,
        result.efficiency,
        "efficiency [%]",
        no_error=(100 * result.recall, "$J$"),
        full_recall=(100 - result.radius / math.sqrt(2), "$100 -$ RMSE"),
        colors="viridis_r" if as_printed else _COLORS,
        elevation=24,
        azimuth=-55,
    )


def _draw_surface(
    result: Surfaces,
    height: FloatArray,
    name: str,
    *,
    no_error: tuple[FloatArray, str],
    full_recall: tuple[FloatArray, str],
    colors: str,
    elevation: float,
    azimuth: float,
) -> Figure:
    with style.house_style():
        figure = style.new_figure(5.2, 4.4)
        axes = figure.add_subplot(projection="3d", computed_zorder=False)
        defined = ~np.isnan(height).all(axis=0)
        recall, radius = np.meshgrid(100 * result.recall[defined], result.radius)
        drawn = axes.plot_surface(
            radius,
            recall,
            height[:, defined],
            cmap=colors,
            rcount=51,
            ccount=51,
            linewidth=0.15,
            edgecolor="#ffffff60",
        )
        axes.plot(
            np.zeros_like(result.recall),
            100 * result.recall,
            no_error[0],
            color=style.VERMILION,
            linewidth=3,
            label=no_error[1],
        )
        axes.plot(
            result.radius,
            np.full_like(result.radius, 100.0),
            full_recall[0],
            color=style.SKY,
            linestyle=(0, (4, 1)),
            linewidth=3,
            label=full_recall[1],
        )
        axes.set(xlabel="error radius [nm]", ylabel="recall [%]", zlabel=name)
        axes.zaxis.set_rotate_label(False)
        axes.zaxis.label.set_rotation(90)
        axes.view_init(elevation, azimuth)
        axes.set_box_aspect(None, zoom=0.85)  # room for the label of the vertical axis
        figure.colorbar(drawn, ax=axes, shrink=0.6, pad=0.12, label=name)
        axes.legend(loc="upper left")
    return figure


def draw_deviation(d: Deviation) -> Figure:
    """How the Flat Metric at full recall deviates from its line, and why.

    Examples
    --------
    >>> len(draw_deviation(deviation(surfaces(SurfaceExperiment(points=20, steps=3, trials=4)))).axes)
    2
    """
    with style.house_style():
        figure = style.new_figure(6.4, 2.8)
        left, right = figure.subplots(1, 2)
        left.plot(
            d.radius_nm,
            d.line,
            color=style.SKY,
            linestyle="--",
            linewidth=3,
            label="$c\\,$RMSE $= 2r/3$",
        )
        left.plot(d.radius_nm, d.flat_metric, color=style.BLACK, label="Flat Metric")
        left.set(xlabel="error radius r [nm]", ylabel="nm per true molecule", title="full recall")
        left.legend()
        _draw_parts(right, d)
    return figure


def _draw_parts(axes: Axes, d: Deviation) -> None:
    difference, error = d.flat_metric - d.line, 3 * d.standard_error
    axes.fill_between(
        d.radius_nm,
        difference - error,
        difference + error,
        color=style.GREY,
        alpha=0.3,
        linewidth=0,
        label="3 s.e.",
    )
    axes.plot(d.radius_nm, difference, color=style.BLACK, label="Flat Metric - line")
    axes.plot(d.radius_nm, d.partners, color=style.VERMILION, linestyle="--", label="better partners")
    axes.plot(d.radius_nm, d.cap, color=style.GREEN, linestyle=":", linewidth=2, label="cap at $2\\lambda$")
    axes.axhline(0, color=style.GREY, linewidth=0.6)
    axes.set(xlabel="error radius r [nm]", ylabel="nm", title="why it leaves the line")
    axes.legend(loc="lower left")
