"""Numbers, times and small drawings for the templates."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from flatmetric._escaping import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640.0, 280.0, 56.0, 40.0  # of a drawing, px
_COLOURS = 8  # that can be told apart
_TICKS = 4  # about so many on an axis


_FIELDS = {
    "unit": "Unit of x and y",
    "pixel_size": "Pixel size",
    "frame_base": "Number of the first frame",
    "columns": "Columns",
    "origin": "Zero of the positions",
    "swap_xy": "Exchange x and y",
    "skip_bad_rows": "Skip rows that can't be read",
}


def nm(value: float | None, step: float = 1.0) -> str:
    """A rounded number without digits that mean nothing.

    Examples
    --------
    >>> nm(84.0, 1.0), nm(0.25, 0.01), nm(None)
    ('84', '0.25', '-')
    """
    if value is None:
        return "-"
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0 else 0}f}"


def plain(value: float | None) -> str:
    """A rounded number as it is.

    Examples
    --------
    >>> plain(62.0), plain(0.5), plain(None)
    ('62', '0.5', '-')
    """
    return "-" if value is None else f"{value:.10g}"


def span(interval: Sequence[float] | None, step: float = 1.0) -> str:
    """An interval; of ranks if both ends are whole.

    Examples
    --------
    >>> span([80.0, 88.0]), span([1, 1]), span(None)
    ('80 to 88', '1', '-')
    """
    if interval is None:
        return "-"
    low, high = (nm(end, step) for end in interval)
    return low if low == high else f"{low} to {high}"


def in_form(sentence: str) -> str:
    """A sentence of the library in which options are called as the fields of the form.

    Examples
    --------
    >>> in_form("they are not in nm (give unit=)")
    'they are not in nm (give “Unit of x and y”)'
    """
    sentence = re.sub(r"columns=\{([^}]*)\}", lambda found: f"columns= as {_pairs(found[1])}", sentence)
    for option, field in _FIELDS.items():
        sentence = re.sub(rf"\b{option}=(-?\d+)", rf"“{field}” \1", sentence)
        sentence = re.sub(rf"\b{option}=", f"“{field}”", sentence)
    return sentence


def _pairs(text: str) -> str:
    return text.replace(": ", "=").replace("'", "").replace(" ", "")


def sentence(text: str) -> str:
    """A text with a capital letter, unless it begins with a name, and a full stop.

    Examples
    --------
    >>> sentence("the file is empty"), sentence("board.toml has no title")
    ('The file is empty.', 'board.toml has no title.')
    """
    first = text.split(" ", 1)[0]
    start = text if any(letter in first for letter in "._/=") else text[:1].upper() + text[1:]
    return start if start.endswith((".", "?", "!")) else f"{start}."


def when(seconds: float | None) -> str:
    """A time, UTC.

    Examples
    --------
    >>> when(0.0)
    '1970-01-01 00:00 UTC'
    """
    if seconds is None:
        return "-"
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def bar(parts: Sequence[float] | None, longest: float) -> Markup:
    """Displaced, missed and false as one bar."""
    if parts is None or longest <= 0:
        return Markup("")
    drawn, left = [], 0.0
    for name, part in zip(("displaced", "missed", "false"), parts, strict=True):
        width = 100 * max(0.0, part) / longest
        drawn.append(f"<rect class='part-{name}' x='{left:.2f}' width='{width:.2f}' height='10'/>")
        left += width
    words = ", ".join(f"{n} {plain(p)} nm" for n, p in zip(("displaced", "missed", "false"), parts, strict=True))
    inner = "".join(drawn)
    svg = f"<svg class='parts' viewBox='0 0 100 10' preserveAspectRatio='none' role='img' aria-label='{words}'>"
    return Markup(f"{svg}{inner}</svg>")


def lines(
    label: str, x_title: str, y_title: str, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> Markup:
    """Lines with axes and a legend, as SVG."""
    xs = [x for one, _ in series.values() for x in one]
    ys = [y for _, one in series.values() for y in one]
    if not xs:
        return Markup("")
    low, high, top = min(xs), max(xs), max(ys) or 1.0
    wide = (high - low) or 1.0

    def place(x: float, y: float) -> str:
        across = _LEFT + (_WIDTH - _LEFT - 10) * (x - low) / wide
        return f"{across:.1f},{(_HEIGHT - _BOTTOM) * (1 - y / top) + 8:.1f}"

    drawn = []
    for tick in _ticks(0.0, top):
        x, y = place(low, tick).split(",")
        drawn.append(f"<line class='grid' x1='{x}' x2='{_WIDTH - 10}' y1='{y}' y2='{y}'/>")
        drawn.append(f"<text class='tick end' x='{_LEFT - 6}' y='{float(y) + 4:.1f}'>{plain(tick)}</text>")
    for tick in _ticks(low, high):
        x, y = place(tick, 0.0).split(",")
        drawn.append(f"<text class='tick' x='{x}' y='{float(y) + 16:.1f}'>{plain(tick)}</text>")
    drawn.append(f"<text class='tick' x='{_WIDTH / 2}' y='{_HEIGHT - 2}'>{escape(x_title)}</text>")
    drawn.append(
        f"<text class='tick side' transform='translate(12 {_HEIGHT / 2}) rotate(-90)'>{escape(y_title)}</text>"
    )
    legend = []
    for at, (name, (x_of, y_of)) in enumerate(series.items()):
        path = " ".join(place(x, y) for x, y in zip(x_of, y_of, strict=True))
        drawn.append(f"<polyline class='line colour-{at % _COLOURS}' points='{path}'/>")
        if len(x_of) == 1:
            x, y = path.split(",")
            drawn.append(f"<circle class='dot colour-{at % _COLOURS}' cx='{x}' cy='{y}' r='3'/>")
        legend.append(f"<li class='colour-{at % _COLOURS}'><span>{escape(name)}</span></li>")
    view = f"<svg class='lines' viewBox='0 0 {_WIDTH:g} {_HEIGHT:g}' role='img' aria-label='{escape(label)}'>"
    shown = f"<ul class='legend'>{''.join(legend)}</ul>" if len(series) > 1 else ""
    return Markup(f"<figure>{view}{''.join(drawn)}</svg>{shown}</figure>")


def _ticks(low: float, high: float) -> list[float]:
    """A few round numbers between two."""
    rough = (high - low) / _TICKS or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def state_of(one: Mapping[str, Any]) -> str:
    """Where a submission stands, in a word or two."""
    if one["excluded"] is not None:
        return "excluded"
    if one["withdrawn"] is not None:
        return "withdrawn"
    if one["handed_in"] is None:
        return "not handed in"
    return {"queued": "waiting", "running": "being scored", "failed": "failed", "dead": "failed"}.get(
        one["job_state"], "scored" if one["accepted"] is not None or one["hidden"] else "being ranked"
    )
