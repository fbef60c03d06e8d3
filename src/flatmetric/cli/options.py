"""How commands are built: arguments from a function's annotations, flags from the options of the library's functions.

A command is a function of its arguments, of the `keywords` for the library's function, and of `flags` of its own. A
flag is spelled as its keyword: `pixel_size` is --pixel-size.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import click

from flatmetric._dataclass import dataclass
from flatmetric.options.base import REQUIRED, Keyword, build, keywords_of, option

Keywords = dict[str, Any]
"""The flags of a command that are keywords of the library's function, with their values."""


@dataclass(frozen=True)
class Argument:
    """A positional argument: its name in the usage line, its help, and whether it may be repeated."""

    metavar: str
    help: str
    many: bool = False


Truth = Annotated[Path, Argument("TRUTH", "The true molecules.")]
Result = Annotated[Path, Argument("RESULT", "The localizations of a program.")]


@dataclass(frozen=True, kw_only=True)
class Json:
    """JSON for other programs."""

    json: str | None = option(
        None, "Write JSON to a file, or to standard output.", section="Output", metavar="[FILE|-]", bare="-"
    )


@dataclass(frozen=True, kw_only=True)
class Report:
    """A page."""

    report: Path | None = option(
        None, "Write a page with pictures, all in one file.", section="Output", metavar="PAGE.html"
    )


@dataclass(frozen=True, kw_only=True)
class Strict:
    """An exit code for scripts."""

    strict: bool = option(False, "Exit with code 1 if the file is probably wrong.", section="Output")


@dataclass(frozen=True, kw_only=True)
class ReportOnImages(Report):
    """A page that may show camera images."""

    stack: Path | None = option(
        None, "Camera images for the page, shown under the points.", section="Output", metavar="MOVIE.tif"
    )


@dataclass(frozen=True, kw_only=True)
class NoFlags:
    """A command without flags of its own."""


FLAGS: dict[str, str] = {}
"""The flags of the commands in use, by the keywords of the library."""
_SECTIONS = ("Options", "Metrics", "Rules", "Confidence", "Check", "Output")  # others follow


class Command(click.Command):
    """A command whose help opens with what it answers and with examples, and lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a section at a time."""
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                section = "Execution" if parameter.name == "help" else getattr(parameter, "section", "Options")
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


def command(*functions: Callable[..., Any]) -> Callable[[Callable[..., None]], Command]:
    """A command that takes the options of functions of the library as flags, and `flags` of its own."""

    def decorate(function: Callable[..., None]) -> Command:
        hints = get_type_hints(function, include_extras=True)
        own: type = hints.pop("flags", NoFlags)
        declared: dict[str, Keyword] = {}
        for called in functions:
            declared |= {name: one for name, one in keywords_of(called.options).items() if name not in declared}  # type: ignore[attr-defined]
        positional = {name: hint for name, hint in hints.items() if name not in ("return", "keywords")}

        def call(**values: Any) -> None:
            arguments = {name: values.pop(name) for name in positional}
            if declared:
                arguments["keywords"] = {name: values.pop(name) for name in declared}
            if own is not NoFlags:
                arguments["flags"] = build(own, values)
            function(**arguments)

        arguments = [_click_argument(name, get_args(hint)[1]) for name, hint in positional.items()]
        options = [_click_option(one) for one in (declared | keywords_of(own)).values()]
        text = _unwrapped_examples(cleandoc(function.__doc__ or ""))
        return Command(function.__name__, params=[*arguments, *options], callback=call, help=text)

    return decorate


def arguments_for(function: Callable[..., Any], keywords: Keywords) -> Keywords:
    """Those keywords that a function of the library takes."""
    return {name: keywords[name] for name in keywords_of(function.options) if name in keywords}  # type: ignore[attr-defined]


def _unwrapped_examples(text: str) -> str:
    """Paragraphs of commands keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{part}" if part.lstrip().startswith("flatmetric ") else part for part in paragraphs)


def _click_argument(name: str, argument: Argument) -> click.Parameter:
    nargs, metavar = (-1, f"{argument.metavar}...") if argument.many else (1, argument.metavar)
    return click.Argument([name], type=_PATH, nargs=nargs, metavar=metavar, required=True, help=argument.help)


def _click_option(keyword: Keyword) -> click.Option:
    name, declared, default = keyword.name, keyword.option, keyword.default
    is_switch = keyword.type == "bool"
    flag = f"--{declared.flag or name.replace('_', '-')}"
    FLAGS[name] = FLAGS[declared.flag or name] = flag
    more: dict[str, Any] = {} if default is REQUIRED else {"default": default}
    if declared.bare is not None:
        more["flag_value"] = declared.bare
    help = declared.help
    if is_switch and default:
        flag, more = flag.replace("--", "--no-", 1), {"flag_value": False, "default": True}
        help = f"Don't {help[0].lower()}{help[1:]}"
    made = click.Option(
        [flag, name],
        type=_Parsed(declared.parse) if declared.parse is not None else _click_type(keyword.type),
        is_flag=is_switch,
        multiple=default == (),
        required=default is REQUIRED,
        metavar=None if is_switch else declared.metavar,
        help=help,
        show_default=not isinstance(default, bool) and default not in (None, (), REQUIRED),
        **more,
    )
    made.section = keyword.section  # type: ignore[attr-defined]
    return made


class _Parsed(click.ParamType[Any]):
    """Text that an option's own function turns into a value."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the text."""
        return self._parse(value) if isinstance(value, str) else value


_PATH = click.Path(path_type=Path)
_TYPES: dict[str, click.ParamType[Any]] = {"bool": click.BOOL, "int": click.INT, "float": click.FLOAT, "Path": _PATH}


def _click_type(kind: str) -> click.ParamType[Any]:
    """The type of a value from its annotation, of which the first part counts."""
    return _TYPES.get(kind.split(" | ")[0], click.STRING)
