"""Commands that need the extra `server`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flatmetric.errors import InputError


@contextmanager
def needs_server() -> Iterator[None]:
    """One sentence where the extra is missing."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f'this needs the extra "server" ({error.name} is missing); run pip install "flatmetric[server]"'
        ) from error
