"""A leaderboard as a folder of pages: its own, one for each program, and one for each data set."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from flatmetric._display import wording
from flatmetric._files import make_folder, write_text
from flatmetric.challenges.leaderboard import Leaderboard
from flatmetric.reports.board_page import Background, Board, board_page
from flatmetric.reports.camera import Movie, open_movie
from flatmetric.reports.comparison_page import comparison_page
from flatmetric.reports.parts import NamedScore
from flatmetric.reports.program_page import program_page
from flatmetric.reports.score_page import score_page
from flatmetric.scoring.score import Score
from flatmetric.simulation.folder import STACK
from flatmetric.statistics.comparison import compare_scores
from flatmetric.statistics.intervals import intervals_of

INDEX = "index.html"
"""The page of the leaderboard."""
PROGRAMS, DATASETS = "programs", "datasets"
"""The folders beside it with a page for each program and for each data set."""
_MOST_SHOWN = 8  # programs of a data set, the best


def board_of(leaderboard: Leaderboard, command: str) -> Board:
    """A leaderboard as its page needs it."""
    suspects, say = leaderboard.suspects, wording().say
    return Board(
        leaderboard.ranking,
        leaderboard.entries,
        leaderboard.failures,
        command,
        {name: [say(text) for text in texts] for name, texts in suspects.remarks.items()},
        {name: [say(text) for text in texts] for name, texts in suspects.shared.items()},
        suspects.marks,
        suspects.wrong,
        leaderboard.left_out,
        is_redacted=leaderboard.is_redacted,
    )


def write_pages(
    leaderboard: Leaderboard,
    folder: Path,
    command: str,
    background: Background | None = None,
    index: str = INDEX,
) -> None:
    """Write all pages; those of data sets show the best programs side by side, over the camera images where there are
    any. The page of the leaderboard comes last: when it is there, so are the others.
    """
    board = board_of(leaderboard, command)
    # Frames and pictures of a data set show where its molecules are.
    programs, datasets = (
        file_names(board.programs),
        file_names([] if leaderboard.is_redacted else leaderboard.ranking.datasets),
    )
    for name in (PROGRAMS, DATASETS) if datasets else (PROGRAMS,):
        make_folder(folder / name)
    for dataset, file in datasets.items():
        write_text(_dataset_page(leaderboard, dataset, command), folder / DATASETS / file)
    beside = dataclasses.replace(
        board,
        links={name: quote(file) for name, file in programs.items()},
        dataset_links={name: quote(f"../{DATASETS}/{file}") for name, file in datasets.items()},
    )
    for program, file in programs.items():
        write_text(program_page(beside, program, f"../{index}"), folder / PROGRAMS / file)
    linked = dataclasses.replace(
        board,
        links={name: quote(f"{PROGRAMS}/{file}") for name, file in programs.items()},
        dataset_links={name: quote(f"{DATASETS}/{file}") for name, file in datasets.items()},
    )
    write_text(board_page(linked, background), folder / index)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name, of letters, digits and dashes, no two of them alike in any case.

    Examples
    --------
    >>> file_names(["a b", "A-B", "<x>"])
    {'a b': 'a-b.html', 'A-B': 'A-B-2.html', '<x>': 'x.html'}
    """
    files: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^\w.-]+", "-", name).strip(".-")[:100] or "page"
        used = {file.lower() for file in files.values()}  # some file systems know no case
        candidates = (f"{stem}{'' if k == 1 else f'-{k}'}.html" for k in itertools.count(1))
        files[name] = next(file for file in candidates if file.lower() not in used)
    return files


def _dataset_page(leaderboard: Leaderboard, dataset: str, command: str) -> str:
    best = [standing.program for standing in leaderboard.ranking.datasets[dataset][:_MOST_SHOWN]]
    scores = leaderboard.scores(dataset, best)
    deepest = max(score.dim for score in scores.values())  # an empty result has no depths
    scores = {name: score for name, score in scores.items() if score.dim == deepest}
    movie = _movie(leaderboard, dataset, scores)
    if len(scores) == 1:
        ((name, score),) = scores.items()
        return score_page(NamedScore(name, score, intervals_of(score), score.findings.findings), command, movie)
    programs = sum(entry.dataset == dataset for entry in leaderboard.entries)
    suspect = {
        program: [wording().say(text) for text in texts]
        for (place, program), texts in leaderboard.suspect.items()
        if place == dataset and program in best
    }
    return comparison_page(compare_scores(scores), command, movie, programs, suspect)


def _movie(leaderboard: Leaderboard, dataset: str, scores: dict[str, Score]) -> Movie | None:
    """The camera images of a simulated data set, which lie beside its truth."""
    truth = next(one.truth for one in leaderboard.submissions if one.dataset == dataset)
    stack = truth.with_name(STACK)
    return open_movie(stack, next(iter(scores.values())).matched.truth) if stack.is_file() else None
