"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flatmetric.errors import InputError


def refuse_unwritable(path: Path) -> None:
    """Find out before the work starts that a file can't be written.

    Examples
    --------
    >>> refuse_unwritable(Path("/no/such/folder/score.json"))
    Traceback (most recent call last):
    flatmetric.errors.InputError: /no/such/folder/score.json: the folder /no/such/folder does not exist; make it first
    """
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist; make it first")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not an ordinary file; give another name, or - for standard output")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{path}: can't be written, permission denied; give another place")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` when the block ends, and vanishes if it fails.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as unfinished:
    ...     _ = unfinished.write_text("done")
    >>> [p.name for p in folder.iterdir()]
    ['a.txt']
    """
    refuse_unwritable(path)
    path = path.resolve()  # what a link points to is written, not the link
    import tempfile  # for whoever writes a file

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    unfinished = Path(name)
    try:
        yield unfinished
        unfinished.chmod(0o666 & ~_umask())
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written, {error.strerror or error}; give another place") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
