"""Does an installed wheel work? For `make wheel` and cibuildwheel: only the package and what it needs are there."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import flatmetric as fm


def main() -> None:
    """The solver, files, scores, a page, the command line."""
    assert fm.__version__ == version("flatmetric")
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 6400, (2000, 2))
    plan = fm.flat_metric(truth, truth[:1500] + rng.normal(0, 20, (1500, 2)), lam=125)
    assert abs(plan.gap) < 1e-9 * plan.value
    assert fm.flat_metric([[0.0, 0.0], [900.0, 0.0]], [[3.0, 4.0]], lam=125).value == 65
    with tempfile.TemporaryDirectory() as folder:
        example, page = Path(folder) / "example", Path(folder) / "page.html"
        ran = subprocess.run(
            [sys.executable, "-m", "flatmetric", "demo", "--out", str(page), "--data", str(example)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "baseline is better than dog" in ran.stdout and page.stat().st_size > 500_000
        fm.convert(example / "baseline.csv", Path(folder) / "baseline.hdf5", pixel_size=100)
        for result in (example / "baseline.csv", Path(folder) / "baseline.hdf5"):
            assert f"{fm.score(example / 'truth.csv', result).flat_metric.value:.2f}" == "57.84"
    sys.stdout.write(f"flatmetric {fm.__version__} works on Python {sys.version.split()[0]}, {sys.platform}\n")


if __name__ == "__main__":
    main()
