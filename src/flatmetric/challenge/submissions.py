"""The results in a folder of data sets: where they are, and what their programs are called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from flatmetric.errors import InputError

_SIDE_FILES = (".yaml", ".md")  # belong to another file
_PARTS = "____"  # between the parts of the challenge's file names


@dataclass(frozen=True, slots=True)
class Submission:
    """One result of a program on a data set, and the truth it is scored against."""

    dataset: str
    program: str
    truth: Path
    result: Path


def find_submissions(folder: Path) -> list[Submission]:
    """The results of every data set in a folder: DATASET/truth.* (or activations.csv) and DATASET/results/PROGRAM.*,
    or DATASET/ with files named as in the challenge.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder; give one with DATASET/truth.* and DATASET/results/PROGRAM.*")
    submissions = []
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        truths = [
            p for p in sorted(place.glob("truth.*")) + sorted(place.glob("activations.csv")) if p.suffix != ".yaml"
        ]
        if not truths:
            continue
        if len(truths) > 1:
            raise InputError(f"{place}: has {len(truths)} truth files; keep one")
        results = [p for p in sorted((place / "results").glob("*")) if p.is_file() and p.suffix not in _SIDE_FILES]
        results += [p for p in sorted(place.glob(f"*{_PARTS}*")) if p.is_file()]
        submissions += [Submission(place.name, program_name(path), truths[0], path) for path in results]
    if not submissions:
        raise InputError(f"{folder}: holds no DATASET/truth.* with DATASET/results/PROGRAM.*")
    for (dataset, program), count in Counter((one.dataset, one.program) for one in submissions).items():
        if count > 1:
            raise InputError(f"{folder}: two results of {dataset} are called {program}; rename one")
    return submissions


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
