"""`flatmetric submit`: a result to a challenge on the web."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from flatmetric.api.submit import submit as submit_file
from flatmetric.cli.options import Argument, Keywords, command
from flatmetric.cli.progress import progress_bar
from flatmetric.cli.text import as_flags


@command(
    submit_file, often=("dataset", "program", "note", "dry_run", "wait", "unit", "pixel_size", "frame_base", "columns")
)
def submit(
    url: Annotated[str, Argument("URL", "Address of the board.", text=True)],
    file: Annotated[Path, Argument("FILE", "Your result.")],
    keywords: Keywords,
) -> None:
    """Upload a result to a challenge on the web and hand it in.

    flatmetric submit https://challenge.example.org mine.csv --dataset MT1 --program "My program"

    The token of your account is read from FLATMETRIC_TOKEN. A file with problems is not handed in and costs no quota;
    the exit code is 1 then, and also where waiting shows that the file looks wrong.
    """
    with progress_bar() as progress:
        receipt = submit_file(url, file, progress=progress, **keywords)
    print(as_flags(str(receipt)))
    if receipt.problems:
        sys.exit(1)
