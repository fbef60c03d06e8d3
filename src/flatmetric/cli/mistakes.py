"""What is wrong with a command line, in one sentence that says what to type instead."""

from __future__ import annotations

import re

import click

from flatmetric.errors import nearest, unknown

_TOO_FEW = {
    "score": "for a file without its truth, use inspect or validate",
    "check": "for a file without its truth, use inspect or validate",
    "compare": "for one result, use score",
}
_TOO_MANY = {
    "score": "for several results, use compare",
    "check": "for several results, use compare",
    "leaderboard": "for some files on one truth, use compare",
}


def sentence_of(error: click.ClickException) -> str:
    """The sentence for a mistake that the option parser found.

    Examples
    --------
    >>> sentence_of(click.NoSuchOption("--lamda", possibilities=["--lam"]))
    'there is no option --lamda; did you mean --lam?'
    """
    context = error.ctx if isinstance(error, click.UsageError) else None
    params = [] if context is None else context.command.params
    command = "flatmetric" if context is None else context.command_path.removeprefix("flatmetric ")
    needed = " and ".join(str(p.metavar) for p in params if isinstance(p, click.Argument))
    match error:
        case click.NoSuchOption():
            known = [flag for one in params for flag in (*one.opts, *one.secondary_opts)]
            close = nearest(error.option_name, [*(error.possibilities or ()), *known])
            lists = "flatmetric -h" if command == "flatmetric" else f"flatmetric {command} -h"
            meant = f"did you mean {close[0]}?" if close else f"{lists} lists them"
            return f"there is no option {error.option_name}; {meant}"
        case click.MissingParameter() if isinstance(error.param, click.Argument):
            return f"{command} needs {needed}" + (f"; {_TOO_FEW[command]}" if command in _TOO_FEW else "")
        case click.MissingParameter() if error.param is not None:
            return f"{command} needs {error.param.opts[0]}; flatmetric {command} -h says what it is"
        case click.BadOptionUsage() if "requires an argument" in error.message:
            return f"{error.option_name} needs a value"
        case click.BadOptionUsage() if "does not take a value" in error.message:
            return f"{error.option_name} takes no value; give {error.option_name} alone"
        case click.UsageError() if given := re.search(r"unexpected extra arguments? \((.*)\)", error.message):
            takes = f"{command} takes {needed or 'no file'}, but {given[1]} is given too"
            return takes + (f"; {_TOO_MANY[command]}" if command in _TOO_MANY else "")
        case click.UsageError() if (
            given := re.search("No such command '(.*)'", error.message)
        ) and context is not None:
            return str(unknown("command", f"{command} {given[1]}", [f"{command} {one}" for one in _names(context)]))
    return error.format_message()


def _names(context: click.Context) -> list[str]:
    return context.command.list_commands(context) if isinstance(context.command, click.Group) else []
