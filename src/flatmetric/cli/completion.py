"""`flatmetric completion`: completion of commands and options in the shell."""

from __future__ import annotations

import os
from typing import Annotated, TypedDict

import click
from click.shell_completion import get_completion_class

from flatmetric.api.options import REQUIRED, Option
from flatmetric.cli.options import command
from flatmetric.errors import InputError

VARIABLE = "_FLATMETRIC_COMPLETE"
"""Set by the shell when it asks for completions."""


class CompletionFlags(TypedDict, total=False):
    """The options of `completion`."""

    shell: Annotated[str, Option("bash, zsh or fish.", REQUIRED, metavar="NAME")]


@command
def completion(options: CompletionFlags) -> None:
    """The script that completes commands and options in a shell; evaluate it where your shell starts.

    flatmetric completion --shell bash
    """
    kind = get_completion_class(options["shell"])
    if kind is None:
        raise InputError(f"shell is {options['shell']!r}; give bash, zsh or fish")
    print(kind(click.Group("flatmetric"), {}, "flatmetric", VARIABLE).source())


def complete(app: click.Group) -> bool:
    """Answer a shell that asks for completions; False if none does."""
    from click.shell_completion import shell_complete

    instruction = os.environ.get(VARIABLE)
    if not instruction:
        return False
    shell_complete(app, {}, "flatmetric", VARIABLE, instruction)
    return True
