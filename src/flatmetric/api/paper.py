"""`paper_figures`: the figures of the paper that need no outside data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from flatmetric._dataclass import dataclass
from flatmetric._files import make_folder
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.options.base import group, option, path_of, takes
from flatmetric.options.figures import FigureStyle
from flatmetric.paper.surfaces import SurfaceExperiment

if TYPE_CHECKING:
    from flatmetric.paper.figures import Figure1
    from flatmetric.paper.toy_example import ToyExample
    from flatmetric.paper.two_diracs import TwoDiracs


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """The options of `paper_figures`."""

    out: str | os.PathLike[str] = option(Path("paper"), "Folder for figures and tables.", metavar="DIR")
    figures: tuple[str, ...] = option(
        (), "Make only this figure: 1a, 1b, 2 or 3; may be repeated.", metavar="NAME", flag="figure"
    )
    look: FigureStyle = group(FigureStyle)
    experiment: SurfaceExperiment = group(SurfaceExperiment)


@dataclass(frozen=True, slots=True, eq=False)
class PaperFigures:
    """The numbers behind the figures that were made, None for the others; their files are in the folder `out`."""

    out: Path
    figure_1: Figure1 | None = None
    figure_2: TwoDiracs | None = None
    figure_3: ToyExample | None = None


@takes(PaperOptions)
def paper_figures(*, progress: Progress | None = None, options: PaperOptions) -> PaperFigures:
    """Make the figures of Denoyelle et al. (ISBI 2021) as PDF and PNG, with their numbers as CSV; lengths in nm.

    Parameters
    ----------
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.paper_figures(out=tempfile.mkdtemp(), figures=["3"])
    >>> made.figure_3.transported, sorted(path.name for path in made.out.iterdir())
    (12, ['fig3.csv', 'fig3.pdf', 'fig3.png'])
    """
    from flatmetric.paper.figures import FILES, check_files, figure_1, figure_2, figure_3

    wanted, out = tuple(options.figures) or tuple(FILES), path_of(options.out, "out")
    for name in wanted:
        if name not in FILES:
            raise InputError(f"figures is {name!r}; give one of {', '.join(FILES)}")
    make_folder(out)
    check_files(out, wanted)
    panels, as_printed = [name for name in wanted if name.startswith("1")], options.look.as_printed
    return PaperFigures(
        out,
        figure_2=figure_2(out) if "2" in wanted else None,
        figure_3=figure_3(out, options.experiment.seed, as_printed=as_printed) if "3" in wanted else None,
        figure_1=figure_1(out, options.experiment, panels, progress, as_printed=as_printed) if panels else None,
    )
