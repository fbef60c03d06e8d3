"""`flatmetric demo`: the main job on a bundled example, and a page about it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, TypedDict

from flatmetric._files import make_folder, whole_file
from flatmetric._shown import look_of
from flatmetric.api.compare import compare
from flatmetric.api.options import Option
from flatmetric.cli import text
from flatmetric.cli.options import command
from flatmetric.cli.output import check_outputs
from flatmetric.errors import InputError

PROGRAMS = ("baseline", "dog")
FILES = ("truth.csv", "baseline.csv", "dog.csv", "stack.ome.tif")


class DemoFlags(TypedDict, total=False):
    """The options of `demo`."""

    out: Annotated[Path, Option("File for the page.", Path("flatmetric-demo.html"), metavar="PAGE.html")]
    data: Annotated[Path, Option("Also put the files of the example here, to try the other commands.", metavar="DIR")]


@command
def demo(options: DemoFlags) -> None:
    """Two programs on a bundled simulated data set, scored and compared, and a page that explains the result.

    flatmetric demo
    flatmetric demo --out page.html --data example
    """
    check_outputs([options["out"]], [])
    if options["data"] is not None:
        _put_files(options["data"])
    with resources.as_file(resources.files("flatmetric") / "data") as folder:
        comparison = compare(folder / "demo_truth.csv", {name: folder / f"demo_{name}.csv" for name in PROGRAMS})
        look_of(comparison).report(
            comparison, options["out"], "flatmetric demo", text.as_flags, folder / "demo_stack.ome.tif"
        )
    print(f"The program {comparison.names[0]} on a simulated data set:\n")
    print(text.score_text(comparison.scores[0]))
    print(f"\nAll {len(comparison.names)} programs, with 95 % intervals:\n")
    print(text.comparison_text(comparison))
    print(f"\nOpen this page in a browser: {options['out']}")
    if options["data"] is not None:
        print(f"Its files are in {options['data']}: {', '.join(FILES)}")


def _put_files(folder: Path) -> None:
    """Copy the files of the example, each whole or not at all; none if one would replace a file of the user's."""
    content = {folder / name: (resources.files("flatmetric") / "data" / f"demo_{name}").read_bytes() for name in FILES}
    for path, example in content.items():
        if path.exists() and path.read_bytes() != example:
            raise InputError(f"{path}: is another file; give a folder without it")
    make_folder(folder)
    for path, example in content.items():
        with whole_file(path) as unfinished:
            unfinished.write_bytes(example)
