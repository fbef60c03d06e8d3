"""`flatmetric simulate`: an image stack with known truth; or how like a real one it would be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from flatmetric._files import csv_text, make_folder, write_text
from flatmetric.api.options import Option
from flatmetric.api.simulate import SimulateArguments, chosen_dataset
from flatmetric.api.simulate import simulate as simulate_dataset
from flatmetric.cli.options import command
from flatmetric.cli.output import check_outputs
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned

_COMPARISON = "comparison"
_ALIKE = 0.1  # of the truth's value


class SimulateFlags(SimulateArguments, total=False):
    """The options of `simulate`."""

    compare: Annotated[
        Path | None,
        Option(
            "Make no images: hold the simulated molecules against this truth, in numbers and a figure.", metavar="TRUTH"
        ),
    ]


@command
def simulate(options: SimulateFlags) -> None:
    """A data set of the SMLM 2016 Challenge, or one of your own, with known truth: images, molecules, parameters.

    flatmetric simulate --dataset MT1.N1.LD --frames 10 --out MT1
    flatmetric simulate --dataset ER2.N3.HD --frames 10 --modality AS --seed 3 --out ER2
    """
    given: dict[str, Any] = dict(options)
    truth = given.pop("compare")
    if truth is not None:
        _compare(truth, given)
        return
    with progress_bar() as progress:
        made = simulate_dataset(progress=progress, **given)
    dataset = made.dataset
    assert dataset is not None
    print(
        f"{dataset.name}: {dataset.frames} frames of {dataset.pixels} x {dataset.pixels} pixels, "
        f"{made.rows} true rows, "
        f"{made.rows / dataset.frames / (dataset.width / 1000) ** 2:.3g} per um2 and frame"
    )
    print(f"written: {made.stack}, {made.truth.name}, simulation.json")


def _compare(path: Path, given: dict[str, Any]) -> None:
    from flatmetric.formats.conversion import ReadOptions
    from flatmetric.formats.read import read_file
    from flatmetric.plots.style import save_for_print
    from flatmetric.plots.traits import draw_likeness
    from flatmetric.simulation.traits import likeness

    dataset, out = chosen_dataset(given)
    written = [out / f"{_COMPARISON}.{suffix}" for suffix in ("csv", "png", "pdf")]
    make_folder(out)
    check_outputs(written, [path])
    found = likeness(dataset, read_file(path, ReadOptions()), given["seed"])
    told = [row for row in found.rows if row[3] is not None]
    alike = [row for row in told if row[3] is not None and abs(row[3] - 1) <= _ALIKE]
    print(f"{dataset.name} against {path.name}: {len(alike)} of {len(told)} traits agree within {100 * _ALIKE:g} %\n")
    header = ["trait", "simulated", "truth", "ratio"]
    print("\n".join(aligned([header, *([name, *map(_shown, values)] for name, *values in found.rows)], "<")))
    write_text(csv_text([header, *([name, *map(_exact, values)] for name, *values in found.rows)]), written[0])
    save_for_print(draw_likeness(found), out / _COMPARISON)
    print(f"\nwritten: {', '.join(map(str, written))}")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)
