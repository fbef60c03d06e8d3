"""Score and rank many results: a bad file becomes a row with its reason, and earlier scores are reused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flatmetric._dataclass import dataclass
from flatmetric._display import Displayed
from flatmetric._escaping import in_latex, in_markdown
from flatmetric._files import csv_text, json_text, make_folder, read_json, write_text
from flatmetric.challenges.store import ScoreStore
from flatmetric.challenges.submissions import Submission, Submissions, tuned_name
from flatmetric.errors import InputError, printable
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
from flatmetric.statistics.correlations import Correlation
from flatmetric.statistics.entries import Entry, entry_of
from flatmetric.statistics.ranking import DatasetKind, Ranking, Standing, rank
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

    `suspect` says what looks wrong with a result, by data set and program.
    """

    ranking: Ranking
    entries: tuple[Entry, ...]
    failures: Failures
    settings: dict[str, Any]
    ignored: dict[str, str] = field(default_factory=dict)
    submissions: tuple[Submission, ...] = ()
    options: RankOptions | None = None

    def __repr__(self) -> str:
        programs = {entry.program for entry in self.entries}
        ranked = f"{len(programs)} programs on {len(self.ranking.datasets)} data sets"
        return f"Leaderboard({ranked}, {len(self.suspect)} results suspect, {len(self.failures)} not scored)"

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

    @cached_property
    def suspect(self) -> dict[tuple[str, str], list[str]]:
        """What looks wrong with results, by data set and program; only those with which something does."""
        lam, remarks_of = self.settings["lam"], {}
        alike: dict[Any, list[Entry]] = {}
        for entry in self.entries:
            alike.setdefault(_likeness(entry), []).append(entry)
        copied = {
            id(entry): names for group in alike.values() for entry, names in zip(group, _copies(group), strict=True)
        }
        for entry in self.entries:
            value, copies = entry.metrics["flat_metric"], copied[id(entry)]
            remarks = [*entry.findings, *(f"a copy of {other}" for other in copies)]
            if value is not None and value > lam * (1 + 1e-9):
                remarks.append(f"worse than an empty file, which has {lam:g} nm")
            if remarks:
                remarks_of[entry.dataset, entry.program] = remarks
        return remarks_of

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
            "kinds": {
                name: asdict(kind) | {"pairs": [pair.to_dict() for pair in kind.pairs]}
                for name, kind in board.kinds.items()
            },
            "metrics": [{"dataset": e.dataset, "program": e.program, **e.metrics} for e in self.entries],
            "correlations": [asdict(c) for c in board.correlations],
            "suspect": [{"dataset": d, "program": p, "remarks": texts} for (d, p), texts in suspect.items()],
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
            row = _place(name[0], self.ranking.standing(*name))
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
        boards = {"Overall": self.ranking.overall} if len(self.ranking.datasets) > 1 else {}
        return "\n".join(_in_latex(name, places) for name, places in (boards | self.ranking.datasets).items())

    def to_markdown(self) -> str:
        """Tables of the ranks: the content of leaderboard.md."""
        board, suspect = self.ranking, self.suspect
        lines = []
        if suspect:
            lines += [
                "## Suspect",
                "",
                *(f"- {in_markdown(f'{d}, {p}: {text}')}" for (d, p), texts in suspect.items() for text in texts),
                "",
            ]
        if len(board.datasets) > 1:
            lines += _overall_in_markdown(board.overall, board.level)
        for name, kind in board.kinds.items():
            lines += _kind_in_markdown(name, kind, board.level)
        for title, standings in board.datasets.items():
            marks = {program: "; ".join(texts) for (dataset, program), texts in suspect.items() if dataset == title}
            lines += _ranks_in_markdown(title, standings, board.level, marks)
        if any(standing.letters for places in board.datasets.values() for standing in places):
            lines += ["Programs that share a letter can't be told apart.", ""]
        for title, left_out in (("Not scored", _listed(self.failures)), ("Ignored", list(self.ignored.items()))):
            if left_out:
                lines += [
                    f"## {title}",
                    "",
                    *(f"- {in_markdown(f'{name}: {reason}')}" for name, reason in left_out),
                    "",
                ]
        kinds = ("spearman", "pearson")
        with_flat = {(c.b, c.kind): c for c in board.correlations if c.a == "flat_metric" and c.value is not None}
        if with_flat:
            lines += ["## Correlation with the Flat Metric", ""]
            lines += ["| metric | Spearman | 95 % | Pearson | 95 % |", "|---|---|---|---|---|"]
            for metric in dict.fromkeys(name for name, _ in with_flat):
                cells = [_correlation_in_markdown(with_flat.get((metric, kind))) for kind in kinds]
                lines.append(f"| {metric} | {' | '.join(cells)} |")
            lines.append("")
        lines.append("Ranks and intervals are for the structure of each data set, with new blinking and noise.")
        return "\n".join(lines).rstrip()


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
_NEAR = 1.0  # nm: a copy may have been rounded


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


def _likeness(entry: Entry) -> tuple[str, int, tuple[int, ...]]:
    """What copies of a result share exactly: data set, number of rows, and the frames of some of them."""
    return entry.dataset, entry.rows, tuple(row[0] for row in entry.sample)


def _copies(alike: Sequence[Entry]) -> list[list[str]]:
    """For each of some results that are alike, which others are copies of it, perhaps in another format; tuning may
    well end at the defaults.
    """
    if alike[0].rows < _FEWEST_ALIKE or len(alike) == 1:
        return [[] for _ in alike]
    places = np.array([[row[1:] for row in entry.sample] for entry in alike])
    names = [entry.program for entry in alike]
    copies = []
    for at, own in enumerate(names):
        near = np.flatnonzero((np.abs(places - places[at]) <= _NEAR).all(axis=(1, 2))).tolist()
        others = [names[k] for k in near if k != at]
        copies.append([name for name in others if tuned_name(name) != own and tuned_name(own) != name])
    return copies


_FEWEST_ALIKE = 10  # rows


def _listed(failures: Failures) -> list[tuple[str, str]]:
    return [(f"{dataset}, {program}", reason) for (dataset, program), reason in failures.items()]


def _in_latex(title: str, standings: Sequence[Standing]) -> str:
    rows = []
    for s in standings:
        own = s.flat_metric_interval
        certain = "" if own is None else f"{own[0]:.1f}--{own[1]:.1f}"
        marks = f"$^{{{s.letters}}}$" if s.letters else ""
        cells = (str(s.place), in_latex(s.program) + marks, f"{s.flat_metric:.1f}", certain)
        rows.append(" & ".join(cells) + r" \\")
    head = r"place & program & Flat Metric [nm] & interval \\"
    lines = [
        f"% {printable(title)}",
        r"\begin{tabular}{rlrl}",
        r"\hline",
        head,
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
        "",
    ]
    return "\n".join(lines)


def _correlation_in_markdown(correlation: Correlation | None) -> str:
    if correlation is None or correlation.value is None:
        return "- | -"
    low_high = correlation.interval
    span = "-" if low_high is None else f"{low_high[0]:.2f} to {low_high[1]:.2f}"
    return f"{correlation.value:.2f} | {span}"


def _kind_in_markdown(name: str, kind: DatasetKind, level: float) -> list[str]:
    lines = [f"## {in_markdown(name)}: new structures, from {len(kind.datasets)} data sets", ""]
    header = ("rank", f"possible ranks ({level:g} %)", "program", "Flat Metric [nm]", f"{level:g} % interval")
    lines += [f"| {' | '.join(header)} | one more data set |", "|---|---|---|---|---|---|"]
    for s in kind.standings:
        spans = [f"{low:.2f} to {high:.2f}" for low, high in (s.flat_metric_interval, s.next_interval)]
        ranks = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
        program = in_markdown(s.program)
        lines.append(f"| {s.rank:.4g} | {ranks} | {program} | {s.flat_metric:.2f} | {' | '.join(spans)} |")
    return [*lines, ""]


def _ranks_in_markdown(
    title: str, standings: Sequence[Standing], level: float, suspect: Mapping[str, str]
) -> list[str]:
    header = ["place", "program", "", "Flat Metric [nm]", f"{level:g} % interval", f"possible ranks ({level:g} %)"]
    marked = any(s.program in suspect for s in standings)
    header += ["suspect"] if marked else []
    lines = [f"## {in_markdown(title)}", "", f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for s in standings:
        span = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
        own = s.flat_metric_interval
        certain = "-" if own is None else f"{own[0]:.2f} to {own[1]:.2f}"
        cells = [str(s.place), in_markdown(s.program), s.letters, f"{s.flat_metric:.2f}", certain, span]
        lines.append(f"| {' | '.join([*cells, *([in_markdown(suspect.get(s.program, ''))] if marked else [])])} |")
    return [*lines, ""]


def _overall_in_markdown(standings: Sequence[Standing], level: float) -> list[str]:
    lines = ["## Overall (mean rank, pooled Flat Metric)", ""]
    if not standings:
        return [*lines, "No program ran on all data sets.", ""]
    lines += [f"| place | program | mean rank | possible ({level:g} %) | Flat Metric [nm] |", "|---|---|---|---|---|"]
    for s in standings:
        span = f"{s.rank_interval[0]:.4g} to {s.rank_interval[1]:.4g}"
        lines.append(f"| {s.place} | {in_markdown(s.program)} | {s.rank:.4g} | {span} | {s.flat_metric:.2f} |")
    return [*lines, ""]


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
    failures |= missing or {}
    known, programs = {(one.dataset, one.program) for one in there}, sorted({one.program for one in there})
    for dataset in dict.fromkeys(one.dataset for one in there):
        for program in programs:
            if (dataset, program) not in known:
                failures.setdefault((dataset, program), "no result was handed in")
    ranking = rank(entries, options.certainty, threads=workers.here)
    board = Leaderboard(ranking, entries, failures, settings, dict(submissions.ignored), there, options)
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
