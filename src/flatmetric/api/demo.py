"""`run_demo`: the main job on a bundled example, and a page about it."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from flatmetric._dataclass import dataclass
from flatmetric._files import check_writable, make_folder, whole_file
from flatmetric.api.compare import compare
from flatmetric.errors import InputError
from flatmetric.options.base import option, page_of, path_of, takes

if TYPE_CHECKING:
    from flatmetric.statistics.comparison import Comparison

PROGRAMS = ("baseline", "dog")
FILES = ("truth.csv", "baseline.csv", "dog.csv", "stack.ome.tif")


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """The options of `run_demo`."""

    out: str | os.PathLike[str] = option(Path("flatmetric-demo.html"), "File for the page.", metavar="PAGE.html")
    data: str | os.PathLike[str] | None = option(
        None, "Also copy the files of the example here, to try the other commands.", metavar="DIR"
    )


@takes(DemoOptions)
def run_demo(*, options: DemoOptions) -> Comparison:
    """Compare two programs on a bundled simulated data set, and write a page that explains the result; lengths in nm.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> fm.run_demo(out=Path(tempfile.mkdtemp()) / "page.html").names
    ('baseline', 'dog')
    """
    page = page_of(options.out, "out")
    check_writable(page)
    if options.data is not None:
        _copy_files(path_of(options.data, "data"))
    with resources.as_file(resources.files("flatmetric") / "data") as folder:
        comparison = compare(folder / "demo_truth.csv", {name: folder / f"demo_{name}.csv" for name in PROGRAMS})
        comparison.report(page, stack=folder / "demo_stack.ome.tif")
    return comparison


def _copy_files(folder: Path) -> None:
    """Copy the files of the example, each whole or not at all; none if one would replace a file of the user's."""
    content = {folder / name: (resources.files("flatmetric") / "data" / f"demo_{name}").read_bytes() for name in FILES}
    for path, example in content.items():
        if path.exists() and not (path.is_file() and path.read_bytes() == example):
            raise InputError(f"{path}: is another file; give a folder without it")
    make_folder(folder)
    for path, example in content.items():
        with whole_file(path) as unfinished:
            unfinished.write_bytes(example)
