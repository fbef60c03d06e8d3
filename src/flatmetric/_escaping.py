"""Names from outside, such as those of files and programs, in text that something else reads: spreadsheets, Markdown,
LaTeX, terminals. Pages escape theirs in `flatmetric.reports.html`.
"""

from __future__ import annotations

import re
from typing import Any

from flatmetric.errors import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBERS = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?( (to|x) [-+]?[\d.,]+)*")
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "#$%&_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}"}
)


def in_cell(value: Any) -> Any:
    """A value as the cell of a table: text that a spreadsheet would run as a formula gets an apostrophe before it.

    Examples
    --------
    >>> in_cell("=1+1"), in_cell("-0.5"), in_cell("-0.5 to 2"), in_cell(-0.5), in_cell("a-b")
    ("'=1+1", '-0.5', '-0.5 to 2', -0.5, 'a-b')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _NUMBERS.fullmatch(value) or len(value) == 1:
        return value
    return f"'{value}"


def in_markdown(text: str) -> str:
    r"""Text for Markdown, in one line: no tags, links, code or cells of a table.

    Examples
    --------
    >>> in_markdown("<b>a|b</b>\n# c")
    '&lt;b&gt;a\\|b&lt;/b&gt;\\\\n# c'
    """
    return printable(text).translate(_MARKDOWN)


def in_latex(text: str) -> str:
    r"""Text for LaTeX, in one line and without a meaning of its own.

    Examples
    --------
    >>> in_latex("50 % of \\alpha_1")
    '50 \\% of \\textbackslash{}alpha\\_1'
    """
    return printable(text).translate(_LATEX)
