"""Whole commands and calls: files read and scored, names imported, intervals computed, stacks simulated."""

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


def import_seconds(before: str, code: str) -> float:
    """The least of five times that a fresh interpreter takes for `code` after `before`, with bytecode."""
    script = f"import time\n{before}\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    command = [sys.executable, "-c", script]
    return min(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(5))


def intervals_seconds(frames: int = FRAMES) -> tuple[float, float, str]:
    """Ours for every metric, numpy's for sums of ten resamples scaled to two thousand, and the size of the data."""
    from flatmetric.statistics.intervals import intervals_of

    rng = np.random.default_rng(3)
    frame = np.repeat(np.arange(1, frames + 1), 6)
    truth = {"frame": frame, "x": rng.uniform(0, FIELD, len(frame)), "y": rng.uniform(0, FIELD, len(frame))}
    found = rng.random(len(frame)) < 0.8
    score = fm.score(truth, {name: column[found] for name, column in truth.items()})
    table = score.sums.table
    start = time.perf_counter()
    intervals_of(score)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(10):
        table[rng.integers(0, frames, frames)].sum(axis=0)
    return ours, (time.perf_counter() - start) * 2000 / 10, f"{frames} frames"


def simulate_seconds(frames: int = 2000) -> float:
    """The command, from process start to files, scaled to 20 000 frames."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--dataset", "MT1.N1.LD", "--frames", str(frames), "--out", folder]
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "flatmetric", "simulate", *options], capture_output=True, check=True)
        return (time.perf_counter() - start) * FRAMES / frames


def first_paint_seconds() -> float | None:
    """Until a person sees the page of a million molecules; None without a browser."""
    import shutil

    from flatmetric.reports.parts import NamedScore
    from flatmetric.reports.score_page import score_page
    from tests.scenes import million

    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return None
    from tests.reports.browser import Browser

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "million.html"
        page.write_text(score_page(NamedScore("million", fm.score(*million())), "flatmetric score"), encoding="utf-8")
        browser = Browser(Path(folder))
        try:
            browser.open(page)
            return browser.first_paint_s()
        finally:
            browser.driver.quit()
