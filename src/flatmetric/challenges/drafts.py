"""What an organiser sends and decides: fixes as a draft of `submissions.toml`, and a letter to each team."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flatmetric._files import make_folder, write_text
from flatmetric.errors import printable
from flatmetric.formats.file_options import FILE_OPTIONS, file_options_in
from flatmetric.options.reading import ReadOptions
from flatmetric.quality.findings import in_toml
from flatmetric.sentences import span_of

if TYPE_CHECKING:
    from flatmetric.challenges.leaderboard import Leaderboard
    from flatmetric.challenges.submissions import Submission


_TOLD = {
    "copy of": "note: another team has handed in the same result",
    "worse than empty": "note: it is worse than an empty file",
    "no detection": "note: it has no detection",
    "the truth": "wrong: it holds the true positions",
}
"""What a team is told about a mark of its result."""
_READING = {field.name for field in dataclasses.fields(ReadOptions)}


def draft_fixes(board: Leaderboard) -> str:
    """A `submissions.toml` with every reading option that would fix a result, and why, in comments.

    It holds all that the `submissions.toml` of the folder says, and replaces it.
    """
    lines = [f"# Proposed fixes. Check each, then save this as {FILE_OPTIONS} in the folder of the data sets."]
    known = file_options_in(board.submissions[0].truth.parent.parent) if board.submissions else {}
    for one in board.submissions:
        findings = board.suspects.findings.get((one.dataset, one.program), ())
        fixes = [finding for finding in findings if finding.options and set(finding.options) <= _READING]
        if not fixes:
            continue
        options = known.pop(_path_of(one), {})
        lines.append("")
        for finding in fixes:
            gain = finding.gain()
            why = f"{finding.severity}: {finding.what()}" + (f" ({gain})" if gain else "")
            lines.append(f"# {one.program} in {one.dataset}, {printable(why)}")
            options |= finding.options
        lines += _table(_path_of(one), options)
    for (dataset, program), findings in board.suspects.findings.items():
        lines += [
            f"# {program} in {dataset}, {one.severity}: {printable(one.what())} (check can write it fixed)"
            for one in findings
            if one.type.change is not None and not one.options
        ]
    for dataset, texts in board.suspects.shared.items():
        lines += [f"# {dataset}: {printable(text)}" for text in texts]
    if len(lines) == 1:
        lines.append("# Nothing new was found.")
    if known:
        lines += ["", "# In use already:"]
    for path, options in known.items():
        lines += _table(path, options)
    return "\n".join(lines) + "\n"


def _table(path: str, options: dict[str, Any]) -> list[str]:
    return [f"[{json.dumps(path, ensure_ascii=False)}]", *(f"{name} = {in_toml(v)}" for name, v in options.items())]


def _path_of(one: Submission) -> str:
    """The path of a result from the folder of the data sets."""
    return one.result.relative_to(one.truth.parent.parent).as_posix()


def letters_to_teams(board: Leaderboard) -> dict[str, str]:
    """A short text for each program that can be mailed: how its results were read and ranked, and what to correct.

    Nothing in it says where true molecules are.
    """
    ranking, letters = board.ranking, {}
    for program in sorted({one.program for one in board.submissions} | {name for _, name in board.failures}):
        lines = [f"Your results: {printable(program)}", ""]
        for dataset in sorted({d for d, p in board.failures if p == program} | _datasets(board, program)):
            result = dataset, program
            standing = ranking.standing(dataset, program)
            if result in board.failures:
                outcome = f"not scored, {_without_folders(board.failures[result], board)}"
            elif standing is None:
                outcome = "scored, but not ranked, since something is wrong with the file"
            else:
                own = standing.flat_metric_interval
                certain = "" if own is None else f" ({span_of(own, '.0f')})"
                of = len(ranking.datasets[dataset])
                outcome = f"place {standing.place} of {of}, Flat Metric {standing.flat_metric:.0f} nm{certain}"
            lines.append(f"{printable(dataset)}: {outcome}.")
            for finding in board.suspects.findings.get(result, ()):
                if finding.is_fault and finding.kind != "file":
                    lines.append(f"  {finding.severity}: {printable(finding.for_its_team())}")
            lines += [f"  {words}" for words in notes_for_team(board.suspects.marks.get(result, ""))]
        letters[program] = "\n".join(lines) + "\n"
    return letters


def notes_for_team(marks: str) -> list[str]:
    """What a team is told about the marks of its result.

    Examples
    --------
    >>> notes_for_team("worse than empty")
    ['note: it is worse than an empty file']
    """
    return [words for mark, words in _TOLD.items() if mark in marks]


def write_letters(board: Leaderboard, folder: Path) -> None:
    """Write the letters into a folder, as PROGRAM.txt."""
    make_folder(folder)
    for program, text in letters_to_teams(board).items():
        write_text(text, folder / f"{program.replace('/', '-')}.txt")


def _datasets(board: Leaderboard, program: str) -> set[str]:
    return {entry.dataset for entry in board.entries if entry.program == program}


def _without_folders(reason: str, board: Leaderboard) -> str:
    """A reason in which files have no folders of the organiser."""
    for one in board.submissions:
        reason = reason.replace(f"{one.result.parent}/", "").replace(f"{one.truth.parent}/", "")
    return printable(reason).split("; ")[0]  # what follows is for organisers
