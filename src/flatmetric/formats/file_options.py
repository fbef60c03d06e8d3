"""Reading options of single files, from a `submissions.toml` beside them or in a folder above."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from flatmetric._files import read_toml
from flatmetric.errors import InputError
from flatmetric.options.reading import ReadOptions

FILE_OPTIONS = "submissions.toml"
"""A table of reading options for each file, named by its path from the folder that this file is in."""
_FOLDERS_ABOVE = 4  # PROGRAM, results, DATASET and FOLDER, in the layout of a leaderboard
_MEMBER = "member"  # which table of a folder or an archive

KnownOptions = dict[Path, dict[str, dict[str, Any]]]
"""The reading options in the `submissions.toml` of folders."""


def options_of_file(path: Path, options: ReadOptions, known: KnownOptions | None = None) -> ReadOptions:
    r"""The reading options of one file: those given, and otherwise those that a `submissions.toml` in its folder, or in
    one of the folders above it, gives for it. `known` keeps these files for others.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / FILE_OPTIONS).write_text('["mine.csv"]\nunit = "px"\npixel_size = 100')
    >>> options_of_file(folder / "mine.csv", ReadOptions()).unit
    'px'
    """
    own: dict[str, Any] = {}
    known = {} if known is None else known
    for one in (path.parent, path):  # what is said about a folder or an archive holds for the table in it
        own |= _tables_for(one, known)
    own.pop(_MEMBER, None)
    if not own:
        return options
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return ReadOptions(**(own | {name: value for name, value in given.items() if value not in (None, False)}))


def member_of(path: Path, known: KnownOptions) -> str | None:
    """The table in a folder or an archive that a `submissions.toml` names with `member`; None if none does."""
    member = _tables_for(path, known).get(_MEMBER)
    if member is not None and (not isinstance(member, str) or Path(member).is_absolute() or ".." in Path(member).parts):
        raise InputError(f"{path}: member is {member!r}; give the name of a table in it")
    return member


def _tables_for(path: Path, known: KnownOptions) -> dict[str, Any]:
    """What the files above a path say about it, the nearest last."""
    own: dict[str, Any] = {}
    path = path.absolute()
    for folder in reversed(path.parents[:_FOLDERS_ABOVE]):
        if folder not in known:
            known[folder] = file_options_in(folder)
        table = known[folder].get(path.relative_to(folder).as_posix())
        if table is not None:
            _check_names(table, folder / FILE_OPTIONS)
            own |= table
    return own


def _check_names(table: dict[str, Any], path: Path) -> None:
    names = [*(field.name for field in dataclasses.fields(ReadOptions)), _MEMBER]
    for name in table:
        if name not in names:
            raise InputError(f"{path}: {name!r} is not a reading option; use {', '.join(names)}")


def file_options_in(folder: Path) -> dict[str, dict[str, Any]]:
    """The tables of the `submissions.toml` in a folder; empty if there is none."""
    path = folder / FILE_OPTIONS
    if not path.is_file():
        return {}
    content = read_toml(path)
    for name, table in content.items():
        if not isinstance(table, dict):
            raise InputError(f'{path}: {name!r} is not a table of options; write ["{name}"] and the options below it')
    return content
