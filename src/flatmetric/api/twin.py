"""`twin`: which program, with which settings, for a movie without a known truth."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._files import check_writable, content_hash, json_text, make_folder, write_text
from flatmetric.api.inputs import table_from
from flatmetric.api.simulate import CameraOptions
from flatmetric.api.types import Source
from flatmetric.challenges.submissions import TUNED
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Workers
from flatmetric.options.base import REQUIRED, group, option, path_of, takes
from flatmetric.options.execution import Execution
from flatmetric.options.reading import ReadOptions
from flatmetric.options.scoring import MetricOptions, plain

if TYPE_CHECKING:
    from flatmetric.challenges.runner import Program, Run
    from flatmetric.localizations import Localizations
    from flatmetric.localizers.registry import StackCamera
    from flatmetric.scoring.score import Score
    from flatmetric.simulation.datasets import Dataset
    from flatmetric.simulation.optics import Measured
    from flatmetric.stacks import Stack
    from flatmetric.twins.estimates import MovieEstimates
    from flatmetric.twins.likeness import Resemblance
    from flatmetric.twins.own_result import OwnResult
    from flatmetric.twins.ranking import Choice, Contender, Weakness
    from flatmetric.twins.seen import Seen

_TWINS, _MOVIE, _PAGE, _NUMBERS, _FOUND = "twins", "movie", "twin.html", "twin.json", "localizations.csv"
_MEASURED = "measured.npz"
_KINDS = {"emccd": True, "cmos": False}


@dataclass(frozen=True, kw_only=True)
class TwinOptions:
    """The options of `twin`."""

    out: str | os.PathLike[str] = option(REQUIRED, "Folder for everything.", metavar="DIR")
    result: Source | None = option(
        None, "Localizations of the movie that you have: what to expect of them.", metavar="FILE"
    )
    participants: Sequence[str] = option(
        (), "Try only this localizer; may be repeated. Default: all installed.", metavar="NAME", flag="participant"
    )
    programs: Sequence[str] = option(
        (),
        "A program of your own that reads {stack} and writes {out}; may be repeated.",
        metavar="NAME=COMMAND",
        flag="program",
    )
    twins: int = option(
        4, "Simulated movies on which programs are compared; more give narrower intervals.", metavar="N"
    )
    tune: int = option(20, "Settings that are tried for each localizer; 0: defaults only.", metavar="N")
    time_limit: float = option(3600.0, "Time limit of each run, s.", metavar="S")
    seed: int = option(0, "Seed; the same seed gives the same twins.", metavar="N")
    kind: str | None = option(
        None,
        "emccd or cmos (also CCD); default: by the noise, if offset and photons per count are given.",
        section="Camera",
        metavar="NAME",
        flag="camera",
    )
    camera: CameraOptions = group(CameraOptions)
    beads: str | os.PathLike[str] | None = option(
        None, "Bead stack (TIFF) of the same optics: in 3D, by astigmatism.", section="Camera", metavar="FILE"
    )
    bead_step: float | None = option(
        None, "Distance of the planes of the bead stack, nm.", section="Camera", metavar="NM"
    )
    metrics: MetricOptions = group(MetricOptions, only=("lam",))
    execution: Execution = group(Execution, only=("jobs",))


@dataclass(frozen=True, slots=True, eq=False)
class Twin:
    """What is known of a movie, how alike its twins are, and which program is best on them; lengths in nm.

    `verdict` is "alike", "doubtful" or "unlike"; if it is "unlike", `choice` is None, as what is best on the twins says
    nothing about the movie. `doubts` are warnings about the movie itself, `weak` is where the best program loses most
    on the twins, `own` what to expect of the result that was given, and `files` are what was written.
    """

    estimates: MovieEstimates
    doubts: tuple[str, ...]
    likeness: tuple[Resemblance, ...]
    verdict: str
    choice: Choice | None
    weak: tuple[Weakness, ...]
    own: OwnResult | None
    failures: Mapping[str, str]
    files: tuple[Path, ...]

    def sentences(self) -> list[str]:
        """The answer, and whether the twins can be trusted."""
        from flatmetric.twins.likeness import unlike_sentence

        said = [] if self.choice is None else self.choice.sentences()
        own = [] if self.own is None else [self.own.sentence()]
        return [*said, *own, unlike_sentence(self.likeness)]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


@takes(TwinOptions)
def twin(
    movie: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    options: TwinOptions,
) -> Twin:
    """Which program, with which settings, is best for a movie, and what to expect of it, without a known truth.

    Measures the movie (camera, spots, background, molecules), simulates movies with known truth that are like it, tunes
    and ranks programs on them, and runs the best on the movie. What was done before in the same folder is not done
    again.

    Parameters
    ----------
    movie
        An image stack: TIFF, .nd2 or .czi.
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Runs the programs instead of `jobs` of this machine; its workers see the folder.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.simulate(dataset="MT4.N2.HD", out=tempfile.mkdtemp(), frames=20)
    >>> found = fm.twin(made.stack, out=tempfile.mkdtemp(), participants=["dog"], twins=1, tune=0)
    >>> found.choice.best.program, found.files[-1].name
    ('dog', 'localizations.csv')
    """
    from flatmetric.challenges.runner import Program, taking_part
    from flatmetric.localizers.registry import METHODS, camera_of, missing_of_camera
    from flatmetric.reports.twin_page import twin_page
    from flatmetric.simulation.folder import STACK
    from flatmetric.simulation.optics import Gaussian
    from flatmetric.stacks import open_stack
    from flatmetric.twins.doubts import doubts_about
    from flatmetric.twins.likeness import likeness, statistics_of, verdict
    from flatmetric.twins.own_result import TOO_FEW
    from flatmetric.twins.ranking import choice, weaknesses
    from flatmetric.twins.seen import seen_in

    out, path = path_of(options.out, "out"), path_of(movie, "movie")
    _check(options)
    stack = open_stack(path)
    camera = camera_of(stack, **plain(options.camera))
    if not camera.in_photons:
        needed = missing_of_camera(options.camera.offset, options.camera.photons_per_count)
        raise InputError(f"{path}: a twin needs photons, and the noise doesn't show those of the camera; give {needed}")
    beads = _beads(options, stack, camera)
    methods = taking_part(options.participants, [Gaussian() if beads is None else beads])
    if not options.participants:  # of a movie the spot is not known
        methods = [method for method in methods if METHODS[method].shape != "known"]
    own = [Program.parse(text) for text in options.programs]
    mine = None if options.result is None else table_from(options.result, "result", ReadOptions())
    doubts = doubts_about(stack, camera)
    make_folder(out)
    for name in (_PAGE, _NUMBERS, _FOUND):
        check_writable(out / name)
    workers = Workers(options.execution.jobs, executor)
    near = workers.of_kind("processes")  # what runs here in Python; programs have processes of their own
    known, seen = _measured(stack, camera, beads, options, out, near, progress)
    folder = out / _TWINS
    make_folder(folder)
    twins = _twins(known, folder, options)
    settings, runs = _run(known.dataset("twin", folder), twins, methods, own, options, folder, workers, progress)
    shape = _shape(beads, camera)
    looks = [seen_in(open_stack(folder / dataset.name / STACK), camera, shape, near) for dataset in twins]
    rows = likeness(statistics_of(seen), [statistics_of(look) for look in looks])
    judged = verdict(rows)
    dim = 2 if beads is None else 3
    candidates, scores, failures = _candidates(folder, twins, runs, settings, options.metrics.lam, dim)
    chosen = choice(candidates) if candidates and judged != "unlike" else None
    files, found, expected, weak = [out / _PAGE, out / _NUMBERS], None, None, []
    if chosen is not None:
        found = _winner(chosen.best, own, stack, camera, beads, options, out, near, progress)
        files.append(out / _FOUND)
        best = [_result(folder / one.name, chosen.best.program) for one in twins]
        weak = weaknesses(scores[chosen.best.program])
        if mine is not None:
            expected = _expected(mine, found, chosen, best, folder, twins, options.metrics.lam, dim)
            if expected is None:
                doubts.append(TOO_FEW)
    else:
        (out / _FOUND).unlink(missing_ok=True)  # of an earlier run
    made = Twin(known, tuple(doubts), tuple(rows), judged, chosen, tuple(weak), expected, failures, tuple(files))
    write_text(json_text(_numbers(made, path)), out / _NUMBERS)
    write_text(twin_page(path.name, made, seen, looks[0], found), out / _PAGE)
    return made


def _check(options: TwinOptions) -> None:
    if options.kind is not None and options.kind not in _KINDS:
        raise InputError(f"kind is {options.kind!r}; give {' or '.join(_KINDS)}")
    for name, least, most in (("twins", 1, 100), ("tune", 0, 10_000)):
        if not least <= getattr(options, name) <= most:
            raise InputError(f"{name} is {getattr(options, name)}; give a whole number from {least} to {most}")
    if options.seed < 0:
        raise InputError(f"seed is {options.seed}; give a whole number from 0")
    if (options.beads is None) != (options.bead_step is None):
        raise InputError("beads and bead_step belong together; give beads= and bead_step=")


def _beads(options: TwinOptions, stack: Stack, camera: StackCamera) -> Measured | None:
    """The beads that were given; those that don't look like the movie's spots are an error."""
    from flatmetric.localizers.bead_check import check_beads
    from flatmetric.localizers.registry import shape_from_beads
    from flatmetric.simulation.optics import Measured

    if options.beads is None or options.bead_step is None:
        return None
    path = path_of(options.beads, "beads")
    check_beads(stack, shape_from_beads(path, options.bead_step, camera.pixel_size), camera.offset, path)
    return Measured(str(path.resolve()), options.bead_step)


def _shape(beads: Measured | None, camera: StackCamera) -> Any:
    from flatmetric.localizers.registry import shape_from_beads

    return None if beads is None else shape_from_beads(Path(beads.file), beads.z_step, camera.pixel_size)


def _measured(
    stack: Stack,
    camera: StackCamera,
    beads: Measured | None,
    options: TwinOptions,
    out: Path,
    workers: Workers,
    progress: Progress | None,
) -> tuple[MovieEstimates, Seen]:
    """The estimates of a movie, from an earlier run of the same movie and options if there was one."""
    from flatmetric.twins.estimates import estimated
    from flatmetric.twins.memory import keep, recalled
    from flatmetric.version import __version__

    about = [__version__, content_hash(stack.path), repr(camera), options.kind, options.seed, repr(beads)]
    about += [] if beads is None else [content_hash(Path(beads.file))]
    key = hashlib.sha256(repr(about).encode()).hexdigest()
    before = recalled(out / _MEASURED, key, stack, camera)
    if before is not None:
        return before
    multiplies = None if options.kind is None else _KINDS[options.kind]
    made = estimated(stack, camera, multiplies, beads=beads, seed=options.seed, workers=workers, progress=progress)
    keep(out / _MEASURED, key, *made)
    return made


def _twins(known: MovieEstimates, folder: Path, options: TwinOptions) -> list[Dataset]:
    """Data sets that the movie may be: each with parameters drawn from their errors."""
    return [
        known.drawn(np.random.default_rng([options.seed, number])).dataset(f"twin-{number}", folder)
        for number in range(1, options.twins + 1)
    ]


def _run(
    course: Dataset,
    twins: list[Dataset],
    methods: list[str],
    own: list[Program],
    options: TwinOptions,
    folder: Path,
    workers: Workers,
    progress: Progress | None,
) -> tuple[dict[str, tuple[str, Mapping[str, float]]], list[Run]]:
    """Tune the methods on a twin of their own, and run all on the others; the method and what tuning changed of its
    settings, by program.
    """
    from flatmetric.challenges.runner import localizer_programs, run_programs
    from flatmetric.challenges.training import train
    from flatmetric.localizers.base import usual
    from flatmetric.localizers.registry import METHODS

    limit = options.time_limit
    programs = localizer_programs(methods)
    settings: dict[str, tuple[str, Mapping[str, float]]] = {method: (method, {}) for method in methods}
    failed: list[Run] = []
    if options.tune:
        trained, failed = train(
            folder,
            [course],
            methods,
            options.tune,
            lam=options.metrics.lam,
            time_limit=limit,
            seed=options.seed,
            workers=workers,
            progress=progress,
        )
        for one in trained:
            if not one.kept:
                method = one.program.name.removesuffix(TUNED)
                before = usual(METHODS[method].settings)
                changed = {name: value for name, value in one.settings.items() if value != before[name]}
                settings[one.program.name] = (method, changed)
                programs.append(one.program)
    runs = run_programs(
        folder, twins, [*programs, *own], time_limit=limit, seed=options.seed, workers=workers, progress=progress
    )
    return settings, runs + failed


def _result(folder: Path, program: str) -> Path:
    return folder / "results" / f"{program}.csv"


def _candidates(
    folder: Path,
    twins: list[Dataset],
    runs: list[Run],
    settings: Mapping[str, tuple[str, Mapping[str, float]]],
    lam: float,
    dim: int,
) -> tuple[list[Contender], dict[str, list[Score]], dict[str, str]]:
    """What programs reached on the twins, their scores there by program, and why some reached nothing."""
    from flatmetric.api.score import score
    from flatmetric.simulation.folder import TRUTH
    from flatmetric.twins.ranking import Contender

    failures = {run.program: run.reason for run in runs if run.reason is not None}
    candidates, scored = [], {}
    for program in dict.fromkeys(run.program for run in runs):
        if program in failures:
            continue
        try:
            scores = [
                score(place / TRUTH, _result(place, program), lam=lam, dim=dim, check=False)
                for place in (folder / one.name for one in twins)
            ]
        except InputError as error:
            failures[program] = f"its result can't be scored: {error}"
            continue
        method, changed = settings.get(program, (None, None))
        recall, precision = (
            float(np.mean([getattr(one.challenge, name) or 0.0 for one in scores])) for name in ("recall", "precision")
        )
        values = tuple(lam if one.value is None else float(one.value) for one in scores)
        candidates.append(Contender(program, method, changed, values, recall, precision))
        scored[program] = scores
    return candidates, scored, failures


def _winner(
    best: Contender,
    own: Sequence[Program],
    stack: Stack,
    camera: StackCamera,
    beads: Measured | None,
    options: TwinOptions,
    out: Path,
    workers: Workers,
    progress: Progress | None,
) -> Localizations:
    """Run the best program on the movie, and write what it finds."""
    from flatmetric.challenges.runner import run_on_movie
    from flatmetric.formats.read import read_file
    from flatmetric.formats.write import write
    from flatmetric.localizers.registry import localize_stack, participant

    if best.method is not None:
        chosen = participant(best.method, best.settings)
        found = localize_stack(stack, chosen, camera, progress=progress, shape=_shape(beads, camera), workers=workers)
    else:
        program = next(one for one in own if one.name == best.program)
        run, result = run_on_movie(stack.path.resolve(), program, out / _MOVIE, options.time_limit)
        if run.reason is not None:
            raise InputError(f"{best.program} is best on the twins, but fails on {stack.path}: {run.reason}")
        found = read_file(result, ReadOptions())
    write(found, out / _FOUND, "thunderstorm")
    return found


def _expected(
    mine: Localizations,
    found: Localizations,
    chosen: Choice,
    best: Sequence[Path],
    folder: Path,
    twins: Sequence[Dataset],
    lam: float,
    dim: int,
) -> OwnResult | None:
    """What to expect of the user's own result, by its distance from that of the best program."""
    from flatmetric.api.score import score
    from flatmetric.twins.own_result import own_result

    def apart(one: Source, other: Source) -> float:
        value = score(one, other, lam=lam, dim=dim, check=False).value
        return lam if value is None else float(value)

    others = chosen.candidates[1:]
    distances = {
        one.program: [apart(at, _result(folder / twin.name, one.program)) for at, twin in zip(best, twins, strict=True)]
        for one in others
    }
    return own_result(apart(found, mine), chosen.best, others, distances)


def _numbers(made: Twin, movie: Path) -> dict[str, Any]:
    """What `twin.json` holds."""
    from flatmetric.version import __version__

    chosen = made.choice
    candidates = [] if chosen is None else chosen.candidates
    return {
        "version": __version__,
        "movie": movie.name,
        "answer": made.sentences(),
        "doubts": list(made.doubts),
        "verdict": made.verdict,
        "estimates": made.estimates.to_dict(),
        "likeness": [dataclasses.asdict(row) for row in made.likeness],
        "programs": [
            dataclasses.asdict(one) | {"expected_nm": one.expected, "interval_nm": one.interval} for one in candidates
        ],
        "behind": [] if chosen is None else [dataclasses.asdict(one) for one in chosen.behind],
        "weak": [dataclasses.asdict(one) for one in made.weak],
        "own_result": None if made.own is None else dataclasses.asdict(made.own),
        "failures": dict(made.failures),
    }
