"""How commands are built: arguments from a function's annotations, flags from the options of the library's functions.

A command is a function of its arguments, of the `keywords` for the library's function, and of `flags` of its own. A
flag is spelled as its keyword: `pixel_size` is --pixel-size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import click

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.options.base import REQUIRED, Keyword, build, keywords_of, option, page_of

Keywords = dict[str, Any]
"""The flags of a command that are keywords of the library's function, with their values."""


@dataclass(frozen=True)
class Argument:
    """A positional argument: its name in the usage line, its help, whether it may be repeated, and whether it is a text
    and no path.
    """

    metavar: str
    help: str
    many: bool = False
    text: bool = False


MoreHelp = Callable[[list[str]], list[tuple[str, list[tuple[str, str]]]]]
"""From the arguments of a command to more sections of its help."""
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
        None,
        "Write a page with pictures, all in one file.",
        section="Output",
        metavar="PAGE.html",
        parse=lambda text: page_of(text, "report"),
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


_ARGUMENTS = "flatmetric.arguments"


class Command(click.Command):
    """A command whose help opens with what it answers and with examples.

    It lists the options that are used `often`, and with --help-all every option by section; a command with few options
    lists them all. `more_help` makes more sections from the arguments: a title, and names with their texts.
    """

    often: tuple[str, ...] = ()
    more_help: MoreHelp | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments for the help."""
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: a dozen, or all, a section at a time."""
        args = ctx.meta[_ARGUMENTS]
        short = bool(self.often) and "--help-all" not in args
        sections: dict[str, list[tuple[str, str]]] = {section: [] for section in _SECTIONS}
        left = 0
        places = {name: at for at, name in enumerate(self.often)} if short else {}
        for parameter in sorted(self.params, key=lambda one: places.get(str(one.name), 0)):
            record = parameter.get_help_record(ctx)
            if record is None or not isinstance(parameter, click.Option):
                continue
            record = record[0], self._in_own_words(record[1])
            if short and parameter.name not in places:
                left += 1
                continue
            section = "Options" if short else self._in_own_words(getattr(parameter, "section", "Options"))
            sections.setdefault(section, []).append(record)
        more = [] if self.more_help is None else self.more_help(args)
        for title, records in (*sections.items(), *more):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if left:
            formatter.write_paragraph()
            formatter.write_text(f"{ctx.command_path} --help-all lists {left} more options.")

    def _in_own_words(self, text: str) -> str:
        """The text of an option with the command's own name for the file that it is about."""
        arguments = [one for one in self.params if isinstance(one, click.Argument) and one.type is not click.STRING]
        files = [one.metavar for one in arguments if one.metavar is not None]
        return re.sub(r"\bFILE\b", files[0], text) if files else text


def _print_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        print(ctx.get_help())
        ctx.exit()


def command(
    *functions: Callable[..., Any], often: Sequence[str] = (), more_help: MoreHelp | None = None
) -> Callable[[Callable[..., None]], Command]:
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
        if often:
            whole = click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_print_all)
            whole.help, whole.hidden = "Show every option.", True
            options.append(whole)
        made = Command(function.__name__, params=[*arguments, *options], callback=call, help=text)
        made.often, made.more_help = tuple(often), more_help
        return made

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
    kind = click.STRING if argument.text else _PATH
    return click.Argument([name], type=kind, nargs=nargs, metavar=metavar, required=True, help=argument.help)


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


class _Number(click.ParamType[Any]):
    """A number without its unit."""

    def __init__(self, kind: type[int] | type[float]) -> None:
        self._kind, self.name = kind, "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a text that is none is one sentence."""
        try:
            return self._kind(value)
        except ValueError:
            flag = param.opts[0] if param is not None else "the option"
            what = "a whole number" if self._kind is int else "a number"
            meant = _without_unit(str(value), self._kind)
            as_in = "" if meant is None else f" alone, as {flag} {meant}"
            raise InputError(f"{flag} is {value!r:.60}; give {what}{as_in}") from None


_NM = {"": 1.0, "nm": 1.0, "um": 1000.0, "\u00b5m": 1000.0, "\u03bcm": 1000.0}


def _without_unit(text: str, kind: type[int] | type[float]) -> str | None:
    """The number in nm that a text with a unit stands for; None where that is not certain.

    Examples
    --------
    >>> [_without_unit(text, float) for text in ("100nm", "0.1 um", "1,000", "3 px")]
    ['100', '100', None, None]
    """
    begun = re.fullmatch(r"([-+]?[0-9]+(?:\.[0-9]*)?) ?([^\d,.]*)", text)
    if begun is None or begun[2] not in _NM:
        return None
    number = float(begun[1]) * _NM[begun[2]]
    return f"{number:.15g}" if kind is float or number.is_integer() else None


_PATH = click.Path(path_type=Path)
_TYPES: dict[str, click.ParamType[Any]] = {
    "bool": click.BOOL,
    "int": _Number(int),
    "float": _Number(float),
    "Path": _PATH,
}


def _click_type(kind: str) -> click.ParamType[Any]:
    """The type of a value from its annotation, of which the first part counts."""
    return _TYPES.get(kind.split(" | ")[0], click.STRING)
