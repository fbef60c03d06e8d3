"""`read`: a localization file as a table."""

from __future__ import annotations

import warnings

from flatmetric._dataclass import dataclass
from flatmetric.api.inputs import table_from
from flatmetric.api.types import Source
from flatmetric.errors import ReadWarning
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
def read(file: Source, *, options: FileOptions) -> Localizations:
    r"""Read a localization file of any known format, recognised by its content, in nm and with frames from 1.

    A table in memory is read as its file would be: pandas, polars, Arrow, a structured array, or a dict of arrays.

    What was understood, converted and assumed is in `.provenance`; what looks wrong is also a `ReadWarning`.

    Parameters
    ----------
    file
        The file, or a table; text may be wrapped in gzip, zstd or zip. `archive.zip/member` picks one of several.

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
    >>> fm.read({"Frame": [0, 1], "X (um)": [0.1, 0.2], "Y (um)": [0.5, 0.6]}).frame
    array([1, 2])
    """
    table = table_from(file, "file", options.reading, threads=options.execution.threads)
    for warning in table.provenance.warnings:
        warnings.warn(f"{table.provenance.file or 'file'}: {warning}", ReadWarning, stacklevel=3)
    return table
