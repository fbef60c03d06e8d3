"""A leaderboard as text for the terminal: the winner first."""

from __future__ import annotations

from flatmetric.challenges.board_text import LETTERS, SCOPE, has_letters, tables_of, title_of
from flatmetric.challenges.leaderboard import Leaderboard
from flatmetric.cli.text import aligned, as_flags
from flatmetric.errors import printable
from flatmetric.sentences import doubtful_sentence, leader_sentences, said_once, unscored_sentences


def board_text(board: Leaderboard, written: str) -> str:
    """The winner, the ranks, and how many results look wrong; `written` is the file with the rest."""
    lines = [title_of(board), *leader_sentences(board.ranking, board.suspects.marks), ""]
    for table in tables_of(board):
        lines += [table.title, *aligned([table.header, *table.rows], "<"), *table.notes, ""]
    if has_letters(board):
        lines += [LETTERS]
    lines += said_once((dataset, text) for dataset, texts in board.suspects.shared.items() for text in texts)
    if board.suspect:
        lines.append(f"{doubtful_sentence(len(board.suspect), len(board.entries))}; {written} has the reasons.")
    lines += unscored_sentences(board.failures)
    lines += [f"{name}: {reason}" for name, reason in board.ignored.items()]
    return "\n".join([*(as_flags(printable(line)) for line in lines), SCOPE])
