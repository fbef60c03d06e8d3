"""Makes the bundled example: a simulated data set, and what two programs found in its images.

Run from the repository: python examples/make_demo_data.py
"""

from pathlib import Path

from flatmetric.formats.write import write
from flatmetric.localizers.registry import StackCamera, localize_stack, participant
from flatmetric.simulation.datasets import Dataset
from flatmetric.simulation.movie import images, molecules
from flatmetric.stacks import open_stack, write_stack

DATA = Path(__file__).parent.parent / "src" / "flatmetric" / "data"
SEED = 2021
DATASET = Dataset(
    name="demo",
    structure="endoplasmic_reticulum",
    frames=80,
    density=0.25,
    photons=2000.0,
    background=25.0,
)
PROGRAMS = ("baseline", "dog")


def main(folder: Path = DATA) -> None:
    """Simulate, localize, and write images, truth and results."""
    truth = molecules(DATASET, SEED)
    write(truth, folder / "demo_truth.csv", "challenge-truth")
    camera = DATASET.camera
    stack = folder / "demo_stack.ome.tif"
    write_stack(
        stack,
        images(truth, DATASET, SEED),
        frames=DATASET.frames,
        pixels=DATASET.pixels,
        pixel_size=DATASET.pixel_size,
    )
    for name in PROGRAMS:
        known = StackCamera(DATASET.pixel_size, camera.offset, camera.photons_per_count)
        result = localize_stack(open_stack(stack), participant(name), known)
        write(result, folder / f"demo_{name}.csv", "thunderstorm")


if __name__ == "__main__":
    main()
