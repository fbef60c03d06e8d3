"""`flatmetric simulate`: an image stack with known truth."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flatmetric.cli.progress import progress_bar
from flatmetric.cli.writing import make_folder, refuse_outputs, write_json
from flatmetric.errors import InputError
from flatmetric.version import __version__

if TYPE_CHECKING:
    from flatmetric.simulation.datasets import Dataset
    from flatmetric.stacks import Image

STACK = "stack.ome.tif"
TRUTH = "activations.csv"
PARAMETERS = "simulation.json"


def simulate(
    dataset: Annotated[
        str,
        typer.Option(
            "--dataset",
            metavar="NAME|FILE.toml",
            help="MT1.N1.LD, MT2.N1.HD, MT3.N2.LD, MT4.N2.HD, ER1.N3.LD, ER2.N3.HD, or a file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for stack and truth.", show_default=False)],
    frames: Annotated[int | None, typer.Option("--frames", help="Other than the data set's own number.")] = None,
    modality: Annotated[
        str | None, typer.Option("--modality", help="2D (round spots) or AS (astigmatic); default by the data set: 2D.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same files.")] = 0,
) -> None:
    """Simulate a data set of the SMLM 2016 Challenge, or one of your own: images, truth and all parameters."""
    from flatmetric.simulation.datasets import named

    wanted = named(dataset)
    if frames is not None:
        wanted = wanted.with_frames(frames)
    if modality is not None:
        wanted = wanted.with_modality(modality)
    rows = simulate_into(out, wanted, seed)
    print(
        f"{wanted.name}: {wanted.frames} frames of {wanted.pixels} x {wanted.pixels} pixels, {rows} true rows, "
        f"{rows / wanted.frames / (wanted.width / 1000) ** 2:.3g} per um2 and frame"
    )
    print(f"written: {out / STACK}, {TRUTH}, {PARAMETERS}")


def parameters(dataset: Dataset, seed: int) -> dict[str, Any]:
    """All that defines a simulation, for JSON."""
    return {"version": __version__, "seed": seed, "dataset": dataclasses.asdict(dataset)}


def simulate_into(folder: Path, dataset: Dataset, seed: int) -> int:
    """Write stack, truth and parameters, these last, and return the number of true rows."""
    from flatmetric.formats.writing import write
    from flatmetric.simulation.movie import images, molecules
    from flatmetric.stacks import write_stack

    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    make_folder(folder)
    refuse_outputs([folder / name for name in (STACK, TRUTH, PARAMETERS)], [])
    for name in (STACK, TRUTH):
        if (folder / name).exists() and not (folder / PARAMETERS).exists():
            raise InputError(f"{folder / name}: is there and was not simulated here; give another folder")
    truth = molecules(dataset, seed)
    # Until all is written the parameters say so: what lies beside them may be of two simulations.
    write_json(parameters(dataset, seed) | {"unfinished": True}, str(folder / PARAMETERS))
    with progress_bar(f"simulating {dataset.name}") as progress:
        write_stack(
            folder / STACK,
            _counted(images(truth, dataset, seed), dataset.frames, progress),
            frames=dataset.frames,
            pixels=dataset.pixels,
            pixel_size=dataset.pixel_size,
        )
    write(truth, folder / TRUTH, "challenge-truth")
    write_json(parameters(dataset, seed) | {"true_rows": len(truth)}, str(folder / PARAMETERS))
    return len(truth)


def _counted(images: Iterable[Image], total: int, progress: Any) -> Iterator[Image]:
    for done, image in enumerate(images, start=1):
        yield image
        if progress is not None:
            progress(done, total)
