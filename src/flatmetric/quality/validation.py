"""Is a file a proper submission, without any truth: format, unit, frames, field, repeated rows, gaps, size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._files import read_json
from flatmetric.errors import InputError, printable
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.options.reading import ReadOptions
from flatmetric.options.rules import Protocol
from flatmetric.quality.checking import check_tables
from flatmetric.quality.findings import repeated_rows
from flatmetric.quality.inspect import not_in_nm, rows_that

_LARGEST = 2e9  # bytes
_MOST_REPEATED = 0.005  # of the rows
_OUTSIDE = 0.02  # of the rows: spots at the edge may be fitted a little outside
_OTHER_UNIT = 0.01  # of the field: positions in um or pixels fill less than this


@dataclass(frozen=True, slots=True)
class Expected:
    """What a submission has to fit: the field of view in nm, first and last frame, the truth; None where anything
    goes.
    """

    fov: tuple[float, float] | None = None
    frames: tuple[int, int] | None = None
    truth: Localizations | None = None

    @classmethod
    def from_file(cls, path: Path) -> Expected:
        """From the parameters of a simulation (`simulation.json`), from rules in TOML, or from the truth."""
        if path.suffix == ".toml":
            rules = Protocol.from_toml(path)
            frames = None if rules.last_frame is None else (rules.first_frame or 1, rules.last_frame)
            return cls(rules.fov, frames)
        if path.suffix != ".json":
            truth = read_file(path, ReadOptions())
            truth.check_has_rows()
            return cls(truth=truth)
        content = read_json(path)
        try:
            dataset = content["dataset"]
            width = float(dataset["pixels"]) * float(dataset["pixel_size"])
            return cls((width, width), (1, int(dataset["frames"])))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not a simulation.json, protocol.toml or truth; give one of these") from error


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether a file is a proper submission: the `problems` that must be fixed, and `remarks` on what was assumed."""

    file: str
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    format: str | None = None
    rows: int | None = None
    frames: tuple[int, int] | None = None
    extent: dict[str, tuple[float, float]] | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"ok": self.ok} | {name: getattr(self, name) for name in self.__slots__}

    def message(self) -> str:
        """The report for the submitter."""
        if self.rows is None:
            what = ""
        else:
            frames = "" if self.frames is None else f", frames {self.frames[0]} to {self.frames[1]}"
            what = f" ({self.format}, {self.rows} rows{frames})"
        lines = [
            f"{printable(self.file)}: {'a proper submission' if self.ok else 'please correct and send again'}{what}"
        ]
        lines += [f"  - {problem}" for problem in self.problems]
        return "\n".join([*lines, *(f"  assumed: {remark}" for remark in self.remarks)])


def validate_file(path: Path, options: ReadOptions, expected: Expected, threads: int | None = None) -> Validation:
    r"""Read a file and say what is wrong with it; a file that can't be read has the reason as its problem.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("frame,x [nm],y [nm]\n1,120.5,80.0\n1,120.5,80.0\n1,120.5,80.0\n")
    >>> validate_file(path, ReadOptions(), Expected()).problems
    ('2 of 3 rows repeat another: same frame and position',)
    """
    try:
        if path.stat().st_size > _LARGEST:
            return Validation(
                path.name, (f"larger than {_LARGEST / 1e9:g} GB; leave out columns that aren't needed",), ()
            )
        table = read_file(path, options, threads=threads)
    except InputError as error:
        return Validation(path.name, (str(error).removeprefix(f"{path}: "),), ())
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except OSError as error:
        return Validation(path.name, (f"can't be read, {error.strerror}",), ())
    source = table.provenance
    return Validation(
        path.name,
        tuple(problems_of(table, expected)),
        source.assumptions,
        source.format,
        len(table),
        (int(table.frame.min()), int(table.frame.max())) if len(table) else None,
        table.extent,
    )


def problems_of(table: Localizations, expected: Expected) -> list[str]:
    """What must be fixed in a table that is handed in, a sentence each.

    Examples
    --------
    >>> problems_of(Localizations(frame=[0], x=[1.0], y=[2.0]), Expected())
    ['1 row has a frame below 1: frames count from 1 (frame_base=0)']
    """
    if len(table) == 0:
        return ["it has no row"]
    cant = "can't be used"
    problems = [f"{rows_that(count, cant, cant)}: {reason}" for reason, count in table.provenance.dropped.items()]
    repeats = int(repeated_rows(table).sum())
    if repeats > _MOST_REPEATED * len(table):
        repeat = "repeats" if repeats == 1 else "repeat"
        problems.append(f"{repeats} of {len(table)} rows {repeat} another: same frame and position")
    if table.photons is not None and (table.photons < 0).any():
        problems.append(f"{rows_that(int((table.photons < 0).sum()), 'has', 'have')} negative photons")
    if expected.truth is not None:
        found = check_tables(expected.truth, table)
        told = [
            f"{one.severity}: {one.for_its_team()}"
            for one in found
            if one.severity != "note" and one.kind != "duplicates"
        ]
        return [*problems, *told]
    return [*problems, *_frame_problems(table, expected), *_field_problems(table, expected)]


def ends_early(last: int, frames: tuple[int, int]) -> bool:
    """Whether a last frame lies before the middle of the frames that there are.

    Examples
    --------
    >>> ends_early(49, (1, 100)), ends_early(50, (1, 100))
    (True, False)
    """
    return last < sum(frames) // 2


def _frame_problems(table: Localizations, expected: Expected) -> list[str]:
    first, last = int(table.frame.min()), int(table.frame.max())
    if any("no frames" in step for step in table.provenance.conversions):
        return ["it has no column of frames (or give columns=)"]
    if first < 1:
        have = rows_that(int((table.frame < 1).sum()), "has", "have")
        return [f"{have} a frame below 1: frames count from 1 (frame_base=0)"]
    if expected.frames is None:
        return []
    low, high = expected.frames
    outside = int(np.count_nonzero((table.frame < low) | (table.frame > high)))
    if outside:
        return [f"{rows_that(outside, 'is', 'are')} in frames beyond {low} to {high}: the last is {last}"]
    if ends_early(last, expected.frames):
        return [f"it ends at frame {last} of {high}"]
    return []


def _field_problems(table: Localizations, expected: Expected) -> list[str]:
    fov = expected.fov
    if fov is None:
        below = int(np.count_nonzero((table.x < 0) | (table.y < 0)))
        many = below > _OUTSIDE * len(table)
        problems = [f"{rows_that(below, 'has', 'have')} x or y below 0, outside the field"] if many else []
        return [*problems, *not_in_nm(table)]
    reached = float(np.percentile(table.x, 99)), float(np.percentile(table.y, 99))
    if all(high < _OTHER_UNIT * 2 * size for high, size in zip(reached, fov, strict=True)):
        return [f"positions reach to {max(reached):.4g} in a field of {fov[0]:g} nm: they are not in nm (give unit=)"]
    outside = (table.x < 0) | (table.x > fov[0]) | (table.y < 0) | (table.y > fov[1])
    if outside.mean() > _OUTSIDE:
        return [f"{rows_that(int(outside.sum()), 'lies', 'lie')} outside the field of {fov[0]:g} x {fov[1]:g} nm"]
    return []
