"""`flatmetric simulate`: an image stack with known truth."""

from __future__ import annotations

from pathlib import Path

from flatmetric.cli.options import REQUIRED, Group, command, option
from flatmetric.cli.progress import progress_bar


class SimulateFlags(Group):
    """What is simulated, and where it goes."""

    dataset: str = option(
        REQUIRED,
        "MT1.N1.LD, MT2.N1.HD, MT3.N2.LD, MT4.N2.HD, ER1.N3.LD, ER2.N3.HD, or a TOML file.",
        metavar="NAME|FILE",
    )
    out: Path = option(REQUIRED, "Folder for stack and truth.", metavar="DIR")
    frames: int | None = option(None, "Number of frames; default that of the data set.")
    modality: str | None = option(None, "2D (round spots) or AS (astigmatic); default that of the data set.")
    seed: int = option(0, "The same seed gives the same files.")


@command
def simulate(options: SimulateFlags) -> None:
    """Simulate a data set of the SMLM 2016 Challenge, or one of your own: images, truth and all parameters."""
    from flatmetric.simulation.datasets import named
    from flatmetric.simulation.folder import PARAMETERS, STACK, TRUTH, simulate_folder

    dataset = named(options.dataset)
    if options.frames is not None:
        dataset = dataset.with_frames(options.frames)
    if options.modality is not None:
        dataset = dataset.with_modality(options.modality)
    with progress_bar() as progress:
        rows = simulate_folder(options.out, dataset, options.seed, progress)
    print(
        f"{dataset.name}: {dataset.frames} frames of {dataset.pixels} x {dataset.pixels} pixels, {rows} true rows, "
        f"{rows / dataset.frames / (dataset.width / 1000) ** 2:.3g} per um2 and frame"
    )
    print(f"written: {options.out / STACK}, {TRUTH}, {PARAMETERS}")
