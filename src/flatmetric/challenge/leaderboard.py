"""Score and rank many results: a bad file becomes a row with its reason, and earlier scores are reused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flatmetric._files import csv_text, json_text, make_folder, write_text
from flatmetric._progress import Progress
from flatmetric._validation import thread_count
from flatmetric.challenge.store import ScoreStore
from flatmetric.challenge.submissions import Submission
from flatmetric.errors import InputError
from flatmetric.formats.conversion import ReadOptions
from flatmetric.formats.read import read_file
from flatmetric.localizations import Localizations
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.scoring.score import ScoreOptions, score
from flatmetric.statistics.entries import Entry, entry_of
from flatmetric.statistics.intervals import Certainty
from flatmetric.statistics.ranking import Correlation, Kind, Leaderboard, Standing, rank
from flatmetric.version import __version__

FILES = ("leaderboard.csv", "leaderboard.json", "leaderboard.md")
"""What `write_leaderboard` writes."""
_STORE = "store"

Failures = dict[tuple[str, str], str]
"""Why there is no score, by data set and program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardOptions:
    """How results are read, scored and ranked."""

    score: ScoreOptions = field(default_factory=ScoreOptions)
    truth: ReadOptions = field(default_factory=ReadOptions)
    pred: ReadOptions = field(default_factory=ReadOptions)
    certainty: Certainty = field(default_factory=Certainty)
    threads: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ScoredFolder:
    """A leaderboard with its entries, and the results that have no score."""

    leaderboard: Leaderboard
    entries: tuple[Entry, ...]
    failures: Failures
    options: LeaderboardOptions

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the content of leaderboard.json."""
        board, options = self.leaderboard, self.options
        return {
            "version": __version__,
            "lam_nm": options.score.lam,
            "protocol": options.score.protocol.to_dict(),
            "datasets": {name: [asdict(s) for s in places] for name, places in board.datasets.items()},
            "overall": [asdict(standing) for standing in board.overall],
            "kinds": {name: asdict(kind) for name, kind in board.kinds.items()},
            "metrics": [{"dataset": e.dataset, "program": e.program, **e.metrics} for e in self.entries],
            "correlations": [asdict(c) for c in board.correlations],
            "failures": [{"dataset": d, "program": p, "reason": reason} for (d, p), reason in self.failures.items()],
        }

    def to_csv(self) -> str:
        """One row for each result, failures with their reason: the content of leaderboard.csv."""
        rows: list[list[Any]] = [["dataset", "program", "rank", "rank_low", "rank_high", *LEADERBOARD, "reason"]]
        entries = {(entry.dataset, entry.program): entry for entry in self.entries}
        for name in sorted([*entries, *self.failures]):
            if name in self.failures:
                rows.append([*name, *[""] * (3 + len(LEADERBOARD)), self.failures[name]])
                continue
            standing = self.leaderboard.standing(*name)
            values = ["" if value is None else repr(value) for value in entries[name].metrics.values()]
            rows.append([*name, standing.rank, *standing.rank_interval, *values, ""])
        return csv_text(rows)

    def to_markdown(self) -> str:
        """Tables of the ranks: the content of leaderboard.md."""
        board = self.leaderboard
        lines = ["Ranks and intervals are for the structure of each data set, with new blinking and noise.", ""]
        if len(board.datasets) > 1:
            lines += _ranks_in_markdown("Overall (mean rank, pooled Flat Metric)", board.overall, board.level)
        for name, kind in board.kinds.items():
            lines += _kind_in_markdown(name, kind, board.level)
        for title, standings in board.datasets.items():
            lines += _ranks_in_markdown(title, standings, board.level)
        if self.failures:
            lines += ["## Not scored", ""]
            lines += [f"- {dataset}, {program}: {reason}" for (dataset, program), reason in self.failures.items()]
            lines.append("")
        kinds = ("spearman", "pearson")
        with_flat = {(c.b, c.kind): c for c in board.correlations if c.a == "flat_metric" and c.value is not None}
        if with_flat:
            lines += ["## Correlation with the Flat Metric", ""]
            lines += ["| metric | Spearman | 95 % | Pearson | 95 % |", "|---|---|---|---|---|"]
            for metric in dict.fromkeys(name for name, _ in with_flat):
                cells = [_correlation_in_markdown(with_flat.get((metric, kind))) for kind in kinds]
                lines.append(f"| {metric} | {' | '.join(cells)} |")
        return "\n".join(lines).rstrip()


def _correlation_in_markdown(correlation: Correlation | None) -> str:
    if correlation is None or correlation.value is None:
        return "- | -"
    low_high = correlation.interval
    span = "-" if low_high is None else f"{low_high[0]:.2f} to {low_high[1]:.2f}"
    return f"{correlation.value:.2f} | {span}"


def _kind_in_markdown(name: str, kind: Kind, level: float) -> list[str]:
    lines = [f"## {name}: new structures, from {len(kind.datasets)} data sets", ""]
    header = ("rank", f"possible ranks ({level:g} %)", "program", "Flat Metric [nm]", f"{level:g} % interval")
    lines += [f"| {' | '.join(header)} | one more data set |", "|---|---|---|---|---|---|"]
    for s in kind.standings:
        spans = [f"{low:.2f} to {high:.2f}" for low, high in (s.flat_metric_interval, s.next_interval)]
        ranks = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
        program = s.program.replace("|", "\\|")
        lines.append(f"| {s.rank:.4g} | {ranks} | {program} | {s.flat_metric:.2f} | {' | '.join(spans)} |")
    return [*lines, ""]


def _ranks_in_markdown(title: str, standings: Sequence[Standing], level: float) -> list[str]:
    lines = [
        f"## {title}",
        "",
        f"| rank | possible ranks ({level:g} %) | program | Flat Metric [nm] | {level:g} % interval |",
        "|---|---|---|---|---|",
    ]
    for s in standings:
        program = s.program.replace("|", "\\|")
        span = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
        own = s.flat_metric_interval
        certain = "-" if own is None else f"{own[0]:.2f} to {own[1]:.2f}"
        lines.append(f"| {s.rank:.4g} | {span} | {program} | {s.flat_metric:.2f} | {certain} |")
    return [*lines, ""]


def write_leaderboard(
    submissions: Sequence[Submission],
    folder: Path,
    options: LeaderboardOptions,
    missing: Mapping[tuple[str, str], str] | None = None,
    progress: Progress | None = None,
) -> ScoredFolder:
    """Score what is new, rank, and write leaderboard.csv, .json and .md into a folder.

    `missing` are results that don't exist, by data set and program, with the reason.
    """
    make_folder(folder)
    store = ScoreStore(folder / _STORE, options.score, options.truth, options.pred)
    outcomes = _score_all(submissions, store, options, progress)
    entries = tuple(outcome for outcome in outcomes if isinstance(outcome, Entry))
    failures = {(s.dataset, s.program): o for s, o in zip(submissions, outcomes, strict=True) if isinstance(o, str)}
    board = rank(entries, options.certainty)
    scored = ScoredFolder(board, entries, failures | dict(missing or {}), options)
    for name, text in zip(
        FILES, (scored.to_csv(), json_text(scored.to_dict()), scored.to_markdown() + "\n"), strict=True
    ):
        write_text(text, folder / name)
    return scored


def _score_all(
    submissions: Sequence[Submission], store: ScoreStore, options: LeaderboardOptions, progress: Progress | None
) -> list[Entry | str]:
    """An entry for each submission, or why there is none."""
    workers = thread_count(options.threads)
    truths: dict[Path, Localizations | str] = {}
    for path in {one.truth for one in submissions}:
        try:
            truths[path] = read_file(path, options.truth, threads=workers)
        except InputError as error:
            truths[path] = str(error)

    def score_one(one: Submission) -> Entry | str:
        truth = truths[one.truth]
        if isinstance(truth, str):
            return truth
        try:
            key = store.key(one.truth, one.result)
            entry = store.load(key, one)
            if entry is None:
                # The results are spread over the threads, so each of them uses one.
                pred = read_file(one.result, options.pred, threads=1)
                entry = entry_of(one.dataset, one.program, score(truth, pred, **options.score.keywords(), threads=1))
                store.save(key, entry)
            return entry
        except InputError as error:
            return str(error)

    outcomes: list[Entry | str] = []
    with ThreadPoolExecutor(workers) as pool:
        for outcome in pool.map(score_one, submissions):
            outcomes.append(outcome)
            if progress is not None:
                progress("scoring", len(outcomes), len(submissions))
    return outcomes
