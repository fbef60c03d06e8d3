"""ThunderSTORM CSV: names with their units in brackets."""

from __future__ import annotations

import csv
from pathlib import Path

from flatmetric._files import write_rows
from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format, Writer
from flatmetric.formats.conversion import CORNER, Native, known_length
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions

_NAMES = {
    "id": ("id",),
    "frame": ("frame",),
    "x": ("x",),
    "y": ("y",),
    "z": ("z",),
    "photons": ("intensity", "photons"),
    "sigma": ("sigma", "sigma1"),
    "uncertainty": ("uncertainty", "uncertaintyxy"),
    "background": ("offset", "background"),
}


def _recognise(candidate: Candidate) -> str | None:
    names = candidate.head.names
    for unit in ("nm", "px", "um", "µm"):
        if {f"x [{unit}]", f"y [{unit}]", "frame"} <= set(names):
            return f"the header has the columns frame, x [{unit}], y [{unit}] of ThunderSTORM"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    header = candidate.head.header
    if header is None:
        raise InputError(f"{candidate.source.name}: as ThunderSTORM it lacks a header")
    squeezed = [h.squeezed for h in header]
    wanted = {}
    for column, names in _NAMES.items():
        # If a quantity is given in two units, the one not in pixels.
        places = [at for name in names for at, found in enumerate(squeezed) if found == name]
        if places:
            wanted[column] = min(places, key=lambda at: header[at].unit == "px")
    for column in ("frame", "x", "y"):
        if column not in wanted:
            raise InputError(f"{candidate.source.name}: as ThunderSTORM it lacks a column {column}")
    table = candidate.head.read(wanted, options.skip_bad_rows)
    name = candidate.source.name
    units = {axis: known_length(header[wanted[axis]].unit, axis, name, options) for axis in "xyz" if axis in wanted}
    native = Native(
        table.columns,
        unit=units["x"],
        y_unit=units["y"] or units["x"],
        z_unit=units.get("z") or "nm",
        frame_base=1,
        first_pixel=CORNER,
        dropped=table.dropped,
        notes=table.notes,
    )
    for column in {"sigma", "uncertainty"} & set(wanted):
        native.width_units[column] = header[wanted[column]].unit or ""
    intensity = header[wanted["photons"]] if "photons" in wanted else None
    if intensity is not None and intensity.squeezed == "intensity" and (found := intensity.unit) != "photon":
        native.assumptions.append(
            f"the intensity is in {found or 'an unnamed unit'}, not photons, and is kept as it is"
        )
    return native


def _write(table: Localizations, paths: list[Path]) -> None:
    names = {
        "id": "id",
        "frame": "frame",
        "x": "x [nm]",
        "y": "y [nm]",
        "z": "z [nm]",
        "sigma": "sigma [nm]",
        "photons": "intensity [photon]",
        "background": "offset [photon]",
        "uncertainty": "uncertainty [nm]",
    }
    columns = table.columns()
    present = {theirs: columns[ours] for ours, theirs in names.items() if ours in columns}
    with paths[0].open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(present)
        write_rows(present.values(), file, missing="NaN")


FORMAT = Format(
    "thunderstorm", "ThunderSTORM CSV", _recognise, _read, Writer(_write, frozenset(_NAMES), suffixes=(".csv",))
)
