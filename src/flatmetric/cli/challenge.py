"""`flatmetric challenge run`: simulate, run all programs, score, rank and draw; or score what is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from flatmetric._files import make_folder, write_text
from flatmetric._work import Workers
from flatmetric.api.options import REQUIRED, Checked, Jobs, Option, Scoring
from flatmetric.cli.options import command
from flatmetric.cli.output import check_outputs, this_command
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import aligned, as_flags
from flatmetric.cli.work import Cluster, cluster
from flatmetric.errors import InputError

if TYPE_CHECKING:
    from flatmetric.challenge.runner import Run
    from flatmetric.challenge.training import Trained
    from flatmetric.paper.agreement import Advantage, Agreement
    from flatmetric.simulation.datasets import Dataset
    from flatmetric.simulation.pupil import Pupil

_PAGE, _RUNS, _BOARD, _WOBBLE = "challenge.html", "runs.csv", "leaderboard", "wobble.csv"

challenge = click.Group(
    "challenge",
    help="A challenge in a box: simulate, localize, rank. See flatmetric challenge run -h.",
    no_args_is_help=True,
)


class ChallengeFlags(Scoring, Checked, Jobs, Cluster, total=False):
    """The options of `challenge run`."""

    out: Annotated[Path, Option("Folder for everything.", REQUIRED, metavar="DIR")]
    frames: Annotated[int | None, Option("Frames of each data set; default as in 2016.", metavar="N")]
    modality: Annotated[
        str | None,
        Option(
            "2D, or in 3D: AS (astigmatism), DH (double helix), BP (two planes); default that of the data sets.",
            metavar="NAME",
        ),
    ]
    datasets: Annotated[
        tuple[str, ...],
        Option(
            "MT1.N1.LD, ER2.N3.HD, ... or a TOML file; may be repeated. Default: the paper's four.",
            (),
            metavar="NAME",
            flag="dataset",
        ),
    ]
    participants: Annotated[
        tuple[str, ...],
        Option(
            "Run only this localizer; may be repeated. Default: all installed.", (), metavar="NAME", flag="participant"
        ),
    ]
    programs: Annotated[
        tuple[str, ...],
        Option(
            "A program of your own that reads {stack} and writes {out}; may be repeated.",
            (),
            metavar="NAME=COMMAND",
            flag="program",
        ),
    ]
    recipes: Annotated[
        Path | None,
        Option("TOML file of more programs: for each its command, and how its output is read.", metavar="FILE"),
    ]
    existing: Annotated[
        Path | None, Option("Score this folder of truths and submissions; run nothing.", metavar="FOLDER", flag="from")
    ]
    tune: Annotated[
        int,
        Option(
            "Settings that are tried for each localizer on a training set like each data set; 0: defaults only.",
            20,
            metavar="N",
        ),
    ]
    replicates: Annotated[
        int, Option("Structures of each data set; 3 or more give intervals for structures not seen.", 1, metavar="N")
    ]
    time_limit: Annotated[float, Option("Time limit of each run, s.", 3600.0, metavar="S")]
    seed: Annotated[int, Option("Seed; the same seed gives the same data sets.", 0, metavar="N")]
    replace: Annotated[bool, Option("Replace a leaderboard that was made with other settings.", False)]


@command(protocol="challenge2016")
def run(options: ChallengeFlags) -> None:
    """A challenge in a box: which program is best on data sets like those of 2016, and how the metrics agree.

    flatmetric challenge run --dataset MT4.N2.HD --frames 10 --participant dog --tune 3 --out mine
    flatmetric challenge run --dataset MT4.N2.HD --modality AS --frames 10 --participant baseline --tune 0 --out mine3d
    flatmetric challenge run --from challenge --out mine

    It simulates the data sets, runs all programs, scores and ranks them, and draws the paper's Figures 1c and 4. The
    localizers of the package take part with their defaults and tuned on training sets that are not scored.
    """
    make_folder(options["out"])
    folders = [options["out"], *([] if options["existing"] is None else [options["existing"]])]
    with cluster(options["scheduler"], folders) as executor:
        _challenge(options, executor)


challenge.add_command(run)


def _challenge(options: ChallengeFlags, executor: Executor | None) -> None:
    from flatmetric.api.leaderboard import board_options
    from flatmetric.challenge.leaderboard import write_leaderboard
    from flatmetric.challenge.runner import runs_csv
    from flatmetric.challenge.submissions import Found, find_submissions
    from flatmetric.challenge.training import TRAINING, tuned_and_usual
    from flatmetric.challenge_report import background
    from flatmetric.page_folder import DATASETS, PROGRAMS, write_pages
    from flatmetric.paper.agreement import AGREEMENT, FIGURES, verdict, write_agreement
    from flatmetric.simulation.datasets import pupil_of

    pupil = pupil_of(options["modality"] or "2D")
    settings = board_options({**options, **_rules(options, pupil), "seed": 0}, executor)
    figures = [f"{stem}.{suffix}" for stem in FIGURES for suffix in ("png", "pdf")]
    check_outputs([options["out"] / name for name in (*figures, _PAGE, AGREEMENT, _RUNS)], [])
    runs: list[Run] = []
    trained: list[Trained] = []
    if options["existing"] is not None:
        own = (options[name] for name in ("participants", "programs", "recipes", "datasets", "frames", "modality"))
        if any(own) or options["replicates"] != 1:
            raise InputError(
                "--from scores what is there; give it without "
                "--participant, --program, --recipes, --dataset, --frames, --modality, --replicates"
            )
        found = find_submissions(options["existing"])
    else:
        outputs = {_BOARD, _PAGE, PROGRAMS, DATASETS, AGREEMENT, _RUNS, TRAINING, *figures}
        runs, trained = _run(options, outputs, executor)
        ours = {(r.dataset, r.program) for r in runs if r.reason is None}
        found = Found((), {})
        if ours:
            there = find_submissions(options["out"])
            names = {run.dataset for run in runs}
            ignored = {path: why for path, why in there.ignored.items() if path.split("/")[0] in names}
            found = Found(tuple(s for s in there.submissions if (s.dataset, s.program) in ours), ignored)
        write_text(runs_csv(runs), options["out"] / _RUNS)
    missing = {(r.dataset, r.program): r.reason for r in runs if r.reason is not None}
    with progress_bar() as progress:
        scored = write_leaderboard(found, options["out"] / _BOARD, settings, missing, progress, options["replace"])
    print(as_flags(scored.to_markdown()) + "\n")
    written = [_PAGE, PROGRAMS, DATASETS, _BOARD] + ([_RUNS] if runs else [])
    conclusions = []
    if scored.entries:
        measured, ahead = write_agreement(scored.entries, options["out"])
        conclusions = [verdict(ahead)]
        brought = tuned_and_usual(scored.entries)
        if brought:
            print(_tuned_text(brought) + "\n")
        print(_agreement_text(measured, ahead))
        print(verdict(ahead) + "\n")
        written += [AGREEMENT, *figures]
    else:
        for name in (AGREEMENT, *figures):
            (options["out"] / name).unlink(missing_ok=True)  # of an earlier run
        print("no result was scored, so there is nothing to draw")
    more = background(options["existing"] or options["out"], runs, conclusions, options["out"], trained, scored.entries)
    write_pages(scored, options["out"], this_command(), as_flags, more, _PAGE)
    print(f"written: {', '.join(str(options['out'] / name) for name in written)}")


def _rules(options: ChallengeFlags, pupil: Pupil) -> dict[str, Any]:
    """The dimension, and where spots move sideways with depth, the table of that: as given, or by the modality."""
    from flatmetric.simulation.pupil import wobble_csv

    rules: dict[str, Any] = {"dim": options["dim"] or (2 if pupil.is_round else 3)}
    if options["wobble"] is None and (pupil.wobble_x or pupil.wobble_y):
        rules["wobble"] = options["out"] / _WOBBLE
        write_text(wobble_csv(pupil), rules["wobble"])
    return rules


def _run(options: ChallengeFlags, taken: set[str], executor: Executor | None) -> tuple[list[Run], list[Trained]]:
    from flatmetric.challenge.recipes import read_recipes
    from flatmetric.challenge.runner import (
        Program,
        absent_packages,
        check_names,
        localizer_programs,
        run_programs,
        taking_part,
    )
    from flatmetric.challenge.submissions import tuned_name
    from flatmetric.challenge.training import train

    datasets = _datasets(options, taken)
    methods = taking_part(options["participants"], [dataset.optics for dataset in datasets])
    programs = localizer_programs(methods) + [Program.parse(text) for text in options["programs"]]
    if options["recipes"] is not None:
        programs += read_recipes(options["recipes"])
    if options["tune"] < 0:
        raise InputError(f"tune is {options['tune']}; give a whole number from 0")
    check_names([*(one.name for one in programs), *map(tuned_name, methods)])
    absent = absent_packages()
    if absent and not options["participants"]:
        print(f"not installed, so not taking part: {', '.join(absent)}", file=sys.stderr)
    trained: list[Trained] = []
    failed: list[Run] = []
    workers = Workers(options["jobs"], executor)
    common: dict[str, Any] = {"seed": options["seed"], "time_limit": options["time_limit"], "workers": workers}
    with progress_bar() as progress:
        if options["tune"]:
            trained, failed = train(
                options["out"], datasets, methods, options["tune"], lam=options["lam"], progress=progress, **common
            )
        of_dataset = {
            dataset.name: [one.program for one in trained if one.dataset == dataset.name] for dataset in datasets
        }
        runs = run_programs(options["out"], datasets, programs, of_dataset=of_dataset, progress=progress, **common)
    return runs + failed, trained


def _datasets(options: ChallengeFlags, taken: set[str]) -> list[Dataset]:
    """The data sets; none may have the name of another or of an output."""
    from flatmetric.simulation.datasets import PAPER, named

    datasets = [named(name) for name in options["datasets"] or PAPER]
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise InputError("two data sets have the same name; name each once")
    for name in taken.intersection(names):
        raise InputError(f"a data set is called {name}, which is the name of an output; rename it")
    if options["frames"] is not None:
        datasets = [dataset.with_frames(options["frames"]) for dataset in datasets]
    if options["modality"] is not None:
        datasets = [dataset.with_modality(options["modality"]) for dataset in datasets]
    return [one for dataset in datasets for one in dataset.replicates(options["replicates"])]


def _tuned_text(brought: Sequence[tuple[str, str, float, float]]) -> str:
    """What tuning brought, as a table."""
    rows = [[dataset, method, f"{tuned:.1f}", f"{usual:.1f}"] for dataset, method, tuned, usual in brought]
    return "\n".join(["Flat Metric, nm", *aligned([["data set", "method", "tuned", "defaults only"], *rows], "<")])


def _agreement_text(measured: Sequence[Agreement], ahead: Sequence[Advantage]) -> str:
    """How metrics correlate with efficiency, as a table."""
    rows = [["data set", "metric", "programs", "Spearman", "95 %", "Pearson", "95 %"]]
    for one in measured:
        if one.spearman is not None:
            spearman = _with_interval(one.spearman, one.spearman_interval)
            pearson = _with_interval(one.pearson, one.pearson_interval)
            rows.append([one.dataset, one.metric, str(one.participants), *spearman, *pearson])
    if len(rows) == 1:
        return "too few programs to correlate metrics with efficiency"
    lines = ["correlation with efficiency", *aligned(rows, "<")]
    for lead in ahead:
        if lead.difference is not None:
            value, interval = _with_interval(lead.difference, lead.interval)
            lines.append(f"{lead.dataset}: lead of the Flat Metric over RMSMD in rank correlation {value} ({interval})")
    return "\n".join(lines)


def _with_interval(value: float | None, interval: tuple[float, float] | None) -> tuple[str, str]:
    return (
        "-" if value is None else f"{value:.2f}",
        "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
    )
