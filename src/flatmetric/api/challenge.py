"""`challenge`: simulate data sets, run programs on them, score and rank the results, and draw the paper's figures."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING

from flatmetric._dataclass import dataclass
from flatmetric._display import wording
from flatmetric._files import check_writable, make_folder, write_text
from flatmetric.challenges.leaderboard import Leaderboard, write_leaderboard
from flatmetric.challenges.submissions import Submissions, find_submissions, tuned_name
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Workers
from flatmetric.options.base import REQUIRED, group, option, path_of, takes
from flatmetric.options.certainty import Certainty
from flatmetric.options.execution import Execution
from flatmetric.options.figures import FigureStyle
from flatmetric.options.ranking import RankOptions
from flatmetric.options.reading import ReadOptions
from flatmetric.options.rules import Protocol

if TYPE_CHECKING:
    from flatmetric.challenges.runner import Run
    from flatmetric.challenges.training import Trained
    from flatmetric.paper.agreement import Advantage, Agreement
    from flatmetric.simulation.datasets import Dataset
    from flatmetric.simulation.pupil import Pupil

_PAGE, _RUNS, _BOARD, _WOBBLE = "challenge.html", "runs.csv", "leaderboard", "wobble.csv"


@dataclass(frozen=True, kw_only=True)
class ChallengeOptions(RankOptions):
    """The options of `challenge`."""

    out: str | os.PathLike[str] = option(REQUIRED, "Folder for everything.", metavar="DIR")
    datasets: Sequence[str] = option(
        (),
        "MT1.N1.LD, ER2.N3.HD, ... or a TOML file; may be repeated. Default: the paper's four.",
        metavar="NAME",
        flag="dataset",
    )
    frames: int | None = option(None, "Frames of each data set; default: as in 2016.", metavar="N")
    modality: str | None = option(
        None,
        "2D, or in 3D: AS (astigmatism), DH (double helix), BP (two planes); default: that of the data sets.",
        metavar="NAME",
    )
    replicates: int = option(
        1, "Structures of each data set; 3 or more give intervals for other structures of the same kind.", metavar="N"
    )
    participants: Sequence[str] = option(
        (), "Run only this localizer; may be repeated. Default: all installed.", metavar="NAME", flag="participant"
    )
    programs: Sequence[str] = option(
        (),
        "A program of your own that reads {stack} and writes {out}; may be repeated.",
        metavar="NAME=COMMAND",
        flag="program",
    )
    recipes: str | os.PathLike[str] | None = option(
        None, "TOML file of more programs: for each its command, and how its output is read.", metavar="FILE"
    )
    existing: str | os.PathLike[str] | None = option(
        None, "Score this folder of truths and submissions; run nothing.", metavar="FOLDER", flag="from"
    )
    tune: int = option(
        20,
        "Settings that are tried for each localizer on a training set like each data set; 0: defaults only.",
        metavar="N",
    )
    time_limit: float = option(3600.0, "Time limit of each run, s.", metavar="S")
    seed: int = option(0, "Seed; the same seed gives the same data sets.", metavar="N")
    figures: FigureStyle = group(FigureStyle)
    rules: Protocol = group(Protocol, protocol="challenge2016")
    certainty: Certainty = group(Certainty, only=())
    pred: ReadOptions = group(ReadOptions, only=())
    truth: ReadOptions = group(ReadOptions, only=())
    execution: Execution = group(Execution, only=("jobs",))


@dataclass(frozen=True, slots=True, eq=False)
class Challenge:
    """The outcome of a challenge: leaderboard, every run, the settings that tuning chose, and how metrics correlate
    with efficiency. `verdict` states whether the paper's claim holds; `not_installed` are packages of localizers that
    did not take part; `files` are what was written.
    """

    leaderboard: Leaderboard
    runs: tuple[Run, ...]
    trained: tuple[Trained, ...]
    agreements: tuple[Agreement, ...]
    advantages: tuple[Advantage, ...]
    verdict: str | None
    not_installed: tuple[str, ...]
    files: tuple[Path, ...]

    @property
    def tuned(self) -> list[tuple[str, str, float, float]]:
        """Data set, method, and its Flat Metric tuned and with its defaults, nm."""
        from flatmetric.challenges.training import tuned_and_usual

        return tuned_and_usual(self.leaderboard.entries)

    @property
    def kept(self) -> list[str]:
        """Methods whose defaults were the best that tuning found on every data set; they are listed once."""
        from flatmetric.challenges.training import same_as_defaults

        return same_as_defaults(self.trained)


@takes(ChallengeOptions)
def challenge(
    *, progress: Progress | None = None, executor: Executor | None = None, options: ChallengeOptions
) -> Challenge:
    """Find out which program is best on data sets like those of 2016, and how the metrics agree.

    Simulates the data sets, runs all programs, scores and ranks them, and draws the paper's Figures 1c and 4. The
    localizers of the package take part with their defaults, and tuned on training sets that are not scored. What was
    done before in the same folder is not done again.

    Parameters
    ----------
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Does the work instead of `jobs` of this machine; its workers must see the folder.

    Examples
    --------
    >>> import tempfile
    >>> import flatmetric as fm
    >>> made = fm.challenge(out=tempfile.mkdtemp(), datasets=["MT4.N2.HD"], frames=2, participants=["baseline"], tune=0)
    >>> [standing.program for standing in made.leaderboard.ranking.overall]
    ['baseline']
    """
    from flatmetric.challenges.runner import absent_packages, runs_csv
    from flatmetric.challenges.training import TRAINING
    from flatmetric.paper.agreement import AGREEMENT, FIGURES, verdict, write_agreement
    from flatmetric.reports.challenge_page import background
    from flatmetric.reports.page_folder import DATASETS, PROGRAMS, write_pages
    from flatmetric.simulation.datasets import pupil_of

    out, pupil = path_of(options.out, "out"), pupil_of(options.modality or "2D")
    make_folder(out)
    figures = [f"{stem}.{suffix}" for stem in FIGURES for suffix in ("png", "pdf")]
    for name in (*figures, _PAGE, AGREEMENT, _RUNS):
        check_writable(out / name)
    options = dataclasses.replace(options, rules=_rules(options.rules, pupil, out))
    runs: list[Run] = []
    trained: list[Trained] = []
    if options.existing is not None:
        _check_nothing_to_run(options)
        submissions = find_submissions(path_of(options.existing, "existing"))
    else:
        outputs = {_BOARD, _PAGE, PROGRAMS, DATASETS, AGREEMENT, _RUNS, TRAINING, *figures}
        runs, trained = _run(options, out, outputs, executor, progress)
        submissions = _submissions_of(runs, out)
        write_text(runs_csv(runs), out / _RUNS)
    missing = {(run.dataset, run.program): run.reason for run in runs if run.reason is not None}
    board = write_leaderboard(submissions, out / _BOARD, options, missing=missing, executor=executor, progress=progress)
    written = [_PAGE, PROGRAMS, DATASETS, _BOARD] + ([_RUNS] if runs else [])
    measured: list[Agreement] = []
    ahead: list[Advantage] = []
    if board.entries:
        measured, ahead = write_agreement(board.entries, out, as_printed=options.figures.as_printed)
        written += [AGREEMENT, *figures]
    else:
        for name in (AGREEMENT, *figures):
            (out / name).unlink(missing_ok=True)  # of an earlier run
    concluded = verdict(ahead) if board.entries else None
    conclusions = [] if concluded is None else [concluded]
    more = background(Path(options.existing or out), runs, conclusions, out, trained, board.entries)
    write_pages(board, out, wording().command or f"fm.challenge(out={out.name!r}, ...)", more, _PAGE)
    absent = absent_packages() if options.existing is None and not options.participants else []
    return Challenge(
        board,
        tuple(runs),
        tuple(trained),
        tuple(measured),
        tuple(ahead),
        concluded,
        tuple(absent),
        tuple(out / name for name in written),
    )


def _rules(rules: Protocol, pupil: Pupil, out: Path) -> Protocol:
    """The rules with the dimension of the modality and, where spots move sideways with depth, the table of that; unless
    they are given.
    """
    from flatmetric.options.rules import read_wobble
    from flatmetric.simulation.pupil import wobble_csv

    rules = rules.changed(dim=rules.dim or (2 if pupil.is_round else 3))
    if rules.wobble is None and (pupil.wobble_x or pupil.wobble_y):
        write_text(wobble_csv(pupil), out / _WOBBLE)
        rules = rules.changed(wobble=read_wobble(out / _WOBBLE))
    return rules


def _check_nothing_to_run(options: ChallengeOptions) -> None:
    names = ("participants", "programs", "recipes", "datasets", "frames", "modality")
    if any(getattr(options, name) for name in names) or options.replicates != 1:
        raise InputError(
            "existing= scores what is there; leave out participants=, programs=, recipes=, datasets=, frames=, "
            "modality=, replicates="
        )


def _submissions_of(runs: Sequence[Run], out: Path) -> Submissions:
    """The results of these runs, without those of earlier ones."""
    ours = {(run.dataset, run.program) for run in runs if run.reason is None}
    if not ours:
        return Submissions((), {})
    there, names = find_submissions(out), {run.dataset for run in runs}
    ignored = {path: why for path, why in there.ignored.items() if path.split("/")[0] in names}
    return Submissions(tuple(one for one in there.results if (one.dataset, one.program) in ours), ignored)


def _run(
    options: ChallengeOptions, out: Path, outputs: set[str], executor: Executor | None, progress: Progress | None
) -> tuple[list[Run], list[Trained]]:
    """Simulate the data sets, tune the localizers and run all programs."""
    from flatmetric.challenges.recipes import read_recipes
    from flatmetric.challenges.runner import Program, check_names, localizer_programs, run_programs, taking_part
    from flatmetric.challenges.training import same_as_defaults, train

    datasets = _datasets(options, outputs)
    methods = taking_part(options.participants, [dataset.optics for dataset in datasets])
    programs = localizer_programs(methods) + [Program.parse(text) for text in options.programs]
    if options.recipes is not None:
        programs += read_recipes(path_of(options.recipes, "recipes"))
    if options.tune < 0:
        raise InputError(f"tune is {options.tune}; give a whole number from 0")
    check_names([*(one.name for one in programs), *map(tuned_name, methods)])
    trained: list[Trained] = []
    failed: list[Run] = []
    workers, limit = Workers(options.execution.jobs, executor), options.time_limit
    if options.tune:
        trained, failed = train(
            out,
            datasets,
            methods,
            options.tune,
            lam=options.metrics.lam,
            seed=options.seed,
            time_limit=limit,
            workers=workers,
            progress=progress,
        )
    listed = {tuned_name(method) for method in methods} - {tuned_name(method) for method in same_as_defaults(trained)}
    of_dataset = {
        dataset.name: [one.program for one in trained if one.dataset == dataset.name and one.program.name in listed]
        for dataset in datasets
    }
    runs = run_programs(
        out,
        datasets,
        programs,
        of_dataset=of_dataset,
        seed=options.seed,
        time_limit=limit,
        workers=workers,
        progress=progress,
    )
    return runs + failed, trained


def _datasets(options: ChallengeOptions, outputs: set[str]) -> list[Dataset]:
    """The data sets; none may have the name of another or of an output."""
    from flatmetric.simulation.datasets import PAPER, named

    datasets = [named(name) for name in options.datasets or PAPER]
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise InputError("two data sets have the same name; name each once")
    for name in outputs.intersection(names):
        raise InputError(f"a data set is called {name}, which is the name of an output; rename it")
    if options.frames is not None:
        datasets = [dataset.with_frames(options.frames) for dataset in datasets]
    if options.modality is not None:
        datasets = [dataset.with_modality(options.modality) for dataset in datasets]
    return [one for dataset in datasets for one in dataset.replicates(options.replicates)]
