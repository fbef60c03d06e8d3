"""The options that say how a file is to be understood, and reading with a progress bar."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from flatmetric.cli.progress import progress_bar
from flatmetric.errors import InputError
from flatmetric.formats.native import ReadOptions, checked_options
from flatmetric.formats.reading import read_file
from flatmetric.localizations import Localizations

FormatOption = Annotated[str | None, typer.Option("--format", help="Name of the format, if not as recognised.")]
UnitOption = Annotated[str | None, typer.Option("--unit", help="Unit of x and y in the file: nm, um, m or px.")]
PixelSizeOption = Annotated[
    str | None, typer.Option("--pixel-size", metavar="NM", help="Pixel size in nm; NM,NM where x and y differ.")
]
FrameBaseOption = Annotated[int | None, typer.Option("--frame-base", help="Number of the first frame in the file.")]
OriginOption = Annotated[
    str | None, typer.Option("--origin", help="Where the file's zero is in the first pixel: corner or center.")
]
ShiftOption = Annotated[
    str | None, typer.Option("--shift", metavar="DX,DY[,DZ]", help="Added to the positions at the end, nm.")
]
SwapOption = Annotated[bool, typer.Option("--swap-xy", help="Exchange x and y.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", metavar="frame=2,x=3,...", help="Columns of a text table, by number or header."),
]
SkipOption = Annotated[bool, typer.Option("--skip-bad-rows", help="Drop and count bad rows instead of stopping.")]


def options_from_flags(
    format: str | None = None,
    unit: str | None = None,
    pixel_size: str | None = None,
    frame_base: int | None = None,
    origin: str | None = None,
    shift: str | None = None,
    swap_xy: bool = False,
    columns: str | None = None,
    skip_bad_rows: bool = False,
) -> ReadOptions:
    """The reading options as they stand on the command line."""
    return checked_options(
        format=format,
        unit=unit,
        pixel_size=None if pixel_size is None else numbers(pixel_size, "--pixel-size"),
        frame_base=frame_base,
        origin=origin,
        shift=None if shift is None else numbers(shift, "--shift"),
        swap_xy=swap_xy,
        columns=None if columns is None else _columns(columns),
        skip_bad_rows=skip_bad_rows,
    )


def numbers(text: str, flag: str) -> list[float]:
    """Numbers joined by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"{flag} is {text!r}; give numbers joined by commas, as 100,100") from error


def _columns(text: str) -> dict[str, int | str]:
    columns: dict[str, int | str] = {}
    for part in text.split(","):
        name, equals, place = part.partition("=")
        if not equals or not place.strip():
            raise InputError(f"--columns has {part!r}; give name=number pairs, as frame=2,x=3,y=4")
        columns[name.strip()] = place.strip()
    return columns


def read_with_progress(path: Path, options: ReadOptions) -> Localizations:
    """Read; on a terminal, a bar on stderr after the first second."""
    with progress_bar(f"reading {path.name}") as progress:
        return read_file(path, options, progress)


def read_both(
    truth: Path, truth_options: ReadOptions, result: Path, options: ReadOptions, meanwhile: Callable[[], None]
) -> tuple[Localizations, Localizations]:
    """Read the truth aside, do what there is to do `meanwhile`, and read the result; on a terminal, with a bar.

    What is wrong with the truth is said first.
    """
    stopped = threading.Event()
    amounts: dict[Path, tuple[int, int]] = {}
    with progress_bar(f"reading {truth.name} and {result.name}") as progress, ThreadPoolExecutor(1) as aside:

        def heard(path: Path, done: int, total: int) -> None:
            if stopped.is_set():
                raise KeyboardInterrupt
            amounts[path] = (done, total)
            if progress is not None:
                progress(*map(sum, zip(*amounts.values(), strict=True)))

        true = aside.submit(read_file, truth, truth_options, partial(heard, truth))
        try:
            meanwhile()
            found = read_file(result, options, partial(heard, result))
        except InputError:
            true.result()
            raise
        except BaseException:
            stopped.set()
            raise
        return true.result(), found


def names_of(paths: list[Path]) -> list[str]:
    """The names of the files without suffixes; where these are not unique, the whole paths."""
    short = [path.name.split(".")[0] or path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def print_warnings(*tables: Localizations) -> None:
    """What the files left open or look wrong in, on stderr."""
    for table in tables:
        for warning in table.provenance.warnings:
            print_warning(f"{table.provenance.file}: {warning}")


def print_warning(sentence: str) -> None:
    """One warning, on stderr."""
    print(f"flatmetric: warning: {sentence}", file=sys.stderr)
