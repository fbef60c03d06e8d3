"""A board as files: an archive of what everybody may see, one with everything, and a backup that can be served."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from flatmetric._display import Wording, worded
from flatmetric._files import json_text, make_folder, write_text
from flatmetric.challenges.leaderboard import Leaderboard
from flatmetric.server.audit import log_rows
from flatmetric.server.database import DeniedError
from flatmetric.server.ranks import ranked, representatives
from flatmetric.server.rules import FINAL, PUBLIC, BoardRules
from flatmetric.server.web_board import OWN_FOLDER, WebBoard

_SUMS = "SHA256SUMS"
_COMMAND = "flatmetric serve"
_UNSAFE = re.compile(r"[^\w .()\[\]+-]")  # in the name of a file
_SUFFIX = re.compile(r"\.\w{1,8}")
_LONGEST_STEM = 50  # characters, of up to four bytes; file systems take 255


@contextmanager
def archive(board: WebBoard, *, whole: bool) -> Iterator[Path]:
    """A zip file of the published version: pages, ranks as CSV and JSON, rules and checksums; there until the block
    ends.

    The `whole` one has the exact numbers, the truths, the uploaded files and the log, too, in the layout of
    `leaderboard`.
    """
    with _workplace() as place:
        folder = place / "archive"
        make_folder(folder)
        with board.database.reading() as connection:
            version = board.published(connection)
            closed = board.is_closed(connection)
            shown = [which for which in (PUBLIC, FINAL) if whole or closed or which == PUBLIC]
            rows = {which: representatives(connection, version, which) for which in shown}
            log = log_rows(connection)
        options = version.rules.options(board.folder)
        for which, here in rows.items():
            if not here:
                continue
            exact, named = ranked(here, options)
            told = exact if whole else _shown(exact.redacted(), version.rules)
            make_folder(folder / which)
            write_text(told.to_csv(), folder / which / "leaderboard.csv")
            write_text(json_text(told.to_dict()), folder / which / "leaderboard.json")
            make_folder(folder / which / "pages")
            with worded(Wording(str, _COMMAND)):  # pages say how they were made
                _shown(exact.redacted(), version.rules).report(folder / which / "pages" / "index.html")
            if whole:
                for (dataset, name), row in named.items():
                    results = folder / "data" / dataset / "results"
                    make_folder(results)
                    if board.files.path(row["sha256"]).is_file():
                        target = _free_name(results, name, row["file_name"], row["submission"])
                        shutil.copyfile(board.files.path(row["sha256"]), target)
        if whole:
            for dataset, sha256 in version.truths.items():
                make_folder(folder / "data" / dataset)
                shutil.copyfile(board.files.path(sha256), folder / "data" / dataset / "truth.csv")
            write_text("".join(json.dumps(row) + "\n" for row in log), folder / "log.jsonl")
        rules = json.loads(version.rules.to_json())
        write_text(json_text({"version": version.id, "rules": rules}), folder / "rules.json")
        _add_sums(folder)
        yield _zipped(folder, place / "archive.zip")


def _free_name(folder: Path, name: str, file_name: str, number: int) -> Path:
    """Where the file of an entry goes: any system can store the name, and no other entry has it."""
    stem = _UNSAFE.sub("-", name).lstrip(".")[:_LONGEST_STEM] or "entry"
    suffix = Path(file_name).suffix
    suffix = suffix if _SUFFIX.fullmatch(suffix) else ""
    taken = {path.name.casefold() for path in folder.iterdir()}
    return folder / f"{stem} {number}{suffix}" if f"{stem}{suffix}".casefold() in taken else folder / f"{stem}{suffix}"


def _shown(told: Leaderboard, rules: BoardRules) -> Leaderboard:
    """A redacted board without what the rules don't show."""
    entries = []
    for one in told.entries:
        kept = one.metrics if "metrics" in rules.show else {"flat_metric": one.metrics["flat_metric"]}
        metrics = dict.fromkeys(one.metrics) | kept
        entries.append(replace(one, metrics=metrics, parts=one.parts if "parts" in rules.show else None))
    hidden = replace(told.ranking, correlations=told.ranking.correlations if "metrics" in rules.show else ())
    return replace(told, entries=tuple(entries), ranking=hidden)


@contextmanager
def backup(board: WebBoard) -> Iterator[Path]:
    """A zip file that, unpacked, can be served: the folder of the board, its files, and its database as it is now."""
    if not board.database.is_sqlite:
        raise DeniedError(
            409, "back up PostgreSQL with pg_dump, and the folder of the board with any tool, in this order"
        )
    with _workplace() as place:
        folder, own = place / "board", place / "board" / OWN_FOLDER
        make_folder(own)
        # First the database: whatever it names is in the folder of files already.
        source = board.database.url.database
        assert source is not None
        with closing(sqlite3.connect(source)) as live, closing(sqlite3.connect(own / "board.sqlite")) as copy:
            live.backup(copy)
        shutil.copytree(board.folder, folder, ignore=shutil.ignore_patterns(OWN_FOLDER, ".*"), dirs_exist_ok=True)
        for name in ("files", "rules"):  # and the files that rules name
            if (board.folder / OWN_FOLDER / name).is_dir():
                shutil.copytree(board.folder / OWN_FOLDER / name, own / name)
        yield _zipped(folder, place / "backup.zip")


@contextmanager
def _workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flatmetric-") as place:
        yield Path(place)


def _add_sums(folder: Path) -> None:
    lines = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n")
    write_text("".join(lines), folder / _SUMS)


def _zipped(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            packed.write(path, path.relative_to(folder))
    return target
