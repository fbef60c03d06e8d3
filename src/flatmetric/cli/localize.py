"""`flatmetric localize`: run a localizer on an image stack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric.cli.options import Argument, Group, command, option
from flatmetric.cli.output import check_outputs
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import print_warning
from flatmetric.errors import InputError


class LocalizeFlags(Group):
    """Which localizer runs, with which settings and camera, and where its result goes."""

    method: str = option("baseline", "baseline, trackpy, daofind, log, dog, ... or a variant.", metavar="NAME")
    settings: tuple[str, ...] = option(
        (), "A setting of the method; may be repeated.", metavar="NAME=VALUE", flag="set"
    )
    out: Path | None = option(None, "File for the result; default METHOD.csv beside the stack.", metavar="FILE")
    to: str | None = option(None, "Format of the output; default thunderstorm for .csv.")
    pixel_size: float | None = option(None, "Pixel size, nm; default that of the stack.")
    offset: float | None = option(None, "Counts of the camera in the dark.")
    photons_per_count: float | None = option(None, "Photons for each count of the camera.")


@command
def localize(stack: Annotated[Path, Argument("STACK", "A 16-bit TIFF stack.")], options: LocalizeFlags) -> None:
    """Find molecules in STACK, a 16-bit TIFF, with an installed program or the built-in baseline."""
    from flatmetric.formats.write import writable_format, write
    from flatmetric.localizers.registry import camera_of, localize_stack, participant
    from flatmetric.stacks import open_stack

    chosen = participant(options.method, dict(map(_setting, options.settings)))
    target = stack.with_name(f"{options.method}.csv") if options.out is None else options.out
    format = "thunderstorm" if options.to is None and target.suffix == ".csv" else writable_format(target, options.to)
    check_outputs([target], [stack])
    images = open_stack(stack)
    camera = camera_of(images, options.pixel_size, options.offset, options.photons_per_count)
    if camera.warning is not None:
        print_warning(camera.warning)
    with progress_bar() as progress:
        table = localize_stack(images, chosen, camera, progress=progress)
    write(table, target, format)
    print(f"{len(table)} localizations in {images.frames} frames by {options.method}\nwritten: {target}")


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError as error:
        raise InputError(f"--set is {text!r}; give name=number, as threshold=4") from error
