"""What the page of a challenge shows besides the ranks: conclusions, sample frames, run times, settings, figures."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._escaping import escape
from flatmetric.challenges.runner import Run
from flatmetric.challenges.training import Trained, same_as_defaults, tuned_and_usual
from flatmetric.errors import InputError
from flatmetric.formats.read import read_file
from flatmetric.localizers.base import Settings, usual
from flatmetric.localizers.registry import METHODS
from flatmetric.options.reading import ReadOptions
from flatmetric.paper.agreement import FIGURES
from flatmetric.reports.board_page import Background
from flatmetric.reports.camera import camera_content, open_movie
from flatmetric.reports.html import Section, details, paragraph, table
from flatmetric.reports.parts import plane
from flatmetric.simulation.folder import STACK, TRUTH
from flatmetric.statistics.entries import Entry

_TITLES = {"fig1c": "Figure 1c: Flat Metric against efficiency", "fig4": "Figure 4: RMSMD against efficiency"}


def background(
    folder: Path,
    runs: Sequence[Run],
    conclusions: Sequence[str],
    figures: Path,
    trained: Sequence[Trained] = (),
    entries: Sequence[Entry] = (),
) -> Background:
    """What goes into the page: data sets are in `folder`, the figures in `figures`.

    Examples
    --------
    >>> background(Path("none"), [], ["All are equal."], Path("none")).conclusions
    ['All are equal.']
    """
    samples = _samples(folder)
    sections = []
    drawn = _figures(figures)
    if drawn:
        sections.append(Section("agreement", "Agreement of metrics", drawn))
    if samples:
        shown = "".join(
            f"<figure><figcaption>{escape(one['dataset'])}, frame {one['frame']}: {len(one['x'])} molecules"
            f"</figcaption>{plane(one['place'], 'A simulated frame with the true molecules as rings.')}</figure>"
            for one in samples
        )
        body = f"<div class='planes'>{shown}</div>"
        sections.append(Section("samples", "Sample frames", body, printed=False))
    brought = tuned_and_usual(entries)
    if brought:
        sections.append(Section("tuned", "Tuned and default settings", _tuned(brought)))
    if runs:
        body = _times(runs) + _settings(runs, trained)
        sections.append(Section("runs", "Run times and settings", body, printed=False))
    return Background(list(conclusions), sections, samples)


def _figures(folder: Path) -> str:
    """The paper's figures, as they were drawn into the folder."""
    shown = []
    for stem in FIGURES:
        file = folder / f"{stem}.png"
        if file.is_file():
            data = base64.b64encode(file.read_bytes()).decode()
            title = escape(_TITLES[stem])
            shown.append(
                f"<figure><img class='drawn' alt='{title}' src='data:image/png;base64,{data}'>"
                f"<figcaption>{title}</figcaption></figure>"
            )
    return f"<div class='planes'>{''.join(shown)}</div>" if shown else ""


def _samples(folder: Path) -> list[dict[str, Any]]:
    """A frame of each simulated data set, with the truth: the one with the usual number of molecules."""
    samples: list[dict[str, Any]] = []
    for stack in sorted(folder.glob(f"*/{STACK}")):
        try:
            truth = read_file(stack.with_name(TRUTH), ReadOptions())
            movie = open_movie(stack, truth)
        except InputError:
            continue  # an unfinished simulation
        counts = np.bincount(truth.frame, minlength=movie.stack.frames + 1)[1 : movie.stack.frames + 1]
        frame = 1 + int(np.argsort(counts, kind="stable")[len(counts) // 2])
        here = truth.frame == frame
        samples.append(
            {
                "place": f"sample-{len(samples)}",
                "dataset": stack.parent.name,
                "frame": frame,
                "camera": camera_content(movie, [frame]),
                "x": truth.x[here].round(1).tolist(),
                "y": truth.y[here].round(1).tolist(),
            }
        )
    return samples


def _times(runs: Sequence[Run]) -> str:
    datasets = list(dict.fromkeys(run.dataset for run in runs))
    by_name = {(run.program, run.dataset): run for run in runs}
    rows = []
    for program in dict.fromkeys(run.program for run in runs):
        cells = []
        for dataset in datasets:
            run = by_name.get((program, dataset))
            ran = run is not None and run.reason is None
            cells.append((f"{run.seconds:.1f}", run.seconds) if run is not None and ran else ("failed", None))
        rows.append([program, *cells])
    return table("runs", "Run times, s", ["program", *datasets], rows, sortable=True, search=True)


def _tuned(brought: Sequence[tuple[str, str, float, float]]) -> str:
    """The Flat Metric of methods tuned and by their defaults, side by side."""
    rows = [
        [dataset, method, (f"{tuned:.1f}", tuned), (f"{usual:.1f}", usual)] for dataset, method, tuned, usual in brought
    ]
    header = ["data set", "method", "tuned, nm", "defaults only, nm"]
    note = "Settings were tuned on training sets of their own, which are not scored."
    return paragraph(note) + table("brought", "Flat Metric", header, rows, sortable=True)


def _settings(runs: Sequence[Run], trained: Sequence[Trained]) -> str:
    """The settings of every program."""
    rows, kept = [], same_as_defaults(trained)
    for program in dict.fromkeys(run.program for run in runs):
        tuned = [(one.dataset, one.settings) for one in trained if one.program.name == program]
        if program in METHODS:
            note = "; tuning kept them" if program in kept else ""
            rows.append([program, "all", _listed(usual(METHODS[program].settings)) + note])
        elif tuned:
            rows += [[program, dataset, _listed(settings)] for dataset, settings in tuned]
        else:
            rows.append([program, "all", "a program of your own"])
    return details("Settings", table("settings", "Program settings", ["program", "data set", "settings"], rows))


def _listed(settings: Settings) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in settings.items())
