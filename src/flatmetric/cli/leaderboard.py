"""`flatmetric leaderboard`: a folder of data sets and results, ranked; resumable, one bad file is one row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flatmetric.arguments import RESAMPLES, thread_count
from flatmetric.cli import reading, rules
from flatmetric.cli.board import Rules, find_jobs, write_board
from flatmetric.cli.writing import ReportOption, refuse_outputs, this_command, write_text


def leaderboard(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="FOLDER/DATASET/truth.* and results/PROGRAM.*", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option("--out", help="Where to write; default FOLDER/leaderboard.")] = None,
    lam: rules.LamOption = 125.0,
    protocol: rules.ProtocolOption = None,
    dim: rules.DimOption = None,
    tolerance: rules.ToleranceOption = None,
    tolerance_z: rules.ToleranceZOption = None,
    matching: rules.MatchingOption = None,
    border: rules.BorderOption = None,
    fov: rules.FovOption = None,
    photon_threshold: rules.PhotonThresholdOption = None,
    photon_quantile: rules.PhotonQuantileOption = None,
    first_frame: rules.FirstFrameOption = None,
    last_frame: rules.LastFrameOption = None,
    resamples: rules.ResamplesOption = RESAMPLES,
    seed: rules.SeedOption = 0,
    pixel_size: reading.PixelSizeOption = None,
    skip_bad_rows: reading.SkipOption = False,
    threads: rules.ThreadsOption = None,
    report: ReportOption = None,
) -> None:
    """Score every result in a folder of data sets, and rank the programs."""
    chosen = rules.rules_from_flags(
        protocol,
        dim=dim,
        tolerance=tolerance,
        tolerance_z=tolerance_z,
        matching=matching,
        border=border,
        fov=fov,
        photon_threshold=photon_threshold,
        photon_quantile=photon_quantile,
        wobble=None,
        first_frame=first_frame,
        last_frame=last_frame,
    )
    options = reading.options_from_flags(pixel_size=pixel_size, skip_bad_rows=skip_bad_rows)
    jobs = find_jobs(folder)
    target = folder / "leaderboard" if out is None else out
    taken = [path for job in jobs for path in (job.truth, job.result)] + rules.rule_files(protocol, None)
    refuse_outputs([report], [*taken, *(target / f"leaderboard.{suffix}" for suffix in ("json", "csv", "md"))])
    scored = write_board(jobs, target, Rules(lam, chosen, options, resamples, seed, thread_count(threads)))
    if report is not None:
        from flatmetric.report.board_page import board_page

        write_text(board_page(scored.board, scored.entries, scored.failures, this_command()), report)
    print(scored.page)
    print(f"\nwritten: {target}/leaderboard.csv, .json, .md" + (f", {report}" if report is not None else ""))
