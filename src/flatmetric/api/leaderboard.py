"""`leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

import os
from concurrent.futures import Executor

from flatmetric._files import write_text
from flatmetric.challenges.drafts import draft_fixes, write_letters
from flatmetric.challenges.leaderboard import Leaderboard, write_leaderboard
from flatmetric.challenges.submissions import find_submissions
from flatmetric.execution.progress import Progress
from flatmetric.options.base import path_of, takes
from flatmetric.options.ranking import LeaderboardOptions


@takes(LeaderboardOptions)
def leaderboard(
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    options: LeaderboardOptions,
) -> Leaderboard:
    r"""Score every result in a folder and rank the programs.

    Earlier scores are reused, and a bad file is listed with its reason.

    Parameters
    ----------
    folder
        Holds DATASET/truth.* and DATASET/results/PROGRAM.*; a `submissions.toml` in it gives reading options of files.
    progress
        Called with what is done, how much of it, and out of how much.
    executor
        Does the scoring instead of `jobs` of this machine: a pool of yours, or `client.get_executor()` of a Dask
        cluster whose workers see the folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import flatmetric as fm
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "D" / "results").mkdir(parents=True)
    >>> rows = "".join(f"{k},{37 * k % 6400},{91 * k % 6400},0,900\n" for k in range(1, 41))
    >>> _ = (folder / "D" / "truth.csv").write_text(rows)
    >>> _ = (folder / "D" / "results" / "mine.csv").write_text(rows.replace(",0,900", "5,0,900"))
    >>> [(s.place, s.program) for s in fm.leaderboard(folder).ranking.overall]
    [(1, 'mine')]
    """
    place = path_of(folder, "folder")
    out = place / "leaderboard" if options.out is None else path_of(options.out, "out")
    truth = None if options.truth_file is None else path_of(options.truth_file, "truth_file")
    board = write_leaderboard(find_submissions(place, out, truth), out, options, executor=executor, progress=progress)
    if options.latex is not None:
        write_text(board.to_latex(), path_of(options.latex, "latex"))
    if options.draft_fixes is not None:
        write_text(draft_fixes(board), path_of(options.draft_fixes, "draft_fixes"))
    if options.letters is not None:
        write_letters(board, path_of(options.letters, "letters"))
    return board
