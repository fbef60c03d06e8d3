"""rapidSTORM text: a first line of XML that names the fields."""

from __future__ import annotations

import re

from flatmetric.errors import InputError
from flatmetric.formats.base import Candidate, Format
from flatmetric.formats.conversion import CENTER, Native
from flatmetric.formats.headers import heading
from flatmetric.formats.text import TextHead
from flatmetric.options.reading import ReadOptions

_FIELD = re.compile(r"<field\b([^<>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_COLUMNS = {
    "Position-0-0": "x",
    "Position-1-0": "y",
    "Position-2-0": "z",
    "ImageNumber-0-0": "frame",
    "Amplitude-0-0": "photons",
    "PSFWidth-0-0": "sigma",
    "Position-0-0-uncertainty": "uncertainty",
    "LocalBackground-0-0": "background",
}


def _xml(head: TextHead) -> str:
    return head.comments[0].text if head.comments else ""


def _recognise(candidate: Candidate) -> str | None:
    if "<localizations" in _xml(candidate.head)[:200]:
        return "the first line is rapidSTORM's XML list of fields"
    return None


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    name, xml = candidate.source.name, _xml(candidate.head)
    if xml.count("<localizations") > 1:
        raise InputError(
            f"{name}: is a rapidSTORM track file, whose rows join several frames; give the localization file"
        )
    fields = [dict(_ATTRIBUTE.findall(field)) for field in _FIELD.findall(xml)]
    places = {_COLUMNS[f["identifier"]]: at for at, f in enumerate(fields) if f.get("identifier") in _COLUMNS}
    for column in ("frame", "x", "y"):
        if column not in places:
            raise InputError(f"{name}: the fields of its first line lack {column}")
    if (row := candidate.head.first_row) is not None and len(row) != len(fields):
        raise InputError(
            f"{name}: row {candidate.head.data_line.number} has {len(row)} cells and the first line names {len(fields)}"
        )
    table = candidate.head.read(places, options.skip_bad_rows)
    units = {column: heading(f"v [{fields[at].get('unit', '')}]").unit for column, at in places.items()}
    native = Native(
        table.columns,
        unit=units["x"] if units["x"] in ("nm", "um", "px", "m") else None,
        z_unit=units.get("z") if units.get("z") in ("nm", "um", "m") else "nm",
        frame_base=0,
        first_pixel=CENTER,
        dropped=table.dropped,
        notes=table.notes,
    )
    if units.get("photons", "photon") != "photon":
        native.assumptions.append(f"the amplitude is in {units['photons']}, not photons, and is kept as it is")
    return native


FORMAT = Format("rapidstorm", "rapidSTORM text", _recognise, _read)
