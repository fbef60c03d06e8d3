"""`simulate` and `localize`: images with known truth, and a program that finds molecules in images."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from flatmetric._dataclass import dataclass
from flatmetric._files import check_writable, csv_text, make_folder, write_text
from flatmetric.errors import FindingWarning, InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Workers
from flatmetric.formats.read import read_file
from flatmetric.formats.write import writable_format, write
from flatmetric.localizations import Localizations
from flatmetric.options.base import REQUIRED, group, option, path_of, takes
from flatmetric.options.execution import Execution
from flatmetric.options.reading import ReadOptions
from flatmetric.options.scoring import plain
from flatmetric.simulation.datasets import NAMES, Dataset, named

if TYPE_CHECKING:
    from flatmetric.api.types import Source
    from flatmetric.localizers.registry import Method
    from flatmetric.simulation.traits import Likeness


_WORTH_PROCESSES = 3  # ranges of about 1000 frames: fewer don't make up for the start of processes


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Which data set is simulated."""

    dataset: str = option(REQUIRED, f"{', '.join(NAMES)}, or a TOML file.", metavar="NAME|FILE")
    out: str | os.PathLike[str] = option(REQUIRED, "Folder for the output.", metavar="DIR")
    frames: int | None = option(None, "Number of frames; default: that of the data set.", metavar="N")
    modality: str | None = option(
        None,
        "2D, AS (astigmatism), DH (double helix) or BP (two planes); default: that of the data set.",
        metavar="NAME",
    )
    seed: int = option(0, "Seed; the same seed gives the same files.", metavar="N")

    def chosen(self) -> tuple[Dataset, Path]:
        """The data set, and the folder for it."""
        if not isinstance(self.dataset, str):
            raise InputError(f"dataset is {self.dataset!r:.60}; give a name, or a .toml file")
        dataset = named(self.dataset)
        if self.frames is not None:
            dataset = dataset.with_frames(self.frames)
        if self.modality is not None:
            dataset = dataset.with_modality(self.modality)
        return dataset, path_of(self.out, "out")


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(DatasetOptions):
    """The options of `simulate`."""

    execution: Execution = group(Execution, only=("jobs",))


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
        """Compare this truth with another, given as a file, a table or a dict; `rows` has the numbers.

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


@takes(SimulateOptions)
def simulate(
    *, progress: Progress | None = None, executor: Executor | None = None, options: SimulateOptions
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

    dataset, folder = options.chosen()
    workers = Workers(options.execution.jobs, executor, kind="processes")
    rows = simulate_folder(folder, dataset, options.seed, progress, workers)
    return Simulated(folder / STACK, folder / TRUTH, dataset, rows)


@takes(DatasetOptions)
def compare_traits(truth: Source, *, options: DatasetOptions) -> Likeness:
    """Compare the molecules of a simulated data set with those of another truth, in numbers and a figure.

    No images are made. Writes comparison.csv, .png and .pdf; `rows` of the result has the numbers.

    Parameters
    ----------
    truth
        The truth to compare with: a file, or a table.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.simulate(dataset="MT0.N1.HD", out=tempfile.mkdtemp(), frames=20)
    >>> fm.compare_traits(made.truth, dataset="MT0.N1.HD", out=tempfile.mkdtemp(), frames=20).rows[0][0]
    'molecules in a frame'
    """
    from flatmetric.api.inputs import table_from
    from flatmetric.plots.style import save_for_print
    from flatmetric.plots.traits import draw_likeness
    from flatmetric.simulation.traits import likeness

    dataset, out = options.chosen()
    make_folder(out)
    for suffix in ("csv", "png", "pdf"):
        check_writable(out / f"{COMPARISON}.{suffix}")
    compared = likeness(dataset, table_from(truth, "truth", ReadOptions()), options.seed)
    cells = ([name, *("" if value is None else repr(value) for value in values)] for name, *values in compared.rows)
    write_text(csv_text([TRAIT_COLUMNS, *cells]), out / f"{COMPARISON}.csv")
    save_for_print(draw_likeness(compared), out / COMPARISON)
    return compared


COMPARISON = "comparison"
"""The name of the files that `compare_traits` writes."""
TRAIT_COLUMNS = ("trait", "simulated", "truth", "ratio")


@dataclass(frozen=True, slots=True)
class CameraOptions:
    """How counts become photons."""

    SECTION: ClassVar[str] = "Camera"

    pixel_size: float | None = option(None, "Pixel size, nm; default: that of the stack.", metavar="NM")
    offset: float | None = option(
        None, "Counts of the camera in the dark; default: as simulated, or by noise.", metavar="COUNTS"
    )
    photons_per_count: float | None = option(
        None, "Photons per count; default: as simulated, or by noise.", metavar="PHOTONS"
    )


@dataclass(frozen=True, kw_only=True)
class LocalizeOptions:
    """The options of `localize`."""

    method: str = option("baseline", "baseline, trackpy, daofind, log, dog, ... or a variant.", metavar="NAME")
    settings: Any = option(
        (),
        "A setting of the method; may be repeated.",
        metavar="NAME=VALUE",
        flag="set",
        accepts="Mapping[str, float] | Sequence[str]",
    )
    camera: CameraOptions = group(CameraOptions)
    beads: str | os.PathLike[str] | None = option(
        None,
        "Bead stack (TIFF) that shows how spots look, for the baseline; default: as simulated, or Gaussian.",
        section="Camera",
        metavar="FILE",
    )
    bead_step: float | None = option(
        None, "Distance of the planes of the bead stack, nm.", section="Camera", metavar="NM"
    )
    out: str | os.PathLike[str] | None = option(
        None,
        "File for the result; default: METHOD.csv beside the stack, from Python none.",
        section="Output",
        metavar="FILE",
    )
    to: str | None = option(
        None, "Format to write, as of convert; default: by the suffix.", section="Output", metavar="FORMAT"
    )
    execution: Execution = group(Execution, only=("jobs",))


def localize_methods() -> dict[str, Method]:
    """The methods of `localize` by name: their settings, and what to install for those that are not ready.

    Examples
    --------
    >>> import flatmetric as fm
    >>> baseline = fm.localize_methods()["baseline"]
    >>> baseline.needs, baseline.settings["threshold"].usual
    ('', 4.0)
    """
    from flatmetric.localizers.registry import METHODS

    return dict(METHODS)


@takes(LocalizeOptions)
def localize(
    stack: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    options: LocalizeOptions,
) -> Localizations:
    """Find molecules in a stack of images with an installed program or the built-in baseline; nm, frames from 1.

    Parameters
    ----------
    stack
        A TIFF file, or an .nd2 or .czi file where the packages of the extra `microscopes` are installed.
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
    from flatmetric.localizers.bead_check import check_beads
    from flatmetric.localizers.registry import METHODS, camera_of, localize_stack, participant, shape_from_beads
    from flatmetric.stacks import open_stack

    chosen = participant(options.method, _settings(options.settings))
    target = None if options.out is None else path_of(options.out, "out")
    format = None if target is None else writable_format(target, options.to)
    images = open_stack(path_of(stack, "stack"))
    camera = camera_of(images, **plain(options.camera))
    beads, step = options.beads, options.bead_step
    if (beads is None) != (step is None):
        raise InputError("beads and bead_step belong together; give beads= and bead_step=")
    if beads is not None and not METHODS[chosen.method].shape:
        raise InputError(f"{chosen.method} does not use beads; give method='baseline'")
    shape = None
    if beads is not None and step is not None:
        shape = shape_from_beads(path_of(beads, "beads"), step, camera.pixel_size)
        check_beads(images, shape, camera.offset, path_of(beads, "beads"))
    workers = Workers(options.execution.jobs, executor, kind="processes", fewest=_WORTH_PROCESSES)
    table = localize_stack(images, chosen, camera, progress, shape, workers=workers)
    for warning in table.provenance.warnings:
        warnings.warn(warning, FindingWarning, stacklevel=3)
    if target is not None and format is not None:
        write(table, target, format)
    return table


def _settings(given: Any) -> dict[str, float]:
    """The settings of a method from a dict of numbers, or from texts NAME=VALUE."""
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, (list, tuple)) or not all(isinstance(text, str) for text in given):
        raise InputError(f"settings is {given!r:.60}; give a dict of numbers, as {{'threshold': 4}}")
    settings = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            settings[name.strip()] = float(value)
        except ValueError as error:
            raise InputError(f"settings is {text!r}; give name=number, as threshold=4") from error
    return settings
