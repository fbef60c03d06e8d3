"""`leaderboard`: a folder of data sets and results, ranked."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import Executor
from typing import Annotated, Any, Unpack

from flatmetric._files import write_text
from flatmetric._progress import Progress
from flatmetric._work import Workers
from flatmetric.api.inputs import reading, reading_truth
from flatmetric.api.options import Checked, Option, ReadBoth, Scoring, Sure, Work, keywords, path_of
from flatmetric.api.rules import rules_from
from flatmetric.api.score import certainty, score_options, scored_with_findings
from flatmetric.challenge.leaderboard import Leaderboard, LeaderboardOptions, write_leaderboard
from flatmetric.challenge.submissions import find_submissions
from flatmetric.localizations import Localizations
from flatmetric.scoring.score import Score

_WORTH_PROCESSES = 64  # results of a twentieth of a second each


class LeaderboardArguments(Scoring, Sure, Checked, ReadBoth, Work, total=False):
    """The options of `leaderboard`."""

    out: Annotated[
        str | os.PathLike[str] | None,
        Option("Folder for the leaderboard; default FOLDER/leaderboard.", section="Output", metavar="DIR"),
    ]
    latex: Annotated[
        str | os.PathLike[str] | None,
        Option("Also write the ranks as LaTeX tables.", section="Output", metavar="FILE"),
    ]
    replace: Annotated[
        bool, Option("Replace a leaderboard that was made with other settings.", False, section="Output")
    ]


@keywords(LeaderboardArguments)
def leaderboard(
    folder: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    executor: Executor | None = None,
    **given: Unpack[LeaderboardArguments],
) -> Leaderboard:
    r"""Score every result in a folder and rank the programs; earlier scores are reused, a bad file is a row.

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
    >>> _ = (folder / "D" / "results" / "mine.csv").write_text(rows)
    >>> [(s.place, s.program) for s in fm.leaderboard(folder).ranking.overall]
    [(1, 'mine')]
    """
    place = path_of(folder, "folder")
    target = given.get("out")
    out = place / "leaderboard" if target is None else path_of(target, "out")
    board = write_leaderboard(
        find_submissions(place, out),
        out,
        board_options(given, executor),
        progress=progress,
        replace=bool(given.get("replace")),
    )
    if given.get("latex") is not None:
        write_text(board.to_latex(), path_of(given["latex"], "latex"))
    return board


@dataclasses.dataclass(frozen=True, slots=True)
class _Scored:
    """Scores by some options, in one thread and without intervals; travels to other processes."""

    given: dict[str, Any]

    def __call__(self, truth: Localizations, pred: Localizations) -> Score:
        return scored_with_findings(truth, pred, {**self.given, "threads": 1, "ci": None})


def board_options(given: Any, executor: Executor | None = None) -> LeaderboardOptions:
    """How results are read, scored and ranked, from keywords."""
    options = score_options(given, rules_from(given))
    read = {"truth": reading_truth(given), "pred": reading(given)}
    settings = options.to_dict() | {"read": [str(one) for one in read.values()], "check": given.get("check", True)}
    sure = certainty(given)
    return LeaderboardOptions(
        scored=_Scored(dict(given)),
        settings=settings | {"certainty": dataclasses.asdict(sure)},
        certainty=sure,
        workers=Workers(
            given.get("jobs"), executor, kind="processes", fewest=_WORTH_PROCESSES, timeout=given.get("timeout")
        ),
        **read,
    )
