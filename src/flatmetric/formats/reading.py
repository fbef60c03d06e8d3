"""`read`: recognise a file by its content, read it, convert it, and say what was done."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from flatmetric.errors import InputError, ReadWarning
from flatmetric.formats import (
    challenge,
    decode_csv,
    decode_hdf5,
    elyra,
    fd_deeploc,
    gdsc,
    hdf5,
    insight3,
    leica,
    minflux,
    nikon,
    octane,
    oni,
    parquet,
    peakselector,
    picasso,
    plain,
    quickpalm,
    rapidstorm,
    smap_csv,
    smap_mat,
    smlm_zip,
    storm_analysis,
    thunderstorm,
    tsf,
    vutara,
)
from flatmetric.formats.native import ReadOptions, checked_options, to_localizations
from flatmetric.formats.registry import Candidate, Format
from flatmetric.formats.source import Source
from flatmetric.formats.text import TextHead
from flatmetric.localizations import Localizations, Provenance

# In the order in which they are tried: what is told by a signature, then by a telling header, then by little.
FORMATS: tuple[Format, ...] = (
    picasso.FORMAT,
    decode_hdf5.FORMAT,
    smap_mat.FORMAT,
    storm_analysis.FORMAT,
    insight3.FORMAT,
    smlm_zip.FORMAT,
    minflux.NPY,
    minflux.MAT,
    parquet.FORMAT,
    tsf.BINARY,
    rapidstorm.FORMAT,
    gdsc.FORMAT,
    tsf.TEXT,
    challenge.TRUTH,
    fd_deeploc.FORMAT,
    thunderstorm.FORMAT,
    nikon.FORMAT,
    elyra.FORMAT,
    oni.FORMAT,
    decode_csv.FORMAT,
    smap_csv.FORMAT,
    quickpalm.FORMAT,
    peakselector.FORMAT,
    leica.FORMAT,
    vutara.FORMAT,
    minflux.CSV,
    plain.FORMAT,
    challenge.STANDARD,
    octane.FORMAT,
)


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    unit: str | None = None,
    pixel_size: float | Sequence[float] | None = None,
    frame_base: int | None = None,
    origin: str | None = None,
    shift: Sequence[float] | None = None,
    swap_xy: bool = False,
    columns: Mapping[str, int | str] | None = None,
    skip_bad_rows: bool = False,
) -> Localizations:
    r"""Read a localization file of any known format, recognised by its content, in nm and with frames from 1.

    What was understood and converted is in `.provenance`; what had to be guessed is also a `ReadWarning`.

    Parameters
    ----------
    path
        The file; text may be wrapped in gzip, zstd or zip. `archive.zip/member` picks one of several.
    format
        Name of the format instead of the recognised one.
    unit
        Of x and y (and of z, unless px): "nm", "um", "m" or "px".
    pixel_size
        In nm, one number or one each for x and y.
    frame_base
        Number of the first frame in the file.
    origin
        Where the file's zero is: the "corner" of the first pixel, or its "center" (half a pixel is added).
    shift
        (dx, dy) or (dx, dy, dz) in nm, added after all other conversions.
    swap_xy
        Exchange x and y.
    columns
        Where columns of a text table stand, by number from 1 or by header: `{"frame": 2, "x": "X (nm)"}`.
    skip_bad_rows
        Drop and count rows that can't be read instead of stopping at the first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "result.csv"
    >>> _ = path.write_text("1,120.5,80.25,-10,900\n2,118.0,81.5,5,1100\n")
    >>> t = read(path)
    >>> t.x, t.provenance.format
    (array([120.5, 118. ]), 'challenge-standard')
    """
    options = checked_options(format, unit, pixel_size, frame_base, origin, shift, swap_xy, columns, skip_bad_rows)
    table = read_file(Path(path), options)
    for warning in table.provenance.warnings:
        warnings.warn(f"{table.provenance.file}: {warning}", ReadWarning, stacklevel=2)
    return table


def read_file(path: Path, options: ReadOptions, on_bytes: Callable[[int, int], None] | None = None) -> Localizations:
    """`read` with checked options and its warnings only in the provenance; `on_bytes(done, all)` hears of progress."""
    source = Source(path, on_bytes)
    candidate = Candidate(source, TextHead(source))
    chosen, reason = _choose(candidate, options)
    # Numbers that overflow or are none are looked for, and named. The hash is taken meanwhile, of text as it is read.
    with np.errstate(all="ignore"), ThreadPoolExecutor(1) as aside:
        hashed = None if candidate.head.lines else aside.submit(lambda: source.sha256)
        try:
            native = chosen.read(candidate, options)
        except (LookupError, TypeError, AttributeError) as error:
            if options.format is None:
                raise
            raise InputError(f"{source.name}: can't be read as {chosen.title}; leave --format out") from error
        sha256 = source.sha256 if hashed is None else hashed.result()
        provenance = Provenance(file=source.name, sha256=sha256, format=chosen.name, reason=reason)
        return to_localizations(native, options, provenance)


def format_named(name: str) -> Format:
    """The format of a name."""
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise InputError(f"there is no format {name!r}; give one of {', '.join(entry.name for entry in FORMATS)}")


def _choose(candidate: Candidate, options: ReadOptions) -> tuple[Format, str]:
    if options.format is not None:
        return _taking_columns(format_named(options.format), candidate, options), "as given"
    if options.columns is not None and candidate.head.lines:
        return plain.FORMAT, "a text table whose columns were given"
    for entry in FORMATS:
        reason = entry.recognise(candidate)
        if reason is not None:
            return _taking_columns(entry, candidate, options), reason
    raise InputError(f"{candidate.source.name}: {_unknown(candidate)}")


def _taking_columns(entry: Format, candidate: Candidate, options: ReadOptions) -> Format:
    """The format itself, unless columns were given to one that knows its own."""
    if options.columns is not None and entry not in (plain.FORMAT, parquet.FORMAT):
        raise InputError(f"{candidate.source.name}: {entry.title} knows its columns; leave --columns out")
    return entry


def _unknown(candidate: Candidate) -> str:
    head = candidate.head
    if hdf5.is_hdf5(candidate.source):
        return "is an HDF5 file, but not of Picasso, DECODE, storm-analysis or SMAP; give a localization file"
    if not head.lines:
        return "is neither a text table nor a known binary format; give a localization file"
    if head.header is None:
        cells = len(head.first_row or [])
        return f"has {cells} columns and no header; say which is which with --columns frame=1,x=2,y=3,..."
    shown = ", ".join(h.text for h in head.header[:12])
    return f"no column is known as x and y, its header has {shown:.200}; give --columns frame=1,x=2,y=3,..."
