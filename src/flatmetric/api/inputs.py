"""Tables from whatever the user has: files, tables of other libraries, dicts; and what looks wrong with a result."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from flatmetric._display import remember_warning
from flatmetric.errors import FindingWarning, InputError, ReadWarning
from flatmetric.execution.progress import Progress
from flatmetric.formats.conversion import converted
from flatmetric.formats.file_options import options_of_file
from flatmetric.formats.read import read_file, read_table
from flatmetric.localizations import Localizations, Provenance
from flatmetric.options.reading import ReadOptions
from flatmetric.quality.findings import Finding, Findings

if TYPE_CHECKING:
    from flatmetric.options.checking import CheckOptions
    from flatmetric.options.scoring import ScoreOptions


def table_from(
    value: Any,
    name: str,
    options: ReadOptions,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    per_file: bool = False,
    folder: Path | None = None,
) -> Localizations:
    """A table from a file, a table or a dict; `name` is that of the argument.

    With `per_file`, a `submissions.toml` beside the file, or in a folder above it, adds to the options. With `folder`,
    the columns of a text or Parquet file lie in files there.

    Examples
    --------
    >>> table_from({"frame": [1], "x": [0.1], "y": [0.2]}, "pred", ReadOptions(unit="um")).x
    array([100.])
    """
    if isinstance(value, (str, os.PathLike)):
        path = Path(value)
        chosen = options_of_file(path, options) if per_file else options
        table = read_file(path, chosen, _bytes_of(path, progress), threads, folder)
        if chosen == options:
            return table
        steps = (*table.provenance.conversions, "reading options from submissions.toml")
        return dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, conversions=steps))
    return converted(value, options, name) if isinstance(value, Localizations) else read_table(value, name, options)


def _bytes_of(path: Path, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(f"reading {path.name}", done, total)


def both_tables(
    truth: Any,
    pred: Any,
    options: ScoreOptions | CheckOptions,
    *,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> tuple[Localizations, Localizations]:
    """The truth, read in a thread of its own, and the result, read once `meanwhile` is done.

    If both are bad, the error raised is the truth's.
    """
    threads, stopped = options.execution.threads, Event()

    def listen(what: str, done: int, total: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if progress is not None:
            progress(what, done, total)

    with ThreadPoolExecutor(1) as aside:
        true = aside.submit(table_from, truth, "truth", options.truth, threads=threads, progress=listen)
        try:
            if meanwhile is not None:
                meanwhile()
            table = table_from(pred, "pred", options.pred, threads=threads, progress=listen, per_file=True)
        except InputError:
            true.result()
            raise
        except BaseException:
            stopped.set()
            raise
        truth_table = true.result()
    warn_of_frames(truth_table.provenance, table.provenance, "pred")
    return truth_table, table


def warn_of_frames(truth: Provenance, pred: Provenance, name: str) -> None:
    """One warning where the first frame of both was guessed, and differently: then they may be off by one."""
    if truth.frame_base_assumed and pred.frame_base_assumed and truth.frame_base != pred.frame_base:
        said = f"frames are taken to count from {truth.frame_base} in truth and from {pred.frame_base} in {name}"
        better = "if they count alike, give truth_frame_base= and frame_base="
        warnings.warn(f"{said}, by the least of each; {better}", ReadWarning, stacklevel=4)


def warn(findings: Findings | tuple[Finding, ...], whose: str, stacklevel: int = 4) -> None:
    """One warning for everything that looks wrong; limits of a program are not an error of the file."""
    faults = [finding for finding in findings if not finding.is_limit]
    if faults:
        warnings.warn(f"{whose}: {'; '.join(map(str, faults))}", FindingWarning, stacklevel=stacklevel)
        for finding in faults:
            remember_warning(finding)
