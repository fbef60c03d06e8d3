"""Tables from whatever the user has: files, tables of other libraries, dicts; and what looks wrong with a result."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from flatmetric._progress import Progress
from flatmetric.api.options import ReadBoth, options_of
from flatmetric.challenge.submissions import options_for
from flatmetric.errors import FindingWarning, InputError
from flatmetric.formats.conversion import ReadOptions, checked_options, converted
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.quality.findings import Finding, Findings

_NAMES = [name for name in options_of(ReadBoth) if not name.startswith("truth_")]
_TRUTH = "truth_"


def reading(given: Mapping[str, Any]) -> ReadOptions:
    """The reading options of a result, or of a single file."""
    return checked_options(**{name: given.get(name, False if name in _SWITCHES else None) for name in _NAMES})


_SWITCHES = ("swap_xy", "skip_bad_rows")


def reading_truth(given: Mapping[str, Any]) -> ReadOptions:
    """The reading options of a truth; the pixel size, and whether bad rows are dropped, are those of both."""
    own = {name.removeprefix(_TRUTH): value for name, value in given.items() if name.startswith(_TRUTH)}
    shared = {"pixel_size": given.get("pixel_size"), "skip_bad_rows": given.get("skip_bad_rows", False)}
    return checked_options(**(own | shared))


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
        chosen = options_for(path, options) if per_file else options
        table = read_file(path, chosen, _bytes_of(path, progress), threads, folder)
        if chosen == options:
            return table
        said = (*table.provenance.conversions, "reading options from submissions.toml")
        return dataclasses.replace(table, provenance=dataclasses.replace(table.provenance, conversions=said))
    try:
        renamed = options.columns if not isinstance(value, Localizations) else None
        table = value if isinstance(value, Localizations) else Localizations.from_table(value, columns=renamed)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return converted(table, options, name)


def _bytes_of(path: Path, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(f"reading {path.name}", done, total)


def both_tables(
    truth: Any,
    pred: Any,
    given: Mapping[str, Any],
    *,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> tuple[Localizations, Localizations]:
    """The truth, read in a thread of its own, and the result, read once `meanwhile` is done.

    If both are bad, the error raised is the truth's.
    """
    threads, stopped = given.get("threads"), Event()

    def listen(what: str, done: int, total: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        if progress is not None:
            progress(what, done, total)

    with ThreadPoolExecutor(1) as aside:
        true = aside.submit(
            table_from, truth, "truth", reading_truth(given), threads=threads, progress=listen, per_file=False
        )
        try:
            if meanwhile is not None:
                meanwhile()
            found = table_from(pred, "pred", reading(given), threads=threads, progress=listen, per_file=True)
        except InputError:
            true.result()
            raise
        except BaseException:
            stopped.set()
            raise
        return true.result(), found


def file_findings(table: Localizations, name: str) -> list[Finding]:
    """What looked wrong when a table was read."""
    where = table.provenance.file or name
    return [Finding("file", f"{where}: {text}", None, None, 1.0) for text in table.provenance.warnings]


def warn(findings: Findings | tuple[Finding, ...], whose: str, stacklevel: int = 4) -> None:
    """One warning for everything that looks wrong; limits of a program are no error of the file."""
    faults = [finding for finding in findings if not finding.is_limit]
    if faults:
        said = "; ".join(map(str, faults))
        warnings.warn(f"{whose}: {said}", FindingWarning, stacklevel=stacklevel)
