"""The `flatmetric` command: one module for each subcommand, one way to end in error."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from flatmetric.errors import InputError
from flatmetric.version import __version__

# Each is a function of the module of its name, or a group of commands.
COMMANDS = (
    *("score", "compare", "leaderboard", "check", "inspect", "convert"),
    *("simulate", "localize", "challenge", "paper", "demo"),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"flatmetric {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


def _app(arguments: list[str]) -> typer.Typer:
    """The command line; where the command is known, with that one alone: to load the others takes time."""
    app = typer.Typer(
        help="Exact, fast and honest scoring of point localizations.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    wanted = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    for name in wanted:
        found = getattr(import_module(f"flatmetric.cli.{name}"), name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name)
        else:
            app.command(name=name)(found)
    return app


def run() -> NoReturn:
    """`main` as a process of its own, which does one thing and ends."""
    _suit_one_task()
    try:
        main()
    except SystemExit as end:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(end.code)  # type: ignore[arg-type]  # to take down module after module would only take time
    raise AssertionError("main ends the process")


def _suit_one_task() -> None:
    """Spend no time on what serves long-lived processes."""
    gc.freeze()
    gc.set_threshold(100_000)
    # The threads of numpy's linear algebra spin for a tenth of a second, and no command has work for them.
    if "OPENBLAS_NUM_THREADS" not in os.environ:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        import_module("numpy")
        del os.environ["OPENBLAS_NUM_THREADS"]
    from flatmetric import _core

    _core.keep_freed_memory()


def main() -> None:
    """Run the command line: exit code 0 when done, 2 and one sentence on stderr when the input is wrong."""
    # A stop from outside ends like an error, so that unfinished files are taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _app(sys.argv[1:])(args=_with_json_target(sys.argv[1:]), standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        print(f"flatmetric: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("flatmetric: the memory does not hold this input; give a smaller one", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads on: no word at exit either
        sys.exit(141)
    except OSError as error:
        print(f"flatmetric: can't write the output, {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
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


def _with_json_target(arguments: list[str]) -> list[str]:
    """A bare --json writes to standard output."""
    full = []
    for at, argument in enumerate(arguments):
        full.append(argument)
        following = arguments[at + 1] if at + 1 < len(arguments) else "--"
        if argument == "--json" and following.startswith("--"):
            full.append("-")
    return full
