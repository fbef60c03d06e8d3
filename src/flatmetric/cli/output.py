"""What a command writes: to a file, whole or not at all, or to standard output; and remarks, on standard error."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from flatmetric._escaping import inert
from flatmetric._files import check_writable, columns_table, json_text, make_folder, write_text
from flatmetric._files import write_columns as write_columns_to_file
from flatmetric.errors import InputError, printable
from flatmetric.options.base import is_page

if TYPE_CHECKING:
    import pandas as pd

    from flatmetric.cli.options import ReportOnImages
    from flatmetric.localizations import Provenance
    from flatmetric.quality.findings import Severity

STANDARD_OUTPUT = "-"
# Control characters except for tabs and ends of lines, and those that turn the direction of text.


class PlainOutput(io.TextIOBase):
    """Standard output without characters that a terminal acts on, wherever they come from; closed, it fails as a full
    disk does.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        if not isinstance(text, str):  # click asks by trying
            raise TypeError("this is a stream of text")
        self._opened().write(inert(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        if self._stream is not None:
            self._stream.flush()

    def fileno(self) -> int:
        """Of the stream."""
        return self._opened().fileno()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def _opened(self) -> TextIO:
        if self._stream is None:
            raise OSError(errno.EBADF, "standard output is closed")
        return self._stream


def this_command() -> str:
    """The command line as it was given, to be shown where its output is explained; files without their folders."""
    given = [Path(part).name if Path(part).is_absolute() else part for part in sys.argv[1:]]
    return shlex.join(["flatmetric", *given])


def print_finding(sentence: str, severity: Severity) -> None:
    """What looks wrong: on stderr, in colour on a terminal; a note quietly."""
    if severity == "note":
        _remark("note: ", sentence, dim=True)
    else:
        _remark(f"{severity}: ", sentence, fg="red", bold=severity == "wrong")


def print_assumption(sentence: str) -> None:
    """What the file did not say: on stderr, quietly."""
    _remark("assumed: ", sentence, dim=True)


def print_unused(read: Provenance) -> None:
    """The columns of a file that were not read: on stderr, quietly."""
    if read.unused:
        _remark("not used: ", f"{read.file}: {', '.join(read.unused)}", dim=True)


def _remark(start: str, sentence: str, **look: Any) -> None:
    from flatmetric.cli.text import as_flags

    line = f"{start}{printable(as_flags(sentence))}"
    coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(click.style(line, **look) if coloured else line, file=sys.stderr)


def check_outputs(outputs: Iterable[str | Path | None], inputs: Iterable[Path]) -> None:
    """Fail before the work starts if an output can't be written or would destroy an input."""
    # An archive that holds the input, and the metadata beside it, are inputs too.
    files = [file for file in inputs if file.name]
    protected = {other.resolve() for file in files for other in (file, file.with_suffix(".yaml"), *file.parents)}
    named: set[Path] = set()
    for path in [Path(output) for output in outputs if output is not None and str(output) != STANDARD_OUTPUT]:
        check_writable(path)
        place = path.resolve()
        if place in protected and path.exists():
            raise InputError(f"{path}: is an input; give another name for the output")
        if place in named:
            raise InputError(f"{path}: is named for two outputs; give each its own")
        named.add(place)


def check_stack(flags: ReportOnImages) -> None:
    """Fail before the work starts if camera images are given that no page shows, or that can't be read."""
    if flags.stack is None:
        return
    if flags.report is None:
        raise InputError("stack= is for the page; give report= too")
    from flatmetric.stacks import open_stack

    open_stack(flags.stack)


def check_page(report: Path) -> Path:
    """The page itself, which may go into a folder of pages; that folder is made."""
    if is_page(report):
        return report
    from flatmetric.reports.page_folder import INDEX

    make_folder(report)
    return report / INDEX


def rule_files(keywords: Mapping[str, Any]) -> list[Path]:
    """The files that the rules are read from."""
    return [Path(name) for name in (keywords.get("protocol"), keywords.get("wobble")) if name is not None]


def table_files(target: str | Path | None, format: str | None) -> list[Path]:
    """The files that a table is written to: the file itself and any companion files; none without a target."""
    from flatmetric.formats.write import files_of, writable_format

    return [] if target is None else files_of(Path(target), writable_format(Path(target), format))


def files_of_board(folder: Path, target: Path, truth: Path | None) -> list[Path]:
    """The truths and results in a folder, and the files of its leaderboard."""
    from flatmetric.challenges.leaderboard import FILES
    from flatmetric.challenges.submissions import find_submissions

    inputs = [path for one in find_submissions(folder, target, truth).results for path in (one.truth, one.result)]
    return [*inputs, *(target / name for name in FILES)]


def write_json(content: dict[str, Any], target: str) -> None:
    """JSON without NaN, to a file or standard output."""
    if target == STANDARD_OUTPUT:
        sys.stdout.write(json_text(content))
    else:
        write_text(json_text(content), Path(target))


def write_columns(columns: Mapping[str, Any] | pd.DataFrame, target: str | Path) -> None:
    """Columns as CSV, to a file or standard output; missing values are empty cells."""
    if target == STANDARD_OUTPUT:
        sys.stdout.write(columns_table(columns).to_csv(index=False))
    else:
        write_columns_to_file(columns, Path(target))
