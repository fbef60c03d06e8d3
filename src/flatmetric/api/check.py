"""`check`, `inspect` and `convert`: mistakes in a file, what is in it, and the same in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from flatmetric._dataclass import dataclass
from flatmetric.api.inputs import both_tables, table_from
from flatmetric.api.read import FileOptions
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.formats.write import Written, files_of, writable_format, write
from flatmetric.matching.matched import dimension
from flatmetric.options.base import group, option, path_of, takes
from flatmetric.options.checking import CheckOptions
from flatmetric.options.rules import Protocol
from flatmetric.quality.checking import check_tables
from flatmetric.quality.field import with_field
from flatmetric.quality.findings import Findings, findings_of_files
from flatmetric.quality.inspect import Inspection, inspect_table

if TYPE_CHECKING:
    from flatmetric.api.types import Source


@takes(CheckOptions)
def check(truth: Source, pred: Source, *, progress: Progress | None = None, options: CheckOptions) -> Findings:
    """What looks wrong with a result as a whole, each with its size and a fix; empty if nothing does.

    First its frames (none, not those of the truth, an offset of any size, shuffled), then exchanged, mirrored or turned
    axes, unit, scale, rotation, drift, shift, sign of z, repeated rows, missing frames, and a border without
    detections.

    Parameters
    ----------
    truth, pred
        Each a file, or a table.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).uniform(0, 6400, (2, 200))
    >>> truth = {"frame": np.arange(1, 201), "x": x, "y": y}
    >>> late = dict(truth, frame=np.arange(2, 202))
    >>> print(fm.check(truth, late)[0].fix)
    frame_base=2
    """
    target = None if options.apply is None else path_of(options.apply, "apply")
    format = None if target is None else writable_format(target, None)
    true, table = both_tables(truth, pred, options, progress=progress)
    rules, of_field = with_field(options.rules, true, table)
    lam, dim = options.metrics.lam, dimension(true, table, rules)
    findings = check_tables(true, table, lam, rules, dim, options.execution.threads)
    every = Findings((*findings_of_files(true, table, of_field=of_field), *findings), true, table, lam)
    if target is not None and format is not None:
        write(every.apply(table), target, format)
    return every


@dataclass(frozen=True, kw_only=True)
class InspectOptions(FileOptions):
    """The options of `inspect`."""

    rules: Protocol = group(Protocol, only=("fov",), start=False)


@takes(InspectOptions)
def inspect(file: Source, *, progress: Progress | None = None, options: InspectOptions) -> Inspection:
    """What a file is, how it was understood, and what looks wrong in it, without any truth; lengths in nm.

    Parameters
    ----------
    file
        A localization file, or a table.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> fm.inspect({"frame": [3, 7], "x": [1.0, 2.0], "y": [0.0, 5.0]}).frames
    (3, 7)
    """
    table = table_from(file, "file", options.reading, threads=options.execution.threads, progress=progress)
    return inspect_table(table, options.rules.fov)


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(FileOptions):
    """The options of `convert`."""

    to: str | None = option(
        None,
        "Format to write: challenge-standard, thunderstorm, picasso or parquet; default: by the suffix.",
        section="Output",
        metavar="FORMAT",
    )


@takes(ConvertOptions)
def convert(
    source: Source, target: str | os.PathLike[str], *, progress: Progress | None = None, options: ConvertOptions
) -> Written:
    """Write a table in another format, keeping all that it can hold; the result lists what was lost or set to 0.

    Parameters
    ----------
    source
        The file to read, or a table.
    target
        The file to write.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> out = Path(tempfile.mkdtemp()) / "result.csv"
    >>> fm.convert({"frame": [1], "x": [120.5], "y": [80.0], "id": [4]}, out, to="thunderstorm").format
    'thunderstorm'
    """
    path = path_of(target, "target")
    chosen = writable_format(path, options.to)
    if isinstance(source, (str, os.PathLike)):
        inputs = {file.resolve() for file in (Path(source), Path(source).with_suffix(".yaml"))}
        if any(file.exists() and file.resolve() in inputs for file in files_of(path, chosen)):
            raise InputError(f"{path}: is the input; give another name for the output")
    table = table_from(source, "source", options.reading, threads=options.execution.threads, progress=progress)
    return write(table, path, chosen)
