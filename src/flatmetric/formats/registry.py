"""The list of formats."""

from __future__ import annotations

from flatmetric.errors import InputError
from flatmetric.formats import (
    challenge_csv,
    decode_csv,
    decode_hdf5,
    elyra,
    fd_deeploc,
    gdsc,
    hdf5_table,
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
from flatmetric.formats.base import Format, Writer

# In the order in which they are tried: those with a signature, those with a telling header, then the rest.
FORMATS: tuple[Format, ...] = (
    picasso.FORMAT,
    decode_hdf5.FORMAT,
    smap_mat.FORMAT,
    storm_analysis.FORMAT,
    hdf5_table.FORMAT,
    insight3.FORMAT,
    smlm_zip.FORMAT,
    minflux.NPY,
    minflux.MAT,
    parquet.FORMAT,
    tsf.BINARY,
    rapidstorm.FORMAT,
    gdsc.FORMAT,
    tsf.TEXT,
    challenge_csv.TRUTH,
    fd_deeploc.FORMAT,
    thunderstorm.FORMAT,
    nikon.FORMAT,
    elyra.FORMAT,
    oni.FORMAT,
    decode_csv.FORMAT,
    picasso.TABLE,
    smap_csv.FORMAT,
    quickpalm.FORMAT,
    peakselector.FORMAT,
    leica.FORMAT,
    vutara.FORMAT,
    minflux.CSV,
    plain.FORMAT,
    challenge_csv.STANDARD,
    octane.FORMAT,
)
WRITERS: dict[str, Writer] = {entry.name: entry.writer for entry in FORMATS if entry.writer is not None}


def format_named(name: str) -> Format:
    """The format of that name.

    Examples
    --------
    >>> format_named("thunderstorm").title
    'ThunderSTORM CSV'
    """
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise InputError(f"there is no format {name!r}; give one of {', '.join(entry.name for entry in FORMATS)}")
