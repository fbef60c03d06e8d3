"""`flatmetric leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric._dataclass import dataclass
from flatmetric.api.leaderboard import leaderboard as rank_folder
from flatmetric.cli.board_text import board_text
from flatmetric.cli.cluster import Cluster, cluster
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.output import check_outputs, check_page, files_of_board, rule_files
from flatmetric.cli.progress import progress_bar
from flatmetric.errors import InputError
from flatmetric.execution.workers import GO_ON
from flatmetric.options.base import option


@dataclass(frozen=True, kw_only=True)
class BoardFlags(Cluster):
    """The flags of `leaderboard` besides those of `fm.leaderboard`."""

    report: Path | None = option(
        None,
        "Write a page with pictures, all in one file; or a folder with one for each program and data set.",
        section="Output",
        metavar="PAGE.html|DIR",
    )
    redacted: bool = option(
        False, "Make the report for participants: ranks and rounded numbers, no places of molecules.", section="Output"
    )


@command(
    rank_folder,
    often=(
        "truth_file",
        "lam",
        "protocol",
        "ci",
        "exclude",
        "exclude_suspect",
        "out",
        "report",
        "jobs",
    ),
)
def leaderboard(
    folder: Annotated[Path, Argument("FOLDER", "Holds DATASET/truth.* and DATASET/results/PROGRAM.* files.")],
    keywords: Keywords,
    flags: BoardFlags,
) -> None:
    """Rank programs over many data sets, and show which don't differ significantly.

    flatmetric leaderboard challenge
    flatmetric leaderboard challenge --protocol challenge2016 --report page.html --latex ranks.tex
    flatmetric leaderboard challenge --report pages
    flatmetric leaderboard results --truth truth.csv

    Earlier scores are reused; a bad file is listed with its reason. Reading options of single files go into
    FOLDER/submissions.toml: ["MT1/results/mine.csv"] and below it unit = "px".
    """
    target = Path(keywords["out"] or folder / "leaderboard")
    page = None if flags.report is None else check_page(flags.report)
    if flags.redacted and page is None:
        raise InputError("redacted= needs a report; give report= too")
    if flags.report is not None and flags.report.resolve() == folder.resolve():
        raise InputError("report= is the folder of the data sets; give another")
    files = [keywords["latex"], keywords["draft_fixes"]]
    truth = None if keywords["truth_file"] is None else Path(keywords["truth_file"])
    check_outputs([page, *files], [*files_of_board(folder, target, truth), *rule_files(keywords)])
    try:
        with cluster(flags.scheduler, [folder]) as executor, progress_bar() as progress:
            board = rank_folder(folder, progress=progress, executor=executor, **keywords)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(GO_ON) from stopped
    if flags.report is not None:
        (board.redacted() if flags.redacted else board).report(flags.report)
    print(board_text(board, f"{target}/leaderboard.md"))
    more = "".join(f", {path}" for path in (*files, keywords["letters"], flags.report) if path is not None)
    print(f"\nwritten: {target}/leaderboard.csv, .json, .md{more}")
