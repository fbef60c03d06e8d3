"""`flatmetric check`: whether the file is right at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.check import applied
from flatmetric.check import check as check_tables
from flatmetric.cli import reading
from flatmetric.cli.rules import LamOption
from flatmetric.cli.writing import JsonOption, refuse_outputs, write_json
from flatmetric.formats.writing import files_of, writable_format, write
from flatmetric.version import __version__
from flatmetric.words import finding_sentence


def check(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="The true molecules.", show_default=False)],
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="What a program found.", show_default=False)],
    lam: LamOption = 125.0,
    apply: Annotated[
        Path | None, typer.Option("--apply", metavar="OUT", help="Write the result with all findings mended.")
    ] = None,
    format: reading.FormatOption = None,
    unit: reading.UnitOption = None,
    pixel_size: reading.PixelSizeOption = None,
    frame_base: reading.FrameBaseOption = None,
    origin: reading.OriginOption = None,
    shift: reading.ShiftOption = None,
    swap_xy: reading.SwapOption = False,
    columns: reading.ColumnsOption = None,
    skip_bad_rows: reading.SkipOption = False,
    json: JsonOption = None,
) -> None:
    """Look for a shift, wrong frames, exchanged or mirrored axes, a wrong unit, repeated or missing rows in RESULT."""
    options = reading.options_from_flags(
        format=format,
        unit=unit,
        pixel_size=pixel_size,
        frame_base=frame_base,
        origin=origin,
        shift=shift,
        swap_xy=swap_xy,
        columns=columns,
        skip_bad_rows=skip_bad_rows,
    )
    truth_options = reading.options_from_flags(pixel_size=pixel_size, skip_bad_rows=skip_bad_rows)
    target = None if apply is None else writable_format(apply, None)
    outputs = [] if apply is None or target is None else files_of(apply, target)
    refuse_outputs([json, *outputs], [truth, result])
    true, found = reading.read_with_progress(truth, truth_options), reading.read_with_progress(result, options)
    findings = check_tables(true, found, lam=lam)
    if apply is not None and target is not None:
        mended = found
        for finding in findings:
            mended = applied(mended, finding)
        write(mended, apply, target)
    reading.print_warnings(true, found)
    if json is not None:
        content: dict[str, Any] = {
            "version": __version__,
            "lam_nm": lam,
            "findings": [dataclasses.asdict(finding) for finding in findings],
        }
        write_json(content, json)
    if json != "-":
        print("\n".join(map(finding_sentence, findings)) or "Nothing looks wrong.")
        if outputs:
            print(f"written: {', '.join(map(str, outputs))}")
