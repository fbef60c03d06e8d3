"""The `flatmetric` command: one module for each subcommand, one way to end in error."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flatmetric import __version__
from flatmetric.cli import demo

app = typer.Typer(
    help="Exact, fast and honest scoring of point localizations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(name="demo")(demo.demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"flatmetric {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line: exit code 0 when done, 2 and one sentence on stderr when the input is wrong."""
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        # Typer's own complaints (an unknown command or option) carry a message and an exit code.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        if message():  # without arguments the help has been printed and there is no more to say
            print(f"flatmetric: {message()}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("flatmetric: stopped", file=sys.stderr)
        sys.exit(130)
    sys.exit(code or 0)
