"""`flatmetric paper`: the figures of the paper that need no outside data, with the numbers behind them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flatmetric.cli.columns import aligned
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.writing import make_folder, write_columns
from flatmetric.errors import InputError
from flatmetric.output import refuse_unwritable

if TYPE_CHECKING:
    from flatmetric.paper.surfaces import Deviation, Settings, Surfaces

_FILES = {
    "1a": ("fig1a", "fig1_surfaces", "fig1_deviation"),
    "1b": ("fig1b", "fig1_surfaces"),
    "2": ("fig2",),
    "3": ("fig3",),
}


def paper(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for figures and tables.")] = Path("paper"),
    figure: Annotated[
        list[str] | None, typer.Option("--figure", metavar="1a|1b|2|3", help="Only this one; may be repeated.")
    ] = None,
    points: Annotated[int, typer.Option("--points", help="Figure 1: true points in each trial.")] = 100,
    lam: Annotated[float, typer.Option("--lam", help="Figure 1: lam in nm.")] = 125.0,
    steps: Annotated[int, typer.Option("--steps", help="Figure 1: steps of recall and of the error radius.")] = 51,
    trials: Annotated[int, typer.Option("--trials", help="Figure 1: trials at each step.")] = 50,
    seed: Annotated[int, typer.Option("--seed", help="Figures 1 and 3: same seed, same numbers.")] = 0,
) -> None:
    """Make the figures of Denoyelle et al. (ISBI 2021) as PDF and PNG, with their numbers as CSV."""
    from flatmetric.paper.surfaces import Settings

    settings = Settings(points, lam, steps, trials, seed)
    wanted = figure or list(_FILES)
    for name in wanted:
        if name not in _FILES:
            raise InputError(f"--figure is {name!r}; give one of {', '.join(_FILES)}")
    make_folder(out)
    for stem in (stem for name in wanted for stem in _FILES[name]):
        for suffix in (".png", ".pdf", ".csv"):
            refuse_unwritable(out / f"{stem}{suffix}")
    if "2" in wanted:
        _two_diracs(out)
    if "3" in wanted:
        _toy_example(out, seed)
    if "1a" in wanted or "1b" in wanted:
        _surfaces(out, settings, wanted)
    print(f"written: {out}/fig*.pdf, .png, .csv")


def _two_diracs(out: Path) -> None:
    from flatmetric.paper.two_diracs import draw, two_diracs
    from flatmetric.plots.style import save_for_print

    result = two_diracs()
    write_columns(dataclasses.asdict(result), str(out / "fig2.csv"))
    save_for_print(draw(result), out / "fig2")
    print(
        f"Figure 2   two Diracs: {len(result.distance)} distances, "
        f"largest difference from the closed form {result.largest_difference:.1e}"
    )


def _toy_example(out: Path, seed: int) -> None:
    from flatmetric.paper.toy_example import draw, toy_example
    from flatmetric.plots.style import save_for_print

    toy = toy_example(seed)
    write_columns(toy.columns(), str(out / "fig3.csv"))
    save_for_print(draw(toy), out / "fig3")
    result = toy.result
    print(f"Figure 3   toy example, seed {seed}: Flat Metric {result.value:.6f} (the paper's own draw: 0.125)")
    print(f"           transported {result.displaced:.6f}, {toy.transported} points")
    print(f"           destroyed   {result.missed:.6f}, {toy.destroyed} points")
    print(f"           created     {result.false:.6f}, {toy.created} points")


def _surfaces(out: Path, settings: Settings, wanted: list[str]) -> None:
    from flatmetric.paper import surfaces
    from flatmetric.plots.style import save_for_print

    with progress_bar("Figure 1") as progress:
        result = surfaces.surfaces(settings, progress)
    write_columns(result.columns(), str(out / "fig1_surfaces.csv"))
    print(f"Figure 1   {settings.problems} problems of {settings.points} true points, lam {settings.lam:g} nm")
    print(f"           Flat Metrics solved in {result.solve_seconds:.2f} s; {_dense_lp(result)}")
    if "1a" in wanted:
        save_for_print(surfaces.draw_flat_metric(result), out / "fig1a")
        found = surfaces.deviation(result)
        write_columns(dataclasses.asdict(found), str(out / "fig1_deviation.csv"))
        save_for_print(surfaces.draw_deviation(found), out / "fig1_deviation")
        _print_deviation(found)
    if "1b" in wanted:
        save_for_print(surfaces.draw_efficiency(result), out / "fig1b")


def _dense_lp(result: Surfaces) -> str:
    from flatmetric.paper.surfaces import dense_lp_seconds

    seconds = dense_lp_seconds(result.settings)
    if seconds is None:
        return "the dense linear program can't hold so many points"
    ratio = seconds / result.solve_seconds
    return f"the dense linear program would take {seconds:.0f} s (from a sample), {ratio:.0f} times as long"


def _print_deviation(found: Deviation) -> None:
    print("           Flat Metric at full recall, nm, and what takes it off its line 2r/3:")
    names = ("radius_nm", "flat_metric", "line", "partners", "cap", "chance", "standard_error")
    last = len(found.radius_nm) - 1
    rows = sorted({round(part * last) for part in (0.1, 0.25, 0.5, 0.75, 1.0)})
    cells = [[f"{round(getattr(found, name)[row], 2) + 0.0:.2f}" for name in names] for row in rows]
    print(*("           " + line for line in aligned([names, *cells])), sep="\n")
