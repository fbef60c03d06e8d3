"""Scores kept between runs, each under a key made from everything it depends on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._files import json_text, make_folder, read_json, write_text
from flatmetric.challenge.submissions import Submission
from flatmetric.formats.conversion import ReadOptions
from flatmetric.formats.picasso import SIDE_SUFFIXES
from flatmetric.formats.source import Source
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.statistics.entries import CellCosts, Entry
from flatmetric.statistics.sampling import Cells
from flatmetric.version import __version__


class ScoreStore:
    """A folder with a file for each score, named by the hash of its inputs and settings; files appear whole."""

    def __init__(self, folder: Path, settings: dict[str, Any]):
        make_folder(folder)
        self._folder = folder
        settings = settings | {"version": __version__, "metrics": [metric.key for metric in LEADERBOARD.values()]}
        self._settings = json.dumps(settings, sort_keys=True)

    def key(self, truth: Path, result: Path, options: ReadOptions) -> str:
        """The key of a score: the content of both files and of the metadata beside them, and all settings."""
        sources = [Source(path) for path in (truth, result)]
        beside = [source.beside(suffix) for source in sources for suffix in SIDE_SUFFIXES]
        sources += [Source(path) for path in beside if path is not None]
        content = " ".join(source.sha256 for source in sources)
        return hashlib.sha256(f"{content}{options}{self._settings}".encode()).hexdigest()

    def load(self, key: str, submission: Submission) -> Entry | None:
        """The stored entry; None if it is missing or damaged."""
        kept = read_json(self._folder / f"{key}.json")
        try:
            return Entry(
                submission.dataset,
                submission.program,
                {name: kept["metrics"][name] for name in LEADERBOARD},
                int(kept["block"]),
                np.array(kept["frames"], dtype=np.int64),
                np.array(kept["costs"], dtype=np.float64),
                np.array(kept["truths"], dtype=np.float64),
                _cell_costs(kept["of_molecules"]),
                tuple(map(str, kept["findings"])),
                tuple((int(frame), float(x), float(y)) for frame, x, y in kept["sample"]),
                int(kept["rows"]),
                None if kept["parts"] is None else tuple(map(float, kept["parts"])),  # type: ignore[arg-type]
                tuple(map(str, kept["advice"])),
            )
        except (ValueError, KeyError, TypeError):
            return None

    def save(self, key: str, entry: Entry) -> None:
        """Keep an entry."""
        content = _plain(entry)
        del content["dataset"], content["program"]
        write_text(json_text(content), self._folder / f"{key}.json")


def _plain(value: Any) -> Any:
    """Arrays as lists, and records as dicts."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def _cell_costs(kept: dict[str, Any] | None) -> CellCosts | None:
    if kept is None:
        return None
    cells, whole, number = kept["cells"], np.int64, np.float64
    return CellCosts(
        Cells(
            np.array(cells["molecule"], dtype=whole),
            np.array(cells["stretch"], dtype=whole),
            np.array(cells["truths"], dtype=number),
            int(cells["stretches"]),
        ),
        *(np.array(kept[name], dtype=number) for name in ("costs", "truths", "alone")),
    )
