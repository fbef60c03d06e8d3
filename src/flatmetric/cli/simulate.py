"""`flatmetric simulate`: an image stack with known truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flatmetric.cli import options
from flatmetric.cli.progress import progress_bar


@dataclass(frozen=True)
class SimulateOptions(options.Group):
    """What is simulated, and where it goes."""

    dataset: str = options.option(
        options.REQUIRED,
        "MT1.N1.LD, MT2.N1.HD, MT3.N2.LD, MT4.N2.HD, ER1.N3.LD, ER2.N3.HD, or a TOML file.",
        metavar="NAME|FILE",
    )
    out: Path = options.option(options.REQUIRED, "Folder for stack and truth.", metavar="DIR")
    frames: int | None = options.option(None, "Number of frames; default that of the data set.")
    modality: str | None = options.option(None, "2D (round spots) or AS (astigmatic); default that of the data set.")
    seed: int = options.option(0, "The same seed gives the same files.")


@options.command
def simulate(what: SimulateOptions) -> None:
    """Simulate a data set of the SMLM 2016 Challenge, or one of your own: images, truth and all parameters."""
    from flatmetric.simulation.datasets import named
    from flatmetric.simulation.folder import PARAMETERS, STACK, TRUTH, simulate_folder

    dataset = named(what.dataset)
    if what.frames is not None:
        dataset = dataset.with_frames(what.frames)
    if what.modality is not None:
        dataset = dataset.with_modality(what.modality)
    with progress_bar() as progress:
        rows = simulate_folder(what.out, dataset, what.seed, progress)
    print(
        f"{dataset.name}: {dataset.frames} frames of {dataset.pixels} x {dataset.pixels} pixels, {rows} true rows, "
        f"{rows / dataset.frames / (dataset.width / 1000) ** 2:.3g} per um2 and frame"
    )
    print(f"written: {what.out / STACK}, {TRUTH}, {PARAMETERS}")
