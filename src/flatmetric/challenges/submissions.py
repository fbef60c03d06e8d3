"""The results in a folder of data sets: where they are, and what their programs are called."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric._files import check_readable
from flatmetric.errors import InputError
from flatmetric.formats.file_options import FILE_OPTIONS, KnownOptions, file_options_in, member_of

_SIDE_FILES = (".yaml", ".yml", ".json")  # belong to a table of the same name
_WORDS = (".md", ".toml", ".pdf", ".rst")  # are about results
_SIMULATED = "activations.csv"  # the truth that `simulate` writes
_SUFFIXES = frozenset(
    (
        *(".csv", ".tsv", ".txt", ".dat", ".xls", ".json", ".yaml", ".yml", ".hdf5", ".h5", ".hdf", ".mat", ".parquet"),
        *(".smlm", ".bin", ".loc", ".locs", ".pts", ".3d", ".xy", ".npy", ".npz", ".pkl", ".gz", ".zst", ".zip"),
    )
)
_OURS = ("leaderboard.json", "index.html")  # what this package wrote
_NAMED = 3  # tables of a folder in a sentence
_PARTS = "____"  # between the parts of the challenge's file names
TUNED = "-tuned"
"""The end of the name of a method that was tuned."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One result of a program on a data set, and the truth it is scored against."""

    dataset: str
    program: str
    truth: Path
    result: Path

    def absolute(self) -> Submission:
        """The same, as it is found from any folder."""
        return dataclasses.replace(self, truth=self.truth.absolute(), result=self.result.absolute())


@dataclass(frozen=True, slots=True)
class Submissions:
    """The results in a folder; what can't be a result although somebody handed it in, by data set and program; and what
    was left out; each with the reason.
    """

    results: tuple[Submission, ...]
    ignored: dict[str, str]
    unreadable: dict[tuple[str, str], str] = dataclasses.field(default_factory=dict)


def find_submissions(folder: Path, out: Path | None = None, truth: Path | None = None) -> Submissions:
    """The results of every data set in a folder: DATASET/truth.* (or activations.csv) and DATASET/results/PROGRAM.*, or
    a folder DATASET/results/PROGRAM with one table in it, or DATASET/ with files named as in the challenge. `out`,
    where the ranks go, is no data set. With `truth`, the folder itself holds the results of one data set.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; give one with DATASET/truth.* and DATASET/results/PROGRAM.*")
    if truth is not None:
        return _on_one_truth(folder, truth)
    submissions: list[Submission] = []
    ignored: dict[str, str] = {}
    unreadable: dict[tuple[str, str], str] = {}
    known: KnownOptions = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        if place.name.startswith(".") or place == out:
            continue
        truth_file = find_truth(place)
        results = [*sorted((place / "results").glob("*")), *sorted(place.glob(f"*{_PARTS}*"))]
        if truth_file is None:
            if results:
                ignored[place.name] = "has results and no truth.* or activations.csv"
            elif not any((place / name).exists() for name in _OURS):
                ignored[place.name] = "has no truth.* and no results"
            continue
        if not results:
            ignored[place.name] = "has a truth and no results"
        tables = [path for path in results if _is_table(path)]
        for path in results:
            reason = _not_a_result(path, tables)
            if reason is not None:
                ignored[path.relative_to(folder).as_posix()] = reason
                continue
            try:
                submissions.append(Submission(place.name, program_name(path), truth_file, _chosen(path, known)))
            except InputError as error:
                unreadable[place.name, program_name(path)] = str(error)
    for place in (folder, *(path for path in folder.glob("*") if path.is_dir()), *folder.glob("*/results")):
        for name in file_options_in(place):
            if not (place / name).exists():
                named_in = (place / FILE_OPTIONS).relative_to(folder).as_posix()
                ignored[f"{named_in}: {name}"] = "there is no such file"
    if not submissions:
        layout = "DATASET/truth.* with DATASET/results/PROGRAM.*"
        if any(_is_table(path) for path in folder.iterdir()):
            raise InputError(f"{folder}: holds tables and no {layout}; for results on one truth give truth_file=")
        raise InputError(f"{folder}: holds no {layout}")
    return _unique(submissions, ignored, unreadable)


def find_truth(place: Path) -> Path | None:
    """The truth in the folder of a data set; None if there is none, an error if there are several."""
    truths = [p for p in (*sorted(place.glob("truth.*")), *sorted(place.glob(_SIMULATED))) if _is_table(p)]
    if len(truths) > 1:
        raise InputError(f"{place}: has {len(truths)} truth files; keep one")
    if truths and truths[0].name == _SIMULATED:
        from flatmetric.simulation.folder import check_truth  # most boards need no simulator

        check_truth(truths[0])
    return truths[0] if truths else None


def _on_one_truth(folder: Path, truth: Path) -> Submissions:
    """All tables of a folder, as results on one truth."""
    check_readable(truth)
    tables = [path for path in sorted(folder.iterdir()) if _is_table(path) and path.resolve() != truth.resolve()]
    if not tables:
        raise InputError(f"{folder}: holds no table besides the truth")
    ignored = {}
    results = []
    for path in tables:
        reason = _not_a_result(path, tables)
        if reason is None:
            results.append(Submission(folder.resolve().name, program_name(path), truth, path))
        else:
            ignored[path.name] = reason
    return _unique(results, ignored, {})


def _unique(
    submissions: Sequence[Submission], ignored: dict[str, str], unreadable: dict[tuple[str, str], str]
) -> Submissions:
    """The results; those that share their name are left out."""
    named = Counter((one.dataset, one.program) for one in submissions)
    unique = []
    for one in submissions:
        if named[one.dataset, one.program] == 1:
            unique.append(one)
        else:
            reason = f"{named[one.dataset, one.program]} results are called {one.program}; keep one, or rename them"
            unreadable[one.dataset, one.result.name] = reason
    return Submissions(tuple(unique), ignored, unreadable)


def _is_table(path: Path) -> bool:
    return path.is_file() and may_be_table(path)


def may_be_table(path: Path) -> bool:
    """Whether a file of this name would be taken for a table.

    Examples
    --------
    >>> may_be_table(Path("truth.csv")), may_be_table(Path("truth.json"))
    (True, False)
    """
    return path.suffix not in (*_SIDE_FILES, *_WORDS) and not path.name.startswith(".")


def _not_a_result(path: Path, tables: Sequence[Path]) -> str | None:
    """Why a file among the results is left out; None for a result."""
    if path.name.startswith((".", "~")) or path.name in ("Thumbs.db", "desktop.ini"):
        return "a hidden file"
    if path.is_file() and path.suffix in _WORDS:
        return "no table of localizations"
    if path.suffix not in _SIDE_FILES:
        return None
    owner = next((one for one in tables if path.name.startswith(f"{one.stem}.")), None)
    return None if owner is None else f"belongs to {owner.name}"


def _chosen(path: Path, known: KnownOptions) -> Path:
    """The table of a result: the file itself or, of a folder or an archive, the `member` that a `submissions.toml`
    names, or the only table of a folder.
    """
    member = member_of(path, known)
    if member is not None:
        return path / member
    if not path.is_dir():
        return path
    tables = [one for one in sorted(path.iterdir()) if _is_table(one)]
    if len(tables) == 1:
        return tables[0]
    if not tables:
        raise InputError(f"{path}: the folder has no table; put one there")
    named = ", ".join(one.name for one in tables[:_NAMED]) + (", ..." if len(tables) > _NAMED else "")
    say = f'keep one, or say which: member = "{tables[0].name}" in {FILE_OPTIONS}'
    raise InputError(f"{path}: the folder has {len(tables)} tables ({named}); {say}")


def program_name(path: Path) -> str:
    """The program of a result: the file's name without suffixes, or the third part of the challenge's file names.

    Examples
    --------
    >>> program_name(Path("MT0.N1.LD____AS____Picasso____standard.csv")), program_name(Path("fit v1.2.csv.gz"))
    ('Picasso', 'fit v1.2')
    """
    parts = path.name.split(_PARTS)
    return parts[2] if len(parts) >= 3 else _without_suffixes(path)


def _without_suffixes(path: Path) -> str:
    """The name of a file without the suffixes of tables and archives; other dots are parts of the name."""
    while path.suffix.lower() in _SUFFIXES and path.stem:
        path = path.with_suffix("")
    return path.name


def program_names(paths: list[Path]) -> list[str]:
    """Names for results: those of their files without suffixes or, where these are not unique, the whole paths.

    Examples
    --------
    >>> program_names([Path("a/x.csv"), Path("a/y.csv")]), program_names([Path("a/x.csv"), Path("b/x.csv")])
    (['x', 'y'], ['a/x.csv', 'b/x.csv'])
    """
    if len(set(paths)) < len(paths):
        raise InputError(f"{next(p for p in paths if paths.count(p) > 1)}: is given twice; give each result once")
    short = [_without_suffixes(path) for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def tuned_name(method: str) -> str:
    """The name of a method among the participants when it is tuned.

    Examples
    --------
    >>> tuned_name("dog")
    'dog-tuned'
    """
    return f"{method}{TUNED}"
