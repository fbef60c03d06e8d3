"""The shell of a page and its plain parts: escaped text, tables, sections, and styles, scripts and data in one file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric._escaping import escape, inert_json

# Nothing may be fetched: everything is in the file.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
SHORT = 24
"""Cells up to this length stay on one line."""
_WORTH_A_SEARCH = 8  # rows
_SCRIPTS = ("base", "tables", "plane", "picture", "charts", "frames", "details", "score", "board", "start")


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already; whatever else goes into a part is escaped."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: its anchor, its heading, and its body, which is HTML; `printed` if it belongs on paper. `short`
    is its name in the contents.
    """

    anchor: str
    title: str
    body: str
    printed: bool = True
    short: str | None = None

    def html(self) -> str:
        """The section with its heading.

        Examples
        --------
        >>> Section("a", "A < B", "<p>x</p>").html()
        "<section id='a' aria-labelledby='a-title'><h2 id='a-title'>A &lt; B</h2><p>x</p></section>"
        """
        heading = f"<h2 id='{self.anchor}-title'>{escape(self.title)}</h2>"
        kind = "" if self.printed else " class='unprinted'"
        return f"<section id='{self.anchor}'{kind} aria-labelledby='{self.anchor}-title'>{heading}{self.body}</section>"


def table(
    name: str,
    caption: str,
    header: Sequence[str | Html],
    rows: Iterable[Sequence[Any]],
    *,
    sortable: bool = False,
    search: bool = False,
) -> str:
    """A table with a caption, marked-up headers, and a button that saves it as NAME.csv.

    Numbers are right-aligned; a cell given as (text, number) is sorted by the number. `search` adds a field that
    filters the rows where they are many. The first column and the header stay in sight.

    Examples
    --------
    >>> html = table("t", "A & B", ["program", "nm"], [["<img src=x>", 1.5]])
    >>> "<th scope='row' class='short'>&lt;img src=x&gt;</th>" in html, "A &amp; B" in html
    (True, True)
    """
    lines, rows = [f"<div class='table' data-name='{escape(name)}'>"], list(rows)
    if search and len(rows) >= _WORTH_A_SEARCH:
        lines.append("<label class='search'>Search <input type='search'></label>")
    lines.append(f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(caption)}'><table>")
    lines.append(f"<caption><span>{escape(caption)}</span></caption><thead><tr>")
    for title in header:
        shown = title.text if isinstance(title, Html) else escape(title)
        inner = f"<button type='button' class='sort'>{shown}</button>" if sortable else shown
        lines.append(f"<th scope='col'>{inner}</th>")
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>" + "".join(_cell(cell, first=at == 0) for at, cell in enumerate(row)) + "</tr>")
    lines.append("</tbody></table></div><button type='button' class='csv'>Save as CSV</button></div>")
    return "".join(lines)


def _cell(cell: Any, first: bool) -> str:
    text, number = cell if isinstance(cell, tuple) else (cell, cell if isinstance(cell, (int, float)) else None)
    shown = text.text if isinstance(text, Html) else escape("-" if text is None else str(text))
    drawn = isinstance(text, Html)
    kind = "number" if number is not None and not first and not drawn else ""
    kind = kind or ("" if drawn else "short" if len(shown) <= SHORT else "long")
    marks = (f" class='{kind}'" if kind else "") + ("" if number is None else f" data-value='{number}'")
    return f"<th scope='row'{marks}>{shown}</th>" if first else f"<td{marks}>{shown}</td>"


def chart(name: str, label: str) -> str:
    """A place for a chart; `label` describes it for screen readers.

    Examples
    --------
    >>> chart("budget", "Bars")
    "<div id='budget' class='chart' role='img' aria-label='Bars'></div>"
    """
    return f"<div id='{name}' class='chart' role='img' aria-label='{escape(label)}'></div>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of escaped text.

    Examples
    --------
    >>> paragraph("a < b", "note")
    "<p class='note'>a &lt; b</p>"
    """
    mark = f" class='{kind}'" if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def choice(value: str, title: str, *, chosen: bool = False) -> str:
    """An option of a select.

    Examples
    --------
    >>> choice("a", "A & B", chosen=True)
    "<option value='a' selected>A &amp; B</option>"
    """
    # Without a value the browser would take the text, with its spaces collapsed.
    return f"<option value='{escape(value)}'{' selected' if chosen else ''}>{escape(title)}</option>"


def details(title: str, body: str) -> str:
    """A part that opens on demand; `body` is HTML."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def page(
    title: str,
    first: str,
    sections: Sequence[Section],
    content: dict[str, Any],
    *,
    drawer: str = "",
    bar: str = "",
) -> str:
    """The whole file: the first screen, sections, and the content that its script draws.

    `first`, `bar` (beside the contents, always in sight) and `drawer` (opened from there) are HTML.

    Examples
    --------
    >>> text = page("T", "<p>It is good.</p>", [Section("a", "A", "<p>x</p>")], {"name": "</script><b>"})
    >>> text.startswith("<!doctype html>"), "</script><b>" in text
    (True, False)
    """
    links = "".join(f"<li><a href='#{part.anchor}'>{escape(part.short or part.title)}</a></li>" for part in sections)
    opener = "<button type='button' id='open-drawer' aria-haspopup='dialog'>Definitions</button>" if drawer else ""
    contents = f"<nav aria-label='Contents'><ul><li><a href='#main'>Top</a></li>{links}</ul></nav>"
    scripts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta http-equiv='Content-Security-Policy' content=\"{_POLICY}\">"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='color-scheme' content='light dark'>"
        f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head><body>"
        "<a class='skip' href='#main'>Skip to the content</a>"
        f"<header class='bar'>{contents}{bar}{opener}</header>"
        f"<main id='main'>{first}{''.join(part.html() for part in sections)}</main>{drawer}"
        "<div id='tip' role='tooltip' hidden></div>"
        f"<script type='application/json' id='content'>{_json(content)}</script>"
        f"<script>{_asset('plot/plot.js')}</script><script>'use strict';(async () => {{\n{scripts}\n}})();</script>"
        "</body></html>\n"
    )


def _json(content: dict[str, Any]) -> str:
    """JSON that can't end the script element around it, and whose texts act on nothing (see `inert`)."""
    text = inert_json(json.dumps(content, allow_nan=False, separators=(",", ":")))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _asset(name: str) -> str:
    return (resources.files("flatmetric.reports") / "assets" / name).read_text(encoding="utf-8")
