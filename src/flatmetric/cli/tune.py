"""`flatmetric tune`: the settings of a localizer that do best on a training data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric.api.tune import tune as tune_method
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.output import check_outputs
from flatmetric.cli.progress import progress_bar


@command(tune_method)
def tune(
    folder: Annotated[Path, Argument("FOLDER", "A training set: stack.ome.tif and activations.csv.")],
    keywords: Keywords,
) -> None:
    """Find the settings of a program with the lowest Flat Metric on a training set; score them on another one.

    flatmetric tune training --method dog --budget 6
    flatmetric tune training --method baseline --budget 4 --figure tried.png
    """
    out = Path(keywords["out"] or folder / f"tuned-{keywords['method']}.csv")
    written = [path for path in (out, keywords["figure"]) if path is not None]
    check_outputs(written if folder.is_dir() else [], [folder / "stack.ome.tif", folder / "activations.csv"])
    with progress_bar() as progress:
        tuned = tune_method(folder, progress=progress, **{**keywords, "out": out})
    best, usual = tuned.best, tuned.usual
    tried = len({tuple(trial.settings.values()) for trial in tuned.trials})
    print(
        f"{tuned.method} on {tuned.dataset}: {best.value:.1f} nm tuned, {usual.value:.1f} nm by its defaults "
        f"({tried} settings, the best ones on all {best.frames} frames)"
    )
    changed = {name: value for name, value in best.settings.items() if value != usual.settings[name]}
    if changed:
        settings = " ".join(f"--set {name}={value:g}" for name, value in changed.items())
        print(f"use them: flatmetric localize STACK --method {tuned.method} {settings}")
    else:
        print("none of the tried settings beats the defaults")
    print(f"written: {', '.join(map(str, written))}")
