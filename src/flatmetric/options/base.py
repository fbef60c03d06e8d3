"""What an option is, and how functions get theirs.

An option is a field of a frozen dataclass, made by `option`: its type, default, help and metavar are written there and
nowhere else. Options that belong together are a group. The options of a public function are a dataclass too, whose
fields are options or groups. `takes` derives from it the keywords of the function and their place in its docstring, and
the command line derives its flags. The object is built once, from the keywords, and travels whole to where it is used.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError, nearest

R = TypeVar("R")
T = TypeVar("T")
REQUIRED = ...
"""The default of an option that must be given."""


@dataclass(frozen=True)
class Option:
    """An option besides its name, type and default. `{file}` in the help becomes the name of the file it is about.

    On the command line `metavar` is the placeholder of the value, `parse` turns text into it, `flag` is the name of the
    flag where that differs from the keyword, and `bare` is the value when the flag is given alone. `accepts` is the
    type that the keyword takes where the field holds something stricter. Without a `section` the help lists it in that
    of its group.
    """

    help: str
    metavar: str | None = None
    section: str | None = None
    parse: Callable[[str], Any] | None = None
    flag: str | None = None
    bare: Any = None
    accepts: str | None = None


def option(default: Any, help: str, **more: Any) -> Any:
    """A field of a dataclass that is an option; see `Option`."""
    return dataclasses.field(default=default, metadata={"option": Option(help, **more)})


@dataclass(frozen=True)
class Group:
    """A group among the options of a function: which of its fields are keywords there, and under which names.

    `shared` fields take the keyword of another group, the one without the `prefix`.
    """

    kind: type
    prefix: str
    only: tuple[str, ...]
    shared: tuple[str, ...]
    file: str
    defaults: Mapping[str, Any]
    start: bool

    def keywords(self) -> dict[str, Keyword]:
        """The keywords of the group, by the field whose value they give."""
        declared = {}
        start = getattr(self.kind, "START", None)
        if start is not None and self.start:
            name, own = start
            default = self.defaults.get(name)
            text = f"{own.help}; default: {self.kind.WITHOUT_START}." if default is None else f"{own.help}."  # type: ignore[attr-defined]
            shown = dataclasses.replace(own, help=text)
            declared[name] = Keyword(name, own.accepts or "Any", default, shown, self.kind.SECTION)  # type: ignore[attr-defined]
        for field in dataclasses.fields(self.kind):
            if field.name in self.only and "option" in field.metadata:
                own = field.metadata["option"]
                section = (own.section or self.kind.SECTION).format(file=self.file)  # type: ignore[attr-defined]
                default = self.defaults.get(field.name, field.default)
                text = own.help.replace("{file}", self.file)
                kind = str(field.type)
                if start is not None:  # it overrides the start
                    text = text if default is None else f"{text[:-1]}; default {default}."
                    kind, default = kind if kind.endswith("None") else f"{kind} | None", None
                shown = dataclasses.replace(own, help=text)
                declared[field.name] = Keyword(
                    f"{self.prefix}{field.name}", own.accepts or kind, default, shown, section
                )
        return declared

    def build(self, given: Mapping[str, Any]) -> Any:
        """The group from the keywords of a function."""
        names = {field: keyword.name for field, keyword in self.keywords().items()}
        names |= {field: field for field in self.shared}
        values = {**self.defaults, **{field: given[name] for field, name in names.items() if name in given}}
        try:
            make: Callable[..., Any] = getattr(self.kind, "from_keywords", self.kind)
            return make(**values)
        except InputError as error:
            if self.prefix and str(error).split()[0] in names:
                raise InputError(f"{self.prefix}{error}") from error
            raise


def group(
    kind: type,
    *,
    prefix: str = "",
    only: Sequence[str] | None = None,
    without: Sequence[str] = (),
    shared: Sequence[str] = (),
    file: str = "",
    start: bool = True,
    **defaults: Any,
) -> Any:
    """A field of the options of a function that is a group; `defaults` replace those of the group there, and without
    `start` there is no keyword for what the group starts from.
    """
    names = [field.name for field in dataclasses.fields(kind)] if only is None else only
    left = tuple(name for name in names if name not in (*without, *shared))
    declared = Group(kind, prefix, left, tuple(shared), file, defaults, start)
    make: Callable[..., Any] = getattr(kind, "from_keywords", kind)
    return dataclasses.field(default_factory=lambda: make(**defaults), metadata={"group": declared})


@dataclass(frozen=True)
class Keyword:
    """An option as a keyword of a function: its name, type (as text), default there, and section of the help."""

    name: str
    type: str
    default: Any
    option: Option
    section: str


@functools.cache
def keywords_of(kind: type) -> dict[str, Keyword]:
    """The keywords of the options of a function, by name.

    Examples
    --------
    >>> from flatmetric.options.scoring import ScoreOptions
    >>> keywords_of(ScoreOptions)["lam"].default, keywords_of(ScoreOptions)["truth_unit"].section
    (125.0, 'Reading TRUTH')
    """
    declared = {}
    for field in dataclasses.fields(kind):
        if "option" in field.metadata:
            own: Option = field.metadata["option"]
            kind_of = own.accepts or str(field.type)
            declared[field.name] = Keyword(field.name, kind_of, field.default, own, own.section or "Options")
        elif "group" in field.metadata:
            declared |= {keyword.name: keyword for keyword in field.metadata["group"].keywords().values()}
    return declared


def build(kind: type[T], given: Mapping[str, Any]) -> T:
    """The options of a function from its keywords; those that are not given have their defaults.

    Examples
    --------
    >>> from flatmetric.options.scoring import ScoreOptions
    >>> build(ScoreOptions, {"truth_unit": "px", "pixel_size": 100}).truth.pixel_size
    (100.0, 100.0)
    """
    values = {}
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if "group" in field.metadata:
            values[field.name] = field.metadata["group"].build(given)
        elif "option" in field.metadata:
            values[field.name] = given.get(field.name, field.default)
            if values[field.name] is REQUIRED:
                raise InputError(f"{field.name} is missing; give {field.name}=")
    return kind(**values)


def takes(kind: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Gives a function keywords for its `options`, an object of this kind: it is called with the object, built once.

    Examples
    --------
    >>> from flatmetric.options.scoring import MetricOptions
    >>> @takes(MetricOptions)
    ... def cost(*, options: MetricOptions) -> float:
    ...     return 2 * options.lam
    >>> cost(), cost(lam=100.0)
    (250.0, 200.0)
    >>> cost(lamb=100.0)
    Traceback (most recent call last):
    flatmetric.errors.InputError: cost() takes no 'lamb'; did you mean lam=?
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        declared = keywords_of(kind)
        own = [p for p in inspect.signature(function).parameters.values() if p.name != "options"]
        known = {parameter.name for parameter in own}

        @functools.wraps(function)
        def call(*values: Any, **given: Any) -> R:
            for name in given:
                if name not in declared and name not in known:
                    raise InputError(f"{function.__name__}() takes no {name!r}; {_meant(name, [*declared, *known])}")
            explicit = {name: value for name, value in given.items() if name in known}
            return function(*values, options=build(kind, given), **explicit)

        parameters = [
            inspect.Parameter(
                keyword.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if keyword.default is REQUIRED else keyword.default,
                annotation=keyword.type,
            )
            for keyword in declared.values()
        ]
        call.__signature__ = inspect.signature(function).replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        call.__doc__ = _with_parameters(function.__doc__ or "", declared)
        call.options = kind  # type: ignore[attr-defined]
        return call

    return decorate


def _meant(name: str, known: Sequence[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close[0]}=?" if close else f"give one of {', '.join(sorted(known))}"


def _with_parameters(text: str, declared: Mapping[str, Keyword]) -> str:
    """A docstring with the options in its section of parameters, before the examples."""
    lines = []
    for keyword in declared.values():
        default = "" if keyword.default in (None, REQUIRED) else f" Default: {keyword.default!r}."
        help = keyword.option.help.replace("RESULT", "the result").replace("TRUTH", "the truth")
        lines += [f"    {keyword.name}", f"        {help.replace('FILE', 'the file')}{default}"]
    before, heading, examples = text.partition("    Examples\n    --------\n")
    if "Parameters\n    ----------\n" not in before:
        before = before.rstrip() + "\n\n    Parameters\n    ----------\n"
    return f"{before.rstrip()}\n" + "\n".join(lines) + f"\n\n{heading}{examples}"


def numbers(name: str) -> Callable[[str], tuple[float, ...]]:
    """A parser of numbers joined by commas.

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


def as_given(value: Any) -> str:
    """A value as people write it: several numbers are joined by commas.

    Examples
    --------
    >>> as_given((1.0, 2.5))
    '1, 2.5'
    >>> as_given("wide")
    "'wide'"
    """
    if isinstance(value, (tuple, list)) and all(isinstance(number, (int, float)) for number in value):
        return ", ".join(f"{number:g}" for number in value)
    return repr(value)


def assignments(name: str) -> Callable[[str], dict[str, str]]:
    """A parser of name=value pairs joined by commas.

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


def path_of(value: Any, name: str) -> Path:
    """A path from a string or a path.

    Examples
    --------
    >>> path_of(3, "out")
    Traceback (most recent call last):
    flatmetric.errors.InputError: out is 3; give a path
    """
    if not isinstance(value, (str, os.PathLike)):
        raise InputError(f"{name} is {' '.join(repr(value).split()):.60}; give a path")
    return Path(value)


def is_page(path: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a page: browsers know it by its end.

    Examples
    --------
    >>> is_page("page.html"), is_page("pages")
    (True, False)
    """
    return Path(path).suffix.lower() in (".html", ".htm")


def page_of(value: Any, name: str) -> Path:
    """The path of a page.

    Examples
    --------
    >>> page_of("page.pdf", "report")
    Traceback (most recent call last):
    flatmetric.errors.InputError: report is page.pdf; pages are HTML, so give a name that ends in .html
    """
    page = path_of(value, name)
    if not is_page(page):
        raise InputError(f"{name} is {page}; pages are HTML, so give a name that ends in .html")
    return page


def check_whole(value: Any, name: str, least: int = 1) -> None:
    """Raise unless a value is a whole number of at least `least`, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise InputError(f"{name} is {value!r:.40}; give a whole number from {least}")
