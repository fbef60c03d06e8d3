"""The `flatmetric` command: one module for each subcommand, one place that handles errors."""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from flatmetric._display import Wording, worded
from flatmetric.cli.output import PlainOutput, this_command
from flatmetric.cli.process import end, limit_blas_threads
from flatmetric.errors import FindingWarning, InputError, ReadWarning, one_line, unknown
from flatmetric.version import __version__

GROUPS = {
    "Scoring": ("score", "compare", "leaderboard"),
    "Files": ("check", "validate", "inspect", "convert"),
    "Simulation and challenges": ("simulate", "localize", "tune", "challenge", "twin"),
    "Challenge on the web": ("serve", "worker", "submit"),
    "More": ("demo", "paper", "completion"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)


_COMPLETE = "_FLATMETRIC_COMPLETE"


class _App(click.Group):
    """The commands, each imported from the module of its name on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        loaded: click.Command = getattr(import_module(f"flatmetric.cli.{cmd_name}"), cmd_name)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named; one sentence if there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, each with what it answers."""
        for title, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name, one.get_short_help_str(200)) for name, one in commands if one is not None])


app = _App(
    "flatmetric",
    help=(
        "How far are detected molecules from the true ones? Exact, fast and honest scoring of point localizations.\n\n"
        "\b\nflatmetric demo\nflatmetric score truth.csv mine.csv\n\nflatmetric COMMAND -h explains a command."
    ),
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
    if sys.argv[1:2] != ["--version"]:
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
    for printed in (FindingWarning, ReadWarning):
        warnings.simplefilter("ignore", printed)
    try:
        if _COMPLETE in os.environ:
            from flatmetric.cli.completion import complete

            complete(app)
            sys.exit(0)
        sys.stdout = PlainOutput(sys.stdout)
        with worded(Wording(_say, this_command())), app.make_context("flatmetric", sys.argv[1:]) as context:
            app.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as finished:
        sys.exit(finished.exit_code)
    except InputError as error:
        print(f"flatmetric: {_say(str(error))}", file=sys.stderr)
        sys.exit(2)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.exit(2)
    except click.ClickException as error:
        from flatmetric.cli.mistakes import sentence_of

        print(f"flatmetric: {one_line(sentence_of(error))}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print(
            "flatmetric: this input does not fit into memory; give a smaller one, or use score --rows-at-a-time",
            file=sys.stderr,
        )
        sys.exit(2)
    except BrokenPipeError:
        _silence_stdout()  # the reader has gone
        sys.exit(141)
    except OSError as error:
        print(f"flatmetric: can't write the output, {error.strerror or error}", file=sys.stderr)
        _silence_stdout()
        sys.exit(2)
    except KeyboardInterrupt as stopped:
        print(f"flatmetric: stopped{f'; {stopped}' if str(stopped) else ''}", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        code = _stopped_before(error)
        if code is None:
            raise
        print("flatmetric: stopped", file=sys.stderr)
        sys.exit(code)
    sys.exit(0)


def _say(sentence: str) -> str:
    from flatmetric.cli.text import as_flags

    return as_flags(sentence)


def _stopped_before(error: BaseException) -> int | None:
    """The exit code of a stop that a library has turned into an error of its own, as it was broken off; else None."""
    before = error.__context__
    while before is not None:
        if isinstance(before, KeyboardInterrupt):
            return 130
        if isinstance(before, SystemExit):
            return before.code if isinstance(before.code, int) else 1
        before = before.__context__
    return None


def _silence_stdout() -> None:
    with suppress(OSError):  # it may be closed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
