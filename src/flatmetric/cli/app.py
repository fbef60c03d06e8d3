"""The `flatmetric` command: one module for each subcommand, one place that handles errors."""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

import click

from flatmetric.cli.process import end, limit_blas_threads
from flatmetric.errors import InputError
from flatmetric.version import __version__

COMMANDS = (
    *("score", "compare", "leaderboard", "check", "inspect", "convert"),
    *("simulate", "localize", "challenge", "paper", "demo"),
)


class _App(click.Group):
    """The commands, each imported from the module of its name on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        loaded: click.Command = getattr(import_module(f"flatmetric.cli.{cmd_name}"), cmd_name)
        return loaded


app = _App(
    "flatmetric",
    help="Exact, fast and honest scoring of point localizations.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            help="Print the version.",
            callback=lambda ctx, _, wanted: _print_version(ctx) if wanted else None,
        )
    ],
)


def _print_version(ctx: click.Context) -> None:
    print(f"flatmetric {__version__}")
    ctx.exit()


def run() -> NoReturn:
    """Run `main` as a process that does one thing and exits."""
    limit_blas_threads()
    try:
        main()
    except SystemExit as finished:
        end(finished.code if isinstance(finished.code, int) else 0)
    raise AssertionError("main ends the process")


def main() -> None:
    """Run the command line: exit code 0 when done, 2 and one sentence on stderr when the input is wrong."""
    # A stop from outside ends like an error, so that unfinished files are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with app.make_context("flatmetric", sys.argv[1:]) as context:
            app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except InputError as error:
        from flatmetric.cli.text import as_flags

        print(f"flatmetric: {as_flags(str(error))}", file=sys.stderr)
        sys.exit(2)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.exit(2)
    except click.ClickException as error:
        print(f"flatmetric: {error.format_message()}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("flatmetric: this input does not fit into memory; give a smaller one", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        _silence_stdout()  # the reader has gone
        sys.exit(141)
    except OSError as error:
        print(f"flatmetric: can't write the output, {error.strerror or error}", file=sys.stderr)
        _silence_stdout()
        sys.exit(2)
    except KeyboardInterrupt:
        print("flatmetric: stopped", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


def _silence_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
