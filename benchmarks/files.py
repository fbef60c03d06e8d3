"""Files read and scored: ours against pandas, on tables written for it."""

from __future__ import annotations

import compileall
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import flatmetric as fm

if TYPE_CHECKING:
    import pandas as pd  # a hundred megabytes, which would be counted as the solver's

FRAMES = 20_000
FIELD = 6400.0  # nm


def localizations(rows: int, seed: int = 0) -> pd.DataFrame:
    """Frames in order, positions anywhere in the field."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "frame": np.sort(rng.integers(1, FRAMES + 1, rows)),
            "x": rng.uniform(0, FIELD, rows),
            "y": rng.uniform(0, FIELD, rows),
            "z": rng.uniform(-750, 750, rows),
            "photons": rng.uniform(500, 5000, rows),
        }
    )


@contextmanager
def written(table: pd.DataFrame, digits: int | None) -> Iterator[Path]:
    """A CSV file with so many digits after the point; None: as many as come back exactly."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.to_csv(path, index=False, float_format=None if digits is None else f"%.{digits}f")
        yield path


def ours(path: Path) -> float:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        fm.read(path)
    return time.perf_counter() - start


def pandas(path: Path) -> float:
    import pandas as pd

    start = time.perf_counter()
    pd.read_csv(path)
    return time.perf_counter() - start


def read_twenty_million_rows() -> None:
    """A file of that size, made of a smaller one twenty times over."""
    with written(localizations(1_000_000), 4) as path:
        header, rows = path.read_bytes().split(b"\n", 1)
        large = path.with_name("large.csv")
        with large.open("wb") as file:
            file.write(header + b"\n")
            for _ in range(20):
                file.write(rows)
        del rows
        ours(large)


@contextmanager
def truth_and_result() -> Iterator[tuple[Path, Path]]:
    """A million molecules, and 0.9 million detections: most with small errors, some invented."""
    import pandas as pd

    truth = localizations(1_000_000)
    rng = np.random.default_rng(1)
    found = truth[rng.random(len(truth)) < 0.85].copy()
    for axis, error in (("x", 15), ("y", 15), ("z", 40)):
        found[axis] += rng.normal(0, error, len(found))
    invented = localizations(900_000 - len(found), seed=2)
    result = pd.concat([found, invented]).sort_values("frame", kind="stable")
    with written(truth, 4) as truth_path, written(result, 4) as result_path:
        yield truth_path, result_path


def score_command(truth: Path, result: Path) -> float:
    """Seconds of the command, from its start to its end."""
    command = [sys.executable, "-m", "flatmetric", "score", str(truth), str(result), "--json", "-"]
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def compile_modules() -> None:
    """Bytecode beside the source, as an installation leaves it."""
    compileall.compile_dir(Path(fm.__file__).parent, quiet=1)


def score_in_process() -> None:
    with truth_and_result() as (truth, result), warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        fm.score(fm.read(truth), fm.read(result))
