"""The pages of the documentation, and the commands with their output that stand in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TORCH = ROOT / "docs" / "how-to" / "train.md"  # its snippets run where PyTorch is installed
WITH_PYTHON = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8") and page != TORCH]


def name(page: Path) -> str:
    """The path in the repository, to name a test."""
    return page.relative_to(ROOT).as_posix()


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """The commands in the console blocks of a page, each with the lines that it is said to print."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


WITH_COMMANDS = [page for page in PAGES if commands(page) and page.name != "index.md"]
