"""`validate`: are these files proper submissions, without any truth."""

from __future__ import annotations

import os
from collections.abc import Sequence

from flatmetric._dataclass import dataclass
from flatmetric.api.read import FileOptions
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.options.base import option, path_of, takes
from flatmetric.quality.validation import Expected, Validation, validate_file


@dataclass(frozen=True, kw_only=True)
class ValidateOptions(FileOptions):
    """The options of `validate`."""

    against: str | os.PathLike[str] | None = option(
        None,
        "Parameters of a simulation (simulation.json) or rules (TOML) with the expected field and frames; or, for "
        "organisers, the truth.",
        section="Rules",
        metavar="FILE",
    )


@takes(ValidateOptions)
def validate(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    progress: Progress | None = None,
    options: ValidateOptions,
) -> list[Validation]:
    r"""Whether files are proper submissions, without any truth: format, unit, frames, field, repeated rows, gaps, size.

    Parameters
    ----------
    files
        One file or several.
    progress
        Called with what is done, how much of it, and out of how much.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("frame,x [nm],y [nm]\n0,120.5,80.0\n")
    >>> fm.validate(path)[0].problems
    ('1 row has a frame below 1: frames count from 1 (frame_base=0)',)
    """
    paths = [files] if isinstance(files, (str, os.PathLike)) else files
    if not isinstance(paths, (list, tuple)):
        raise InputError(f"files is a {type(files).__name__}; give a path, or a list of paths")
    if not paths:
        raise InputError("files is empty; give one file or more")
    against = options.against
    expected = Expected() if against is None else Expected.from_file(path_of(against, "against"))
    done: list[Validation] = []
    for path in paths:
        done.append(validate_file(path_of(path, "files"), options.reading, expected, options.execution.threads))
        if progress is not None:
            progress("reading", len(done), len(paths))
    return done
