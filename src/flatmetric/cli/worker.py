"""`flatmetric worker`: a further worker of a challenge on the web."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from flatmetric.cli.options import Argument, command
from flatmetric.cli.server import needs_server
from flatmetric.options.scoring import plain
from flatmetric.options.serving import WorkOptions


@command()
def worker(
    folder: Annotated[Path, Argument("BOARD", "The folder of the board, as the server sees it.")], flags: WorkOptions
) -> None:
    """Score what is handed in to a challenge that another process serves.

    flatmetric worker challenge --database postgresql://board@db.example.org/challenge
    """
    with needs_server():
        from flatmetric.server.serve import work
    work(folder, **plain(flags))
