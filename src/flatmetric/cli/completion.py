"""`flatmetric completion`: completion of commands and options in the shell."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from flatmetric._dataclass import dataclass
from flatmetric.cli.options import command
from flatmetric.errors import InputError
from flatmetric.options.base import REQUIRED, option

VARIABLE = "_FLATMETRIC_COMPLETE"
"""Set by the shell when it asks for completions."""


@dataclass(frozen=True, kw_only=True)
class CompletionFlags:
    """The flags of `completion`."""

    shell: str = option(REQUIRED, "bash, zsh or fish.", metavar="NAME")


@command()
def completion(flags: CompletionFlags) -> None:
    """Print the script that completes commands and options; evaluate it where your shell starts.

    flatmetric completion --shell bash
    """
    kind = get_completion_class(flags.shell)
    if kind is None:
        raise InputError(f"shell is {flags.shell!r}; give bash, zsh or fish")
    print(kind(click.Group("flatmetric"), {}, "flatmetric", VARIABLE).source())


def complete(app: click.Group) -> bool:
    """Answer a shell that asks for completions; False if none does."""
    from click.shell_completion import shell_complete

    instruction = os.environ.get(VARIABLE)
    if not instruction:
        return False
    shell_complete(app, {}, "flatmetric", VARIABLE, instruction)
    return True
