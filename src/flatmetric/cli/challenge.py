"""`flatmetric challenge run`: simulate, run all participants, score, rank and draw; or score what is there."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from flatmetric.arguments import RESAMPLES, thread_count
from flatmetric.cli import reading, rules
from flatmetric.cli.board import Rules, find_jobs, write_board
from flatmetric.cli.columns import aligned
from flatmetric.cli.running import chosen_programs, only_one_at_a_time, run_all, runs_csv
from flatmetric.cli.writing import make_folder, refuse_outputs, this_command, write_text
from flatmetric.errors import InputError
from flatmetric.leaderboard import Entry

_PAGE, _AGREEMENT, _RUNS = "challenge.html", "agreement.csv", "runs.csv"
_FIGURES = ("fig1c.png", "fig1c.pdf", "fig4.png", "fig4.pdf")

challenge = typer.Typer(help="A challenge in a box: simulate, localize, rank.", no_args_is_help=True)


@challenge.callback()
def _challenge() -> None:
    pass


@challenge.command()
def run(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for everything.", show_default=False)],
    frames: Annotated[int | None, typer.Option("--frames", help="Frames of each data set; default as in 2016.")] = None,
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", help="As for simulate; may be repeated. Default: the paper's four.")
    ] = None,
    participant: Annotated[
        list[str] | None, typer.Option("--participant", help="Only this one; may be repeated. Default: all installed.")
    ] = None,
    program: Annotated[
        list[str] | None,
        typer.Option(
            "--program",
            metavar="NAME=COMMAND",
            help="A program of yours that reads {stack} and writes {out}; repeatable.",
        ),
    ] = None,
    existing: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Score this folder of truths and submissions; run nothing."),
    ] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each run.")] = 3600.0,
    lam: rules.LamOption = 125.0,
    protocol: rules.ProtocolOption = "challenge2016",
    dim: rules.DimOption = 2,
    photon_quantile: rules.PhotonQuantileOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same data sets.")] = 0,
    threads: rules.ThreadsOption = None,
) -> None:
    """Simulate the data sets, run all participants, score them, rank them, and draw the paper's Figures 1c and 4."""
    from flatmetric.report.board_page import board_page

    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    chosen = rules.rules_from_flags(protocol, dim=dim, photon_quantile=photon_quantile)
    workers = thread_count(threads)
    scoring = Rules(lam, chosen, reading.options_from_flags(), RESAMPLES, 0, workers)
    make_folder(out)
    refuse_outputs([out / name for name in (*_FIGURES, _PAGE, _AGREEMENT, _RUNS)], [])
    if existing is not None:
        if participant or program or dataset or frames is not None:
            raise InputError(
                "--from scores what is there; give it without --participant, --program, --dataset, --frames"
            )
        jobs, runs = find_jobs(existing), []
    else:
        if not 0 < time_limit < 1e9:
            raise InputError(f"--time-limit is {time_limit}; give seconds above 0")
        programs = chosen_programs(participant or [], program or [])
        with only_one_at_a_time(out):
            runs = run_all(out, _datasets(dataset or [], frames), programs, seed, time_limit, workers)
        ours = {(r.dataset, r.program) for r in runs if r.reason is None}
        jobs = [job for job in find_jobs(out) if (job.dataset, job.program) in ours] if ours else []
        write_text(runs_csv(runs), out / _RUNS)
    missing = {(r.dataset, r.program): r.reason for r in runs if r.reason is not None}
    scored = write_board(jobs, out / "leaderboard", scoring, missing)
    write_text(board_page(scored.board, scored.entries, scored.failures, this_command()), out / _PAGE)
    print(scored.page + "\n")
    written = [_PAGE, "leaderboard"] + ([_RUNS] if runs else [])
    if scored.entries:
        _figures(out, scored.entries)
        written += [_AGREEMENT, *_FIGURES]
    else:
        for name in (_AGREEMENT, *_FIGURES):
            (out / name).unlink(missing_ok=True)  # of an earlier run
        print("no result was scored, so there is nothing to draw")
    print(f"written: {', '.join(str(out / name) for name in written)}")


def _datasets(names: list[str], frames: int | None) -> list[Any]:
    from flatmetric.simulation.datasets import PAPER, named

    found = [named(name) for name in names or PAPER]
    if len({dataset.name for dataset in found}) < len(found):
        raise InputError("two data sets have the same name; name each once")
    taken = {"leaderboard", _PAGE, _AGREEMENT, _RUNS, *_FIGURES}.intersection(dataset.name for dataset in found)
    if taken:
        raise InputError(f"a data set is called {taken.pop()}, which is the name of an output; rename it")
    return [dataset if frames is None else dataset.with_frames(frames) for dataset in found]


def _figures(out: Path, entries: list[Entry]) -> None:
    """Figures 1c and 4, the table behind them, and whether the paper's claim holds."""
    from flatmetric.paper.participants import Agreement, agreements, draw, leads, verdict
    from flatmetric.plots.style import save_for_print

    told: list[Agreement] = []
    for metric in ("flat_metric", "rmsmd", "rmsmd_whole_set"):
        told += agreements(entries, metric)
    for stem, metric in (("fig1c", "flat_metric"), ("fig4", "rmsmd")):
        save_for_print(draw(entries, metric, told), out / stem)
    found = leads(entries)
    write_text(_agreement_csv(told), out / _AGREEMENT)
    header = ["data set", "metric", "programs", "Spearman", "95 %", "Pearson", "95 %"]
    rows = [
        [
            one.dataset,
            one.metric,
            str(one.participants),
            *(_two_cells(one.spearman, one.spearman_interval)),
            *(_two_cells(one.pearson, one.pearson_interval)),
        ]
        for one in told
        if one.spearman is not None
    ]
    print("correlation with efficiency")
    print("\n".join(aligned([header, *rows], "<")))
    for lead in found:
        if lead.difference is not None:
            span = _two_cells(lead.difference, lead.interval)
            print(f"{lead.dataset}: lead of the Flat Metric over RMSMD in rank correlation {span[0]} ({span[1]})")
    print(verdict(found) + "\n")


def _two_cells(value: float | None, interval: tuple[float, float] | None) -> tuple[str, str]:
    return (
        "-" if value is None else f"{value:.2f}",
        "-" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}",
    )


def _agreement_csv(told: list[Any]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    kinds = ("spearman", "pearson")
    writer.writerow(
        ["dataset", "metric", "participants", *(f"{k}{end}" for k in kinds for end in ("", "_low", "_high"))]
    )
    for one in told:
        cells: list[Any] = [one.dataset, one.metric, one.participants]
        for kind in kinds:
            value, interval = getattr(one, kind), getattr(one, f"{kind}_interval") or ("", "")
            cells += ["" if value is None else value, *interval]
        writer.writerow(cells)
    return file.getvalue()
