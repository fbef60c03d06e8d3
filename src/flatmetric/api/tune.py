"""`tune`: the settings of a localizer that do best on a training data set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Unpack

from flatmetric._files import write_text
from flatmetric._progress import Progress
from flatmetric.api.options import REQUIRED, Lam, Option, keywords, path_of
from flatmetric.api.simulate import CameraArguments

if TYPE_CHECKING:
    from flatmetric.challenge.tuning import Tuned


class TuneArguments(Lam, CameraArguments, total=False):
    """The options of `tune`."""

    method: Annotated[str, Option("baseline, trackpy, daofind, log, dog, ....", REQUIRED, metavar="NAME")]
    budget: Annotated[int, Option("How many settings are tried.", 20, metavar="N")]
    seed: Annotated[int, Option("Seed; the same seed gives the same trials.", 0, metavar="N")]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "CSV file of what was tried; default tuned-METHOD.csv in the folder, from Python none.",
            section="Output",
            metavar="FILE",
        ),
    ]


@keywords(TuneArguments)
def tune(folder: str | os.PathLike[str], *, progress: Progress | None = None, **given: Unpack[TuneArguments]) -> Tuned:
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
    >>> found = fm.tune(made.stack.parent, method="dog", budget=6)
    >>> found.best.value <= found.usual.value, sorted(found.settings)
    (True, ['max_sigma', 'min_sigma', 'overlap', 'threshold'])
    """
    from flatmetric.challenge.tuning import training_files, tune_folder
    from flatmetric.localizers.registry import camera_of, participant
    from flatmetric.stacks import open_stack

    place = path_of(folder, "folder")
    participant(given["method"])  # raises for an unknown or uninstalled one
    stack, _ = training_files(place)
    camera = camera_of(open_stack(stack), given.get("pixel_size"), given.get("offset"), given.get("photons_per_count"))
    tuned = tune_folder(
        place,
        given["method"],
        budget=given["budget"],
        lam=given["lam"],
        camera=camera,
        seed=given["seed"],
        progress=progress,
    )
    if given.get("out") is not None:
        write_text(tuned.to_csv(), path_of(given["out"], "out"))
    return tuned
