"""The usual spellings of column names and units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flatmetric._dataclass import dataclass

# For each column its spellings, letters and digits only, the more telling first.
_AXIS = (
    "{0}",
    "{0}position",
    "position{0}",
    "{0}pos",
    "pos{0}",
    "{0}coord",
    "{0}coordinate",
    "{0}0",
    "{0}center",
    "{0}centre",
)
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "frame": (
        *("frame", "frames", "frameix", "framenumber", "frameno", "framenr", "framenum", "frameid", "frameindex"),
        *("firstframe", "imagenumber", "imageid", "image", "slice"),
    ),
    "x": tuple(name.format("x") for name in _AXIS),
    "y": tuple(name.format("y") for name in _AXIS),
    "z": tuple(name.format("z") for name in _AXIS),
    "photons": (
        *("photons", "photon", "phot", "nphotons", "numphotons", "numberphotons", "numberofphotons", "photoncount"),
        *("intensity", "int", "signal", "amplitude"),
    ),
    "sigma": ("sigma", "sigmaxy", "sigma1", "sigmax", "psfwidth", "width", "sx"),
    "uncertainty": (
        *("uncertainty", "uncertaintyxy", "precision", "locprec", "locprecision", "localizationprecision"),
        *("precisionxy", "lpx", "crlbxy"),
    ),
    "background": ("background", "bg", "localbackground", "offset"),
    "id": (
        "molecule",
        "moleculeid",
        "emitter",
        "emitterid",
        "groundtruth",
        "id",
        "tid",
        "index",
        "originalindex",
        "no",
    ),
    "channel": ("channel",),
}
_ALL_SPELLINGS = {spelling for spellings in _SPELLINGS.values() for spelling in spellings}
_LONGEST_NAME = 200  # characters: a longer cell is data, not the name of a column
_UNITS = {
    "nm": ("nm", "nano", "nanometer", "nanometers", "nanometre", "nanometres"),
    "um": ("um", "µm", "μm", "micron", "microns", "micrometer", "micrometers", "micrometre", "micrometres"),
    "px": ("px", "pix", "pixel", "pixels"),
    "m": ("m", "meter", "meters", "metre", "metres"),
    "photon": ("photon", "photons", "ph"),
}
_UNIT_OF = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings}
# Endings that give a unit without brackets: xnm, x_nm, xnano, x_px. Not m, or every name ending in m would match.
_ENDINGS = re.compile(r"^(.*?)[ _]?(nm|nano|um|µm|μm|px|pix|pixel|pixels)$")
_BRACKETS = re.compile(r"^(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]\s*$")
_PREFERRED_UNITS = ("nm", None, "um", "px", "m", "photon")


@dataclass(frozen=True, slots=True)
class Heading:
    """One column name taken apart."""

    text: str
    squeezed: str
    unit: str | None


def heading(text: str) -> Heading:
    """The name without its unit, letters and digits only, and the unit.

    Examples
    --------
    >>> heading('"x [nm]"').squeezed, heading('"x [nm]"').unit
    ('x', 'nm')
    >>> heading("xnano").unit, heading("Position Y [nm]").squeezed, heading("frame").unit
    ('nm', 'positiony', None)
    """
    name = text.strip(" \t\r\n\"'\ufeff#")
    lowered = name.lower()
    unit = None
    if len(name) > _LONGEST_NAME or _squeezed(lowered) in _ALL_SPELLINGS:
        return Heading(name, _squeezed(lowered), None)
    if match := _BRACKETS.match(lowered):
        lowered, unit = match[1], _UNIT_OF.get(match[2], match[2] or None)
    elif match := _ENDINGS.match(lowered):
        lowered, unit = match[1], _UNIT_OF[match[2]]
    return Heading(name, _squeezed(lowered), unit)


def _squeezed(name: str) -> str:
    return re.sub(r"[\W_]", "", name)


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """The position of a column, and the unit given in its name."""

    index: int
    unit: str | None
    text: str


def find_columns(cells: Sequence[str]) -> dict[str, FoundColumn]:
    """The columns of a header, by the usual spellings of their names.

    Examples
    --------
    >>> {name: column.index for name, column in find_columns(["id", "X (nm)", "Y (nm)", "Frame"]).items()}
    {'frame': 3, 'x': 1, 'y': 2, 'id': 0}
    """
    headings = [heading(cell) for cell in cells]
    columns = {}
    for name, spellings in _SPELLINGS.items():
        ranked = [
            (spellings.index(h.squeezed), _unit_rank(h.unit), at)
            for at, h in enumerate(headings)
            if h.squeezed in spellings
        ]
        if ranked:
            at = min(ranked)[2]
            columns[name] = FoundColumn(at, headings[at].unit, headings[at].text)
    return columns


def _unit_rank(unit: str | None) -> int:
    return _PREFERRED_UNITS.index(unit) if unit in _PREFERRED_UNITS else len(_PREFERRED_UNITS)
