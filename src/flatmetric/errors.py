"""Errors and warnings about input: one sentence that names the thing, what is wrong with it and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 400  # characters of a sentence
_LAST = 120  # of them at its end, where the remedy is


def printable(text: str) -> str:
    r"""Text in which whatever a terminal would act on, or can't show, is written as an escape.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def one_line(text: str) -> str:
    r"""A sentence in one printable line of at most 400 characters; one that is longer loses its middle.

    Examples
    --------
    >>> one_line("a\nb")
    'a\\nb'
    >>> len(one_line(1000 * "a"))
    400
    """
    line = printable(text)
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST - _LAST - 5]} ... {line[-_LAST:]}"


def described(value: Any) -> str:
    """A value from a file, short enough for a sentence, whatever it is.

    Examples
    --------
    >>> described("nm"), described(10**5000), described([[[]]])
    ("'nm'", 'a number of thousands of digits', 'a list')
    """
    if isinstance(value, int) and value.bit_length() > 10_000:
        return "a number of thousands of digits"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{value!r:.60}"
    return f"a {type(value).__name__}"


class InputError(ValueError):
    """A file, table or option that can't be used. The command line prints its message and exits with code 2.

    The message is one printable line, whatever names and values from a file it holds.

    Examples
    --------
    >>> raise InputError("result.csv: it has no row")
    Traceback (most recent call last):
    flatmetric.errors.InputError: result.csv: it has no row
    """

    def __init__(self, sentence: str) -> None:
        super().__init__(one_line(sentence))


class UnknownNameError(InputError, KeyError):
    """A name that a result does not know.

    Examples
    --------
    >>> raise UnknownNameError("there is no metric 'jacard'; did you mean jaccard?")
    Traceback (most recent call last):
    flatmetric.errors.UnknownNameError: there is no metric 'jacard'; did you mean jaccard?
    """

    __str__ = Exception.__str__  # that of a KeyError is in quotes


def unknown(what: str, name: Any, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not known, with the nearest that are, or all.

    Examples
    --------
    >>> str(unknown("program", "trakpy", ["trackpy", "picasso"])), str(unknown("program", "x", ["a", "b"]))
    ("there is no program 'trakpy'; did you mean trackpy?", "there is no program 'x'; give one of a, b")
    """
    names = list(known)
    near = nearest(str(name), names)
    better = f"did you mean {' or '.join(near)}?" if near else f"give one of {', '.join(names)}"
    return UnknownNameError(f"there is no {what} {name!r:.60}; {better}")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are spelled nearly like this one, the nearest first; at most three.

    Examples
    --------
    >>> nearest("jacard", ["jaccard", "recall"]), nearest("x", ["jaccard", "recall"])
    (['jaccard'], [])
    """
    import difflib

    lowered = {one.lower(): one for one in reversed(list(known))}
    return [lowered[one] for one in difflib.get_close_matches(name.lower(), lowered, 3, 0.7)]


class ReadWarning(UserWarning):
    """Something in a file that looks wrong.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("result.csv: it has no row", ReadWarning)
    >>> caught[0].category.__name__
    'ReadWarning'
    """


class FindingWarning(UserWarning):
    """Something that looks wrong with a result as a whole; the findings themselves are in the result's `.findings`.

    Examples
    --------
    >>> issubclass(FindingWarning, UserWarning)
    True
    """
