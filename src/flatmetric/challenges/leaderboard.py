"""Score and rank many results: a bad file becomes a row with its reason, and earlier scores are reused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric._files import csv_text, json_text, make_folder, read_json, write_text
from flatmetric.challenges.board_text import in_latex, in_markdown
from flatmetric.challenges.redaction import redacted
from flatmetric.challenges.store import ScoreStore
from flatmetric.challenges.submissions import Submission, Submissions
from flatmetric.challenges.suspects import Result, Suspects, find_suspects, left_out
from flatmetric.errors import InputError
from flatmetric.execution.progress import Progress
from flatmetric.execution.workers import Failed, Workers
from flatmetric.formats.file_options import KnownOptions, options_of_file
from flatmetric.formats.read import read_file, read_once
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.options.ranking import RankOptions
from flatmetric.options.reading import ReadOptions
from flatmetric.options.scoring import ScoreOptions
from flatmetric.scoring.checked import score_and_check
from flatmetric.scoring.score import Score
from flatmetric.statistics.entries import Entry, entry_of
from flatmetric.statistics.ranking import Ranking, Standing, rank
from flatmetric.version import __version__

_Scored = tuple[Entry | str, tuple[str | None, str | None]]
_WORTH_PROCESSES = 64  # results of a twentieth of a second each: fewer don't make up for the start of processes
FILES = ("leaderboard.csv", "leaderboard.json", "leaderboard.md")
"""What `write_leaderboard` writes."""

Failures = dict[tuple[str, str], str]
"""Why there is no score, by data set and program."""


@dataclass(frozen=True, eq=False)
class Leaderboard(Displayed):
    """Ranks with their entries, the results that have no score with the reason, and the files that were ignored.

    `suspects` is what looks wrong with results, and `left_out` says why results are below the line, in no rank and in
    no comparison; both by data set and program.
    """

    ranking: Ranking
    entries: tuple[Entry, ...]
    failures: Failures
    settings: dict[str, Any]
    ignored: dict[str, str] = field(default_factory=dict)
    submissions: tuple[Submission, ...] = ()
    options: RankOptions | None = None
    suspects: Suspects = field(default_factory=Suspects)
    left_out: dict[Result, str] = field(default_factory=dict)
    is_redacted: bool = False

    def __repr__(self) -> str:
        programs = {entry.program for entry in self.entries}
        ranked = f"{len(programs)} programs on {len(self.ranking.datasets)} data sets"
        return f"Leaderboard({ranked}, {len(self.suspect)} results suspect, {len(self.failures)} not scored)"

    @property
    def suspect(self) -> dict[Result, list[str]]:
        """What looks wrong with results, by data set and program; only those with which something does."""
        return self.suspects.remarks

    def scores(self, dataset: str, programs: Sequence[str]) -> dict[str, Score]:
        """The whole scores of programs on a data set, by name: read and computed again."""
        if self.options is None:
            raise InputError("this leaderboard has no source files to rescore; make it with fm.leaderboard")
        sources = {one.program: one for one in self.submissions if one.dataset == dataset}
        truth, options = read_file(sources[programs[0]].truth, self.options.truth), self.options.for_one(threads=1)
        scores = {}
        for name in programs:
            result = sources[name].result
            scores[name] = score_and_check(truth, read_file(result, options_of_file(result, options.pred)), options)
        return scores

    def redacted(self) -> Leaderboard:
        """The board for participants: ranks and rounded numbers, and nothing that says where true molecules are."""
        return redacted(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values: the content of leaderboard.json."""
        board, suspect = self.ranking, self.suspect
        return {
            "version": __version__,
            "lam_nm": self.settings["lam"],
            "protocol": self.settings["protocol"],
            "settings": self.settings,
            "datasets": {name: [asdict(s) for s in places] for name, places in board.datasets.items()},
            "overall": [asdict(standing) for standing in board.overall],
            "no_overall": board.no_overall,
            "kinds": {
                name: asdict(kind) | {"pairs": [pair.to_dict() for pair in kind.pairs]}
                for name, kind in board.kinds.items()
            },
            "metrics": [{"dataset": e.dataset, "program": e.program, **e.metrics} for e in self.entries],
            "correlations": [asdict(c) for c in board.correlations],
            "suspect": [{"dataset": d, "program": p, "remarks": texts} for (d, p), texts in suspect.items()],
            "shared": {dataset: list(texts) for dataset, texts in self.suspects.shared.items()},
            "left_out": [{"dataset": d, "program": p, "reason": reason} for (d, p), reason in self.left_out.items()],
            "failures": [{"dataset": d, "program": p, "reason": reason} for (d, p), reason in self.failures.items()],
            "ignored": [{"file": file, "reason": reason} for file, reason in self.ignored.items()],
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row for each result, those overall first; lengths in nm, and units in the names of columns."""
        suspect, rows = self.suspect, []
        for standing in self.ranking.overall:
            rows.append(_place("overall", standing) | {"mean_rank": standing.rank})
        entries = {(entry.dataset, entry.program): entry for entry in self.entries}
        for name in sorted([*entries, *self.failures]):
            if name in self.failures:
                rows.append({"dataset": name[0], "program": name[1], "reason": self.failures[name]})
                continue
            place = self.ranking.standing(*name)
            if place is not None:
                row = _place(name[0], place)
            else:
                own = {"dataset": name[0], "program": name[1], "flat_metric [nm]": entries[name].metrics["flat_metric"]}
                row = own | {"reason": f"left out of the ranks: {self.left_out[name]}"}
            for metric, value in entries[name].metrics.items():
                if metric != "flat_metric":
                    row[_with_unit(metric)] = value
            rows.append(row | {"suspect": "; ".join(suspect.get(name, []))})
        return [{column: row.get(column) for column in _COLUMNS} for row in rows]

    def to_csv(self) -> str:
        """One row for each result, failures with their reason: the content of leaderboard.csv."""
        cells = [["" if value is None else value for value in row.values()] for row in self.rows()]
        return csv_text([list(_COLUMNS), *([repr(v) if isinstance(v, float) else v for v in row] for row in cells)])

    def to_pandas(self) -> Any:
        """A row for each result, those overall first; lengths in nm."""
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(_COLUMNS))

    def to_latex(self) -> str:
        """The ranks as LaTeX tables, for a paper; needs no package."""
        return in_latex(self)

    def to_markdown(self) -> str:
        """The winner, tables of the ranks, and what looks wrong: the content of leaderboard.md."""
        return in_markdown(self)


_COLUMNS = (
    *("dataset", "program", "place", "letters", "mean_rank", "rank_low", "rank_high"),
    *("flat_metric [nm]", "flat_metric_low [nm]", "flat_metric_high [nm]"),
    *(
        f"{name} [{metric.unit}]" if metric.unit else name
        for name, metric in LEADERBOARD.items()
        if name != "flat_metric"
    ),
    *("suspect", "reason"),
)


def _with_unit(name: str) -> str:
    unit = LEADERBOARD[name].unit
    return f"{name} [{unit}]" if unit else name


def _place(dataset: str, standing: Standing) -> dict[str, Any]:
    low, high = standing.flat_metric_interval or (None, None)
    return {
        "dataset": dataset,
        "program": standing.program,
        "place": standing.place,
        "letters": standing.letters,
        "rank_low": standing.rank_interval[0],
        "rank_high": standing.rank_interval[1],
        "flat_metric [nm]": standing.flat_metric,
        "flat_metric_low [nm]": low,
        "flat_metric_high [nm]": high,
    }


def write_leaderboard(
    submissions: Submissions,
    folder: Path,
    options: RankOptions,
    *,
    missing: Mapping[tuple[str, str], str] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Score what is new, rank, and write leaderboard.csv, .json and .md into a folder.

    `missing` are results that don't exist, by data set and program, with the reason. Ranks that were made with other
    settings are replaced only if the options say so.
    """
    settings, execution = options.settings(), options.execution
    workers = Workers(execution.jobs, executor, kind="processes", fewest=_WORTH_PROCESSES, timeout=execution.timeout)
    make_folder(folder)
    if not options.replace:
        _check_settings(folder / FILES[1], settings)
    there = submissions.results
    with ScoreStore(folder, settings) as store:
        outcomes = _score_all(there, store, options.for_one(threads=1), workers, progress)
    entries = tuple(outcome for outcome in outcomes if isinstance(outcome, Entry))
    failures = {(s.dataset, s.program): o for s, o in zip(there, outcomes, strict=True) if isinstance(o, str)}
    failures |= submissions.unreadable | dict(missing or {})
    known, programs = {(one.dataset, one.program) for one in there}, sorted({one.program for one in there})
    for dataset in dict.fromkeys(one.dataset for one in there):
        for program in programs:
            if (dataset, program) not in known:
                failures.setdefault((dataset, program), "no result was handed in")
    suspects = find_suspects(entries, options.metrics.lam)
    out = left_out(
        suspects, entries, options.exclude, all_suspects=options.exclude_suspect, none=options.include_suspect
    )
    ranked = [entry for entry in entries if (entry.dataset, entry.program) not in out]
    ranking = rank(ranked, options.certainty, threads=workers.here)
    board = Leaderboard(ranking, entries, failures, settings, dict(submissions.ignored), there, options, suspects, out)
    texts = board.to_csv(), json_text(board.to_dict()), board.to_markdown() + "\n"
    for name, text in zip(FILES, texts, strict=True):
        write_text(text, folder / name)
    return board


def _check_settings(path: Path, settings: dict[str, Any]) -> None:
    """Fail if ranks made with other settings would be overwritten."""
    before = read_json(path).get("settings")
    now = json.loads(json_text(settings))
    if not isinstance(before, dict):
        return
    changed = sorted(name for name in before if before[name] != now.get(name))
    if not changed:
        return
    raise InputError(
        f"{path}: was made with other settings ({', '.join(changed)}); give another folder with out=, or replace=True"
    )


def _score_all(
    submissions: Sequence[Submission],
    store: ScoreStore,
    options: ScoreOptions,
    workers: Workers,
    progress: Progress | None,
) -> list[Entry | str]:
    """An entry for each submission, or why there is none; each is in the store as soon as it is made."""
    known: KnownOptions = {}
    reading = [_reading(one, options, known) for one in submissions]
    keys = store.keys(submissions, [None if isinstance(own, str) else own for own in reading])
    outcomes: list[Entry | str | None] = [own if isinstance(own, str) else None for own in reading]
    todo = []
    for at, (one, key) in enumerate(zip(submissions, keys, strict=True)):
        if key is not None and outcomes[at] is None:
            outcomes[at] = store.load(key, one)
        if outcomes[at] is None:
            todo.append(at)

    def keep(number: int, scored: _Scored | Failed) -> None:
        at = todo[number]
        if isinstance(scored, Failed):
            scored = f"{submissions[at].result}: {scored.reason}", (None, None)
        outcome, hashes = scored
        if isinstance(outcome, str):
            for path in (submissions[at].truth, submissions[at].result):  # as they were given
                outcome = outcome.replace(str(path.absolute()), str(path))
        outcomes[at] = outcome
        key = keys[at]
        if isinstance(outcome, Entry) and key is not None and store.is_unchanged(submissions[at], hashes):
            store.save(key, outcome)

    tasks = [
        (submissions[at].absolute() if workers.elsewhere else submissions[at], reading[at], options) for at in todo
    ]
    workers.run(_score_one, tasks, what="scoring", progress=progress, done=keep)
    return [outcome for outcome in outcomes if outcome is not None]


def _reading(one: Submission, options: ScoreOptions, known: KnownOptions) -> ReadOptions | str:
    try:
        return options_of_file(one.result, options.pred, known)
    except InputError as error:
        return str(error)


def _score_one(one: Submission, reading: ReadOptions, options: ScoreOptions) -> _Scored:
    """The entry of a submission, or why there is none, and the hashes of what was read; one thread, since the others
    score other results.
    """
    try:
        truth, pred = read_once(one.truth, options.truth), read_file(one.result, reading, threads=1)
        score = score_and_check(truth, pred, options)
        entry = replace(entry_of(one.dataset, one.program, score), advice=tuple(map(str, score.advice)))
        return entry, (truth.provenance.sha256, pred.provenance.sha256)
    except InputError as error:
        return str(error), (None, None)
    except MemoryError:
        return f"{one.result}: takes more memory than there is", (None, None)
