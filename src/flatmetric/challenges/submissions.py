"""The results in a folder of data sets: where they are, and what their programs are called."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

from flatmetric._dataclass import dataclass
from flatmetric.errors import InputError
from flatmetric.formats.file_options import FILE_OPTIONS, file_options_in

_SIDE_FILES = (".yaml", ".yml", ".md", ".toml", ".json")  # belong to another file
_SIMULATED = "activations.csv"  # the truth that `simulate` writes
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
    """The results in a folder, and what was left out, each with the reason."""

    results: tuple[Submission, ...]
    ignored: dict[str, str]


def find_submissions(folder: Path, out: Path | None = None) -> Submissions:
    """The results of every data set in a folder: DATASET/truth.* (or activations.csv) and DATASET/results/PROGRAM.*,
    or DATASET/ with files named as in the challenge. `out`, where the ranks go, is no data set.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; give one with DATASET/truth.* and DATASET/results/PROGRAM.*")
    submissions: list[Submission] = []
    ignored: dict[str, str] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        if place.name.startswith(".") or place == out:
            continue
        truths = [p for p in (*sorted(place.glob("truth.*")), *sorted(place.glob(_SIMULATED))) if _is_table(p)]
        results = [*sorted((place / "results").glob("*")), *sorted(place.glob(f"*{_PARTS}*"))]
        if not truths:
            if results:
                ignored[place.name] = "has results and no truth.* or activations.csv"
            elif not (place / "leaderboard.json").exists():
                ignored[place.name] = "has no truth.* and no results"
            continue
        if len(truths) > 1:
            raise InputError(f"{place}: has {len(truths)} truth files; keep one")
        if truths[0].name == _SIMULATED:
            from flatmetric.simulation.folder import check_truth  # most boards need no simulator

            check_truth(truths[0])
        if not results:
            ignored[place.name] = "has a truth and no results"
        for path in results:
            reason = _not_a_result(path)
            if reason is None:
                submissions.append(Submission(place.name, program_name(path), truths[0], path))
            else:
                ignored[path.relative_to(folder).as_posix()] = reason
    for place in (folder, *(path for path in folder.glob("*") if path.is_dir()), *folder.glob("*/results")):
        for name in file_options_in(place):
            if not (place / name).is_file():
                named_in = (place / FILE_OPTIONS).relative_to(folder).as_posix()
                ignored[f"{named_in}: {name}"] = "there is no such file"
    if not submissions:
        raise InputError(f"{folder}: holds no DATASET/truth.* with DATASET/results/PROGRAM.*")
    for (dataset, program), count in Counter((one.dataset, one.program) for one in submissions).items():
        if count > 1:
            raise InputError(f"{folder}: two results of {dataset} are called {program}; rename one")
    return Submissions(tuple(submissions), ignored)


def _is_table(path: Path) -> bool:
    return path.is_file() and path.suffix not in _SIDE_FILES and not path.name.startswith(".")


def _not_a_result(path: Path) -> str | None:
    """Why a file among the results is left out; None for a result."""
    if path.name.startswith((".", "~")) or path.name in ("Thumbs.db", "desktop.ini"):
        return "a hidden file"
    if not path.is_file():
        return "not a file"
    return "belongs to another file" if path.suffix in _SIDE_FILES else None


def program_name(path: Path) -> str:
    """The program of a result: the file's name without suffixes, or the third part of the challenge's file names.

    Examples
    --------
    >>> program_name(Path("MT0.N1.LD____AS____Picasso____standard.csv")), program_name(Path("trackpy.csv"))
    ('Picasso', 'trackpy')
    """
    parts = path.name.split(_PARTS)
    return parts[2] if len(parts) >= 3 else path.name.split(".")[0]


def program_names(paths: list[Path]) -> list[str]:
    """Names for results: those of their files without suffixes or, where these are not unique, the whole paths.

    Examples
    --------
    >>> program_names([Path("a/x.csv"), Path("a/y.csv")]), program_names([Path("a/x.csv"), Path("b/x.csv")])
    (['x', 'y'], ['a/x.csv', 'b/x.csv'])
    """
    if len(set(paths)) < len(paths):
        raise InputError(f"{next(p for p in paths if paths.count(p) > 1)}: is given twice; give each result once")
    short = [path.name.split(".")[0] or path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def tuned_name(method: str) -> str:
    """The name of a method among the participants when it is tuned.

    Examples
    --------
    >>> tuned_name("dog")
    'dog-tuned'
    """
    return f"{method}{TUNED}"
