"""The page of a score: the answer on the first screen, then where it comes from."""

from __future__ import annotations

from flatmetric._escaping import escape
from flatmetric.reports import parts
from flatmetric.reports.camera import Movie
from flatmetric.reports.details import detail_content, detail_sections
from flatmetric.reports.html import page
from flatmetric.reports.parts import NamedScore


def score_page(scored: NamedScore, command: str, movie: Movie | None = None) -> str:
    """The page of one score, as HTML; `command` is what makes it again, `movie` the images behind it.

    Examples
    --------
    >>> import flatmetric as fm
    >>> truth = {"frame": [1, 1], "x": [0.0, 900.0], "y": [0.0, 0.0]}
    >>> score = fm.score(truth, {"frame": [1], "x": [3.0], "y": [4.0]})
    >>> html = score_page(NamedScore("mine", score), "flatmetric score ...")
    >>> "On average 65.0 nm per molecule" in html
    True
    """
    content, binned = detail_content([scored], [scored], movie)
    places = ["a"]
    first = (
        f"{parts.findings(scored)}<div class='first'><div class='words'><h1>{escape(scored.name)}</h1>"
        f"{parts.verdict(scored)}{parts.tiles(scored)}"
        f"<section id='advice' aria-labelledby='advice-title'><h2 id='advice-title'>What to do next</h2>"
        f"{parts.advice(scored)}{parts.notes(scored)}</section></div>{parts.picture(places)}</div>"
    )
    sections = [
        *detail_sections([scored], binned, places),
        parts.all_metrics(scored),
        parts.method(scored.score, {scored.name: scored.score}, command),
    ]
    return page(f"{scored.name}: Flat Metric", first, sections, content, drawer=parts.definitions())
