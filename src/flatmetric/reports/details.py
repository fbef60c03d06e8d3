"""The sections that go into detail, for one program or for two side by side, and what they are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from flatmetric.errors import InputError
from flatmetric.reports import page_data
from flatmetric.reports.camera import Movie, camera_content
from flatmetric.reports.html import Html, Section, chart, choice, details, paragraph, table
from flatmetric.reports.parts import PARTS, NamedScore, heading, plane
from flatmetric.reports.picture import picture_content
from flatmetric.scoring.breakdown import QUANTITIES, Bin, Quantity, score_in_bins
from flatmetric.scoring.score import Score, aside
from flatmetric.statistics.comparison import LEAD_TO

Bins = dict[Quantity, list[Bin]]
_WORDS: dict[Quantity, str] = {
    "z": "depth",
    "photons": "photons",
    "density": "density",
    "neighbour": "neighbours",
    "frame": "time",
}
_ORDERS = {"cost": "worst first, in all", "each": "worst first, per molecule", "frame": "by number"}


def detail_sections(scored: Sequence[NamedScore], binned: Sequence[Bins], places: Sequence[str]) -> list[Section]:
    """Frames, field, errors, curve and bins; `places` are the names of the pictures side by side."""
    quantities = list(dict.fromkeys(quantity for bins in binned for quantity in bins))
    against = ", ".join(_WORDS[quantity] for quantity in quantities) or "nothing"
    return [
        Section("frames", "Frame by frame", _frame_browser(places), printed=False, short="Frames"),
        Section("field", "Where in the field", _field(places), short="Field"),
        Section("errors", "Errors of what was found", _errors(places), short="Errors"),
        Section("curve", "For every lam", _curve(), short="Lam"),
        Section("bins", f"Against {against}", _bins(scored, binned, quantities), printed=False, short="Bins"),
    ]


def _frame_browser(places: Sequence[str]) -> str:
    whose = " (the larger of both)" if len(places) > 1 else ""
    orders = "".join(choice(value, title + (whose if value != "frame" else "")) for value, title in _ORDERS.items())
    enlarged = "".join(choice(str(times), f"\N{MULTIPLICATION SIGN}{times}") for times in (1, 3, 10, 30))
    controls = (
        f"<label>Order <select id='order'>{orders}</select></label>"
        "<button type='button' id='previous' aria-label='Previous frame'>&larr;</button>"
        "<label class='wide'>Position <input type='range' id='slider' min='0' max='0' value='0'></label>"
        "<button type='button' id='next' aria-label='Next frame'>&rarr;</button>"
        "<label>Frame <input type='number' id='frame-number' min='1' step='1'></label>"
        f"<label>Error vectors <select id='enlarge'>{enlarged}</select></label>"
        "<label class='wide' id='contrast-label' hidden>Contrast "
        "<input type='range' id='contrast' min='0' max='100' value='40'></label>"
    )
    planes = "".join(
        f"<figure><p class='caption' id='frame-{place}-text' role='status' aria-live='polite'></p>"
        f"{plane(f'frame-{place}', 'Map of the frame: truth, detections and the plan between them.')}</figure>"
        for place in places
    )
    series = "".join(
        f"<div id='series-{place}' class='chart' role='slider' tabindex='0' aria-valuemin='0' aria-valuemax='0' "
        "aria-valuenow='0' aria-label='What each frame costs; arrow keys open the frame before and after'></div>"
        for place in places
    )
    legend = (
        "<ul class='marks'><li class='truth'>&#9711; truth</li><li class='displaced'>&#9679; found, with its error</li>"
        "<li class='missed'>+ missed</li><li class='false'>&times; false</li></ul>"
    )
    help_text = (
        "Arrow keys go from frame to frame. Point at a molecule for its cost and its partner. "
        "A click on a bar opens its frame."
    )
    return (
        f"<div class='controls'>{controls}</div>{legend}<div class='planes'>{planes}</div>"
        f"<p class='note' id='frame-note'></p>{paragraph(help_text, 'note')}<div id='all-series'>{series}</div>"
        + details("The rows of this frame", "<div id='frame-table'></div>")
    )


def _field(places: Sequence[str]) -> str:
    layers = "".join(
        f"<label><input type='radio' name='field' value='{value}'{' checked' if value == 'share' else ''}> "
        f"{title}</label>"
        for value, title in (("share", "share of molecules missed"), ("false", "false detections"))
    )
    planes = "".join(
        f"<figure>{plane(f'field-{place}', 'Map of the field in squares.')}"
        f"<figcaption id='field-{place}-caption'></figcaption></figure>"
        for place in places
    )
    return (
        f"<fieldset class='controls'><legend>Show</legend>{layers}</fieldset>"
        f"<div id='field-key' class='ramp'></div><div class='planes'>{planes}</div>"
    )


def _errors(places: Sequence[str]) -> str:
    planes = "".join(
        f"<figure><figcaption id='errors-{place}-text'></figcaption><div class='pair'>"
        f"{chart(f'errors-{place}-core', 'dx against dy of the inner 90 percent, counted')}"
        f"{chart(f'errors-{place}-all', 'dx against dy of all, counted, with a logarithmic scale')}</div></figure>"
        for place in places
    )
    axes = chart("errors-axes", "Distribution of the errors along each axis")
    return f"<div class='planes'>{planes}</div>{axes}<p class='note' id='errors-note'></p>"


def _curve() -> str:
    return chart("curve-chart", "Flat Metric against lam") + "<p class='note' id='curve-note'></p>"


def _bins(scored: Sequence[NamedScore], binned: Sequence[Bins], quantities: Sequence[Quantity]) -> str:
    """A chart for every quantity that the tables have, and the numbers behind it."""
    keys = ("challenge.recall", "challenge.precision", "challenge.jaccard", "flat_metric.value")
    titles: list[str | Html] = [*map(heading, keys)]
    titles += [heading(f"flat_metric.{part}") for part in PARTS] + [heading("challenge.rmse_xy")]
    parts = []
    for quantity in quantities:
        title = QUANTITIES[quantity]
        parts.append(chart(f"bins-{quantity}", f"Flat Metric and Jaccard against {title}"))
        for one, bins in zip(scored, binned, strict=True):
            if quantity in bins:
                rows = [_bin_row(each) for each in bins[quantity]]
                caption = f"{one.name} against {title}"
                shown = table(f"by-{quantity}", caption, [title, "truth", "found", *titles], rows)
                parts.append(details(f"Numbers of {one.name}", shown))
    return "".join(parts) or paragraph("There is nothing to bin by.", "note")


def _bin_row(each: Bin) -> list[Any]:
    values = (each.flat_metric, each.displaced, each.missed, each.false, each.challenge.rmse_xy)
    shares = [(each.challenge.recall, ".3f"), (each.challenge.precision, ".3f")]
    numbers = [*shares, (each.challenge.jaccard, ".1f"), *((value, ".2f") for value in values)]
    cells = [("-" if value is None else format(value, form), value) for value, form in numbers]
    return [f"{each.low:g} to {each.high:g}", each.n_truth, each.n_pred, *cells]


def bins_of(score: Score) -> Bins:
    """Scores in bins of every quantity that both tables have."""
    binned: Bins = {}
    for quantity in get_args(Quantity):
        try:
            bins = score_in_bins(score, quantity)
        except InputError:
            continue  # a table without depths or photons has no such bins
        if bins:
            binned[quantity] = bins
    return binned


def detail_content(
    scored: Sequence[NamedScore], everyone: Sequence[NamedScore], movie: Movie | None
) -> tuple[dict[str, Any], list[Bins]]:
    """What the script draws: everything about the detailed programs, budget and curve of all; and the bins of the
    detailed ones, for their sections.
    """
    scores = [one.score for one in scored]
    with aside(scores[0].matched.threads) as begun:
        bins_of_all = begun(lambda: [bins_of(score) for score in scores])
        frames = page_data.frames_content(scores)
        if movie is not None:
            worst = sorted(frames["shown"], key=lambda one: -max(each["cost"] for each in one["programs"]))
            frames["camera"] = camera_content(movie, [one["frame"] for one in worst])
        programs = [
            {
                "name": one.name,
                "series": page_data.series_content(one.score),
                "field": page_data.field_content(one.score),
                "errors": errors,
            }
            for one, errors in zip(scored, page_data.errors_content(scores), strict=True)
        ]
        content = {
            "kind": "score",
            "unit": scored[0].unit,
            "lam": scored[0].score.lam,
            "quantities": dict(QUANTITIES),
            "picture": picture_content(scores),
            "frames": frames,
            "programs": programs,
            "curves": [
                {"name": one.name, **page_data.curve_content(one.score, max(LEAD_TO, 2 * one.score.lam))}
                for one in everyone
            ],
        }
        binned = bins_of_all()
    for program, bins in zip(programs, binned, strict=True):
        program["bins"] = {quantity: _steps(each) for quantity, each in bins.items()}
    return content, binned


def _steps(bins: Sequence[Bin]) -> dict[str, Any]:
    return {
        "edges": [bins[0].low, *(each.high for each in bins)],
        "flat_metric": [each.flat_metric for each in bins],
        "jaccard": [each.challenge.jaccard for each in bins],
    }
