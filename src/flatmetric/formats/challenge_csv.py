"""The SMLM Challenge: its ground truth, and the headerless layout of its submissions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from flatmetric._files import write_rows
from flatmetric.formats.base import Candidate, Format, Writer
from flatmetric.formats.conversion import CORNER, Native
from flatmetric.formats.delimited import Delimited
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions

_TRUTH_COLUMNS = {
    "id": "Ground-truth",
    "frame": "frame",
    "x": "xnano",
    "y": "ynano",
    "z": "znano",
    "photons": "intensity",
}


def _write_truth(table: Localizations, paths: list[Path]) -> None:
    rows = {"id": np.arange(1, len(table) + 1), "z": np.zeros(len(table)), "photons": np.zeros(len(table))}
    rows |= table.columns()
    named = {title: rows[name] for name, title in _TRUTH_COLUMNS.items()}
    with paths[0].open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(named) + "\n")
        write_rows(named.values(), file, "%.4f")


_TRUTH_WRITER = Writer(_write_truth, frozenset(_TRUTH_COLUMNS), fills=("id", "z", "photons"))
_TRUTH_LAYOUT = Delimited(
    name="challenge-truth",
    title="the SMLM Challenge's ground truth (activations.csv)",
    known_by=("ground-truth", "frame", "xnano", "ynano", "intensity"),
    columns={
        "id": ("ground-truth",),
        "frame": ("frame",),
        "x": ("xnano",),
        "y": ("ynano",),
        "z": ("znano",),
        "photons": ("intensity",),
    },
    unit="nm",
    frame_base=1,
    first_pixel=CORNER,
).format()
TRUTH = dataclasses.replace(_TRUTH_LAYOUT, writer=_TRUTH_WRITER)

_STANDARD = ("frame", "x", "y", "z", "photons")


def _recognise(candidate: Candidate) -> str | None:
    row = candidate.head.first_row
    if candidate.head.header is not None or row is None or len(row) != len(_STANDARD):
        return None
    if not is_frame(row[0]):
        return None
    return "no header, five columns, whole numbers in the first: the challenge's frame, x, y, z, photons"


def is_frame(cell: str) -> bool:
    """Whether a cell may be a frame number."""
    try:
        return float(cell) == int(float(cell)) >= 0
    except (ValueError, OverflowError):
        return False


def _read(candidate: Candidate, options: ReadOptions) -> Native:
    table = candidate.head.read({name: at for at, name in enumerate(_STANDARD)}, options.skip_bad_rows)
    return Native(table.columns, unit="nm", frame_base=1, first_pixel=CORNER, dropped=table.dropped, notes=table.notes)


def _write(table: Localizations, paths: list[Path]) -> None:
    nothing = np.zeros(len(table))
    z, photons = (nothing if column is None else column for column in (table.z, table.photons))
    with paths[0].open("w", encoding="utf-8", newline="") as file:
        write_rows((table.frame, table.x, table.y, z, photons), file)


_WRITER = Writer(_write, frozenset(_STANDARD), fills=("z", "photons"), suffixes=(".txt",))
STANDARD = Format("challenge-standard", "the SMLM Challenge's standard submission", _recognise, _read, _WRITER)
