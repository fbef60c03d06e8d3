"""`report`: any result as a page in one file."""

from __future__ import annotations

import os

from flatmetric._display import Displayed
from flatmetric.errors import InputError


def report(result: Displayed, path: str | os.PathLike[str], *, stack: str | os.PathLike[str] | None = None) -> None:
    """Write a page with everything about a result, all in one file that needs no network.

    Parameters
    ----------
    result
        What `score`, `compare`, `leaderboard`, `check` or `read` returned.
    path
        The HTML file to write; for a leaderboard also a folder, which gets a page for each program and data set.
    stack
        A TIFF file with the camera images, which the page of a score or a comparison shows under the points. Where it
        does not say its pixel size, that of the tables is taken.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> page = Path(tempfile.mkdtemp()) / "page.html"
    >>> fm.report(fm.score(truth, truth), page)
    >>> "Flat Metric" in page.read_text(encoding="utf-8")
    True
    """
    if not isinstance(result, Displayed):
        raise InputError(
            f"result is a {type(result).__name__}; give what score, compare, leaderboard or check returned"
        )
    result.report(path, stack=stack)
