"""Programs from outside, one table each in a TOML file: the command, and how its output is read."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from flatmetric._files import read_toml
from flatmetric.challenges.runner import Program
from flatmetric.errors import InputError
from flatmetric.options.reading import ReadOptions

_KEYS = ("command", "output", "read")


def read_recipes(path: Path) -> list[Program]:
    r"""The programs of a file. `command` is a text or a list of words with {stack} and {out}; `output` is where the
    result lies if the program chooses the place, in the {folder} that is given to it; `read` are reading options.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "recipes.toml"
    >>> _ = path.write_text('[mine]\ncommand = "mine {stack} {out}"\n[mine.read]\nunit = "px"\npixel_size = 100')
    >>> read_recipes(path)[0].command
    ('mine', '{stack}', '{out}')
    """
    programs = []
    for name, content in read_toml(path).items():
        where = f"{path}: [{name}]"
        if not isinstance(content, dict):
            raise InputError(f"{where}: is {content!r}; make it a table with a command")
        for key in content:
            if key not in _KEYS:
                raise InputError(f"{where}: has {key!r}, which is not known; it may have {', '.join(_KEYS)}")
        programs.append(_program(name, content, where))
    if not programs:
        raise InputError(f"{path}: names no program; write [NAME] and its command below")
    return programs


def _program(name: str, content: dict[str, Any], where: str) -> Program:
    command, output, read = content.get("command"), content.get("output"), content.get("read")
    if not isinstance(command, (str, list)) or not all(isinstance(word, str) for word in command):
        raise InputError(f"{where}: command is {command!r}; give a text or a list of words, with {{stack}} and {{out}}")
    if output is not None and (not isinstance(output, str) or "{folder}" not in output):
        raise InputError(f"{where}: output is {output!r}; give a path that begins with {{folder}}")
    if read is not None:
        if not isinstance(read, dict):
            raise InputError(f"{where}: read is {read!r}; make it a table of reading options")
        try:
            ReadOptions(**read)
        except TypeError as error:
            raise InputError(f"{where}: read has an option that is not known, {error}") from error
        except InputError as error:
            raise InputError(f"{where}: read: {error}") from error
    try:
        return Program.checked(name, tuple(shlex.split(command) if isinstance(command, str) else command), output, read)
    except (InputError, ValueError) as error:
        raise InputError(f"{where}: {error}") from error
