"""Every option, written once: its type, default, help and the words it takes on the command line.

Options that belong together are a TypedDict. A function takes some of them as keywords (`keywords`), and the command of
the same name takes the same ones as flags.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, get_args, get_type_hints

from flatmetric._files import MOST_MEMBERS
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.localizations import Localizations

    Source = str | os.PathLike[str] | Localizations | Mapping[str, Any] | Any
    """A file, a table of ours, a pandas, polars or Arrow table, or a dict of arrays."""

Function = TypeVar("Function", bound=Callable[..., Any])
REQUIRED = ...
"""The default of an option that must be given."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its help, default and section of the help; `metavar` stands for its value on the command line, where
    `parse` turns text into it, `flag` spells it otherwise, and `bare` is its value when the flag is given alone.
    """

    help: str
    default: Any = None
    section: str = "Options"
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    flag: str | None = None
    bare: Any = None


def numbers(name: str) -> Callable[[str], tuple[float, ...]]:
    """How numbers joined by commas are read.

    Examples
    --------
    >>> numbers("shift")("1.5,-2")
    (1.5, -2.0)
    """

    def parse(text: str) -> tuple[float, ...]:
        try:
            return tuple(float(part) for part in text.split(","))
        except ValueError as error:
            raise InputError(f"{name} is {text!r}; give numbers joined by commas, as 100,100") from error

    return parse


def assignments(name: str) -> Callable[[str], dict[str, str]]:
    """How name=value pairs joined by commas are read.

    Examples
    --------
    >>> assignments("columns")("frame=2,x=X (nm)")
    {'frame': '2', 'x': 'X (nm)'}
    """

    def parse(text: str) -> dict[str, str]:
        given = {}
        for part in text.split(","):
            key, equals, value = part.partition("=")
            if not equals or not value.strip():
                raise InputError(f"{name} has {part!r}; give name=value pairs, as frame=2,x=3,y=4")
            given[key.strip()] = value.strip()
        return given

    return parse


_metric = functools.partial(Option, section="Metrics")
_rule = functools.partial(Option, section="Rules")
_sure = functools.partial(Option, section="Certainty")
_output = functools.partial(Option, section="Output")

_FILE = "{file}"  # in the help of a reading option, becomes RESULT, TRUTH or FILE
_READING: dict[str, Option] = {
    "format": Option(f"Format of {_FILE}; default as recognised by its content.", metavar="NAME"),
    "unit": Option(f"Unit of x and y in {_FILE}: nm, um, m or px; default as the file says.", metavar="UNIT"),
    "pixel_size": Option(
        "Pixel size, nm; two numbers if x and y differ; default as the file says.",
        metavar="NM[,NM]",
        parse=numbers("pixel_size"),
    ),
    "frame_base": Option(f"Number of the first frame in {_FILE}, as 0 or 1; default as the format says.", metavar="N"),
    "origin": Option(
        f"Where the zero of {_FILE} lies in the first pixel: corner or center; default as the format says.",
        metavar="PLACE",
    ),
    "shift": Option(
        f"Added to the positions of {_FILE} after all conversions, nm.", metavar="DX,DY[,DZ]", parse=numbers("shift")
    ),
    "swap_xy": Option(f"Exchange x and y of {_FILE}.", False),
    "columns": Option(
        f"Columns of {_FILE}, a text table, by number from 1 or by header.",
        metavar="frame=2,x=3,...",
        parse=assignments("columns"),
    ),
    "skip_bad_rows": Option("Drop and count rows that can't be read, instead of stopping at the first.", False),
    "max_rows": Option(f"Refuse {_FILE} if it has more rows; default any number.", metavar="N"),
    "max_bytes": Option(f"Refuse {_FILE} if it holds more bytes, unpacked; default any number.", metavar="N"),
    "max_members": Option(f"Refuse {_FILE} if it is an archive of more files; default {MOST_MEMBERS}.", metavar="N"),
}


def _reading(name: str, file: str = "RESULT") -> Option:
    declared = _READING[name]
    section = f"Reading {file}"
    text = declared.help.replace(_FILE, file)
    return Option(text, declared.default, section, declared.metavar, declared.parse)


class Threads(TypedDict, total=False):
    """How many threads work."""

    threads: Annotated[
        int | None, Option("Number of threads; default one for each core. The answer is the same.", section="Work")
    ]


class Jobs(TypedDict, total=False):
    """How much is done at a time."""

    jobs: Annotated[
        int | None,
        Option("Tasks at a time; default one for each core. The answer is the same.", section="Work", metavar="N"),
    ]


ROWS_AT_A_TIME = 5_000_000


class Ranges(Jobs, total=False):
    """How tables that are too large for memory are scored."""

    rows_at_a_time: Annotated[
        int | None,
        Option(
            "For files too large for memory: score by ranges of frames with about this many rows of both, e.g. "
            f"{ROWS_AT_A_TIME}, and keep all others on disk.",
            section="Work",
            metavar="ROWS",
        ),
    ]
    scratch: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "Folder for what is too large for memory; default that of the system, on a cluster that of RESULT.",
            section="Work",
            metavar="DIR",
        ),
    ]


class Work(Jobs, total=False):
    """How tasks are done."""

    timeout: Annotated[
        float | None, Option("Give up a task after this time, s; it becomes a row.", section="Work", metavar="S")
    ]


class ReadFile(TypedDict, total=False):
    """How to read one file."""

    format: Annotated[str | None, _reading("format", "FILE")]
    unit: Annotated[str | None, _reading("unit", "FILE")]
    pixel_size: Annotated[float | Sequence[float] | None, _reading("pixel_size", "FILE")]
    frame_base: Annotated[int | None, _reading("frame_base", "FILE")]
    origin: Annotated[str | None, _reading("origin", "FILE")]
    shift: Annotated[Sequence[float] | None, _reading("shift", "FILE")]
    swap_xy: Annotated[bool, _reading("swap_xy", "FILE")]
    columns: Annotated[Mapping[str, int | str] | None, _reading("columns", "FILE")]
    skip_bad_rows: Annotated[bool, _reading("skip_bad_rows", "FILE")]
    max_rows: Annotated[int | None, _reading("max_rows", "FILE")]
    max_bytes: Annotated[int | None, _reading("max_bytes", "FILE")]
    max_members: Annotated[int | None, _reading("max_members", "FILE")]


class ReadBoth(TypedDict, total=False):
    """How to read a result and its truth; `pixel_size` and `skip_bad_rows` apply to both."""

    format: Annotated[str | None, _reading("format")]
    unit: Annotated[str | None, _reading("unit")]
    pixel_size: Annotated[float | Sequence[float] | None, _reading("pixel_size")]
    frame_base: Annotated[int | None, _reading("frame_base")]
    origin: Annotated[str | None, _reading("origin")]
    shift: Annotated[Sequence[float] | None, _reading("shift")]
    swap_xy: Annotated[bool, _reading("swap_xy")]
    columns: Annotated[Mapping[str, int | str] | None, _reading("columns")]
    skip_bad_rows: Annotated[bool, _reading("skip_bad_rows")]
    max_rows: Annotated[int | None, _reading("max_rows")]
    max_bytes: Annotated[int | None, _reading("max_bytes")]
    max_members: Annotated[int | None, _reading("max_members")]
    truth_format: Annotated[str | None, _reading("format", "TRUTH")]
    truth_unit: Annotated[str | None, _reading("unit", "TRUTH")]
    truth_frame_base: Annotated[int | None, _reading("frame_base", "TRUTH")]
    truth_origin: Annotated[str | None, _reading("origin", "TRUTH")]
    truth_shift: Annotated[Sequence[float] | None, _reading("shift", "TRUTH")]
    truth_swap_xy: Annotated[bool, _reading("swap_xy", "TRUTH")]
    truth_columns: Annotated[Mapping[str, int | str] | None, _reading("columns", "TRUTH")]


class Lam(TypedDict, total=False):
    """The Flat Metric's one parameter."""

    lam: Annotated[float, _metric("Cost of a missed molecule or a false detection, nm.", 125.0, metavar="NM")]


_FOV = _rule(
    "Size of the field of view, nm; two numbers if x and y differ; default as the protocol or the file says.",
    metavar="NM[,NM]",
    parse=numbers("fov"),
)


class FieldOfView(TypedDict, total=False):
    """The size of what the camera sees."""

    fov: Annotated[float | Sequence[float] | None, _FOV]


class Limits(TypedDict, total=False):
    """Which rules apply, and which part of the field and of the movie counts."""

    protocol: Annotated[
        Any,
        _rule(
            "Rules to start from: challenge2016, or a TOML file; default tolerances of 250 and 500 nm and no border.",
            metavar="NAME|FILE",
        ),
    ]
    dim: Annotated[
        int | None, _rule("Score in 2 or 3 dimensions; default 3 where both files have depths.", metavar="N")
    ]
    fov: Annotated[float | Sequence[float] | None, _FOV]
    border: Annotated[
        float | None,
        _rule("Width of the border that is left out on every side, nm; needs the size of the field.", metavar="NM"),
    ]
    first_frame: Annotated[int | None, _rule("First frame to compare.", metavar="N")]
    last_frame: Annotated[int | None, _rule("Last frame to compare.", metavar="N")]


class Rules(Limits, total=False):
    """By which rules results are compared."""

    tolerance: Annotated[float | None, _rule("Largest lateral distance of a match, nm; default 250.", metavar="NM")]
    tolerance_z: Annotated[float | None, _rule("Largest axial distance of a match, nm; default 500.", metavar="NM")]
    matching: Annotated[
        str | None, _rule("Which pairs match: greedy (nearest first) or optimal; default greedy.", metavar="NAME")
    ]
    photon_threshold: Annotated[
        float | None, _rule("Leave out molecules with at most this many photons.", metavar="PHOTONS")
    ]
    photon_quantile: Annotated[
        float | None, _rule("Leave out this part of the molecules, the dimmest, 0 to 1.", metavar="FRACTION")
    ]
    wobble: Annotated[Any, _rule("CSV file with columns dx, dy, z in nm: shifts added to the truth.", metavar="FILE")]


def _imaging(text: str) -> Any:
    from flatmetric.metrics.bound import Imaging

    values = {}
    for name, value in assignments("bound")(text).items():
        (values[name],) = numbers(f"bound: {name}")(value)
    return Imaging.parse(values)


def _link(text: str) -> Any:
    from flatmetric.scoring.linking import Link

    radius, *gap = numbers("link")(text)
    if len(gap) != 1 or gap[0] != int(gap[0]):
        raise InputError(f"link is {text!r}; give a radius in nm and a whole number of frames, as 50,1")
    return Link(radius, int(gap[0]))


class Metrics(Lam, total=False):
    """How the metrics are computed."""

    weights: Annotated[
        str, _metric("uniform, or photons to weigh molecules by their photons.", "uniform", metavar="NAME")
    ]
    axis_scale: Annotated[
        Sequence[float] | None,
        _metric(
            "Factor for each axis in the Flat Metric, e.g. 1,1,0.5.", metavar="SX,SY[,SZ]", parse=numbers("axis_scale")
        ),
    ]
    alpha_xy: Annotated[float, _metric("Weight of the lateral error in the efficiency, 1/nm.", 1.0, metavar="W")]
    alpha_z: Annotated[float, _metric("Weight of the axial error in the efficiency, 1/nm.", 0.5, metavar="W")]
    gospa_p: Annotated[float, _metric("Order of GOSPA and OSPA.", 1.0, metavar="P")]
    gospa_c: Annotated[float | None, _metric("Cutoff of GOSPA and OSPA, nm; default twice lam.", metavar="NM")]
    bound: Annotated[
        Any,
        _metric(
            "Also compare the RMSE with the Cramer-Rao bound: pixel_size and sigma in nm, background in photons per "
            "pixel, em=1 for an EMCCD, and if known quantum_efficiency and focal_depth (nm).",
            metavar="pixel_size=...,sigma=...,background=...",
            parse=_imaging,
        ),
    ]
    link: Annotated[
        Any,
        _metric(
            "Also link detections over frames: within RADIUS nm, over at most GAP empty frames.",
            metavar="RADIUS,GAP",
            parse=_link,
        ),
    ]


class Images(TypedDict, total=False):
    """Rendered images."""

    images: Annotated[bool, _metric("Also compare rendered images: SNR and Fourier ring correlation.", False)]


class Blocks(TypedDict, total=False):
    """How intervals and p-values are computed."""

    resamples: Annotated[int, _sure("Draws behind p-values that hold for all pairs.", 10000, metavar="N")]
    seed: Annotated[int, _sure("Seed of these draws; the same seed gives the same p-values.", 0, metavar="N")]
    block: Annotated[
        int | None, _sure("Length of an independent block, frames; default from the data.", metavar="FRAMES")
    ]


class MayBeSure(Blocks, total=False):
    """Confidence intervals, if a level is given."""

    ci: Annotated[float | None, _sure("Confidence intervals at this level, percent, e.g. 95.", metavar="PERCENT")]


class Sure(Blocks, total=False):
    """Confidence intervals, always."""

    ci: Annotated[float, _sure("Level of the confidence intervals, percent.", 95.0, metavar="PERCENT")]


class Checked(TypedDict, total=False):
    """The check of files."""

    check: Annotated[
        bool, Option("Look for errors of the file as a whole: frames, axes, unit, shift, ....", True, section="Check")
    ]


class Scoring(Metrics, Rules, total=False):
    """Everything that a score depends on besides the files."""


class Write(TypedDict, total=False):
    """The format of an output."""

    to: Annotated[
        str | None,
        _output("challenge-standard, thunderstorm, picasso or parquet; default by the suffix.", metavar="FORMAT"),
    ]


def options_of(group: type) -> dict[str, tuple[Any, Option]]:
    """The type and the option of each key of a TypedDict, in their order.

    Examples
    --------
    >>> [(name, option.default) for name, (_, option) in options_of(Lam).items()]
    [('lam', 125.0)]
    """
    return {name: get_args(hint) for name, hint in get_type_hints(group, include_extras=True).items()}


def only(given: Mapping[str, Any], group: type) -> Any:
    """The given options that belong to a group.

    Examples
    --------
    >>> only({"lam": 100.0, "fov": 6400.0}, Lam)
    {'lam': 100.0}
    """
    return {name: given[name] for name in options_of(group) if name in given}


def keywords(group: type) -> Callable[[Function], Function]:
    """Gives a function the options of a group as keywords: their defaults, their help in its docstring, and one
    sentence for a name that is none of them.

    Examples
    --------
    >>> @keywords(Lam)
    ... def cost(**given: Any) -> float:
    ...     return 2 * given["lam"]
    >>> cost(), cost(lam=100.0)
    (250.0, 200.0)
    >>> cost(lamb=100.0)
    Traceback (most recent call last):
    flatmetric.errors.InputError: cost() takes no 'lamb'; did you mean lam=?
    """

    def decorate(function: Function) -> Function:
        declared = options_of(group)
        own = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
        known = {parameter.name for parameter in own}

        @functools.wraps(function)
        def call(*values: Any, **given: Any) -> Any:
            for name in given:
                if name not in declared and name not in known:
                    raise InputError(f"{function.__name__}() takes no {name!r}; {_meant(name, [*declared, *known])}")
            for name in ("threads", "jobs", "rows_at_a_time"):
                _check_count(given.get(name), name)
            defaults = {
                name: option.default for name, (_, option) in declared.items() if option.default is not REQUIRED
            }
            return function(*values, **(defaults | given))

        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if option.default is REQUIRED else option.default,
                annotation=kind,
            )
            for name, (kind, option) in declared.items()
            if name not in known
        ]
        call.__signature__ = inspect.signature(function).replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        call.__doc__ = _with_parameters(function.__doc__ or "", declared)
        return call  # type: ignore[return-value]

    return decorate


def _check_count(value: Any, name: str) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InputError(f"{name} is {value!r:.40}; give a whole number from 1")


def _meant(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}=?" if close else f"give one of {', '.join(sorted(known))}"


def _with_parameters(text: str, declared: Mapping[str, tuple[Any, Option]]) -> str:
    """A docstring with the options in its section of parameters, before the examples."""
    lines = []
    for name, (_, option) in declared.items():
        default = "" if option.default in (None, REQUIRED) else f" Default: {option.default!r}."
        said = option.help.replace("RESULT", "the result").replace("TRUTH", "the truth").replace("FILE", "the file")
        lines += [f"    {name}", f"        {said}{default}"]
    before, heading, examples = text.partition("    Examples\n    --------\n")
    if "Parameters\n    ----------\n" not in before:
        before = before.rstrip() + "\n\n    Parameters\n    ----------\n"
    return f"{before.rstrip()}\n" + "\n".join(lines) + f"\n\n{heading}{examples}"


def path_of(value: Any, name: str) -> Path:
    """A path from a string or a path.

    Examples
    --------
    >>> path_of(3, "out")
    Traceback (most recent call last):
    flatmetric.errors.InputError: out is 3; give a path
    """
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} is {value!r:.60}; give a path")
    return Path(value)
