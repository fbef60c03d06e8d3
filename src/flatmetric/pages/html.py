"""The parts of a page: escaped text, tables, and the shell that holds styles, scripts and data in one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

# Nothing may be fetched: everything is in the file.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
_SHORT = 24  # cells up to this length stay on one line


def table(
    name: str, caption: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, sortable: bool = False
) -> str:
    """A table with a caption, marked-up headers, and a button that saves it as NAME.csv.

    Numbers are right-aligned; a cell given as (text, number) is sorted by the number.

    Examples
    --------
    >>> html = table("t", "A & B", ["program", "nm"], [["<img src=x>", 1.5]])
    >>> "<th scope='row' class='short'>&lt;img src=x&gt;</th>" in html, "A &amp; B" in html
    (True, True)
    """
    lines = [f"<div class='table' data-name='{escape(name)}'><div class='scroll'><table>"]
    lines.append(f"<caption>{escape(caption)}</caption><thead><tr>")
    for title in header:
        inner = f"<button type='button' class='sort'>{escape(title)}</button>" if sortable else escape(title)
        lines.append(f"<th scope='col'>{inner}</th>")
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(_cell(cell, first=at == 0) for at, cell in enumerate(row)) + "</tr>")
    lines.append("</tbody></table></div><button type='button' class='csv'>Save as CSV</button></div>")
    return "".join(lines)


def _cell(cell: Any, first: bool) -> str:
    text, number = cell if isinstance(cell, tuple) else (cell, cell if isinstance(cell, (int, float)) else None)
    shown = "-" if text is None else str(text)
    kind = "number" if number is not None and not first else "short" if len(shown) <= _SHORT else ""
    marks = (f" class='{kind}'" if kind else "") + ("" if number is None else f" data-value='{number}'")
    return f"<th scope='row'{marks}>{escape(shown)}</th>" if first else f"<td{marks}>{escape(shown)}</td>"


def section(anchor: str, title: str, body: str) -> str:
    """A section of the page with its heading; `body` is HTML.

    Examples
    --------
    >>> section("a", "A < B", "<p>x</p>")
    "<section id='a' aria-labelledby='a-title'><h2 id='a-title'>A &lt; B</h2><p>x</p></section>"
    """
    heading = f"<h2 id='{anchor}-title'>{escape(title)}</h2>"
    return f"<section id='{anchor}' aria-labelledby='{anchor}-title'>{heading}{body}</section>"


def chart(name: str, label: str, *, tall: bool = False) -> str:
    """A placeholder for a chart; `label` describes it for screen readers.

    Examples
    --------
    >>> chart("budget", "Bars")
    "<div id='budget' class='chart' role='img' aria-label='Bars'></div>"
    """
    return f"<div id='{name}' class='chart{' tall' if tall else ''}' role='img' aria-label='{escape(label)}'></div>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of escaped text.

    Examples
    --------
    >>> paragraph("a < b", "note")
    "<p class='note'>a &lt; b</p>"
    """
    mark = f" class='{kind}'" if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def page(title: str, answer: str, sections: Sequence[tuple[str, str, str]], content: dict[str, Any]) -> str:
    """The whole file: (anchor, title, body) sections, and the content that its script draws.

    Examples
    --------
    >>> text = page("T", "It is good.", [("a", "A", "<p>x</p>")], {"name": "</script><b>"})
    >>> text.startswith("<!doctype html>"), "</script><b>" in text
    (True, False)
    """
    links = "".join(f"<li><a href='#{anchor}'>{escape(name)}</a></li>" for anchor, name, _ in sections)
    body = "".join(section(*part) for part in sections)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta http-equiv='Content-Security-Policy' content=\"{_POLICY}\">"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head><body>"
        "<a class='skip' href='#main'>Skip to the content</a>"
        f"<header><h1>{escape(title)}</h1><p class='answer'>{escape(answer)}</p>"
        f"<nav aria-label='Sections'><ul>{links}</ul></nav></header><main id='main'>{body}</main>"
        f"<script type='application/json' id='content'>{_json(content)}</script>"
        f"<script>{_plotly()}</script><script>{_asset('page.js')}</script></body></html>\n"
    )


def _json(content: dict[str, Any]) -> str:
    """JSON that can't end the script element it stands in."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _asset(name: str) -> str:
    return (resources.files("flatmetric.pages") / "assets" / name).read_text(encoding="utf-8")


def _plotly() -> str:
    """The script that the plotly package carries; read as a file, since importing plotly takes a while."""
    return (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
