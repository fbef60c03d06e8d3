"""A simulated data set as a folder: the image stack, the truth, and all parameters."""

from __future__ import annotations

import dataclasses
import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from flatmetric._files import check_writable, content_hash, json_text, make_folder, read_json, write_text
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.formats.write import write
from flatmetric.localizations import Localizations
from flatmetric.movies import Image
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.datasets import Dataset, optics_from
from flatmetric.simulation.movie import images, molecules
from flatmetric.simulation.optics import KINDS, Gaussian, Optics, channels_of, psf_of
from flatmetric.stacks import write_stack
from flatmetric.version import __version__

Part = TypeVar("Part")
_RANGE = 1000  # frames that are drawn together

STACK = "stack.ome.tif"
TRUTH = "activations.csv"
PARAMETERS = "simulation.json"


def parameters(dataset: Dataset, seed: int) -> dict[str, Any]:
    """All that defines a simulation, for JSON."""
    content = dataclasses.asdict(dataset)
    kind = next(name for name, kind in KINDS.items() if isinstance(dataset.optics, kind))
    content["optics"] = {"kind": kind, **content["optics"]}
    return {"version": __version__, "seed": seed, "dataset": content}


def simulate_folder(
    folder: Path, dataset: Dataset, seed: int, progress: Progress | None = None, workers: Workers | None = None
) -> int:
    """Write the stack, the truth and, last, the parameters; return the number of true rows.

    A long stack is made by all `workers`, range by range, with the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from flatmetric.simulation.datasets import named
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = simulate_folder(folder, named("MT4.N2.HD").with_frames(2), seed=0)
    >>> sorted(path.name for path in folder.iterdir())
    ['activations.csv', 'simulation.json', 'stack.ome.tif']
    """
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    make_folder(folder)
    for name in (STACK, TRUTH, PARAMETERS):
        check_writable(folder / name)
        if name != PARAMETERS and (folder / name).exists() and not (folder / PARAMETERS).exists():
            raise InputError(f"{folder / name}: exists and was not simulated here; give another folder")
    truth = molecules(dataset, seed)
    if not isinstance(dataset.optics, Gaussian):
        psf_of(dataset.optics, dataset.pixel_size)  # before anything is written: a bead stack may be missing
    # Marked as unfinished until all is written: until then the files may come from two simulations.
    write_text(json_text(parameters(dataset, seed) | {"unfinished": True}), folder / PARAMETERS)
    with _drawn(folder, truth, dataset, seed, progress, workers or Workers(1)) as frames:
        write_stack(
            folder / STACK,
            frames,
            frames=dataset.frames,
            pixels=dataset.pixels,
            rows=dataset.rows or dataset.pixels,
            pixel_size=dataset.pixel_size,
            channels=channels_of(dataset.optics),
        )
    write(truth, folder / TRUTH, "challenge-truth")
    made = {"true_rows": len(truth), **_identity(folder)}
    write_text(json_text(parameters(dataset, seed) | made), folder / PARAMETERS)
    return len(truth)


def _identity(folder: Path) -> dict[str, Any]:
    """What tells whether stack and truth are those that were written; the stack is large, so its size has to do."""
    return {"stack_bytes": (folder / STACK).stat().st_size, "truth_sha256": content_hash(folder / TRUTH)}


def is_simulated(folder: Path, dataset: Dataset, seed: int) -> bool:
    """Whether a folder holds this simulation, complete and as it was written."""
    stored, wanted = read_json(folder / PARAMETERS), json.loads(json_text(parameters(dataset, seed)))
    if not all((folder / name).is_file() for name in (STACK, TRUTH)):
        return False
    return stored.items() >= (wanted | _identity(folder)).items() and "unfinished" not in stored


def check_truth(truth: Path) -> None:
    """Raise if a truth lies in the folder of a simulation and is not the one that was simulated.

    Examples
    --------
    >>> check_truth(Path("somewhere/else.csv"))
    """
    expected = read_json(truth.with_name(PARAMETERS)).get("truth_sha256") if truth.name == TRUTH else None
    if expected is not None and truth.is_file() and content_hash(truth) != expected:
        raise InputError(
            f"{truth}: is not the truth that was simulated, by the {PARAMETERS} beside it; simulate it again, "
            f"or remove {PARAMETERS}"
        )


def simulated_camera(stack: Path) -> Camera | None:
    """The camera of a simulated stack, from the parameters beside it; None without them."""
    return _simulated(stack, lambda dataset, _: Camera(**dataset["camera"]))


def simulated_optics(stack: Path) -> Optics | None:
    """The optics of a simulated stack, from the parameters beside it; None without them."""
    return _simulated(stack, lambda dataset, where: optics_from(dataset["optics"], where))


def _simulated(stack: Path, part: Callable[[Any, str], Part]) -> Part | None:
    """A part of the data set of a simulated stack; None if the parameters beside it don't say, or are unfinished."""
    path = stack.with_name(PARAMETERS)
    content = read_json(path)
    if "unfinished" in content:
        return None
    try:
        return part(content["dataset"], str(path))
    except (ValueError, KeyError, TypeError):
        return None


@contextmanager
def _drawn(
    folder: Path, truth: Localizations, dataset: Dataset, seed: int, progress: Progress | None, workers: Workers
) -> Iterator[Iterator[Image]]:
    """All images in order; where workers share them, their ranges lie in a folder of their own until the block ends."""
    ranges = [range(first, min(first + _RANGE, dataset.frames)) for first in range(0, dataset.frames, _RANGE)]
    if len(ranges) == 1 or (workers.jobs == 1 and not workers.elsewhere):
        yield _reported(images(truth, dataset, seed), dataset, progress)
        return
    with tempfile.TemporaryDirectory(prefix=".ranges-", dir=folder) as place:
        paths = [Path(place).absolute() / f"{frames.start}.npy" for frames in ranges]
        tasks = [(dataset, seed, frames, path) for frames, path in zip(ranges, paths, strict=True)]
        outcomes = workers.run(_draw_range, tasks, what=f"simulating {dataset.name}", progress=progress)
        for frames, outcome in zip(ranges, outcomes, strict=True):
            if isinstance(outcome, Failed):
                raise InputError(f"{folder}: frames {frames.start + 1} to {frames.stop}: {outcome.reason}")
        yield itertools.chain.from_iterable(map(np.load, paths))


def _draw_range(dataset: Dataset, seed: int, frames: range, path: Path) -> None:
    """Draw some frames (from 0) of a data set, and write them as one array."""
    np.save(path, np.stack(list(images(_molecules(dataset, seed), dataset, seed, frames))))


_molecules = lru_cache(maxsize=1)(molecules)


def _reported(images: Iterable[Image], dataset: Dataset, progress: Progress | None) -> Iterator[Image]:
    for done, image in enumerate(images, start=1):
        yield image
        if progress is not None:
            progress(f"simulating {dataset.name}", done, dataset.frames)
