"""Rows of text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], align: str = ">") -> list[str]:
    """One line for each row, its cells padded to the widest of their column, to the left (<) or the right (>).

    Examples
    --------
    >>> aligned([["frame", "x"], ["1", "12.50"]])
    ['frame      x', '    1  12.50']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{align}{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
