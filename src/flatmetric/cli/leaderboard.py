"""`flatmetric leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.leaderboard import FILES, LeaderboardOptions, write_leaderboard
from flatmetric.challenge.submissions import find_submissions
from flatmetric.cli import options
from flatmetric.cli.output import check_outputs, this_command
from flatmetric.cli.progress import progress_bar


@dataclass(frozen=True)
class LeaderboardOutput(options.Group):
    """Where `leaderboard` writes."""

    section: ClassVar[str] = "Output"

    out: Path | None = options.option(None, "Folder for the leaderboard; default FOLDER/leaderboard.", metavar="DIR")


@options.command
def leaderboard(
    folder: Annotated[Path, options.Argument("FOLDER")],
    metrics: options.MetricOptions,
    rules: options.ProtocolOptions,
    certainty: options.BootstrapOptions,
    output: LeaderboardOutput,
    report: options.ReportOptions,
    threads: options.ThreadOptions,
    reading: options.ReadOptionsForAll,
    result_file: options.ResultFileOptions,
    truth_file: options.TruthFileOptions,
) -> None:
    """Score every result in FOLDER, which holds DATASET/truth.* and DATASET/results/PROGRAM.*, and rank the programs.

    What was scored before is not scored again; one bad file is one row.
    """
    settings = LeaderboardOptions(
        score=metrics.with_protocol(rules.apply()),
        truth=reading.for_file(truth_file),
        pred=reading.for_file(result_file),
        bootstrap=certainty.apply(),
        threads=threads.threads,
    )
    submissions = find_submissions(folder)
    target = folder / "leaderboard" if output.out is None else output.out
    inputs = [path for one in submissions for path in (one.truth, one.result)] + rules.files()
    check_outputs([report.report], [*inputs, *(target / name for name in FILES)])
    with progress_bar() as progress:
        scored = write_leaderboard(submissions, target, settings, progress=progress)
    if report.report is not None:
        from flatmetric.pages.board_page import board_page

        page = board_page(scored.leaderboard, scored.entries, scored.failures, this_command())
        write_text(page, report.report)
    print(scored.to_markdown())
    more = "" if report.report is None else f", {report.report}"
    print(f"\nwritten: {target}/leaderboard.csv, .json, .md{more}")
