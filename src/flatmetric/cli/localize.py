"""`flatmetric localize`: run a localizer on an image stack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from flatmetric.api.simulate import LocalizeArguments
from flatmetric.api.simulate import localize as localize_stack
from flatmetric.cli.options import Argument, command
from flatmetric.cli.output import check_outputs, print_assumption
from flatmetric.cli.progress import progress_bar
from flatmetric.errors import InputError


class LocalizeFlags(LocalizeArguments, total=False):
    """The options of `localize`."""


@command
def localize(stack: Annotated[Path, Argument("STACK", "A 16-bit TIFF stack.")], options: LocalizeFlags) -> None:
    """Where are the molecules in STACK? By the built-in baseline, or by an installed program.

    flatmetric localize stack.ome.tif --out mine.csv
    flatmetric localize stack.ome.tif --method baseline --set threshold=6 --out mine.csv
    """
    target = stack.with_name(f"{options['method']}.csv") if options["out"] is None else Path(options["out"])
    beads = options.get("beads")
    check_outputs([target], [stack, *([] if beads is None else [Path(beads)])])
    settings = dict(map(_setting, options["settings"]))
    given: dict[str, Any] = {**options, "settings": settings, "out": target}
    with progress_bar() as progress:
        table = localize_stack(stack, progress=progress, **given)
    print(f"{len(table)} localizations by {options['method']}\nwritten: {target}")
    for assumption in table.provenance.assumptions:
        print_assumption(assumption)


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(f"--set is {text!r}; give name=number, as threshold=4") from error
