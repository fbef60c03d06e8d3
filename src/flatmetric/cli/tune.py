"""`flatmetric tune`: the settings of a localizer that do best on a training data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from flatmetric.api.options import Option
from flatmetric.api.tune import TuneArguments
from flatmetric.api.tune import tune as tune_method
from flatmetric.cli.options import Argument, command
from flatmetric.cli.output import check_outputs
from flatmetric.cli.progress import progress_bar
from flatmetric.errors import InputError


class TuneFlags(TuneArguments, total=False):
    """The options of `tune`."""

    figure: Annotated[
        Path | None,
        Option("Draw what was tried: PNG, PDF or SVG, by the name.", section="Output", metavar="FILE"),
    ]


@command
def tune(
    folder: Annotated[Path, Argument("FOLDER", "A training set: stack.ome.tif and activations.csv.")],
    options: TuneFlags,
) -> None:
    """Which settings of a program do best? Tried on a training set, by the Flat Metric; score on another one.

    flatmetric tune training --method dog --budget 6
    flatmetric tune training --method baseline --budget 4 --figure tried.png
    """
    from flatmetric.challenge.tuning import training_files

    given: dict[str, Any] = dict(options)
    figure: Path | None = given.pop("figure")
    out = folder / f"tuned-{options['method']}.csv" if options["out"] is None else Path(options["out"])
    if figure is not None and figure.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"figure is {figure}; give a name that ends in .png, .pdf or .svg")
    check_outputs([out, figure], training_files(folder))
    with progress_bar() as progress:
        tuned = tune_method(folder, progress=progress, **{**given, "out": out})
    best, usual = tuned.best, tuned.usual
    tried = len({tuple(trial.settings.values()) for trial in tuned.trials})
    print(
        f"{tuned.method} on {tuned.dataset}: {best.value:.1f} nm tuned, {usual.value:.1f} nm by its defaults "
        f"({tried} settings, the best ones on all {best.frames} frames)"
    )
    changed = {name: value for name, value in best.settings.items() if value != usual.settings[name]}
    if changed:
        flags = " ".join(f"--set {name}={value:g}" for name, value in changed.items())
        print(f"use them: flatmetric localize STACK --method {tuned.method} {flags}")
    else:
        print("the defaults are the best of what was tried")
    if figure is not None:
        from flatmetric.plots.style import save
        from flatmetric.plots.tuning import draw_trials

        save(draw_trials(tuned), figure)
    print(f"written: {', '.join(str(path) for path in (out, figure) if path is not None)}")
