"""`flatmetric simulate`: an image stack with known truth; or how its molecules compare with those of a real truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric.api.simulate import COMPARISON, TRAIT_COLUMNS, compare_traits
from flatmetric.api.simulate import simulate as simulate_dataset
from flatmetric.cli.options import Keywords, arguments_for, command
from flatmetric.cli.output import check_outputs
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned
from flatmetric.options.base import option

_CLOSE = 0.1  # of the truth's value: traits that differ by less count as equal


@dataclass(frozen=True, kw_only=True)
class SimulateFlags:
    """The flags of `simulate` besides those of `fm.simulate`."""

    compare: Path | None = option(
        None,
        "Make no images: compare the simulated molecules with this truth, in numbers and a figure.",
        metavar="TRUTH",
    )


@command(simulate_dataset, compare_traits)
def simulate(keywords: Keywords, flags: SimulateFlags) -> None:
    """Simulate a data set of the SMLM 2016 Challenge, or one of your own: images, true molecules, parameters.

    flatmetric simulate --dataset MT1.N1.LD --frames 10 --out MT1
    flatmetric simulate --dataset ER2.N3.HD --frames 10 --modality AS --seed 3 --out ER2
    """
    if flags.compare is not None:
        written = [Path(keywords["out"]) / f"{COMPARISON}.{suffix}" for suffix in ("csv", "png", "pdf")]
        check_outputs([path for path in written if path.parent.is_dir()], [flags.compare])
        _print_traits(compare_traits(flags.compare, **arguments_for(compare_traits, keywords)), flags.compare)
        print(f"\nwritten: {', '.join(map(str, written))}")
        return
    with progress_bar() as progress:
        made = simulate_dataset(progress=progress, **keywords)
    dataset = made.dataset
    assert dataset is not None
    print(
        f"{dataset.name}: {dataset.frames} frames of {dataset.pixels} x {dataset.rows or dataset.pixels} pixels, "
        f"{made.rows} true rows, "
        f"{made.rows / dataset.frames / dataset.width / dataset.height * 1e6:.3g} per um2 and frame"
    )
    print(f"written: {made.stack}, {made.truth.name}, simulation.json")


def _print_traits(compared: Any, truth: Path) -> None:
    ratios = [row[3] for row in compared.rows if row[3] is not None]
    close = [ratio for ratio in ratios if abs(ratio - 1) <= _CLOSE]
    name = compared.dataset.name
    print(f"{name} against {truth.name}: {len(close)} of {len(ratios)} traits agree within {100 * _CLOSE:g} %\n")
    cells = [[trait, *map(_shown, values)] for trait, *values in compared.rows]
    print("\n".join(aligned([TRAIT_COLUMNS, *cells], "<")))


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
