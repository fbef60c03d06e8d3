"""`flatmetric localize`: run a localizer on an image stack."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from flatmetric._files import check_readable
from flatmetric.api.simulate import localize as localize_stack
from flatmetric.api.simulate import localize_methods
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.output import check_outputs, print_assumption, print_finding
from flatmetric.cli.progress import progress_bar


def _methods(args: list[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The settings of the method that is named, or all methods and what they need."""
    methods, named = localize_methods(), re.search(r"(?:^|\s)--method[=\s](\S+)", " ".join(args))
    if named is not None and named[1] in methods:
        settings = methods[named[1]].settings
        rows = [
            (f"{name}={one.usual:g}", f"{one.meaning}; {one.least:g} to {one.most:g}") for name, one in settings.items()
        ]
        return [(f"Settings of {named[1]}, for --set", rows)]
    rows = [(name, one.needs or "ready") for name, one in methods.items()]
    return [("Methods, whose settings `--method NAME -h` lists", rows)]


@command(localize_stack, more_help=_methods)
def localize(stack: Annotated[Path, Argument("STACK", "A TIFF stack.")], keywords: Keywords) -> None:
    """Find the molecules in STACK with the built-in baseline or an installed program.

    flatmetric localize stack.ome.tif --out mine.csv
    flatmetric localize stack.ome.tif --method baseline --set threshold=6 --out mine.csv
    """
    method, beads = keywords["method"], keywords["beads"]
    check_readable(stack)
    target = Path(keywords["out"] or stack.with_name(f"{method}.csv"))
    check_outputs([target], [stack, *([] if beads is None else [Path(beads)])])
    with progress_bar() as progress:
        table = localize_stack(stack, progress=progress, **{**keywords, "out": target})
    print(f"{len(table)} localizations by {method}\nwritten: {target}")
    for warning in table.provenance.warnings:
        print_finding(warning, "wrong")
    for assumption in table.provenance.assumptions:
        print_assumption(assumption)
