"""`check`, `inspect` and `convert`: is this file right, what is in it, and the same in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from flatmetric._progress import Progress
from flatmetric.api.inputs import both_tables, file_findings, reading, table_from
from flatmetric.api.options import (
    FieldOfView,
    Lam,
    Limits,
    ReadBoth,
    ReadFile,
    Threads,
    Write,
    keywords,
    path_of,
)
from flatmetric.api.rules import rules_from, with_field
from flatmetric.errors import InputError
from flatmetric.formats.write import Written, files_of, writable_format, write
from flatmetric.matching.matched import dimension
from flatmetric.matching.protocol import Protocol, field_of_view
from flatmetric.quality.checking import check_tables
from flatmetric.quality.findings import Findings
from flatmetric.quality.inspect import Inspection, inspect_table

if TYPE_CHECKING:
    from flatmetric.api.options import Source


class CheckArguments(Lam, Limits, ReadBoth, Threads, total=False):
    """The options of `check`."""


@keywords(CheckArguments)
def check(
    truth: Source, pred: Source, *, progress: Progress | None = None, **given: Unpack[CheckArguments]
) -> Findings:
    """What looks wrong with a result as a whole, each with its size and a fix; empty if nothing does.

    First its frames (none, not those of the truth, an offset of any size, shuffled), then exchanged, mirrored or turned
    axes, unit, scale, rotation, drift, shift, sign of z, repeated rows, missing frames, and a border that it is
    blind in.

    Parameters
    ----------
    truth, pred
        Each a file, or a table in nm with frames from 1.
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
    true, found = both_tables(truth, pred, given, progress=progress)
    protocol, of_field = with_field(rules_from(given), given, true, found)
    dim, lam = dimension(true, found, protocol), given["lam"]
    findings = check_tables(true, found, lam=lam, protocol=protocol, dim=dim, threads=given.get("threads"))
    about_files = [*file_findings(true, "truth"), *file_findings(found, "pred"), *([of_field] if of_field else [])]
    return Findings((*about_files, *findings), true, found, given["lam"])


class InspectArguments(FieldOfView, ReadFile, Threads, total=False):
    """The options of `inspect`."""


@keywords(InspectArguments)
def inspect(file: Source, *, progress: Progress | None = None, **given: Unpack[InspectArguments]) -> Inspection:
    """What a file is, how it was understood, and what looks wrong in it, without any truth; lengths in nm.

    Parameters
    ----------
    file
        A localization file, or a table in nm with frames from 1.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import flatmetric as fm
    >>> fm.inspect({"frame": [3, 7], "x": [1.0, 2.0], "y": [0.0, 5.0]}).frames
    (3, 7)
    """
    fov = given.get("fov")
    field = None if fov is None else Protocol(fov=field_of_view(fov)).fov
    return inspect_table(
        table_from(file, "file", reading(given), threads=given.get("threads"), progress=progress), field
    )


class ConvertArguments(Write, ReadFile, Threads, total=False):
    """The options of `convert`."""


@keywords(ConvertArguments)
def convert(
    source: Source,
    target: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    **given: Unpack[ConvertArguments],
) -> Written:
    """Write a table in another format, keeping all that it can hold; tells what was lost or filled in.

    Parameters
    ----------
    source
        The file to read, or a table in nm with frames from 1.
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
    chosen = writable_format(path, given.get("to"))
    if isinstance(source, (str, os.PathLike)):
        taken = {file.resolve() for file in (Path(source), Path(source).with_suffix(".yaml"))}
        if any(file.exists() and file.resolve() in taken for file in files_of(path, chosen)):
            raise InputError(f"{path}: is the input; give another name for the output")
    table = table_from(source, "source", reading(given), threads=given.get("threads"), progress=progress)
    return write(table, path, chosen)
