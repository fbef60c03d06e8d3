"""`flatmetric paper`: the figures of the paper that need no outside data, with the numbers behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flatmetric.api.paper import paper_figures
from flatmetric.cli.options import Keywords, command
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned

if TYPE_CHECKING:
    from flatmetric.paper.figures import Figure1
    from flatmetric.paper.surfaces import Deviation


@command(paper_figures)
def paper(keywords: Keywords) -> None:
    """Make the figures of Denoyelle et al. (ISBI 2021) as PDF and PNG, with their numbers as CSV.

    flatmetric paper --figure 2 --out paper
    flatmetric paper --figure 1a --points 20 --steps 5 --trials 2 --out paper
    """
    with progress_bar() as progress:
        made = paper_figures(progress=progress, **keywords)
    if made.figure_2 is not None:
        print(
            f"Figure 2   two Diracs: {len(made.figure_2.distance)} distances, "
            f"largest difference from the closed form {made.figure_2.largest_difference:.1e}"
        )
    if made.figure_3 is not None:
        toy, result, seed = made.figure_3, made.figure_3.result, keywords["seed"]
        print(f"Figure 3   toy example, seed {seed}: Flat Metric {result.value:.6f} (the paper's own draw: 0.125)")
        print(f"           transported {result.displaced:.6f}, {toy.transported} points")
        print(f"           destroyed   {result.false:.6f}, {toy.destroyed} points")
        print(f"           created     {result.missed:.6f}, {toy.created} points")
    if made.figure_1 is not None:
        _print_figure_1(made.figure_1, with_deviation="1a" in (keywords["figures"] or ("1a",)))
    print(f"written: {made.out}/fig*.pdf, .png, .csv")


def _print_figure_1(figure: Figure1, with_deviation: bool) -> None:
    solved, experiment = figure.surfaces.solve_seconds, figure.surfaces.settings
    print(f"Figure 1   {experiment.problems} problems of {experiment.points} true points, lam {experiment.lam:g} nm")
    dense = "the dense linear program can't take so many points"
    if figure.dense_lp_seconds is not None:
        ratio = figure.dense_lp_seconds / solved
        dense = (
            f"the dense linear program would take {figure.dense_lp_seconds:.0f} s (from a sample), {ratio:.0f} times"
        )
        dense += " as long"
    print(f"           Flat Metrics solved in {solved:.2f} s; {dense}")
    if with_deviation:
        _print_deviation(figure.deviation)


def _print_deviation(deviation: Deviation) -> None:
    print("           Flat Metric at full recall, nm, and what takes it off its line 2r/3:")
    names = ("radius_nm", "flat_metric", "line", "partners", "cap", "chance", "standard_error")
    last = len(deviation.radius_nm) - 1
    rows = sorted({round(part * last) for part in (0.1, 0.25, 0.5, 0.75, 1.0)})
    cells = [[f"{round(getattr(deviation, name)[row], 2) + 0.0:.2f}" for name in names] for row in rows]
    print(*("           " + line for line in aligned([names, *cells])), sep="\n")
