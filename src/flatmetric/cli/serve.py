"""`flatmetric serve`: a challenge on the web."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric.cli.options import Argument, command
from flatmetric.cli.server import needs_server
from flatmetric.options.scoring import plain
from flatmetric.options.serving import ServeOptions


@command()
def serve(
    folder: Annotated[Path, Argument("BOARD", "Holds DATASET/truth.* and board.toml.")], flags: ServeOptions
) -> None:
    """Serve a challenge on the web: teams upload results, which are scored and ranked.

    flatmetric serve challenge
    flatmetric serve challenge --url https://challenge.example.org --database postgresql:///challenge

    The first time, it prints a link with which you become the organiser. Rules go into BOARD/board.toml.
    """
    with needs_server():
        from flatmetric.server.serve import serve as serve_board
    serve_board(folder, announce=lambda sentence: print(sentence, flush=True), **plain(flags))
