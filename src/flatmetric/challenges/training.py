"""Localizers that come tuned to a challenge: on training sets like the ranked ones, which they never see."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Sequence
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric._files import make_folder, open_ordinary
from flatmetric.challenges.runner import LOCALIZE, OURS, Program, Run, run_programs
from flatmetric.challenges.submissions import TUNED, tuned_name
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Workers
from flatmetric.localizers.base import usual
from flatmetric.localizers.registry import METHODS
from flatmetric.simulation.datasets import PLACES, Dataset
from flatmetric.statistics.entries import Entry
from flatmetric.statistics.ranking import kind_of

TRAINING = "training"
"""The folder of the training sets."""
_MOLECULES = 700.0  # in a training set
_FEWEST, _MOST = 27, 3000  # frames
_OTHER_SEED = 1_000_003  # added to the seed, so that no training set equals a scored one


@dataclass(frozen=True, slots=True)
class Trained:
    """A localizer with the settings that did best on the training set of a data set."""

    dataset: str
    program: Program
    settings: dict[str, float]
    kept: bool
    """Whether these are its defaults."""


def same_as_defaults(trained: Sequence[Trained]) -> list[str]:
    """Methods whose defaults did best on every training set: tuned, they are no other program.

    Examples
    --------
    >>> tuned = Program("dog-tuned", ("dog",))
    >>> same_as_defaults([Trained("a", tuned, {}, True), Trained("b", tuned, {}, True)])
    ['dog']
    >>> same_as_defaults([Trained("a", tuned, {}, True), Trained("b", tuned, {"sigma": 2.0}, False)])
    []
    """
    names = {one.program.name for one in trained} - {one.program.name for one in trained if not one.kept}
    return sorted(name.removesuffix(TUNED) for name in names)


def training_set(dataset: Dataset) -> Dataset:
    """A short data set like another in density, noise, optics and camera, of microtubules or at the other's places;
    never longer than that.

    Examples
    --------
    >>> from flatmetric.simulation.datasets import named
    >>> made = training_set(named("ER2.N3.HD"))
    >>> made.name, made.structure, made.frames, made.photons == named("ER2.N3.HD").photons
    ('MT0.N3.HD', 'microtubules', 55, True)
    """
    enough = max(_FEWEST, min(_MOLECULES / dataset.per_frame, _MOST, dataset.frames))
    kind = kind_of(dataset.name)
    challenge = re.fullmatch(r"[A-Z]{2}\d\.(N\d\.[LH]D)", kind)
    return dataclasses.replace(
        dataset,
        name=f"MT0.{challenge[1]}" if challenge else kind,
        structure=PLACES if dataset.structure == PLACES else "microtubules",
        frames=int(enough),
    )


def train(
    out: Path,
    datasets: Sequence[Dataset],
    methods: Sequence[str],
    budget: int,
    *,
    lam: float,
    time_limit: float,
    seed: int = 0,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> tuple[list[Trained], list[Run]]:
    """Tune methods for every data set, in a folder of `out`; those that fail are runs with a reason."""
    training = {dataset.name: training_set(dataset) for dataset in datasets}
    courses = list({one.name: one for one in training.values()}.values())
    place = out / TRAINING
    make_folder(out)
    runs = run_programs(
        place,
        courses,
        [_tuner(method, budget, lam) for method in methods],
        seed=seed + _OTHER_SEED,
        time_limit=time_limit,
        workers=workers,
        progress=progress,
    )
    reasons = {(run.dataset, run.program): run.reason for run in runs}
    trained, failed = [], []
    for dataset in datasets:
        course = training[dataset.name].name
        for method in methods:
            reason = reasons[course, method]
            if reason is not None:
                failed.append(Run(dataset.name, tuned_name(method), 0.0, f"could not be tuned: {reason}"))
                continue
            settings = _chosen(place / course / "results" / f"{method}.csv", method)
            words = [word for name, value in settings.items() for word in ("--set", f"{name}={value:g}")]
            program = Program(tuned_name(method), (*LOCALIZE, method, *words))
            kept = settings == usual(METHODS[method].settings)
            trained.append(Trained(dataset.name, program, settings, kept))
    return trained, failed


def _tuner(method: str, budget: int, lam: float) -> Program:
    command = (*OURS, "tune", "{data}", "--out", "{out}", "--method", method)
    return Program(method, (*command, "--budget", str(budget), "--lam", f"{lam:g}"))


def _chosen(path: Path, method: str) -> dict[str, float]:
    """The chosen settings from the file of what was tried."""
    with open_ordinary(path) as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        row = next(row for row in rows if row["chosen"] == "1")
    return {name: float(row[name]) for name in METHODS[method].settings}


def tuned_and_usual(entries: Sequence[Entry]) -> list[tuple[str, str, float, float]]:
    """Data set, method, and the Flat Metric in nm tuned and by its defaults, for all that have both.

    Examples
    --------
    >>> tuned_and_usual([])
    []
    """
    values = {(entry.dataset, entry.program): entry.metrics["flat_metric"] for entry in entries}
    rows = []
    for (dataset, program), value in values.items():
        usual = values.get((dataset, program.removesuffix(TUNED)))
        if program.endswith(TUNED) and value is not None and usual is not None:
            rows.append((dataset, program.removesuffix(TUNED), value, usual))
    return rows
