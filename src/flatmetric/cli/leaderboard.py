"""`flatmetric leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

from flatmetric._files import write_text
from flatmetric.challenge.leaderboard import FILES, LeaderboardOptions, write_leaderboard
from flatmetric.challenge.submissions import find_submissions
from flatmetric.cli.options import Argument, Certainty, ReadingTruth, Report, Scoring, command, option
from flatmetric.cli.output import check_outputs, this_command
from flatmetric.cli.progress import progress_bar


class BoardFlags(ReadingTruth, Report, Certainty, Scoring):
    """The options of `leaderboard`."""

    section: ClassVar[str] = "Output"

    out: Path | None = option(None, "Folder for the leaderboard; default FOLDER/leaderboard.", metavar="DIR")


@command
def leaderboard(
    folder: Annotated[Path, Argument("FOLDER", "Holds DATASET/truth.* and DATASET/results/PROGRAM.*")],
    options: BoardFlags,
) -> None:
    """Score every result in FOLDER, and rank the programs.

    Earlier scores are reused; a bad file becomes a row with its reason.
    """
    settings = LeaderboardOptions(
        score=options.scoring(),
        truth=options.reading_truth(),
        pred=options.reading(),
        certainty=options.certainty(),
        threads=options.threads,
    )
    submissions = find_submissions(folder)
    target = folder / "leaderboard" if options.out is None else options.out
    inputs = [path for one in submissions for path in (one.truth, one.result)] + options.rule_files()
    check_outputs([options.report], [*inputs, *(target / name for name in FILES)])
    with progress_bar() as progress:
        scored = write_leaderboard(submissions, target, settings, progress=progress)
    if options.report is not None:
        from flatmetric.pages.board_page import board_page

        page = board_page(scored.leaderboard, scored.entries, scored.failures, this_command())
        write_text(page, options.report)
    print(scored.to_markdown())
    more = "" if options.report is None else f", {options.report}"
    print(f"\nwritten: {target}/leaderboard.csv, .json, .md{more}")
