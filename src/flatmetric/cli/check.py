"""`flatmetric check`: whether the file is right at all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.check import Finding, applied
from flatmetric.check import check as check_tables
from flatmetric.cli import reading
from flatmetric.cli.rules import LamOption
from flatmetric.cli.writing import JsonOption, refuse_outputs, write_json
from flatmetric.formats.writing import files_of, writable_format, write
from flatmetric.version import __version__


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
        print("\n".join(map(sentence, findings)) or "Nothing looks wrong.")
        if outputs:
            print(f"written: {', '.join(map(str, outputs))}")


def sentence(finding: Finding) -> str:
    """One finding in plain words.

    Examples
    --------
    >>> print(sentence(Finding("frame_offset", -1, 120.0, 30.5, 1.0, "--frame-base 0")))
    frames are off by -1: --frame-base 0 (Flat Metric 120.0 to 30.5 nm)
    """
    change = f"Flat Metric {finding.flat_metric_before:.1f} to {finding.flat_metric_after:.1f} nm"
    return f"{_what(finding)}: {finding.mend} ({change})"


def _what(finding: Finding) -> str:
    estimate = finding.estimate
    match finding.kind:
        case "shift":
            return f"everything is shifted by x {estimate['x']:+.1f}, y {estimate['y']:+.1f} nm"
        case "frame_offset":
            return f"frames are off by {estimate:+d}"
        case "swapped_axes":
            return "x and y are exchanged"
        case "flipped_axis":
            return f"{estimate['axis']} is mirrored at {estimate['size'] / 2:g} nm"
        case "scale":
            return f"positions are {estimate:.6g} times the true ones"
        case "z_sign":
            return "z has the wrong sign"
        case "duplicates":
            return f"{estimate} rows repeat another"
        case "truncated":
            return f"the result ends at frame {estimate['last_frame']} of {estimate['truth_last_frame']}"
