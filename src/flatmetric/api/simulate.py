"""`simulate` and `localize`: images with known truth, and a program that finds molecules in images."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

from flatmetric._progress import Progress
from flatmetric._work import Workers
from flatmetric.api.options import REQUIRED, Jobs, Option, Write, keywords, path_of
from flatmetric.errors import InputError
from flatmetric.formats.conversion import ReadOptions
from flatmetric.formats.read import read_file
from flatmetric.formats.write import writable_format, write
from flatmetric.localizations import Localizations
from flatmetric.simulation.datasets import NAMES, Dataset, named

if TYPE_CHECKING:
    from flatmetric.api.options import Source
    from flatmetric.simulation.traits import Likeness


_WORTH_PROCESSES = 3  # ranges of about 1000 frames


class SimulateArguments(Jobs, total=False):
    """The options of `simulate`."""

    dataset: Annotated[
        str,
        Option(
            f"{', '.join(NAMES)}, or a TOML file.",
            REQUIRED,
            metavar="NAME|FILE",
        ),
    ]
    out: Annotated[str | os.PathLike[str], Option("Folder for stack and truth.", REQUIRED, metavar="DIR")]
    frames: Annotated[int | None, Option("Number of frames; default that of the data set.", metavar="N")]
    modality: Annotated[
        str | None,
        Option(
            "2D, AS (astigmatism), DH (double helix) or BP (two planes); default that of the data set.", metavar="NAME"
        ),
    ]
    seed: Annotated[int, Option("Seed; the same seed gives the same files.", 0, metavar="N")]


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulated data set: the files of its stack and truth, and all that defines it.

    Examples
    --------
    >>> Simulated(Path("stack.ome.tif"), Path("activations.csv"), None, 0).stack.name
    'stack.ome.tif'
    """

    stack: Path
    truth: Path
    dataset: Dataset | None
    rows: int

    def read_truth(self) -> Localizations:
        """The true molecules; nm, frames from 1."""
        return read_file(self.truth, ReadOptions())

    def compare(self, truth: Source) -> Likeness:
        """How like another truth this one is: a file, a table or a dict; `rows` has the numbers.

        Examples
        --------
        >>> import tempfile
        >>> import flatmetric as fm
        >>> made = fm.simulate(dataset="MT0.N1.HD", out=tempfile.mkdtemp(), frames=20)
        >>> made.compare(made.truth).rows[0][0], made.compare(made.truth).rows[0][3]
        ('molecules in a frame', 1.0)
        """
        from flatmetric.api.inputs import table_from
        from flatmetric.simulation.traits import compared

        if self.dataset is None:
            raise InputError("this simulation has no data set, so there is nothing to compare")
        return compared(self.dataset, self.read_truth(), table_from(truth, "truth", ReadOptions()))


@keywords(SimulateArguments)
def simulate(
    *, progress: Progress | None = None, executor: Executor | None = None, **given: Unpack[SimulateArguments]
) -> Simulated:
    """Simulate a data set of the SMLM 2016 Challenge, or one of your own: images, truth and all parameters.

    Parameters
    ----------
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Draws the images of a long stack instead of `jobs` of this machine; its workers see the folder.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.simulate(dataset="MT4.N2.HD", out=tempfile.mkdtemp(), frames=2)
    >>> made.truth.name, made.read_truth().frame.max()
    ('activations.csv', np.int64(2))
    """
    from flatmetric.simulation.folder import STACK, TRUTH, simulate_folder

    dataset, folder = chosen_dataset(given)
    workers = Workers(given.get("jobs"), executor, kind="processes")
    rows = simulate_folder(folder, dataset, given["seed"], progress, workers)
    return Simulated(folder / STACK, folder / TRUTH, dataset, rows)


def chosen_dataset(given: Mapping[str, Any]) -> tuple[Dataset, Path]:
    """The data set that the options of `simulate` ask for, and the folder for it."""
    for name in ("dataset", "out"):
        if given.get(name) is None:
            raise InputError(f"{name} is missing; give {name}=")
    if not isinstance(given["dataset"], str):
        raise InputError(f"dataset is {given['dataset']!r:.60}; give a name, or a .toml file")
    dataset = named(given["dataset"])
    if given.get("frames") is not None:
        dataset = dataset.with_frames(given["frames"])
    if given.get("modality") is not None:
        dataset = dataset.with_modality(given["modality"])
    return dataset, path_of(given["out"], "out")


class CameraArguments(TypedDict, total=False):
    """How counts become photons."""

    pixel_size: Annotated[
        float | None, Option("Pixel size, nm; default as the stack says.", section="Camera", metavar="NM")
    ]
    offset: Annotated[
        float | None,
        Option("Counts of the camera in the dark; default as simulated, or 0.", section="Camera", metavar="COUNTS"),
    ]
    photons_per_count: Annotated[
        float | None,
        Option("Photons for each count; default as simulated, or 1.", section="Camera", metavar="PHOTONS"),
    ]


class LocalizeArguments(Write, CameraArguments, Jobs, total=False):
    """The options of `localize`."""

    method: Annotated[
        str, Option("baseline, trackpy, daofind, log, dog, ... or a variant.", "baseline", metavar="NAME")
    ]
    settings: Annotated[Any, Option("A setting of the method; may be repeated.", (), metavar="NAME=VALUE", flag="set")]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "File for the result; default METHOD.csv beside the stack, from Python none.",
            section="Output",
            metavar="FILE",
        ),
    ]
    beads: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "Bead stack (TIFF) that shows how spots look, for the baseline; default as simulated, or Gaussian.",
            section="Camera",
            metavar="FILE",
        ),
    ]
    bead_step: Annotated[
        float | None, Option("Distance of the planes of the bead stack, nm.", section="Camera", metavar="NM")
    ]


@keywords(LocalizeArguments)
def localize(
    stack: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **given: Unpack[LocalizeArguments],
) -> Localizations:
    """Find molecules in a 16-bit TIFF stack with an installed program or the built-in baseline; nm, frames from 1.

    Parameters
    ----------
    stack
        A 16-bit TIFF file.
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Searches ranges of frames instead of `jobs` of this machine; its workers see the stack.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.simulate(dataset="MT4.N2.HD", out=tempfile.mkdtemp(), frames=2)
    >>> len(fm.localize(made.stack)) > 10
    True
    """
    from flatmetric.localizers.registry import METHODS, camera_of, localize_stack, participant, shape_from_beads
    from flatmetric.stacks import open_stack

    settings = given.get("settings") or {}
    if not isinstance(settings, Mapping):
        raise InputError(f"settings is {settings!r:.60}; give a dict of numbers, as {{'threshold': 4}}")
    chosen = participant(given["method"], dict(settings))
    target = None if given.get("out") is None else path_of(given["out"], "out")
    format = None if target is None else writable_format(target, given.get("to"))
    images = open_stack(path_of(stack, "stack"))
    camera = camera_of(images, given.get("pixel_size"), given.get("offset"), given.get("photons_per_count"))
    beads, step = given.get("beads"), given.get("bead_step")
    if (beads is None) != (step is None):
        raise InputError("beads and bead_step belong together; give beads= and bead_step=")
    if beads is not None and not METHODS[chosen.method].shape:
        raise InputError(f"beads are of no use to {chosen.method}; give method='baseline'")
    shape = (
        None if beads is None or step is None else shape_from_beads(path_of(beads, "beads"), step, camera.pixel_size)
    )
    workers = Workers(given.get("jobs"), executor, kind="processes", fewest=_WORTH_PROCESSES)
    table = localize_stack(images, chosen, camera, progress, shape, workers=workers)
    if target is not None and format is not None:
        write(table, target, format)
    return table
