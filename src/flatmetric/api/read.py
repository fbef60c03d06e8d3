"""`read`: a localization file as a table."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError, ReadWarning
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.options.base import group, takes
from flatmetric.options.execution import Execution
from flatmetric.options.reading import ReadOptions


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The options of functions that read one file."""

    reading: ReadOptions = group(ReadOptions, file="FILE")
    execution: Execution = group(Execution, only=("threads",))


@takes(FileOptions)
def read(path: str | os.PathLike[str], *, options: FileOptions) -> Localizations:
    r"""Read a localization file of any known format, recognised by its content, in nm and with frames from 1.

    What was understood, converted and assumed is in `.provenance`; what looks wrong is also a `ReadWarning`.

    Parameters
    ----------
    path
        The file; text may be wrapped in gzip, zstd or zip. `archive.zip/member` picks one of several.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> path = Path(tempfile.mkdtemp()) / "result.csv"
    >>> _ = path.write_text("1,120.5,80.25,-10,900\n2,118.0,81.5,5,1100\n")
    >>> t = fm.read(path)
    >>> t.x, t.provenance.format
    (array([120.5, 118. ]), 'challenge-standard')
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path is a {type(path).__name__}; give a file, or use Localizations.from_table for tables")
    table = read_file(Path(path), options.reading, threads=options.execution.threads)
    for warning in table.provenance.warnings:
        warnings.warn(f"{table.provenance.file}: {warning}", ReadWarning, stacklevel=3)
    return table
