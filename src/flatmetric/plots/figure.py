"""A figure that a notebook shows, whatever drawing backend is in use."""

from __future__ import annotations

import io

import matplotlib.figure

_DPI = 110  # readable in a notebook without zooming


class Figure(matplotlib.figure.Figure):
    """A matplotlib figure that belongs to no window and is its own picture in a notebook."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=_DPI, facecolor="white")
        return picture.getvalue()
