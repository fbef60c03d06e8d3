"""Errors and warnings about input: one sentence that names the thing, what is wrong with it and how to fix it."""

from __future__ import annotations


class InputError(ValueError):
    """A file, table or option that can't be used. The command line prints its message and exits with code 2.

    Examples
    --------
    >>> raise InputError("result.csv: it has no row")
    Traceback (most recent call last):
    flatmetric.errors.InputError: result.csv: it has no row
    """


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
