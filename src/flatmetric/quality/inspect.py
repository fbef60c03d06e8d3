"""What a table holds, and what looks wrong in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._display import Shown
from flatmetric.localizations import Localizations
from flatmetric.quality.findings import repeated_rows

_SHOWN_ROWS = 5  # fits on a screen with everything else
_FEWEST_ROWS = 50  # with fewer, gaps and limits are chance
_SMALLEST_FIELD = 600.0  # nm: a field of a camera is larger


@dataclass(frozen=True, slots=True)
class Inspection(Shown):
    """A summary of one table; lengths in nm. `frames` are the first and last, None without rows, and `unused` the names
    of columns that were not read.

    Examples
    --------
    >>> inspect_table(Localizations(frame=[3, 7], x=[1.0, 2.0], y=[0.0, 5.0])).frames
    (3, 7)
    """

    file: str | None
    sha256: str | None
    format: str | None
    reason: str | None
    rows: int
    dropped: dict[str, int]
    frames: tuple[int, int] | None
    frames_with_rows: int
    columns: tuple[str, ...]
    extent: dict[str, tuple[float, float]]
    pixel_size: tuple[float, float] | None
    conversions: tuple[str, ...]
    first_rows: tuple[dict[str, float | int | None], ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()


def inspect_table(table: Localizations, fov: tuple[float, float] | None = None) -> Inspection:
    """Summarise a table and add warnings about what looks wrong; `fov` is the field's width and height in nm.

    Examples
    --------
    >>> inspect_table(Localizations(frame=[1, 1], x=[-4.0, -4.0], y=[0.0, 0.0])).warnings
    ('1 row repeats another: same frame and position', '2 rows lie outside the field: x or y below 0')
    """
    provenance = table.provenance
    shown = table.select(np.arange(min(_SHOWN_ROWS, len(table))))
    return Inspection(
        file=provenance.file,
        sha256=provenance.sha256,
        format=provenance.format,
        reason=provenance.reason,
        rows=len(table),
        dropped=dict(provenance.dropped),
        frames=(int(table.frame.min()), int(table.frame.max())) if len(table) else None,
        frames_with_rows=len(np.unique(table.frame)),
        columns=tuple(table.columns()),
        extent=table.extent,
        pixel_size=provenance.pixel_size,
        conversions=provenance.conversions,
        first_rows=tuple(_row(shown, at) for at in range(len(shown))),
        warnings=(*provenance.warnings, *table_warnings(table, fov)),
        assumptions=provenance.assumptions,
        unused=provenance.unused,
    )


def _row(table: Localizations, at: int) -> dict[str, float | int | None]:
    row: dict[str, Any] = {name: column[at].item() for name, column in table.columns().items()}
    return {name: value if np.isfinite(value) else None for name, value in row.items()}


def table_warnings(table: Localizations, fov: tuple[float, float] | None = None) -> list[str]:
    """What looks wrong in a table, a sentence each; `fov` is the field's width and height in nm.

    Examples
    --------
    >>> table_warnings(Localizations(frame=[1, 2], x=[1.0, 2.0], y=[0.0, 5.0], z=[0.0, 0.0]))
    ['all z are 0: probably a 2D file, so score it in 2D']
    """
    if len(table) == 0:
        return []
    warnings = []
    repeats = int(repeated_rows(table).sum())
    if repeats:
        warnings.append(f"{rows_that(repeats, 'repeats', 'repeat')} another: same frame and position")
    outside = (table.x < 0) | (table.y < 0)
    beyond = "x or y below 0"
    if fov is not None:
        outside |= (table.x > fov[0]) | (table.y > fov[1])
        beyond = f"beyond 0 to {fov[0]:g} x 0 to {fov[1]:g} nm"
    if outside.any():
        warnings.append(f"{rows_that(int(outside.sum()), 'lies', 'lie')} outside the field: {beyond}")
    if table.z is not None and not table.z.any():
        warnings.append("all z are 0: probably a 2D file, so score it in 2D")
    if table.photons is not None and (table.photons < 0).any():
        warnings.append(f"{rows_that(int((table.photons < 0).sum()), 'has', 'have')} negative photons")
    if table.frame.min() < 1:
        early = int((table.frame < 1).sum())
        warnings.append(
            f"{rows_that(early, 'has', 'have')} a frame below 1: perhaps the file counts from 0 (frame_base=0)"
        )
    return [*warnings, *not_in_nm(table)]


def not_in_nm(table: Localizations) -> list[str]:
    """A sentence if all positions lie in so small a place that they can't be in nm.

    Examples
    --------
    >>> not_in_nm(Localizations(frame=range(1, 61), x=[0.5 * k for k in range(60)], y=[0.1 * k for k in range(60)]))
    ['all positions lie within 30 x 6 nm: they are probably not in nm (unit=)']
    """
    extent = table.extent
    if len(table) < _FEWEST_ROWS:
        return []
    width, height = (high - low for low, high in (extent["x"], extent["y"]))
    small = max(width, height) < _SMALLEST_FIELD
    place = f"{width:.0f} x {height:.0f} nm"
    return [f"all positions lie within {place}: they are probably not in nm (unit=)"] if small else []


def rows_that(count: int, one: str, many: str) -> str:
    """How many rows do something.

    Examples
    --------
    >>> rows_that(1, "lies", "lie"), rows_that(3, "lies", "lie")
    ('1 row lies', '3 rows lie')
    """
    return f"{count} row {one}" if count == 1 else f"{count} rows {many}"
