"""Every option of the command line, once: its flag, type, default and help; and how a command is made of them.

An option is a field of a group, a group is a dataclass, and a command is a function whose parameters are arguments and
groups. A flag is spelled as its field: `pixel_size` is --pixel-size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import click

from flatmetric.errors import InputError
from flatmetric.formats.conversion import ReadOptions, checked_options
from flatmetric.matching.protocol import Protocol, field_of_view, read_wobble

if TYPE_CHECKING:
    from flatmetric.scoring.score import ScoreOptions
    from flatmetric.statistics.bootstrap import Bootstrap

REQUIRED = ...
"""The default of an option that must be given."""


def option(default: Any, help: str, *, metavar: str | None = None, flag: str | None = None, bare: Any = None) -> Any:
    """A field of a group that is an option; `bare` is its value where the flag stands alone."""
    return dataclasses.field(default=default, metadata={"help": help, "metavar": metavar, "flag": flag, "bare": bare})


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument: how it is called in the usage line, and whether it may be repeated."""

    metavar: str
    many: bool = False


Truth = Annotated[Path, Argument("TRUTH")]
Result = Annotated[Path, Argument("RESULT")]
Results = Annotated[tuple[Path, ...], Argument("RESULT", many=True)]


@dataclass(frozen=True)
class Group:
    """Options that belong together; `section` heads them in the help."""

    section: ClassVar[str] = "Options"
    prefix: ClassVar[str] = ""


@dataclass(frozen=True)
class LamOptions(Group):
    """The Flat Metric's one parameter."""

    section: ClassVar[str] = "Metrics"

    lam: float = option(125.0, "Cost of a missed molecule or a false detection, nm.")


@dataclass(frozen=True)
class MetricOptions(LamOptions):
    """How the metrics are computed."""

    weights: str = option("uniform", "uniform, or photons to weigh molecules by their photons.")
    axis_scale: str | None = option(None, "Factor for each axis in the Flat Metric.", metavar="SX,SY[,SZ]")
    alpha_xy: float = option(1.0, "Weight of the lateral error in the efficiency, 1/nm.")
    alpha_z: float = option(0.5, "Weight of the axial error in the efficiency, 1/nm.")
    gospa_p: float = option(1.0, "Order of GOSPA and OSPA.")
    gospa_c: float | None = option(None, "Cutoff of GOSPA and OSPA, nm; default 2 lam.")

    def with_protocol(self, protocol: Protocol) -> ScoreOptions:
        """The options of `score`."""
        from flatmetric.scoring.score import ScoreOptions

        given = dataclasses.asdict(self)
        given["axis_scale"] = None if self.axis_scale is None else numbers(self.axis_scale, "axis_scale")
        return ScoreOptions(protocol=protocol, **given)


@dataclass(frozen=True)
class ProtocolOptions(Group):
    """By which rules results are compared."""

    section: ClassVar[str] = "Rules"

    protocol: str | None = option(None, "Rules to start from: challenge2016, or a TOML file.", metavar="NAME|FILE")
    dim: int | None = option(None, "2 or 3; default 3 where both files have depths.")
    tolerance: float | None = option(None, "Largest lateral distance of a match, nm; default 250.")
    tolerance_z: float | None = option(None, "Largest axial distance of a match, nm; default 500.")
    matching: str | None = option(None, "greedy (default) or optimal.")
    border: float | None = option(None, "Width of the border that is left out on every side, nm.")
    fov: str | None = option(None, "Size of the field of view, nm; two numbers if x and y differ.", metavar="NM[,NM]")
    photon_threshold: float | None = option(None, "Leave out molecules with at most this many photons.")
    photon_quantile: float | None = option(None, "Leave out the dimmest molecules: this fraction of them, 0 to 1.")
    wobble: Path | None = option(None, "CSV with columns dx, dy, z in nm: shifts added to the truth.", metavar="FILE")
    first_frame: int | None = option(None, "First frame to compare.")
    last_frame: int | None = option(None, "Last frame to compare.")

    def files(self) -> list[Path]:
        """The files that the rules are read from."""
        return [Path(name) for name in (self.protocol, self.wobble) if name is not None]

    def apply(self) -> Protocol:
        """The rules to start from, with what is given otherwise."""
        start = Protocol()
        if self.protocol is not None:
            from_file = self.protocol.endswith(".toml")
            start = Protocol.from_toml(self.protocol) if from_file else Protocol.preset(self.protocol)
        given = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        given.pop("protocol", None)
        if self.fov is not None:
            given["fov"] = parse_fov(self.fov)
        if self.wobble is not None:
            given["wobble"] = read_wobble(self.wobble)
        # One kind of threshold replaces the other.
        if self.photon_quantile is not None and self.photon_threshold is None:
            given["photon_threshold"] = None
        elif self.photon_threshold is not None and self.photon_quantile is None:
            given["photon_quantile"] = None
        return dataclasses.replace(start, **given)


@dataclass(frozen=True)
class BootstrapOptions(Group):
    """How confidence intervals are computed."""

    section: ClassVar[str] = "Certainty"

    ci: float | None = option(None, "Confidence intervals at this level, as 95.", metavar="PERCENT")
    resamples: int = option(2000, "Number of bootstrap resamples.")
    seed: int = option(0, "Seed of the bootstrap.")
    block: int | None = option(None, "Frames in a row that are resampled together; default from the data.")

    def apply(self) -> Bootstrap:
        """The settings of the bootstrap."""
        from flatmetric.statistics.bootstrap import Bootstrap

        return Bootstrap(95.0 if self.ci is None else self.ci, self.resamples, self.seed, self.block)


@dataclass(frozen=True)
class FileOptions(Group):
    """How a file is to be understood."""

    section: ClassVar[str] = "Reading the file"

    format: str | None = option(None, "Format of the file; default as recognised.")
    unit: str | None = option(None, "Unit of x and y in the file: nm, um, m or px.")
    frame_base: int | None = option(None, "Number of the first frame in the file.")
    origin: str | None = option(None, "Where the file's zero lies in the first pixel: corner or center.")
    shift: str | None = option(None, "Added to the positions after all conversions, nm.", metavar="DX,DY[,DZ]")
    swap_xy: bool = option(False, "Exchange x and y.")
    columns: str | None = option(
        None, "Columns of a text table, by number from 1 or by header.", metavar="frame=2,x=3,..."
    )


@dataclass(frozen=True)
class ResultFileOptions(FileOptions):
    """How RESULT is to be understood."""

    section: ClassVar[str] = "Reading RESULT"


@dataclass(frozen=True)
class TruthFileOptions(FileOptions):
    """How TRUTH is to be understood: the same options, with --truth- before their names."""

    section: ClassVar[str] = "Reading TRUTH"
    prefix: ClassVar[str] = "truth-"


@dataclass(frozen=True)
class ReadOptionsForAll(Group):
    """What holds for every file that is read."""

    section: ClassVar[str] = "Reading every file"

    pixel_size: str | None = option(None, "Pixel size, nm; two numbers if x and y differ.", metavar="NM[,NM]")
    skip_bad_rows: bool = option(False, "Drop and count bad rows instead of stopping.")

    def for_file(self, file: FileOptions) -> ReadOptions:
        """Everything that is given about a file."""
        return checked_options(
            format=file.format,
            unit=file.unit,
            pixel_size=None if self.pixel_size is None else numbers(self.pixel_size, "pixel_size"),
            frame_base=file.frame_base,
            origin=file.origin,
            shift=None if file.shift is None else numbers(file.shift, "shift"),
            swap_xy=file.swap_xy,
            columns=None if file.columns is None else _columns(file.columns),
            skip_bad_rows=self.skip_bad_rows,
        )


@dataclass(frozen=True)
class ThreadOptions(Group):
    """How many threads work."""

    threads: int | None = option(None, "Number of threads; default one for each core.")


@dataclass(frozen=True)
class JsonOptions(Group):
    """JSON for other programs."""

    section: ClassVar[str] = "Output"

    json: str | None = option(None, "Write JSON to a file, or to standard output.", metavar="[FILE|-]", bare="-")


@dataclass(frozen=True)
class ReportOptions(Group):
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
            if record is not None:
                sections.setdefault(getattr(parameter, "section", "Options"), []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


def command(function: Callable[..., None]) -> Command:
    """A command from a function: parameters that are groups become their options, the others arguments."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, type[Group]] = {}
    parameters: list[click.Parameter] = []
    for name, parameter in signature(function).parameters.items():
        hint = hints[name]
        if get_origin(hint) is Annotated:
            _, argument = get_args(hint)
            nargs = -1 if argument.many else 1
            parameters.append(
                click.Argument([name], type=_click_type(Path), nargs=nargs, metavar=argument.metavar, required=True)
            )
        else:
            groups[name] = hint
            defaults = hint() if parameter.default is Parameter.empty else parameter.default
            parameters += _click_options(name, defaults)

    def call(**values: Any) -> None:
        for name, group in groups.items():
            names = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(f"{name}__{field}") for field in names})
        function(**values)

    return Command(function.__name__, params=parameters, callback=call, help=cleandoc(function.__doc__ or ""))


def _click_options(name: str, group: Group) -> list[click.Option]:
    hints = get_type_hints(type(group))
    options = []
    for field in dataclasses.fields(group):
        given, kind, help_text = field.metadata, _plain_type(hints[field.name]), field.metadata["help"]
        flag = given["flag"] or field.name.replace("_", "-")
        if group.prefix:
            help_text = f"As --{flag}, for {group.prefix.rstrip('-').upper()}."
        default = getattr(group, field.name)
        made = click.Option(
            [f"--{group.prefix}{flag}", f"{name}__{field.name}"],
            type=click.BOOL if kind is bool else _click_type(kind),
            is_flag=kind is bool,
            multiple=kind is tuple,
            required=default is REQUIRED,
            metavar=given["metavar"],
            help=help_text,
            show_default=default not in (None, False, (), REQUIRED),
            **({} if default is REQUIRED else {"default": default}),
            **({} if given["bare"] is None else {"flag_value": given["bare"]}),
        )
        made.section = group.section  # type: ignore[attr-defined]
        options.append(made)
    return options


def _plain_type(hint: Any) -> type:
    """The type of a value: without None, and tuple for values that may be repeated."""
    if isinstance(hint, UnionType):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    return get_origin(hint) or hint  # type: ignore[no-any-return]


def _click_type(kind: type) -> click.ParamType[Any]:
    types: dict[type, click.ParamType[Any]] = {int: click.INT, float: click.FLOAT, Path: click.Path(path_type=Path)}
    return types.get(kind, click.STRING)


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Numbers joined by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{name} is {text!r}; give numbers joined by commas, as 100,100") from error


def parse_fov(text: str) -> tuple[float, float]:
    """The size of the field of view, nm."""
    return field_of_view(numbers(text, "fov"))


def _columns(text: str) -> dict[str, int | str]:
    columns: dict[str, int | str] = {}
    for part in text.split(","):
        name, equals, place = part.partition("=")
        if not equals or not place.strip():
            raise InputError(f"columns has {part!r}; give name=number pairs, as frame=2,x=3,y=4")
        columns[name.strip()] = place.strip()
    return columns
