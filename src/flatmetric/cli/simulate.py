"""`flatmetric simulate`: an image stack with known truth."""

from __future__ import annotations

from flatmetric.api.simulate import SimulateArguments
from flatmetric.api.simulate import simulate as simulate_dataset
from flatmetric.cli.options import command
from flatmetric.cli.progress import progress_bar


class SimulateFlags(SimulateArguments, total=False):
    """The options of `simulate`."""


@command
def simulate(options: SimulateFlags) -> None:
    """A data set of the SMLM 2016 Challenge, or one of your own, with known truth: images, molecules, parameters.

    flatmetric simulate --dataset MT1.N1.LD --frames 10 --out MT1
    flatmetric simulate --dataset ER2.N3.HD --frames 10 --modality AS --seed 3 --out ER2
    """
    with progress_bar() as progress:
        made = simulate_dataset(progress=progress, **options)
    dataset = made.dataset
    assert dataset is not None
    print(
        f"{dataset.name}: {dataset.frames} frames of {dataset.pixels} x {dataset.pixels} pixels, "
        f"{made.rows} true rows, "
        f"{made.rows / dataset.frames / (dataset.width / 1000) ** 2:.3g} per um2 and frame"
    )
    print(f"written: {made.stack}, {made.truth.name}, simulation.json")
