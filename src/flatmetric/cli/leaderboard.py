"""`flatmetric leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._files import make_folder
from flatmetric._shown import look_of
from flatmetric._work import GO_ON
from flatmetric.api.leaderboard import LeaderboardArguments
from flatmetric.api.leaderboard import leaderboard as rank_folder
from flatmetric.api.options import only
from flatmetric.api.rules import rule_files
from flatmetric.challenge.leaderboard import FILES
from flatmetric.challenge.submissions import find_submissions
from flatmetric.cli.options import Argument, Reports, command
from flatmetric.cli.output import check_outputs, this_command
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import as_flags
from flatmetric.cli.work import Cluster, cluster


class BoardFlags(LeaderboardArguments, Reports, Cluster, total=False):
    """The options of `leaderboard`."""


@command
def leaderboard(
    folder: Annotated[Path, Argument("FOLDER", "Holds DATASET/truth.* and DATASET/results/PROGRAM.* files.")],
    options: BoardFlags,
) -> None:
    """Which program is best over many data sets, and which can't be told apart.

    flatmetric leaderboard challenge
    flatmetric leaderboard challenge --protocol challenge2016 --report page.html --latex ranks.tex
    flatmetric leaderboard challenge --report pages
    flatmetric leaderboard challenge --jobs 2

    Earlier scores are reused; a bad file becomes a row with its reason. Reading options of single files go into
    FOLDER/submissions.toml: ["MT1/results/mine.csv"] and below it unit = "px".
    """
    found = find_submissions(folder)
    target = folder / "leaderboard" if options["out"] is None else Path(options["out"])
    inputs = [path for one in found.submissions for path in (one.truth, one.result)] + rule_files(options)
    latex = None if options["latex"] is None else Path(options["latex"])
    check_outputs([_page(options["report"]), latex], [*inputs, *(target / name for name in FILES)])
    try:
        with cluster(options["scheduler"], [folder]) as executor, progress_bar() as progress:
            given = only(options, LeaderboardArguments)
            board = rank_folder(folder, progress=progress, executor=executor, **given)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(GO_ON) from stopped
    if options["report"] is not None:
        look_of(board).report(board, options["report"], this_command(), as_flags)
    print(as_flags(board.to_markdown()))
    more = "".join(f", {options[name]}" for name in ("latex", "report") if options[name] is not None)
    print(f"\nwritten: {target}/leaderboard.csv, .json, .md{more}")


def _page(report: Path | None) -> Path | None:
    """The page itself, which may go into a folder of pages."""
    from flatmetric.page_folder import INDEX, is_page

    if report is None or is_page(report):
        return report
    make_folder(report)
    return report / INDEX
