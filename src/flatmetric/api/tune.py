"""`tune`: the settings of a localizer that do best on a training data set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flatmetric._dataclass import dataclass
from flatmetric._files import write_text
from flatmetric.api.simulate import CameraOptions
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.options.base import REQUIRED, group, option, path_of, takes
from flatmetric.options.scoring import MetricOptions, plain

if TYPE_CHECKING:
    from flatmetric.challenges.tuning import Tuned


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """The options of `tune`."""

    method: str = option(REQUIRED, "baseline, trackpy, daofind, log, dog, ....", metavar="NAME")
    budget: int = option(20, "Number of settings that are tried.", metavar="N")
    seed: int = option(0, "Seed; the same seed gives the same trials.", metavar="N")
    metrics: MetricOptions = group(MetricOptions, only=("lam",))
    camera: CameraOptions = group(CameraOptions)
    out: str | os.PathLike[str] | None = option(
        None,
        "CSV file of all trials; default: tuned-METHOD.csv in the folder, from Python none.",
        section="Output",
        metavar="FILE",
    )
    figure: str | os.PathLike[str] | None = option(
        None, "Draw all trials: PNG, PDF or SVG, by the name.", section="Output", metavar="FILE"
    )


@takes(TuneOptions)
def tune(folder: str | os.PathLike[str], *, progress: Progress | None = None, options: TuneOptions) -> Tuned:
    """Find the settings of a localizer that do best, by the Flat Metric in nm, on a training data set with known truth.

    Tune on one data set and score on another: settings that were chosen on the scored one look better than they are.

    Parameters
    ----------
    folder
        A folder with stack.ome.tif and activations.csv, as `simulate` writes it.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.simulate(dataset="MT0.N1.HD", out=tempfile.mkdtemp(), frames=9)
    >>> tuned = fm.tune(made.stack.parent, method="dog", budget=6)
    >>> tuned.best.value <= tuned.usual.value, sorted(tuned.settings)
    (True, ['max_sigma', 'min_sigma', 'overlap', 'threshold'])
    """
    from flatmetric.challenges.tuning import training_files, tune_folder
    from flatmetric.localizers.registry import camera_of, participant
    from flatmetric.stacks import open_stack

    place = path_of(folder, "folder")
    participant(options.method)  # raises for an unknown or uninstalled one
    stack, _ = training_files(place)
    figure = None if options.figure is None else path_of(options.figure, "figure")
    if figure is not None and figure.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"figure is {figure}; give a name that ends in .png, .pdf or .svg")
    tuned = tune_folder(
        place,
        options.method,
        budget=options.budget,
        lam=options.metrics.lam,
        camera=camera_of(open_stack(stack), **plain(options.camera)),
        seed=options.seed,
        progress=progress,
    )
    if options.out is not None:
        write_text(tuned.to_csv(), path_of(options.out, "out"))
    if figure is not None:
        from flatmetric.plots.style import save
        from flatmetric.plots.tuning import draw_trials

        save(draw_trials(tuned), figure)
    return tuned
