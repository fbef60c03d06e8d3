"""The style of all figures: colours safe for the colour-blind, sizes for print, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatmetric._files import whole_file
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette: distinct for all common kinds of colour vision, and by lightness in greyscale print.
BLACK = "#000000"
ORANGE = "#e69f00"
SKY = "#56b4e9"
GREEN = "#009e73"
BLUE = "#0072b2"
VERMILION = "#d55e00"
PURPLE = "#cc79a7"
GREY = "#777777"

TRUTH = BLACK
PRED = BLUE
DISPLACED = BLUE
MISSED = VERMILION
FALSE = ORANGE
SERIES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)

_SETTINGS: Any = {  # Any: matplotlib has its own type for setting names
    "axes.grid": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "flatmetric",  # names inside the file are random otherwise
}
_DPI = 200  # print quality


@contextmanager
def house_style() -> Iterator[None]:
    """Draw inside this block to use our style without changing matplotlib's settings elsewhere.

    Examples
    --------
    >>> import matplotlib
    >>> with house_style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, width and height in inches; it belongs to no window and is freed like any object.

    Examples
    --------
    >>> new_figure(4, 3).get_size_inches().tolist()
    [4.0, 3.0]
    """
    from flatmetric.plots import figure

    return figure.Figure(figsize=(width, height), layout="constrained")


def literal(text: str) -> str:
    r"""A user-given name shown verbatim: dollars don't start mathematics, and legends don't skip it.

    Examples
    --------
    >>> print(literal("a$b"))
    a\$b
    """
    # Bytes of a file name that can't be decoded are shown as escapes.
    shown = text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def save_for_print(figure: Figure, stem: Path) -> None:
    """Write a figure as STEM.png and STEM.pdf, laid out once for both.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> save_for_print(new_figure(1, 1), folder / "empty")
    >>> sorted(path.name for path in folder.iterdir())
    ['empty.pdf', 'empty.png']
    """
    for suffix in (".png", ".pdf"):
        save(figure, stem.with_suffix(suffix))
        figure.set_layout_engine("none")


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of its suffix (.png, .pdf, .svg): whole or not at all, the same bytes each time.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "empty.png"
    >>> save(new_figure(1, 1), target)
    >>> target.read_bytes()[1:4]
    b'PNG'
    """
    undated: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    if path.suffix not in undated:
        raise InputError(f"{path}: unsupported figure format; give a name that ends in {', '.join(undated)}")
    drawn = io.BytesIO()  # in memory first: a full disk leaves matplotlib's PDF writer in a state that it can't close
    with house_style():
        figure.savefig(drawn, format=path.suffix[1:], dpi=_DPI, metadata=undated[path.suffix])
    with whole_file(path) as unfinished:
        unfinished.write_bytes(drawn.getvalue())
