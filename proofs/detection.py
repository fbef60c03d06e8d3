"""What `check` finds, and that it is silent on results that are right: `python -m proofs.detection`.

Faults are planted in results of real programs on real data sets, which lie beside this checkout or where
FLATMETRIC_DATA says; false alarms are counted on all of these as they are, and on simulated results. The tables go into
docs/how-to/check.md.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

import flatmetric as fm
from benchmarks.tables import PROVE, ROOT, show
from flatmetric._files import write_text
from flatmetric._validation import thread_count
from flatmetric.quality.checking import check_tables, check_window
from flatmetric.simulation.datasets import named
from flatmetric.simulation.movie import molecules
from proofs.faults import DEEP, FAULTS, Fault

RESULTS = Path(__file__).parent / "detection.json"
PAGE = "docs/how-to/check.md"
DATA = Path(os.environ.get("FLATMETRIC_DATA", ROOT.parent / "shared" / "data")) / "gt-and-results"
FILES = (
    *("nairr-2DGauss_LD/picasso-gausslq", "nairr-2DGauss_HD/trackpy", "nairr-3DAS_MD/picasso-gaussmle"),
    *("nairr-2DAiry_MD/picasso-gausslq", "nairr-3DAS_LD/trackpy", "storm-analysis-test/picasso-gausslq"),
    *("storm-analysis-test_300x200/trackpy", "deepstorm-BundledTubesHD-recreated/picasso-gausslq"),
)
MORE = ("nairr-2DAiry_HD/picasso-gaussmle", "nairr-3DAS_LD/picasso-gausslq")
"""For faults that only some of the files can have: molecules reach the edge of the field in these data sets alone."""
SIMULATED = 500
_COSTLY = 0.05  # of the Flat Metric
_FEWEST_ROWS = 100
NO_FAULT = frozenset({"blind_border", "blind_depth", "empty_region", "worse_than_nothing"})
"""Limits of a program, which a right file may have."""


@dataclass(frozen=True)
class Planted:
    """How often one fault of one size was found by `check` and by the check beside a score, out of so many results;
    `others` are results in which another fault was named beside it that is not there, and `cost` is by how much the
    fault raises the Flat Metric, in the median, as a part of it. `costly` are the results in which that is over 5 %,
    and `costly_found` those of them in which `check` found it.
    """

    kind: str
    size: str
    results: int
    found: int
    found_beside_score: int
    others: int
    cost: float
    costly: int
    costly_found: int


@dataclass(frozen=True)
class Clean:
    """How many results that are right had a fault named."""

    what: str
    results: int
    alarms: int


def main() -> None:
    planted: list[Planted] = []
    with ProcessPoolExecutor(thread_count(None)) as pool:
        work = [("real", at) for at in range(len(FAULTS))] + [("simulated", at) for at in range(len(DEEP))]
        for row in pool.map(_planted, work):
            print(row, flush=True)
            planted.append(row)
        alarms = [name for names in pool.map(_alarms_in_folder, sorted(DATA.iterdir())) for name in names]
        for name, kinds in alarms:
            if kinds:
                print(f"ALARM {name}: {kinds}")
        clean = [Clean("results of real programs", len(alarms), sum(bool(kinds) for _, kinds in alarms))]
        wrong = list(pool.map(_alarm_in_simulation, range(SIMULATED), chunksize=10))
        for seed, kinds in enumerate(wrong):
            if kinds:
                print(f"ALARM simulation {seed}: {kinds}")
        clean.append(Clean("simulated results", SIMULATED, sum(map(bool, wrong))))
    content = {"planted": [asdict(row) for row in planted], "clean": [asdict(row) for row in clean]}
    write_text(json.dumps(content, indent=1) + "\n", RESULTS)
    show(tables(planted, clean), PAGE, PROVE)
    sys.exit(1 if any(row.alarms for row in clean) else 0)


def tables(planted: Sequence[Planted], clean: Sequence[Clean]) -> str:
    """The tables in Markdown."""
    header = "| kind | size | raises the Flat Metric by | found by `check` | where that is over 5 % | beside a score |"
    lines = ["### Planted faults", "", header, "|---|---|---|---|---|---|"]
    for row in planted:
        cost = f"{100 * row.cost:.0f} %"
        found = f"{row.found} of {row.results} | {row.costly_found} of {row.costly} | {row.found_beside_score}"
        lines.append(f"| {row.kind} | {row.size} | {cost} | {found} |")
    lines += ["", "### False alarms", "", "| | results | with a fault named |", "|---|---|---|"]
    lines += [f"| {row.what} | {row.results} | {row.alarms} |" for row in clean]
    return "\n".join(lines)


@cache
def _real(file: str) -> tuple[fm.Localizations, fm.Localizations]:
    folder, _ = file.split("/")
    return fm.read(DATA / folder / "gt.csv"), fm.read(DATA / f"{file}.csv")


def _planted(work: tuple[str, int]) -> Planted:
    where, at = work
    fault: Fault = (FAULTS if where == "real" else DEEP)[at]
    files = [file for file in (*FILES, *MORE) if file.startswith(fault.files)] if fault.files else FILES
    pairs = [_real(file) for file in files] if where == "real" else _deep_ones()
    found, beside, others = [], 0, 0
    costs = []
    dim = 2 if where == "real" else 3
    for truth, pred in pairs:
        before = {finding.kind for finding in check_tables(truth, pred, dim=dim)}
        wrong = fault.plant(pred)
        kinds = {finding.kind for finding in check_tables(truth, wrong, dim=dim)}
        found.append(fault.kind in kinds)
        beside += fault.kind in {finding.kind for finding in check_window(truth, wrong, dim=dim)}
        others += bool(kinds - before - {fault.kind} - NO_FAULT)
        values = [fm.score(truth, one, dim=dim, check=False, threads=1).value or 0.0 for one in (pred, wrong)]
        costs.append(values[1] / values[0] - 1)
    costly = np.array(costs) > _COSTLY
    both = int(np.count_nonzero(costly & found))
    middle = round(float(np.median(costs)), 3)
    return Planted(fault.kind, fault.size, len(pairs), sum(found), beside, others, middle, int(costly.sum()), both)


def _alarms_in_folder(folder: Path) -> list[tuple[str, list[str]]]:
    """The faults named in each result of a folder as it is."""
    truth, said = fm.read(folder / "gt.csv"), []
    for path in sorted(folder.glob("[pt]*.csv")):
        if path.name.startswith("tubulins"):
            continue  # the original of the truth
        pred = fm.read(path)
        if folder.name.startswith("epfl2016"):
            # These results are for the first 64 frames, and the movie has a lateral offset of its own.
            known = {"shift"}
            true = truth.select(truth.frame <= 64)
        else:
            known, true = set(), truth
        if path.name.startswith("trackpy"):
            known.add("photon_unit")  # what it gives is the sum over a spot
        kinds: list[str] = [f.kind for look in (check_tables, check_window) for f in look(true, pred)]
        said.append((f"{folder.name}/{path.name}", [kind for kind in kinds if kind not in NO_FAULT | known]))
    return said


def simulated(seed: int, *, deep: bool = False) -> tuple[fm.Localizations, fm.Localizations]:
    """Molecules of a simulated structure, and detections of them of random density, recall, precision and noise."""
    rng = np.random.default_rng([seed, 17])
    name = str(rng.choice(["MT1.N1.LD", "MT2.N1.HD", "ER1.N3.LD", "ER2.N3.HD"]))
    truth = molecules(named(name).with_frames(int(rng.integers(20, 150))), seed)
    kept = rng.random(len(truth)) < rng.uniform(0.1, 1.0)
    kept[: min(5, len(kept))] = True
    count, extra = int(kept.sum()), int(rng.uniform(0, 0.5) * kept.sum())
    error = rng.uniform(5, 60)
    true_photons = truth.photons
    assert truth.z is not None and true_photons is not None
    pred = fm.Localizations(
        frame=np.r_[truth.frame[kept], rng.choice(truth.frame, extra)],
        x=np.r_[truth.x[kept] + rng.normal(0, error, count), rng.uniform(0, 6400, extra)],
        y=np.r_[truth.y[kept] + rng.normal(0, error, count), rng.uniform(0, 6400, extra)],
        photons=np.r_[true_photons[kept] * rng.uniform(0.7, 1.1, count), rng.uniform(100, 1000, extra)]
        if deep
        else None,
        z=np.r_[truth.z[kept] + rng.normal(0, 2 * error, count), rng.uniform(-500, 500, extra)] if deep else None,
    )
    return truth, pred


@cache
def _deep_ones() -> list[tuple[fm.Localizations, fm.Localizations]]:
    """Six simulated results in 3D; in smaller ones wrong depths don't stand out from those of other molecules."""
    every = (simulated(seed, deep=True) for seed in range(100))
    return list(itertools.islice((pair for pair in every if len(pair[1]) >= _FEWEST_ROWS), 6))


def _alarm_in_simulation(seed: int) -> list[str]:
    truth, pred = simulated(seed)
    kinds: list[str] = [f.kind for look in (check_tables, check_window) for f in look(truth, pred)]
    return [kind for kind in kinds if kind not in NO_FAULT]


if __name__ == "__main__":
    main()
