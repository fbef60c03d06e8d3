"""A folder of data sets and results: found, scored with a store, ranked and written; one bad file is one row."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json as json_module
import math
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric.cli.progress import progress_bar
from flatmetric.cli.writing import make_folder, write_json, write_text
from flatmetric.errors import InputError
from flatmetric.formats.native import ReadOptions
from flatmetric.formats.reading import read_file
from flatmetric.formats.source import Source
from flatmetric.leaderboard import METRICS, Entry, Leaderboard, entry_of, rank
from flatmetric.localizations import Localizations
from flatmetric.protocol import Protocol
from flatmetric.scoring import score
from flatmetric.statistics import refuse_resampling
from flatmetric.version import __version__

_STORE = "store"
_BESIDE = (".yaml", ".md")  # files that go with others
_PARTS = "____"  # between the parts of the challenge's file names


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One result to be scored."""

    dataset: str
    program: str
    truth: Path
    result: Path


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """By what results are scored and ranked."""

    lam: float
    protocol: Protocol
    options: ReadOptions
    resamples: int
    seed: int
    threads: int

    def __post_init__(self) -> None:
        if not 0 < self.lam < math.inf:
            raise InputError(f"lam is {self.lam:g}; give a positive length in nm")
        refuse_resampling(95.0, self.resamples, self.seed)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A board with its entries, the results without a score and why, and the page of the .md."""

    board: Leaderboard
    entries: list[Entry]
    failures: dict[tuple[str, str], str]
    page: str


def write_board(
    jobs: list[Job], target: Path, rules: Rules, missing: Mapping[tuple[str, str], str] | None = None
) -> Written:
    """Score what is new, rank, and write leaderboard.csv, .json and .md into a folder.

    `missing` are results that are not there, by data set and program, with the reason.
    """
    make_folder(target / _STORE)
    scorer = _Scorer(target / _STORE, rules.lam, rules.protocol, rules.options)
    outcomes = scorer.run(jobs, rules.threads)
    entries = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
    failures = {(job.dataset, job.program): o for job, o in zip(jobs, outcomes, strict=True) if isinstance(o, str)}
    failures |= dict(missing or {})
    board = rank(entries, resamples=rules.resamples, seed=rules.seed)
    content = board_content(board, entries, failures, rules.lam, rules.protocol)
    write_json(content, str(target / "leaderboard.json"))
    write_text(board_csv(entries, board, failures), target / "leaderboard.csv")
    page = board_markdown(board, failures)
    write_text(page + "\n", target / "leaderboard.md")
    return Written(board, entries, failures, page)


def find_jobs(folder: Path) -> list[Job]:
    """The results of every data set in a folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; give one with DATASET/truth.* and DATASET/results/PROGRAM.*")
    jobs = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        truths = [
            p for p in sorted(place.glob("truth.*")) + sorted(place.glob("activations.csv")) if p.suffix != ".yaml"
        ]
        if not truths:
            continue
        if len(truths) > 1:
            raise InputError(f"{place}: has {len(truths)} files of truth; keep one")
        results = [p for p in sorted((place / "results").glob("*")) if p.is_file() and p.suffix not in _BESIDE]
        results += [p for p in sorted(place.glob(f"*{_PARTS}*")) if p.is_file()]
        jobs += [Job(place.name, program_name(path), truths[0], path) for path in results]
    if not jobs:
        raise InputError(f"{folder}: holds no DATASET/truth.* with DATASET/results/PROGRAM.*")
    for name, count in Counter((job.dataset, job.program) for job in jobs).items():
        if count > 1:
            raise InputError(f"{folder}: two results of {name[0]} are called {name[1]}; rename one")
    return jobs


def program_name(path: Path) -> str:
    """The program of a result: the file's name, or the third part of the challenge's names.

    Examples
    --------
    >>> program_name(Path("MT0.N1.LD____AS____Picasso____standard.csv")), program_name(Path("trackpy.csv"))
    ('Picasso', 'trackpy')
    """
    parts = path.name.split(_PARTS)
    return parts[2] if len(parts) >= 3 else path.name.split(".")[0]


class _Scorer:
    """Scores what is not in the store yet; each outcome is a file that appears whole."""

    def __init__(self, store: Path, lam: float, protocol: Protocol, options: ReadOptions) -> None:
        self._store, self._lam, self._protocol, self._options = store, lam, protocol, options
        settings = {"lam": lam, "protocol": protocol.described(), "options": str(options), "version": __version__}
        self._settings = json_module.dumps(settings, sort_keys=True)

    def run(self, jobs: list[Job], threads: int) -> list[Entry | str]:
        """An entry for each job, or why there is none."""
        truths: dict[Path, Localizations | str] = {}
        for path in {job.truth for job in jobs}:
            try:
                truths[path] = read_file(path, self._options)
            except InputError as error:
                truths[path] = str(error)
        outcomes: list[Entry | str] = []
        with ThreadPoolExecutor(threads) as pool, progress_bar("scoring") as progress:
            for outcome in pool.map(lambda job: self._one(job, truths[job.truth]), jobs):
                outcomes.append(outcome)
                if progress is not None:
                    progress(len(outcomes), len(jobs))
        return outcomes

    def _one(self, job: Job, truth: Localizations | str) -> Entry | str:
        if isinstance(truth, str):
            return truth
        try:
            hashes = (truth.provenance.sha256 or "") + Source(job.result).sha256
            key = hashlib.sha256((hashes + self._settings).encode()).hexdigest()
            stored = self._load(job, key)
            if stored is not None:
                return stored
            found = read_file(job.result, self._options)
            entry = entry_of(
                job.dataset, job.program, score(truth, found, lam=self._lam, protocol=self._protocol, threads=1)
            )
        except InputError as error:
            return str(error)
        content = {"metrics": entry.metrics, "block": entry.block, "frames": entry.frames.tolist()}
        content |= {"costs": entry.costs.tolist(), "truths": entry.truths.tolist()}
        write_json(content, str(self._store / f"{key}.json"))
        return entry

    def _load(self, job: Job, key: str) -> Entry | None:
        path = self._store / f"{key}.json"
        try:
            kept = json_module.loads(path.read_text(encoding="utf-8"))
            return Entry(
                job.dataset,
                job.program,
                {name: kept["metrics"][name] for name in METRICS},
                int(kept["block"]),
                np.array(kept["frames"], dtype=np.int64),
                np.array(kept["costs"], dtype=np.float64),
                np.array(kept["truths"], dtype=np.float64),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None  # not there, or not ours: scored again


def board_content(
    board: Leaderboard,
    entries: list[Entry],
    failures: dict[tuple[str, str], str],
    lam: float,
    protocol: Protocol,
) -> dict[str, Any]:
    """The JSON of the command."""
    return {
        "version": __version__,
        "lam_nm": lam,
        "protocol": protocol.described(),
        "datasets": {name: [dataclasses.asdict(s) for s in places] for name, places in board.datasets.items()},
        "overall": [dataclasses.asdict(standing) for standing in board.overall],
        "metrics": [{"dataset": e.dataset, "program": e.program, **e.metrics} for e in entries],
        "correlations": [dataclasses.asdict(c) for c in board.correlations],
        "failures": [{"dataset": d, "program": p, "reason": reason} for (d, p), reason in failures.items()],
    }


def board_csv(entries: list[Entry], board: Leaderboard, failures: dict[tuple[str, str], str]) -> str:
    """One row for each result, bad ones with their reason."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["dataset", "program", "rank", "rank_low", "rank_high", *METRICS, "reason"])
    by_name = {(entry.dataset, entry.program): entry for entry in entries}
    for name in sorted([*by_name, *failures]):
        if name in failures:
            writer.writerow([*name, *[""] * (3 + len(METRICS)), failures[name]])
            continue
        dataset, program = name
        standing = next(s for s in board.datasets[dataset] if s.program == program)
        values = ["" if value is None else repr(value) for value in by_name[name].metrics.values()]
        writer.writerow([*name, standing.rank, *standing.rank_interval, *values, ""])
    return file.getvalue()


def board_markdown(board: Leaderboard, failures: dict[tuple[str, str], str]) -> str:
    """Tables of the ranks."""
    lines = []
    sections = {"Overall (mean rank, pooled Flat Metric)": board.overall} if len(board.datasets) > 1 else {}
    for title, places in (sections | dict(board.datasets)).items():
        lines += [f"## {title}", "", "| rank | 95 % | program | Flat Metric [nm] |", "|---|---|---|---|"]
        for s in places:
            program = s.program.replace("|", "\\|")
            span = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
            lines.append(f"| {s.rank:.4g} | {span} | {program} | {s.flat_metric:.2f} |")
        lines.append("")
    if failures:
        lines += ["## Not scored", ""]
        lines += [f"- {dataset}, {program}: {reason}" for (dataset, program), reason in failures.items()]
        lines.append("")
    shown = [c for c in board.correlations if c.kind == "spearman" and c.value is not None and c.a == "flat_metric"]
    if shown:
        lines += ["## Spearman correlation with the Flat Metric", "", "| metric | rho | 95 % |", "|---|---|---|"]
        for c in shown:
            span = "-" if c.interval is None else f"{c.interval[0]:.2f} to {c.interval[1]:.2f}"
            lines.append(f"| {c.b} | {c.value:.2f} | {span} |")
    return "\n".join(lines).rstrip()
