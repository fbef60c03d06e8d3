"""`flatmetric localize`: run a localizer on an image stack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._files import check_readable
from flatmetric.api.simulate import localize as localize_stack
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.output import check_outputs, print_assumption
from flatmetric.cli.progress import progress_bar


@command(localize_stack)
def localize(stack: Annotated[Path, Argument("STACK", "A 16-bit TIFF stack.")], keywords: Keywords) -> None:
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
    for assumption in table.provenance.assumptions:
        print_assumption(assumption)
