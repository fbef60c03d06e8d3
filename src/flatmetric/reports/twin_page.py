"""The page of a twin: the answer and whether to trust it, then movie and twin, programs, and what was measured."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from flatmetric._display import wording
from flatmetric._escaping import escape
from flatmetric.localizations import Localizations
from flatmetric.reports.html import Section, page, paragraph, table
from flatmetric.twins.likeness import unlike_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flatmetric.twins.estimates import MovieEstimates
    from flatmetric.twins.likeness import Resemblance
    from flatmetric.twins.ranking import Choice
    from flatmetric.twins.seen import Seen

_NAMES = {
    "sigma": ("width of spots (sigma)", "nm"),
    "density": ("molecules that shine", "per um2 and frame"),
    "photons": ("photons of a molecule in a frame", ""),
    "photons_spread": ("spread of photons, logarithm", ""),
    "on_time": ("time that a molecule is on", "frames"),
}


def _more(known: MovieEstimates) -> list[tuple[str, float | None, str]]:
    """What was measured besides, without an error of its own: its title, value and unit."""
    return [
        ("width of spots along x over that along y", known.aspect**2, ""),
        ("light in the halo of a spot", 100 * known.halo, "%"),
        ("spread of depths", known.depth, "nm"),
        ("times that a molecule is on", known.blinks, ""),
        ("time in the dark between them", known.dark_time, "frames"),
        ("drift, from the first to the last part of the movie", known.drift, "nm"),
    ]


def twin_page(movie: str, made: Any, seen: Seen, twin: Seen, found: Localizations | None) -> str:
    """The whole page; `made` is a `Twin`, `seen` and `twin` what was looked at of the movie and of a twin, `found` the
    localizations of the movie by the best program.
    """
    from flatmetric.plots.twins import estimates_plots, likeness_plots, side_by_side

    choice: Choice | None = made.choice
    answer = "No program can be recommended." if choice is None else choice.sentences()[0]
    more = [] if choice is None else choice.sentences()[1:]
    first = (
        f"<h1>Which program for {escape(movie)}?</h1>{paragraph(answer, 'answer')}"
        f"{''.join(paragraph(text) for text in more)}"
        f"{'' if made.own is None else paragraph(made.own.sentence())}"
        f"{''.join(paragraph(text, 'note') for text in made.doubts)}"
        f"{paragraph(unlike_sentence(made.likeness), 'note')}{paragraph(_COUNSEL, 'note')}"
    )
    sections = [
        Section("alike", "Movie and twin", _drawn(side_by_side(seen, twin), "A frame of the movie and of a twin"))
    ]
    if choice is not None:
        sections.append(Section("programs", "Programs on the twins", _ranking(choice)))
    if made.weak:
        rows = [[one.sentence, (f"{one.gain:.1f}", one.gain)] for one in made.weak]
        header = ["what would improve its result on the twins", "gain [nm]"]
        sections.append(Section("weak", "Where the best program loses", table("weak-table", "Advice", header, rows)))
    body = _drawn(likeness_plots(made.likeness), "The movie and its twins, by each statistic")
    body += _likeness(made.likeness)
    sections.append(Section("gate", "Is the twin like the movie?", body))
    if found is not None and len(found):
        sections.append(Section("found", "The movie by the best program", _rendered(found)))
    drawn = _drawn(estimates_plots(made.estimates, seen, twin), "Background, brightness, course and spot")
    sections.append(Section("measured", "What was measured", drawn + _measured(made.estimates)))
    if made.failures:
        rows = [[name, reason] for name, reason in sorted(made.failures.items())]
        sections.append(
            Section("failed", "Programs that failed", table("failed-table", "Why", ["program", "why"], rows))
        )
    return page(f"Which program for {movie}?", first, sections, {"command": wording().command or ""})


_COUNSEL = (
    "Programs were tuned on one twin and compared on others. A twin knows nothing of structure below the resolution, "
    "of aberrations in depth and of how labels sit."
)


def _ranking(choice: Choice) -> str:
    apart = {one.program: one for one in choice.behind}
    rows: list[list[Any]] = []
    for one in choice.candidates:
        span = "" if one.interval is None else f"{one.interval[0]:.1f} to {one.interval[1]:.1f}"
        behind = apart.get(one.program)
        lag = "best" if behind is None else f"{behind.difference:.1f}"
        if behind is not None and behind.interval is not None:
            lag += f" ({behind.interval[0]:.1f} to {behind.interval[1]:.1f})"
        settings = ", ".join(f"{name} {value:g}" for name, value in (one.settings or {}).items()) or "defaults"
        rows.append(
            [
                one.program,
                (f"{one.expected:.1f}", one.expected),
                span,
                (lag, 0.0 if behind is None else behind.difference),
                (f"{one.recall:.2f}", one.recall),
                (f"{one.precision:.2f}", one.precision),
                "a program of your own" if one.method is None else settings,
            ]
        )
    header = [
        "program",
        "Flat Metric [nm]",
        "95 % for a movie",
        "behind the best [nm]",
        "recall",
        "precision",
        "settings",
    ]
    return table("ranking", "All programs, best first", header, rows, sortable=True)


def _likeness(rows: tuple[Resemblance, ...]) -> str:
    cells: list[list[Any]] = [
        [
            f"{row.name} (fitted)" if row.was_fitted else row.name,
            (_plain(row.movie), row.movie),
            f"{_plain(min(row.twins))} to {_plain(max(row.twins))}",
            row.words or "alike",
        ]
        for row in rows
    ]
    return table("likeness", "Statistics", ["statistic", "movie", "twins", "verdict"], cells)


def _measured(known: MovieEstimates) -> str:
    rows: list[list[Any]] = []
    for key, (title, unit) in _NAMES.items():
        value, error = getattr(known, key), known.errors[key]
        rows.append([title, f"{_plain(value)} +- {_plain(abs(value) * error, 1)} {unit}".strip()])
    for title, value, unit in _more(known):
        rows.append([title, "not seen" if value is None else f"{_plain(value)} {unit}".strip()])
    camera = known.camera
    rows.append(["background", f"{_plain(float(known.background.mean()))} photons per pixel and frame"])
    rows.append(["change of the background", _course(known.course)])
    rows.append(["change of the number of molecules", _course(known.fading)])
    kind = "EMCCD" if camera.multiplies else "CCD or sCMOS"
    counted = f"{_plain(known.stack_camera.photons_per_count)} photons per count"
    rows.append(["camera", f"{kind}, offset {camera.offset:.4g}, {counted}"])
    rows.append(["readout noise", f"{camera.readout / camera.gain:.2g} photons"])
    notes = "".join(paragraph(note, "note") for note in known.notes)
    return table("estimates", "Estimates, with their standard errors", ["what", "value"], rows) + notes


def _plain(value: float, digits: int = 3) -> str:
    """A number with so many digits and without an exponent."""
    return f"{float(f'{value:.{digits}g}'):.12g}"


def _course(course: tuple[float, ...]) -> str:
    return "none" if not course else f"{course[0]:.2f} to {course[-1]:.2f} times the mean"


def _rendered(found: Localizations) -> str:
    return _drawn(found.plot(), f"{len(found)} localizations")


def _drawn(figure: Figure, words: str) -> str:
    held = io.BytesIO()
    figure.savefig(held, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    data = base64.b64encode(held.getvalue()).decode()
    return f"<figure><img class='drawn' alt='{escape(words)}' src='data:image/png;base64,{data}'></figure>"
