"""Names from outside, such as those of files and programs, in text that something else reads: spreadsheets, Markdown,
LaTeX, pages, terminals.
"""

from __future__ import annotations

import html
import re
from typing import Any

from flatmetric.errors import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four in full width
# What terminals, and readers of right-to-left text, act on; line ends and tabs are left.
_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_JSON_ESCAPE = re.compile(r"\\\\|\\u([0-9a-f]{4})")  # pairs of backslashes begin none
_NUMBERS = re.compile(r"[-+]?[\d.,]+([eE][-+]?\d+)?( (to|x) [-+]?[\d.,]+)*")
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`[]|"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"})
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "#$%&_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}"}
)


def in_cell(value: Any) -> Any:
    """A value as the cell of a table: text in one printable line; what a spreadsheet would run as a formula gets an
    apostrophe before it.

    Examples
    --------
    >>> in_cell("=1+1"), in_cell("-0.5"), in_cell("-0.5 to 2"), in_cell(-0.5), in_cell("a-b")
    ("'=1+1", '-0.5', '-0.5 to 2', -0.5, 'a-b')
    """
    if not isinstance(value, str):
        return value
    if not value.startswith(_FORMULA) or _NUMBERS.fullmatch(value) or len(value) == 1:
        return printable(value)
    return f"'{printable(value)}"


def inert(text: str) -> str:
    r"""Text in which the characters that act on what is around them are written as escapes.

    Examples
    --------
    >>> inert("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    return text if text.isprintable() else _ACTED_ON.sub(lambda match: printable(match[0]), text)


def inert_json(text: str) -> str:
    r"""The same for the texts in JSON of ASCII characters, where such a character is an escape already.

    Examples
    --------
    >>> inert_json(r'["a\u001b[2J", "\\u001b"]')
    '["a\\\\u001b[2J", "\\\\u001b"]'
    """
    return _JSON_ESCAPE.sub(
        lambda match: f"\\{match[0]}" if match[1] and _ACTED_ON.match(chr(int(match[1], 16))) else match[0], text
    )


def escape(text: str, quote: bool = True) -> str:
    """Text for a page: no tags, and nothing that acts on the text around it.

    Examples
    --------
    >>> escape("<b>")
    '&lt;b&gt;'
    """
    return html.escape(inert(text), quote)


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
