"""The paper's figures that need no outside data, as files: PDF and PNG, with the numbers behind them as CSV."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric._files import check_writable, write_columns
from flatmetric.execution.progress import Progress
from flatmetric.paper import surfaces, toy_example, two_diracs
from flatmetric.paper.surfaces import Deviation, SurfaceExperiment, Surfaces
from flatmetric.paper.toy_example import ToyExample
from flatmetric.paper.two_diracs import TwoDiracs
from flatmetric.plots.style import save_for_print

FILES = {
    "1a": ("fig1a", "fig1_surfaces", "fig1_deviation"),
    "1b": ("fig1b", "fig1_surfaces"),
    "2": ("fig2",),
    "3": ("fig3",),
}
"""The files of each figure, without their suffixes."""


@dataclass(frozen=True, slots=True, eq=False)
class Figure1:
    """The numbers of Figure 1, and the time that the paper's dense linear program would need for them, s: None if it
    can't take so many points.
    """

    surfaces: Surfaces
    deviation: Deviation
    dense_lp_seconds: float | None


def check_files(out: Path, figures: Sequence[str]) -> None:
    """Fail before the work starts if a file of a figure can't be written."""
    for stem in (stem for name in figures for stem in FILES[name]):
        for suffix in (".png", ".pdf", ".csv"):
            check_writable(out / f"{stem}{suffix}")


def figure_1(
    out: Path,
    experiment: SurfaceExperiment,
    panels: Sequence[str] = ("1a", "1b"),
    progress: Progress | None = None,
    *,
    as_printed: bool = False,
) -> Figure1:
    """Figures 1a (Flat Metric) and 1b (efficiency) over recall and error, nm; in the paper's colours `as_printed`."""
    made = surfaces.surfaces(experiment, progress)
    numbers = Figure1(made, surfaces.deviation(made), surfaces.dense_lp_seconds(experiment))
    write_columns(made.columns(), out / "fig1_surfaces.csv")
    if "1a" in panels:
        save_for_print(surfaces.draw_flat_metric(made, as_printed=as_printed), out / "fig1a")
        write_columns(dataclasses.asdict(numbers.deviation), out / "fig1_deviation.csv")
        save_for_print(surfaces.draw_deviation(numbers.deviation), out / "fig1_deviation")
    if "1b" in panels:
        save_for_print(surfaces.draw_efficiency(made, as_printed=as_printed), out / "fig1b")
    return numbers


def figure_2(out: Path) -> TwoDiracs:
    """Figure 2: the Flat Metric between two single points, against their distance."""
    numbers = two_diracs.two_diracs()
    write_columns(dataclasses.asdict(numbers), out / "fig2.csv")
    save_for_print(two_diracs.draw(numbers), out / "fig2")
    return numbers


def figure_3(out: Path, seed: int = 0, *, as_printed: bool = False) -> ToyExample:
    """Figure 3: a few points that are transported, destroyed or created; in the paper's colours `as_printed`."""
    toy = toy_example.toy_example(seed)
    write_columns(toy.columns(), out / "fig3.csv")
    save_for_print(toy_example.draw(toy, as_printed=as_printed), out / "fig3")
    return toy
