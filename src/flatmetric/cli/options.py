"""How commands are built: arguments from a function's annotations, flags from the options of the front door.

A command is a function of its arguments and of `options`, a TypedDict. A flag is spelled as its key: `pixel_size` is
--pixel-size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import cleandoc
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypedDict, Union, get_args, get_origin, get_type_hints, overload

import click

from flatmetric.api.options import REQUIRED, Option, options_of


@dataclass(frozen=True, slots=True)
class Argument:
    """A positional argument: its name in the usage line, its help, and whether it may be repeated."""

    metavar: str
    help: str
    many: bool = False


Truth = Annotated[Path, Argument("TRUTH", "The true molecules.")]
Result = Annotated[Path, Argument("RESULT", "The localizations of a program.")]


class Json(TypedDict, total=False):
    """JSON for other programs."""

    json: Annotated[
        str | None,
        Option("Write JSON to a file, or to standard output.", section="Output", metavar="[FILE|-]", bare="-"),
    ]


class Report(TypedDict, total=False):
    """A page."""

    report: Annotated[
        Path | None,
        Option("Write a page with pictures, all in one file.", section="Output", metavar="PAGE.html"),
    ]


class Reports(TypedDict, total=False):
    """A page, or a folder of pages."""

    report: Annotated[
        Path | None,
        Option(
            "Write a page with pictures, all in one file; or a folder with one for each program and data set.",
            section="Output",
            metavar="PAGE.html|DIR",
        ),
    ]


class ReportOnImages(Report, total=False):
    """A page that may show camera images."""

    stack: Annotated[
        Path | None,
        Option("Camera images for the page, to lie under the points.", section="Output", metavar="MOVIE.tif"),
    ]


NAMES: set[str] = set()
"""The options of the commands in use, as the library names them."""
_SECTIONS = ("Options", "Metrics", "Rules", "Certainty", "Check", "Output")  # others follow


class Command(click.Command):
    """A command whose help opens with what it answers and with examples, and lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a section at a time."""
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                section = "Work" if parameter.name == "help" else getattr(parameter, "section", "Options")
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


@overload
def command(function: Callable[..., None]) -> Command: ...
@overload
def command(**defaults: Any) -> Callable[[Callable[..., None]], Command]: ...
def command(function: Callable[..., None] | None = None, **defaults: Any) -> Any:
    """A command from a function of arguments and of `options`, a TypedDict; `defaults` replace those of options."""
    if function is None:
        return partial(_command, defaults=defaults)
    return _command(function, {})


def _command(function: Callable[..., None], defaults: dict[str, Any]) -> Command:
    hints = get_type_hints(function, include_extras=True)
    group = hints.pop("options")
    parameters = [_click_argument(name, get_args(hint)[1]) for name, hint in hints.items() if name != "return"]
    names = list(options_of(group))

    def call(**values: Any) -> None:
        options = {name: values.pop(name) for name in names}
        function(**values, options=options)

    return Command(
        function.__name__,
        params=[*parameters, *_click_options(group, defaults)],
        callback=call,
        help=_unwrapped_examples(cleandoc(function.__doc__ or "")),
    )


def _unwrapped_examples(text: str) -> str:
    """Paragraphs of commands keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{part}" if part.lstrip().startswith("flatmetric ") else part for part in paragraphs)


def _click_argument(name: str, argument: Argument) -> click.Parameter:
    nargs, metavar = (-1, f"{argument.metavar}...") if argument.many else (1, argument.metavar)
    return click.Argument([name], type=_TYPES[Path], nargs=nargs, metavar=metavar, required=True, help=argument.help)


def _click_options(group: type, defaults: dict[str, Any]) -> list[click.Parameter]:
    options = list[click.Parameter]()
    for name, (hint, declared) in options_of(group).items():
        NAMES.update({name, declared.flag or name})
        kind, default = _plain_type(hint), defaults.get(name, declared.default)
        more: dict[str, Any] = {} if default is REQUIRED else {"default": default}
        if declared.bare is not None:
            more["flag_value"] = declared.bare
        flag = f"--{declared.flag or name.replace('_', '-')}"
        if kind is bool and default:
            flag, more = flag.replace("--", "--no-", 1), {"flag_value": False, "default": True}
        made = click.Option(
            [flag, name],
            type=_Parsed(declared.parse) if declared.parse is not None else _TYPES.get(kind, click.STRING),
            is_flag=kind is bool,
            multiple=default == (),
            required=default is REQUIRED,
            metavar=None if kind is bool else declared.metavar,
            help=_said(declared, kind),
            show_default=not isinstance(default, bool) and default not in (None, (), REQUIRED),
            **more,
        )
        made.section = declared.section  # type: ignore[attr-defined]
        options.append(made)
    return options


def _said(option: Option, kind: type) -> str:
    if kind is bool and option.default:
        return f"Don't {option.help[0].lower()}{option.help[1:]}"
    return option.help


class _Parsed(click.ParamType[Any]):
    """Text that an option's own function turns into a value."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the text."""
        return self._parse(value) if isinstance(value, str) else value


_TYPES: dict[type, click.ParamType[Any]] = {
    bool: click.BOOL,
    int: click.INT,
    float: click.FLOAT,
    Path: click.Path(path_type=Path),
}


def _plain_type(hint: Any) -> type:
    """The type of a value, without None."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        hint = kinds[0]
    return get_origin(hint) or hint  # type: ignore[no-any-return]
