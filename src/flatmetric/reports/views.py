"""How each kind of result looks: compact HTML for a notebook, a summary figure, and a page."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from flatmetric._display import Shown, stands_above, wording
from flatmetric._escaping import escape
from flatmetric._files import write_text
from flatmetric.challenges.leaderboard import Leaderboard
from flatmetric.errors import InputError
from flatmetric.localizations import Localizations
from flatmetric.metrics.table import METRICS
from flatmetric.options.base import is_page, page_of
from flatmetric.plots import style
from flatmetric.quality.findings import Finding, Findings
from flatmetric.quality.inspect import Inspection, inspect_table
from flatmetric.reports.parts import budget_bar
from flatmetric.scoring.score import Score
from flatmetric.sentences import budget_sentence, intervals_title, pair_sentence, unscored_sentences
from flatmetric.statistics.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flatmetric.reports.camera import Movie

_PART_STYLES = {  # a notebook has none of the page's styles
    part: f"background:{color};color:white;overflow:hidden;white-space:nowrap;padding:1px 0 1px 4px"
    for part, color in (("displaced", style.DISPLACED), ("missed", style.MISSED), ("false", style.FALSE))
}
_MAIN = ("challenge.jaccard", "challenge.recall", "challenge.precision", "challenge.rmse_xy", "challenge.efficiency")
_REACH = 400.0  # nm: displacements that are drawn
_MOST_POINTS = 20_000  # marks of a scatter plot; more hide each other
_ALERT = f"border-left:4px solid {style.VERMILION};padding:2px 8px;margin:4px 0;background:rgba(213,94,0,0.12)"
_CELL = "padding:2px 10px 2px 0;text-align:left;background:none"


class View:
    """How one kind of result looks."""

    kind: ClassVar[type[Shown]]
    shows_images: ClassVar[bool] = False

    def html(self, result: Any) -> str:
        """HTML for a notebook: small, in the colours of the notebook."""
        raise NotImplementedError

    def plot(self, result: Any) -> Figure:
        """The summary figure."""
        raise NotImplementedError

    def page(self, result: Any, command: str, stack: Path | None = None) -> str:
        """A page; `command` makes it again, and `stack` has the camera images, where the view shows any."""
        raise NotImplementedError

    def report(self, result: Any, path: str | os.PathLike[str], stack: str | os.PathLike[str] | None = None) -> None:
        """Write a page to a file."""
        page = page_of(path, "path")
        if stack is not None and not self.shows_images:
            raise InputError(f"stack is {stack}, but only the page of a score or a comparison shows camera images")
        made = wording().command or f".report({page.name!r})"
        write_text(self.page(result, made, None if stack is None else Path(stack)), page)


def view_of(result: Shown) -> View:
    """The view of a result.

    Examples
    --------
    >>> view_of(Findings()).html(Findings())[:4]
    '<div'
    """
    return next(view for view in _VIEWS if isinstance(result, view.kind))


def _block(*parts: str) -> str:
    return f"<div style='font-family:sans-serif;font-size:13px;line-height:1.45;max-width:60em'>{''.join(parts)}</div>"


def _line(text: str, look: str = "") -> str:
    return f"<div style='{look}'>{escape(text)}</div>"


def _warned(findings: Sequence[Finding], whose: str = "", again: bool = False) -> str:
    """Findings in colour, readable on light and dark ground; those with a warning in the same cell only `again`."""
    start = f"{whose}: " if whose else ""
    lines = []
    for finding in findings:
        if stands_above(finding) and not again:
            continue
        text = f"{start}{finding.for_one_file() if whose else finding}"
        noted = finding.severity == "note"
        lines.append(_line(f"note: {text}" if noted else text, "opacity:0.7" if noted else _ALERT))
    return "".join(lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th style='{_CELL};font-weight:600'>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td style='{_CELL}'>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    look = "border-collapse:collapse;margin:4px 0;color:inherit;font-size:inherit"
    return f"<table style='{look}'><tr>{head}</tr>{body}</table>"


class _ScoreView(View):
    kind = Score
    shows_images = True

    def html(self, result: Score) -> str:
        flat = result.flat_metric
        parts = [_warned(result.findings)]
        if flat.value is None:
            parts.append(_line(f"Flat Metric undefined: {result.undefined()['flat_metric.value']}", "font-weight:600"))
        else:
            span = _interval(result, "flat_metric.value")
            title = f"{result.name}: Flat Metric {flat.value:.2f} nm{span}"
            parts += [_line(title, "font-size:16px;font-weight:600"), budget_bar(result, _PART_STYLES)]
            unit = "molecule" if result.weights == "uniform" else "photon"
            parts.append(
                _line(budget_sentence(flat.value, flat.displaced or 0.0, flat.missed or 0.0, flat.false or 0.0, unit))
            )
        parts += [_line(f"-{one.gain:.1f} nm: {one.sentence}") for one in result.advice]
        rows = [
            (METRICS[key].title, f"{METRICS[key].show(value)} {METRICS[key].unit}{_interval(result, key)}")
            for key in _MAIN
            if (value := result.get(key)) is not None
        ]
        parts.append(_table([name for name, _ in rows], [[value for _, value in rows]]))
        if result.intervals is not None:
            parts.append(_line(intervals_title(result.intervals), "opacity:0.7"))
        return _block(*parts)

    def plot(self, result: Score) -> Figure:
        from flatmetric.plots.error_budget import error_budget
        from flatmetric.plots.rendering import missed_share, rendering

        with style.house_style():
            figure = style.new_figure(8, 5)
            grid = figure.add_gridspec(2, 2, height_ratios=[1, 3.5])
            error_budget(figure.add_subplot(grid[0, :]), {result.name: result})
            missed_share(figure.add_subplot(grid[1, 0]), result)
            rendering(figure.add_subplot(grid[1, 1]), result, "pred")
            return figure

    def plot_frame(self, result: Score, frame: int) -> Figure:
        """One frame with its transport plan."""
        from flatmetric.plots.transport_map import frame_map

        with style.house_style():
            figure = style.new_figure(6, 4)
            frame_map(figure.subplots(), result, frame)
            return figure

    def page(self, result: Score, command: str, stack: Path | None = None) -> str:
        from flatmetric.reports.parts import NamedScore
        from flatmetric.reports.score_page import score_page
        from flatmetric.statistics.intervals import intervals_of

        intervals = result.intervals
        if intervals is None and len(result.matched.truth_kept):
            intervals = intervals_of(result)  # a number on a page has its interval
        return score_page(
            NamedScore(result.name, result, intervals, result.findings.findings), command, _movie(stack, result)
        )


def _movie(stack: Path | None, *scores: Score) -> Movie | None:
    """The camera images, if there are any."""
    from flatmetric.reports.camera import open_movie

    tables = [table for score in scores for table in (score.matched.truth, score.matched.pred)]
    return None if stack is None else open_movie(stack, *tables)


def _interval(score: Score, key: str) -> str:
    span = None if score.intervals is None else score.intervals.intervals.get(key)
    return "" if span is None else f" ({METRICS[key].show_interval(span)})"


class _ComparisonView(View):
    kind = Comparison
    shows_images = True

    def html(self, result: Comparison) -> str:
        named = list(zip(result.names, result.scores, strict=True))
        rows = []
        for (name, score), intervals in zip(named, result.intervals, strict=True):
            span = intervals.intervals.get("flat_metric.value")
            value = METRICS["flat_metric.value"].show(score.flat_metric.value)
            shown = value if span is None else f"{value} ({METRICS['flat_metric.value'].show_interval(span)})"
            rows.append([name, shown, *(METRICS[key].show(score.get(key)) for key in _MAIN)])
        header = ["program", "Flat Metric [nm]", *(METRICS[key].heading for key in _MAIN)]
        return _block(
            _table(header, rows),
            *(_line(pair_sentence(pair)) for pair in result.pairs[:_MOST_PAIRS]),
            *(_line(text) for text in result.remarks.shared),
            *(_warned(findings, name) for name, findings in result.remarks.own.items()),
            _line(intervals_title(result.intervals[0]), "opacity:0.7"),
        )

    def plot(self, result: Comparison) -> Figure:
        from flatmetric.plots.error_budget import error_budget

        with style.house_style():
            figure = style.new_figure(7, 1.2 + 0.4 * len(result.names))
            axes = error_budget(figure.subplots(), dict(zip(result.names, result.scores, strict=True)))
            for row, intervals in enumerate(result.intervals):
                span = intervals.intervals.get("flat_metric.value")
                if span is not None:
                    axes.plot(span, [row + 0.42, row + 0.42], color=style.BLACK, linewidth=2)
                    axes.set_xlim(0, max(axes.get_xlim()[1], 1.05 * span[1]))
            return figure

    def page(self, result: Comparison, command: str, stack: Path | None = None) -> str:
        from flatmetric.reports.comparison_page import comparison_page

        return comparison_page(result, command, _movie(stack, *result.scores))


_MOST_PAIRS = 6  # sentences that still read at a glance


class _LeaderboardView(View):
    kind = Leaderboard

    def html(self, result: Leaderboard) -> str:
        suspect = result.suspect
        overall = result.ranking.overall
        rows = []
        for standing in overall or [s for places in result.ranking.datasets.values() for s in places]:
            remarks = [text for (_, program), texts in suspect.items() if program == standing.program for text in texts]
            cells = [str(standing.place), standing.program, f"{standing.rank:.4g}", f"{standing.flat_metric:.2f}"]
            rows.append([*cells, "; ".join(remarks)])
        header = ["place", "program", "mean rank", "Flat Metric [nm]", "suspect"]
        failed = [_line(text, "opacity:0.7") for text in unscored_sentences(result.failures)]
        return _block(_table(header, rows), *failed)

    def plot(self, result: Leaderboard) -> Figure:
        from flatmetric.plots.standings import standings

        places = result.ranking.overall or next(iter(result.ranking.datasets.values()), ())
        with style.house_style():
            figure = style.new_figure(6, 1.0 + 0.3 * len(places))
            standings(figure.subplots(), places)
            return figure

    def page(self, result: Leaderboard, command: str, stack: Path | None = None) -> str:
        from flatmetric.reports.board_page import board_page
        from flatmetric.reports.page_folder import board_of

        return board_page(board_of(result, command))

    def report(
        self, result: Leaderboard, path: str | os.PathLike[str], stack: str | os.PathLike[str] | None = None
    ) -> None:
        """Write a page to a file, or a folder of pages."""
        from flatmetric.reports.page_folder import write_pages

        if not isinstance(path, (str, os.PathLike)) or stack is not None or is_page(path):
            super().report(result, path, stack)
        else:
            write_pages(result, Path(path), wording().command or f".report({Path(path).name!r})")


class _TableView(View):
    kind = Localizations

    def html(self, result: Localizations) -> str:
        rows = [[_cell(values[at]) for values in result.columns().values()] for at in range(min(5, len(result)))]
        title = repr(result).strip("<>").split(", from ")[0]
        title += f", from {Path(result.provenance.file).name}" if result.provenance.file else ""
        assumed = [_line(text, "opacity:0.7") for text in result.provenance.assumptions]
        return _block(_line(title, "font-weight:600"), _table(list(result.columns()), rows), *assumed)

    def plot(self, result: Localizations) -> Figure:
        with style.house_style():
            figure = style.new_figure(5, 4.5)
            axes = figure.subplots()
            some = slice(None, None, max(1, len(result) // _MOST_POINTS))
            dots = axes.scatter(result.x[some], result.y[some], c=result.frame[some], s=3, linewidths=0)
            if len(result):
                figure.colorbar(dots, label="frame", shrink=0.7)
            axes.set(xlabel="x [nm]", ylabel="y [nm]", aspect="equal", title=f"{len(result)} localizations")
            axes.invert_yaxis()
            return figure

    def page(self, result: Localizations, command: str, stack: Path | None = None) -> str:
        from flatmetric.reports.html import Section, page, paragraph, table
        from flatmetric.reports.parts import alerts

        inspection = inspect_table(result)
        title = Path(result.provenance.file).name if result.provenance.file else "Localizations"
        first = alerts([wording().say(text) for text in inspection.warnings]) + f"<h1>{escape(title)}</h1>"
        first += paragraph(repr(result).strip("<>").split(", from")[0], "answer")
        first += _picture(self.plot(result), "All localizations")
        extent = [[axis, f"{low:.1f}", f"{high:.1f}"] for axis, (low, high) in inspection.extent.items()]
        body = table("extent", "Extent [nm]", ["axis", "from", "to"], extent)
        body += "".join(paragraph(step) for step in (*inspection.conversions, *result.provenance.assumptions))
        return page(title, first, [Section("table", "How it was read", body)], {"kind": "table"})


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, np.integer) else f"{value:.2f}"


class _InspectionView(View):
    kind = Inspection

    def html(self, result: Inspection) -> str:
        frames = "-" if result.frames is None else f"{result.frames[0]} to {result.frames[1]}"
        facts = {"format": result.format or "-", "rows": str(result.rows), "frames": frames}
        facts |= {f"{axis} [nm]": f"{low:.1f} to {high:.1f}" for axis, (low, high) in result.extent.items()}
        rows = [
            ["-" if row[name] is None else f"{row[name]:.6g}" for name in result.columns] for row in result.first_rows
        ]
        return _block(
            _line(Path(result.file).name if result.file else "table", "font-weight:600"),
            _table(list(facts), [list(facts.values())]),
            _table(result.columns, rows),
            *(_line(text, _ALERT) for text in result.warnings),
            *(_line(f"assumed: {text}", "opacity:0.7") for text in result.assumptions),
            *([_line(f"not used: {', '.join(result.unused)}", "opacity:0.7")] if result.unused else []),
        )


class _FindingsView(View):
    kind = Findings

    def html(self, result: Findings) -> str:
        return _block(_warned(result.findings, again=True) or _line("Nothing looks wrong."))

    def plot(self, result: Findings) -> Figure:
        """Displacements of detections from molecules of the same frames, as they are and with everything fixed."""
        with style.house_style():
            figure = style.new_figure(7, 3.5)
            if result.truth is None or result.pred is None:
                raise InputError("these findings have no tables to draw; make them with check()")
            for axes, pred, title in zip(
                figure.subplots(1, 2, sharey=True),
                (result.pred, result.apply(result.pred)),
                ("as it is", "with every fix"),
                strict=True,
            ):
                _displacement_map(axes, result.truth, pred, title)
            return figure

    def page(self, result: Findings, command: str, stack: Path | None = None) -> str:
        from flatmetric.reports.html import Section, page, paragraph
        from flatmetric.reports.parts import alerts, made_by

        first = alerts([wording().say(str(finding)) for finding in result])
        count = "1 finding" if len(result) == 1 else f"{len(result)} findings"
        first += f"<h1>{f'{count}.' if result else 'Nothing looks wrong.'}</h1>"
        if result.truth is not None:
            label = "Displacements of detections from molecules of the same frames"
            first += paragraph(f"{label}:") + _picture(self.plot(result), label)
        return page("Check of a result", first, [Section("method", "Method", made_by(command))], {"kind": "findings"})


def _displacement_map(axes: Axes, truth: Localizations, pred: Localizations, title: str) -> None:
    from flatmetric.quality.case import WINDOW_PAIRS
    from flatmetric.quality.pairing import ByFrame, displacements, pairs_in_frames

    rows = pairs_in_frames(ByFrame.of(truth), ByFrame.of(pred), WINDOW_PAIRS)[:2]
    dx, dy = displacements(truth, pred, rows)
    bins = np.linspace(-_REACH, _REACH, 81)
    axes.hist2d(dx, dy, bins=[bins, bins], cmap="magma")
    axes.axhline(0, color="white", linewidth=0.4)
    axes.axvline(0, color="white", linewidth=0.4)
    axes.set(xlabel="dx [nm]", ylabel="dy [nm]", title=title, aspect="equal")


def _picture(figure: Figure, label: str) -> str:
    drawn = io.BytesIO()
    with style.house_style():
        figure.savefig(drawn, format="png", dpi=130, facecolor="white")
    data = base64.b64encode(drawn.getvalue()).decode()
    return f"<img alt='{escape(label)}' style='max-width:100%' src='data:image/png;base64,{data}'>"


_VIEWS: tuple[View, ...] = (
    *(_ScoreView(), _ComparisonView(), _LeaderboardView(), _TableView(), _FindingsView()),
    _InspectionView(),
)
