"""`flatmetric paper`: the figures of the paper that need no outside data, with the numbers behind them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

from flatmetric._files import check_writable, make_folder
from flatmetric.api.options import Option
from flatmetric.cli.options import command
from flatmetric.cli.output import write_columns
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.paper.surfaces import Deviation, Settings, Surfaces

_FILES = {
    "1a": ("fig1a", "fig1_surfaces", "fig1_deviation"),
    "1b": ("fig1b", "fig1_surfaces"),
    "2": ("fig2",),
    "3": ("fig3",),
}


class PaperFlags(TypedDict, total=False):
    """Which figures are made, and how."""

    out: Annotated[Path, Option("Folder for figures and tables.", Path("paper"), metavar="DIR")]
    figures: Annotated[
        tuple[str, ...],
        Option("Make only this figure: 1a, 1b, 2 or 3; may be repeated.", (), metavar="NAME", flag="figure"),
    ]
    points: Annotated[int, Option("Figure 1: true points in each trial.", 100, metavar="N")]
    lam: Annotated[float, Option("Figure 1: cost of a missed molecule or a false detection, nm.", 125.0, metavar="NM")]
    steps: Annotated[int, Option("Figure 1: steps of recall and of the error radius.", 51, metavar="N")]
    trials: Annotated[int, Option("Figure 1: trials at each step.", 50, metavar="N")]
    seed: Annotated[int, Option("Figures 1 and 3: the same seed gives the same numbers.", 0, metavar="N")]


@command
def paper(options: PaperFlags) -> None:
    """The figures of Denoyelle et al. (ISBI 2021) as PDF and PNG, with their numbers as CSV.

    flatmetric paper --figure 2 --out paper
    flatmetric paper --figure 1a --points 20 --steps 5 --trials 2 --out paper
    """
    from flatmetric.paper.surfaces import Settings

    settings = Settings(options["points"], options["lam"], options["steps"], options["trials"], options["seed"])
    wanted, out = options["figures"] or tuple(_FILES), options["out"]
    for name in wanted:
        if name not in _FILES:
            raise InputError(f"--figure is {name!r}; give one of {', '.join(_FILES)}")
    make_folder(out)
    for stem in (stem for name in wanted for stem in _FILES[name]):
        for suffix in (".png", ".pdf", ".csv"):
            check_writable(out / f"{stem}{suffix}")
    if "2" in wanted:
        _two_diracs(out)
    if "3" in wanted:
        _toy_example(out, options["seed"])
    if "1a" in wanted or "1b" in wanted:
        _surfaces(out, settings, wanted)
    print(f"written: {out}/fig*.pdf, .png, .csv")


def _two_diracs(out: Path) -> None:
    from flatmetric.paper.two_diracs import draw, two_diracs
    from flatmetric.plots.style import save_for_print

    result = two_diracs()
    write_columns(dataclasses.asdict(result), out / "fig2.csv")
    save_for_print(draw(result), out / "fig2")
    print(
        f"Figure 2   two Diracs: {len(result.distance)} distances, "
        f"largest difference from the closed form {result.largest_difference:.1e}"
    )


def _toy_example(out: Path, seed: int) -> None:
    from flatmetric.paper.toy_example import draw, toy_example
    from flatmetric.plots.style import save_for_print

    toy = toy_example(seed)
    write_columns(toy.columns(), out / "fig3.csv")
    save_for_print(draw(toy), out / "fig3")
    result = toy.result
    print(f"Figure 3   toy example, seed {seed}: Flat Metric {result.value:.6f} (the paper's own draw: 0.125)")
    print(f"           transported {result.displaced:.6f}, {toy.transported} points")
    print(f"           destroyed   {result.false:.6f}, {toy.destroyed} points")
    print(f"           created     {result.missed:.6f}, {toy.created} points")


def _surfaces(out: Path, settings: Settings, wanted: Sequence[str]) -> None:
    from flatmetric.paper import surfaces
    from flatmetric.plots.style import save_for_print

    with progress_bar() as progress:
        result = surfaces.surfaces(settings, progress)
    write_columns(result.columns(), out / "fig1_surfaces.csv")
    print(f"Figure 1   {settings.problems} problems of {settings.points} true points, lam {settings.lam:g} nm")
    print(f"           Flat Metrics solved in {result.solve_seconds:.2f} s; {_dense_lp(result)}")
    if "1a" in wanted:
        save_for_print(surfaces.draw_flat_metric(result), out / "fig1a")
        deviation = surfaces.deviation(result)
        write_columns(dataclasses.asdict(deviation), out / "fig1_deviation.csv")
        save_for_print(surfaces.draw_deviation(deviation), out / "fig1_deviation")
        _print_deviation(deviation)
    if "1b" in wanted:
        save_for_print(surfaces.draw_efficiency(result), out / "fig1b")


def _dense_lp(result: Surfaces) -> str:
    from flatmetric.paper.surfaces import dense_lp_seconds

    seconds = dense_lp_seconds(result.settings)
    if seconds is None:
        return "the dense linear program can't take so many points"
    ratio = seconds / result.solve_seconds
    return f"the dense linear program would take {seconds:.0f} s (from a sample), {ratio:.0f} times as long"


def _print_deviation(deviation: Deviation) -> None:
    print("           Flat Metric at full recall, nm, and what takes it off its line 2r/3:")
    names = ("radius_nm", "flat_metric", "line", "partners", "cap", "chance", "standard_error")
    last = len(deviation.radius_nm) - 1
    rows = sorted({round(part * last) for part in (0.1, 0.25, 0.5, 0.75, 1.0)})
    cells = [[f"{round(getattr(deviation, name)[row], 2) + 0.0:.2f}" for name in names] for row in rows]
    print(*("           " + line for line in aligned([names, *cells])), sep="\n")
