"""Picasso: a record array in HDF5, its metadata in a YAML file beside it or in JSON inside."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from flatmetric._arrays import MAY_HAVE_GAPS
from flatmetric.errors import InputError, described
from flatmetric.formats.base import Candidate, Format, Writer
from flatmetric.formats.conversion import CENTER, Native, checked
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions

_LARGEST_YAML = 1 << 18  # bytes; real ones have a few kB
_LONGEST_NUMBER = 40  # characters
_LARGEST_PIXEL = 1e9  # nm
SIDE_SUFFIXES = (".yaml",)
_COLUMNS = {
    **{name: name for name in ("frame", "x", "y", "z", "photons")},
    "sigma": "sx",
    "sigma/y": "sy",
    "uncertainty": "lpx",
    "uncertainty/y": "lpy",
    "background": "bg",
}


def _recognise(candidate: Candidate) -> str | None:
    file = candidate.hdf5
    is_picasso = file is not None and file.holds("locs") and not file.members("locs")
    return "an HDF5 file with Picasso's dataset 'locs'" if is_picasso else None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    source = candidate.source
    locs, stored = candidate.opened_hdf5.arrays(["locs", "metadata"])
    documents = _inner_metadata(stored)
    if locs is None or locs.dtype.names is None or locs.ndim != 1:
        raise InputError(f"{source.name}: the dataset 'locs' is not a table of named columns, as Picasso writes it")
    yaml = source.beside(SIDE_SUFFIXES[0])
    if yaml is not None:
        documents += _yaml_documents(yaml)
    names = locs.dtype.names
    for column in ("frame", "x", "y"):
        if column not in names:
            raise InputError(f"{source.name}: the dataset 'locs' lacks the column {column}")
    numeric = [name for name in names if locs.dtype[name].kind in "fiu" and locs.dtype[name].shape == ()]
    wanted = {c: n for c, n in _COLUMNS.items() if n in (numeric if c.startswith(MAY_HAVE_GAPS) else names)}
    native = _in_pixels({column: locs[name] for column, name in wanted.items()})
    native.unused = [name for name in names if name not in wanted.values()]
    native.pixel_size = _pixel_size(documents, options, yaml)
    native.fov = _field(documents, options.pixel_size or native.pixel_size)
    if yaml is not None:
        native.notes.append(f"metadata from {yaml.name}")
    return checked(native, options, source.name)


def _recognise_names(candidate: Candidate) -> str | None:
    known_by = ("frame", "x", "y", "photons", "sx", "sy", "lpx", "lpy")
    return f"the header has the columns {', '.join(known_by)} of Picasso" if candidate.head.has(*known_by) else None


def _read_names(candidate: Candidate, options: ReadOptions) -> Native:
    places = {name: at for at, name in enumerate(candidate.head.names)}
    for column in ("frame", "x", "y"):
        if column not in places:
            raise InputError(f"{candidate.source.name}: as a table of Picasso it lacks the column {column}")
    wanted = {column: places[name] for column, name in _COLUMNS.items() if name in places}
    table = candidate.head.read(wanted, options.skip_bad_rows)
    native = _in_pixels(table.columns)
    native.dropped, native.notes = table.dropped, table.notes
    return native


def _in_pixels(columns: dict[str, npt.NDArray[Any]]) -> Native:
    """Picasso's columns as they are, but for widths and precisions, which are the mean over x and y."""
    for one in ("sigma", "uncertainty"):
        x, y = columns.pop(one, None), columns.pop(f"{one}/y", None)
        if x is not None and y is not None:
            columns[one] = np.add(x, y, dtype=np.float64)
            columns[one] /= 2
    return Native(columns, unit="px", frame_base=0, first_pixel=CENTER)


def _inner_metadata(stored: npt.NDArray[Any] | None) -> list[Any]:
    if stored is None:
        return []
    try:
        content = json.loads(stored.item())
    except (ValueError, TypeError, RecursionError):
        return []
    return content if isinstance(content, list) else [content]


def _yaml_documents(path: Path) -> list[Any]:
    import yaml

    if path.stat().st_size > _LARGEST_YAML:
        raise InputError(
            f"{path}: is too large for Picasso's metadata; give the file that belongs to the localizations"
        )
    try:
        text = path.read_text(encoding="utf-8")
        if "<<" in text:
            raise InputError(f"{path}: merges keys (<<), which Picasso never writes; give pixel_size= and remove it")
        if "!!python/" in text:
            raise InputError(
                f"{path}: holds an object tag, which is never loaded; fix the file, or remove it and give pixel_size="
            )
        # All values stay text: what YAML makes of numbers like 1:1:1:1 takes time that grows with their square.
        return list(yaml.load_all(text, Loader=yaml.BaseLoader))
    except OSError as error:
        raise InputError(f"{path}: can't be read, {error.strerror}") from error
    except InputError:
        raise
    except Exception as error:  # the YAML library raises many kinds on odd values
        raise InputError(f"{path}: is not valid YAML; fix the file, or remove it and give pixel_size= in nm") from error


def _number(value: Any) -> float | None:
    """A number of JSON, or of YAML, where it is text; None for all else."""
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
        try:
            return float(value)
        except ValueError:
            return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _LARGEST_PIXEL:
        return float(value)
    return None


def _pixel_size(documents: list[Any], options: ReadOptions, yaml: Path | None) -> tuple[float, float] | None:
    for document in reversed(documents):  # the last processing step takes precedence
        if not isinstance(document, dict) or "Pixelsize" not in document:
            continue
        size = _number(document["Pixelsize"])
        if size is not None and 0 < size < _LARGEST_PIXEL:
            return size, size
        if options.pixel_size is None:
            content = described(document["Pixelsize"])
            raise InputError(f"{yaml or 'the metadata'}: Pixelsize is {content}; give pixel_size= in nm")
    return None


def _field(documents: list[Any], pixel: tuple[float, float] | None) -> tuple[float, float] | None:
    """The field of view in nm, from the number of pixels; None where the metadata do not say."""
    for document in reversed(documents):
        if pixel is None or not isinstance(document, dict):
            continue
        width, height = _number(document.get("Width")), _number(document.get("Height"))
        if width and height and 0 < min(width, height) <= max(width, height) < 1e6:
            return width * pixel[0], height * pixel[1]
    return None


def _write(table: Localizations, paths: list[Path]) -> None:
    """Pixels, frames from 0, zero in the middle of the first pixel; double precision, so that nothing is rounded."""
    import h5py
    import yaml

    size = table.provenance.pixel_size
    if size is None:
        raise InputError("Picasso counts in pixels and the pixel size is not known; give pixel_size= in nm")
    if size[0] != size[1]:
        raise InputError(f"Picasso stores a single pixel size, but this table has {size[0]:g} x {size[1]:g} nm")
    pixel = size[0]
    columns: dict[str, Any] = {
        "frame": table.frame - 1,
        "x": table.x / pixel - 0.5,
        "y": table.y / pixel - 0.5,
        "photons": np.zeros(len(table)) if table.photons is None else table.photons,
    }
    for ours, theirs, factor in (
        ("sigma", ("sx", "sy"), 1 / pixel),
        ("background", ("bg",), 1.0),
        ("uncertainty", ("lpx", "lpy"), 1 / pixel),
        ("z", ("z",), 1.0),
    ):
        values = getattr(table, ours)
        if values is not None:
            columns |= dict.fromkeys(theirs, values * factor)
    locs = np.empty(len(table), dtype=[(n, np.int64 if n == "frame" else np.float64) for n in columns])
    for name, values in columns.items():
        locs[name] = values
    content = io.BytesIO()  # on a disk that is full the HDF5 library fails in its own ways, a file does not
    with h5py.File(content, "w") as file:
        file.create_dataset("locs", data=locs)
        file.create_dataset("metadata", data=json.dumps([_metadata(table)]))
    paths[0].write_bytes(content.getbuffer())
    paths[1].write_text(str(yaml.safe_dump(_metadata(table))), encoding="utf-8", newline="\n")


def _metadata(table: Localizations) -> dict[str, Any]:
    """The movie metadata that Picasso expects: size in frames and pixels, and the pixel size in nm."""
    size = table.provenance.pixel_size
    assert size is not None
    extent = table.extent
    return {
        "Frames": int(table.frame.max()) if len(table) else 0,
        "Width": int(extent["x"][1] // size[0]) + 1 if extent else 1,
        "Height": int(extent["y"][1] // size[1]) + 1 if extent else 1,
        "Pixelsize": size[0],
        "Generated by": "flatmetric",
    }


_HOLDS = frozenset({"frame", "x", "y", "z", "photons", "sigma", "uncertainty", "background"})
_WRITER = Writer(_write, _HOLDS, fills=("photons",), suffixes=(".hdf5", ".h5"), side_suffixes=SIDE_SUFFIXES)
FORMAT = Format("picasso", "Picasso HDF5", _recognise, _read, _WRITER)
TABLE = Format("picasso-table", "a table with Picasso's column names", _recognise_names, _read_names)
