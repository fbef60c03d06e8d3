"""Every command-line option, defined once: flag, type, default and help; and how commands are built from them.

An option is an attribute of a group, and groups are put together by inheritance. A command is a function of its
arguments and of one group. A flag is spelled as its attribute: `pixel_size` is --pixel-size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import cleandoc
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import click

from flatmetric.errors import InputError
from flatmetric.formats.conversion import ReadOptions, checked_options
from flatmetric.matching.protocol import Protocol, field_of_view, read_wobble

if TYPE_CHECKING:
    from flatmetric.metrics.bound import Imaging
    from flatmetric.scoring.linking import Link
    from flatmetric.scoring.score import ScoreOptions
    from flatmetric.statistics.intervals import Certainty as Settings

REQUIRED = ...
"""The default of an option that must be given."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its default, its help, and how it is spelled; `bare` is its value when the flag is given alone."""

    default: Any
    help: str
    metavar: str | None = None
    flag: str | None = None
    bare: Any = None
    section: str = ""


def option(default: Any, help: str, *, metavar: str | None = None, flag: str | None = None, bare: Any = None) -> Any:
    """Declares an option as an attribute of a group, under which its value is found later."""
    return Option(default, help, metavar, flag, bare)


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument: its name in the usage line, its help, and whether it may be repeated."""

    metavar: str
    help: str
    many: bool = False


Truth = Annotated[Path, Argument("TRUTH", "The true molecules.")]
Result = Annotated[Path, Argument("RESULT", "The localizations of a program.")]


class Group:
    """Options that belong together; `section` heads them in the help. As dataclasses they would load 20 ms slower."""

    section: ClassVar[str] = "Options"
    declared: ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls) -> None:
        bases = reversed(cls.__mro__[1:])
        inherited = {name: one for base in bases for name, one in vars(base).get("declared", {}).items()}
        own = {name: one for name, one in vars(cls).items() if isinstance(one, Option)}
        sections = {name: inherited[name].section if name in inherited else cls.section for name in own}
        cls.declared = inherited | {name: replace(one, section=sections[name]) for name, one in own.items()}

    def __init__(self, **values: Any) -> None:
        for name, declared in self.declared.items():
            setattr(self, name, values.get(name, declared.default))


def changed(group: type[Group], name: str, default: Any) -> Any:
    """The same option with another default."""
    return replace(group.declared[name], default=default)


class Lam(Group):
    """The Flat Metric's one parameter."""

    section: ClassVar[str] = "Metrics"

    lam: float = option(125.0, "Cost of a missed molecule or a false detection, nm.")


class FieldOfView(Group):
    """The size of what the camera sees."""

    section: ClassVar[str] = "Rules"

    fov: str | None = option(None, "Size of the field of view, nm; two numbers if x and y differ.", metavar="NM[,NM]")


class Rules(FieldOfView):
    """By which rules results are compared."""

    section: ClassVar[str] = "Rules"

    protocol: str | None = option(None, "Rules to start from: challenge2016, or a TOML file.", metavar="NAME|FILE")
    dim: int | None = option(None, "2 or 3; default 3 where both files have depths.")
    tolerance: float | None = option(None, "Largest lateral distance of a match, nm; default 250.")
    tolerance_z: float | None = option(None, "Largest axial distance of a match, nm; default 500.")
    matching: str | None = option(None, "greedy (default) or optimal.")
    border: float | None = option(None, "Width of the border that is left out on every side, nm.")
    photon_threshold: float | None = option(None, "Leave out molecules with at most this many photons.")
    photon_quantile: float | None = option(None, "Leave out the dimmest molecules: this fraction of them, 0 to 1.")
    wobble: Path | None = option(None, "CSV with columns dx, dy, z in nm: shifts added to the truth.", metavar="FILE")
    first_frame: int | None = option(None, "First frame to compare.")
    last_frame: int | None = option(None, "Last frame to compare.")

    def rule_files(self) -> list[Path]:
        """The files that the rules are read from."""
        return [Path(name) for name in (self.protocol, self.wobble) if name is not None]

    def rules(self) -> Protocol:
        """The rules to start from, overridden by the given options."""
        start = Protocol()
        if self.protocol is not None:
            from_file = self.protocol.endswith(".toml")
            start = Protocol.from_toml(self.protocol) if from_file else Protocol.preset(self.protocol)
        given = {name: value for name in Rules.declared if (value := getattr(self, name)) is not None}
        given.pop("protocol", None)
        if self.fov is not None:
            given["fov"] = parse_fov(self.fov)
        if self.wobble is not None:
            given["wobble"] = read_wobble(self.wobble)
        return start.changed(**given)


class Metrics(Lam):
    """How the metrics are computed."""

    section: ClassVar[str] = "Metrics"

    weights: str = option("uniform", "uniform, or photons to weigh molecules by their photons.")
    axis_scale: str | None = option(None, "Factor for each axis in the Flat Metric.", metavar="SX,SY[,SZ]")
    alpha_xy: float = option(1.0, "Weight of the lateral error in the efficiency, 1/nm.")
    alpha_z: float = option(0.5, "Weight of the axial error in the efficiency, 1/nm.")
    gospa_p: float = option(1.0, "Order of GOSPA and OSPA.")
    gospa_c: float | None = option(None, "Cutoff of GOSPA and OSPA, nm; default 2 lam.")
    bound: str | None = option(
        None,
        "Also compare the RMSE with the Cramer-Rao bound; pixel_size and sigma in nm, background in photons per pixel, "
        "em=1 for an EMCCD, and if known quantum_efficiency, focal_depth.",
        metavar="pixel_size=...,sigma=...,background=...",
    )
    link: str | None = option(
        None, "Also link detections over frames: within RADIUS nm, over at most GAP empty frames.", metavar="RADIUS,GAP"
    )


class Scoring(Rules, Metrics):
    """Everything that a score depends on besides the files."""

    def scoring(self) -> ScoreOptions:
        """The options of `score`."""
        from flatmetric.scoring.score import ScoreOptions

        given = {name: getattr(self, name) for name in Metrics.declared}
        given["axis_scale"] = None if self.axis_scale is None else numbers(self.axis_scale, "axis_scale")
        given["bound"] = None if self.bound is None else _imaging(self.bound)
        given["link"] = None if self.link is None else _link(self.link)
        return ScoreOptions(protocol=self.rules(), **given)


class Certainty(Group):
    """How confidence intervals are computed."""

    section: ClassVar[str] = "Certainty"

    ci: float | None = option(None, "Confidence intervals at this level, e.g. 95.", metavar="PERCENT")
    resamples: int = option(10000, "Draws behind p-values that hold for all pairs.")
    seed: int = option(0, "Seed of these draws.")
    block: int | None = option(None, "Length of an independent block in frames; default from the data.")

    def certainty(self) -> Settings:
        """How sure to be."""
        from flatmetric.statistics.intervals import Certainty as Settings

        return Settings(95.0 if self.ci is None else self.ci, self.resamples, self.seed, self.block)


class Threads(Group):
    """How many threads work."""

    threads: int | None = option(None, "Number of threads; default one for each core.")


class Reading(Threads):
    """How to read a file; of two files, RESULT."""

    section: ClassVar[str] = "Reading"

    format: str | None = option(None, "Format of the file; default as recognised.")
    unit: str | None = option(None, "Unit of x and y in the file: nm, um, m or px.")
    frame_base: int | None = option(None, "Number of the first frame in the file.")
    origin: str | None = option(None, "Where the file's zero lies in the first pixel: corner or center.")
    shift: str | None = option(None, "Added to the positions after all conversions, nm.", metavar="DX,DY[,DZ]")
    swap_xy: bool = option(False, "Exchange x and y.")
    columns: str | None = option(None, "Columns of a text table, by number or header.", metavar="frame=2,x=3,...")
    pixel_size: str | None = option(None, "Pixel size, nm; two numbers if x and y differ.", metavar="NM[,NM]")
    skip_bad_rows: bool = option(False, "Drop and count bad rows instead of stopping.")

    def reading(self, prefix: str = "") -> ReadOptions:
        """The reading options of a file, from the options that begin with `prefix`."""
        names = ("format", "unit", "frame_base", "origin", "shift", "swap_xy", "columns")
        given = {name: getattr(self, prefix + name) for name in names}
        given |= {"pixel_size": self.pixel_size, "skip_bad_rows": self.skip_bad_rows}
        for name, parse in (("shift", numbers), ("pixel_size", numbers), ("columns", _columns)):
            if given[name] is not None:
                given[name] = parse(given[name], name)
        return checked_options(**given)


def _for_truth(name: str) -> Any:
    """The same option of `Reading`, for TRUTH."""
    return replace(Reading.declared[name], help=f"Like --{name.replace('_', '-')}, for TRUTH.")


class ReadingTruth(Reading):
    """How to read RESULT and TRUTH; --pixel-size and --skip-bad-rows apply to both."""

    section: ClassVar[str] = "Reading TRUTH"

    truth_format: str | None = _for_truth("format")
    truth_unit: str | None = _for_truth("unit")
    truth_frame_base: int | None = _for_truth("frame_base")
    truth_origin: str | None = _for_truth("origin")
    truth_shift: str | None = _for_truth("shift")
    truth_swap_xy: bool = _for_truth("swap_xy")
    truth_columns: str | None = _for_truth("columns")

    def reading_truth(self) -> ReadOptions:
        """The reading options of TRUTH."""
        return self.reading("truth_")


class Json(Group):
    """JSON for other programs."""

    section: ClassVar[str] = "Output"

    json: str | None = option(None, "Write JSON to a file, or to standard output.", metavar="[FILE|-]", bare="-")


class Report(Group):
    """A page."""

    section: ClassVar[str] = "Output"

    report: Path | None = option(None, "Write a page with pictures, all in one file.", metavar="PAGE.html")


class Command(click.Command):
    """A command whose help lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a section at a time."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


def command(function: Callable[..., None]) -> Command:
    """A command from a function of arguments and of `options`, a group."""
    hints = get_type_hints(function, include_extras=True)
    group = hints.pop("options")
    parameters = [_click_argument(name, get_args(hint)[1]) for name, hint in hints.items() if name != "return"]

    def call(**values: Any) -> None:
        options = group(**{name: values.pop(name) for name in group.declared})
        function(**values, options=options)

    return Command(
        function.__name__,
        params=[*parameters, *_click_options(group)],
        callback=call,
        help=cleandoc(function.__doc__ or ""),
    )


def _click_argument(name: str, argument: Argument) -> click.Parameter:
    nargs, metavar = (-1, f"{argument.metavar}...") if argument.many else (1, argument.metavar)
    return click.Argument([name], type=_TYPES[Path], nargs=nargs, metavar=metavar, required=True, help=argument.help)


def _click_options(group: type[Group]) -> list[click.Parameter]:
    hints, options = get_type_hints(group), list[click.Parameter]()
    for name, declared in group.declared.items():
        kind, default = _plain_type(hints[name]), declared.default
        more: dict[str, Any] = {} if default is REQUIRED else {"default": default}
        if declared.bare is not None:
            more["flag_value"] = declared.bare
        made = click.Option(
            [f"--{declared.flag or name.replace('_', '-')}", name],
            type=_TYPES.get(kind, click.STRING),
            is_flag=kind is bool,
            multiple=kind is tuple,
            required=default is REQUIRED,
            metavar=declared.metavar,
            help=declared.help,
            show_default=default not in (None, False, (), REQUIRED),
            **more,
        )
        made.section = declared.section  # type: ignore[attr-defined]
        options.append(made)
    return options


_TYPES: dict[type, click.ParamType[Any]] = {
    bool: click.BOOL,
    int: click.INT,
    float: click.FLOAT,
    Path: click.Path(path_type=Path),
}


def _plain_type(hint: Any) -> type:
    """The type of a value: without None, and tuple for values that may be repeated."""
    if isinstance(hint, UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    return get_origin(hint) or hint  # type: ignore[no-any-return]


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Numbers joined by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; give numbers joined by commas, as 100,100") from error


def _imaging(text: str) -> Imaging:
    from flatmetric.metrics.bound import Imaging

    values = {}
    for name, value in _columns(text, "bound").items():
        (values[name],) = numbers(str(value), f"bound: {name}")
    return Imaging.parse(values)


def _link(text: str) -> Link:
    from flatmetric.scoring.linking import Link

    radius, *gap = numbers(text, "link")
    if len(gap) != 1 or gap[0] != int(gap[0]):
        raise InputError(f"link is {text!r}; give a radius in nm and a whole number of frames, as 50,1")
    return Link(radius, int(gap[0]))


def parse_fov(text: str) -> tuple[float, float]:
    """The size of the field of view, nm."""
    return field_of_view(numbers(text, "fov"))


def _columns(text: str, name: str) -> dict[str, int | str]:
    columns: dict[str, int | str] = {}
    for part in text.split(","):
        column, equals, place = part.partition("=")
        if not equals or not place.strip():
            raise InputError(f"{name} has {part!r}; give name=number pairs, as frame=2,x=3,y=4")
        columns[column.strip()] = place.strip()
    return columns
