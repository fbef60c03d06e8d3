"""Results that can be seen: in a notebook, as a figure, as a page.

How each kind of result looks is written in `flatmetric.views`, which stands above all others; a result finds its look
there when it is asked for, so that lower rooms know nothing of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure


class Shown:
    """A result with a look in `flatmetric.views`."""

    __slots__ = ()

    def plot(self) -> Figure:
        """The one figure that answers; lengths in nm. A notebook shows it.

        Examples
        --------
        >>> from flatmetric import Localizations
        >>> Localizations(frame=[1, 2], x=[10.0, 500.0], y=[0.0, 90.0]).plot().axes[0].get_xlabel()
        'x [nm]'
        """
        figure: Figure = look_of(self).plot(self)
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
        look_of(self).report(self, path, stack=stack)

    def _repr_html_(self) -> str:
        html: str = look_of(self).html(self)
        return html


def look_of(result: Shown) -> Any:
    """How a result looks: `plot`, `report` and `html`."""
    return import_module("flatmetric.views").look_of(result)
