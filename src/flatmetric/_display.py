"""Results that show themselves: as a figure, as a page, as HTML in a notebook.

How each kind of result looks is defined in `flatmetric.reports`, a higher layer. The package's `__init__` registers it
here (`set_finder`), so that no lower layer imports a higher one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure


class Shown:
    """A result that a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = view_of(self).html(self)
        return html


class Displayed(Shown):
    """A result that can be drawn, and shown as a page or in a notebook."""

    __slots__ = ()

    def plot(self) -> Figure:
        """The summary figure; lengths in nm. A notebook shows it.

        Examples
        --------
        >>> from flatmetric import Localizations
        >>> Localizations(frame=[1, 2], x=[10.0, 500.0], y=[0.0, 90.0]).plot().axes[0].get_xlabel()
        'x [nm]'
        """
        figure: Figure = view_of(self).plot(self)
        return figure

    def report(self, path: str | os.PathLike[str], *, stack: str | os.PathLike[str] | None = None) -> None:
        """Write a page with everything, all in one file that needs no network.

        `stack` is a TIFF file with the camera images, which the page of a score or a comparison shows under the points.
        A leaderboard may have a folder instead of a file: then each program and each data set has a page of its own.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from flatmetric import Localizations
        >>> page = Path(tempfile.mkdtemp()) / "page.html"
        >>> Localizations(frame=[1, 2], x=[10.0, 500.0], y=[0.0, 90.0]).report(page)
        >>> page.read_text(encoding="utf-8").startswith("<!doctype html>")
        True
        """
        view_of(self).report(self, path, stack=stack)


_finder: Callable[[Shown], Any] | None = None


def set_finder(finder: Callable[[Shown], Any]) -> None:
    """Say how the view of a result is found; the package's front does."""
    global _finder
    _finder = finder


def view_of(result: Shown) -> Any:
    """How a result looks: `plot`, `report` and `html`."""
    assert _finder is not None, "the package's front sets it"
    return _finder(result)


_warned: tuple[int, list[object]] = (0, [])


def _cell() -> int | None:
    """The number of the notebook's cell that is running; None outside of a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return None if shell is None else int(shell.execution_count)


def remember_warning(about: object) -> None:
    """Note that the running cell of a notebook has a warning about this, so that its result need not repeat it."""
    global _warned
    if (cell := _cell()) is not None:
        _warned = (cell, [*(_warned[1] if _warned[0] == cell else ()), about])


def stands_above(about: object) -> bool:
    """Whether the running cell of a notebook has a warning about this."""
    return _warned[0] == _cell() and any(one is about for one in _warned[1])


class Wording:
    """How pages name arguments: `say` rewrites sentences that name arguments, which are flags on the command line, and
    `command` is what makes the page again.
    """

    __slots__ = ("command", "say")

    def __init__(self, say: Callable[[str], str] = str, command: str | None = None) -> None:
        self.say, self.command = say, command


_WORDING: ContextVar[Wording] = ContextVar("wording", default=Wording())


def wording() -> Wording:
    """The wording in use; by default that of Python."""
    return _WORDING.get()


@contextmanager
def worded(chosen: Wording) -> Iterator[None]:
    """Use another wording within a block."""
    before = _WORDING.set(chosen)
    try:
        yield
    finally:
        _WORDING.reset(before)
