"""`flatmetric localize`: run a localizer on an image stack."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.cli.progress import progress_bar
from flatmetric.cli.reading import print_warning
from flatmetric.cli.simulate import PARAMETERS
from flatmetric.cli.writing import refuse_outputs
from flatmetric.errors import InputError


def localize(
    stack: Annotated[Path, typer.Argument(metavar="STACK", help="16-bit TIFF, one image a frame.", show_default=False)],
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="baseline, trackpy, daofind, log, dog, ... or a variant.")
    ] = "baseline",
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Default: METHOD.csv by the stack.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of the output; thunderstorm for .csv.")] = None,
    pixel_size: Annotated[float | None, typer.Option("--pixel-size", help="nm; default as the file says.")] = None,
    offset: Annotated[float | None, typer.Option("--offset", help="Counts in the dark.")] = None,
    photons_per_count: Annotated[float | None, typer.Option("--photons-per-count", help="Of the camera.")] = None,
) -> None:
    """Find molecules in an image stack with a program that is installed, or with the built-in baseline."""
    from flatmetric.formats.writing import writable_format, write
    from flatmetric.localizers.participants import localize as run
    from flatmetric.localizers.participants import participant
    from flatmetric.stacks import open_stack

    chosen = participant(method, _changes(change or []))
    target = stack.with_name(f"{method}.csv") if out is None else out
    format = "thunderstorm" if to is None and target.suffix == ".csv" else writable_format(target, to)
    refuse_outputs([target], [stack])
    images = open_stack(stack)
    camera = _camera(stack, images.pixel_size, pixel_size, offset, photons_per_count)
    with progress_bar(f"{method} on {stack.name}") as progress:
        table = run(images, chosen, **camera, progress=progress)
    write(table, target, format)
    print(f"{len(table)} localizations in {images.frames} frames by {method}\nwritten: {target}")


def _changes(given: list[str]) -> dict[str, float]:
    changes = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            changes[name.strip()] = float(value)
        except ValueError as error:
            raise InputError(f"--set is {text!r}; give name=number, as threshold=4") from error
    return changes


def _camera(
    stack: Path, written: float | None, pixel_size: float | None, offset: float | None, photons_per_count: float | None
) -> dict[str, float]:
    """Pixel size, offset and photons per count: as given, as simulated, or guessed with a warning."""
    known = _simulated_camera(stack.with_name(PARAMETERS))
    if pixel_size is None:
        pixel_size = written
    if pixel_size is None:
        raise InputError(f"{stack}: does not say its pixel size; give --pixel-size in nm")
    if not 0 < pixel_size < 1e6:
        raise InputError(f"--pixel-size is {pixel_size}; give a length in nm above 0")
    if offset is None:
        offset = known.get("offset")
    if photons_per_count is None:
        photons_per_count = known.get("photons_per_count")
    if offset is None or photons_per_count is None:
        print_warning(
            f"{stack}: the camera is not known, so thresholds and photons are in counts above "
            f"{offset or 0:g}; give --offset and --photons-per-count"
        )
    photons_per_count = 1.0 if photons_per_count is None else photons_per_count
    offset = 0.0 if offset is None else offset
    if not math.isfinite(offset):
        raise InputError(f"--offset is {offset}; give a number of counts")
    if not 0 < photons_per_count < 1e6:
        raise InputError(f"--photons-per-count is {photons_per_count}; give a number above 0")
    return {"pixel_size": pixel_size, "offset": offset, "photons_per_count": photons_per_count}


def _simulated_camera(path: Path) -> dict[str, float]:
    """What the parameters beside a simulated stack say of its camera; nothing where there are none."""
    from flatmetric.simulation.camera import Camera

    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if "unfinished" in content:
            return {}
        camera = Camera(**content["dataset"]["camera"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {"offset": camera.offset, "photons_per_count": camera.photons_per_count}
