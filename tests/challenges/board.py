"""A leaderboard of thirty teams: good results, twenty kinds of mistakes, cheats, copies, and odd ways to hand in."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

import numpy as np

import flatmetric as fm
from flatmetric.formats.write import write

GOOD = {"team01": 0.95, "team02": 0.9, "team03": 0.8, "team04": 0.7, "team05": 0.6}
"""The teams without a mistake, and their recall; the errors grow as the recall falls."""
CHEATS = {"team06": "the truth", "team07": "too precise"}
WRONG = {
    "team08": "unit",
    "team09": "unit",
    "team10": "swapped axes",
    "team11": "flipped axis",
    "team12": "frame offset",
    "team13": "frame offset",
    "team14": "no frames",
    "team15": "shuffled frames",
}
"""Teams whose frames, axes or unit are wrong, and the mark that they get."""
WORTH_FIXING = {"team16": "shift", "team17": "scale", "team18": "duplicates", "team19": "truncated", "team20": "drift"}
COPIES = ("team21", "team22", "team23")
DATASETS = ("one", "two")
SIZE = 12_800.0


def truth_of(seed: int, frames: int = 120, molecules: int = 12) -> fm.Localizations:
    rng = np.random.default_rng(seed)
    n = frames * molecules
    return fm.Localizations(
        frame=np.repeat(np.arange(1, frames + 1), molecules),
        x=rng.uniform(0, SIZE, n),
        y=rng.uniform(0, SIZE, n),
        photons=rng.uniform(800, 3000, n),
    )


def found(truth: fm.Localizations, seed: int, recall: float, error: float, false: int = 60) -> fm.Localizations:
    rng = np.random.default_rng(seed)
    seen = np.flatnonzero(rng.random(len(truth)) < recall)
    assert truth.photons is not None
    last = int(truth.frame.max())
    return fm.Localizations(
        frame=np.r_[truth.frame[seen], rng.integers(1, last + 1, false)],
        x=np.r_[truth.x[seen] + rng.normal(0, error, len(seen)), rng.uniform(0, SIZE, false)],
        y=np.r_[truth.y[seen] + rng.normal(0, error, len(seen)), rng.uniform(0, SIZE, false)],
        photons=np.r_[truth.photons[seen] * rng.uniform(0.8, 1.2, len(seen)), np.full(false, 500.0)],
    )


def mistakes(truth: fm.Localizations, seed: int) -> dict[str, fm.Localizations]:
    """Results with one mistake each, by team."""
    rng, change = np.random.default_rng(seed), dataclasses.replace
    right = found(truth, seed, 0.85, 22.0)
    rows = np.arange(len(right))
    time = right.frame / right.frame.max()
    return {
        "team08": change(right, x=right.x / 100, y=right.y / 100),
        "team09": change(right, x=right.x / 1000, y=right.y / 1000),
        "team10": change(right, x=right.y, y=right.x),
        "team11": change(right, y=SIZE - right.y),
        "team12": change(right, frame=right.frame + 1000),
        "team13": change(right, frame=right.frame + 1),
        "team14": change(right, frame=np.ones_like(right.frame)),
        "team15": change(right, frame=rng.permutation(right.frame)),
        "team16": change(right, x=right.x + 90.0, y=right.y - 60.0),
        "team17": change(right, x=right.x * 1.02, y=right.y * 1.02),
        "team18": right.select(np.repeat(rows, 2)),
        "team19": right.select(right.frame <= 60),
        "team20": change(right, x=right.x + 160 * time, y=right.y - 120 * time),
    }


def make_board(folder: Path) -> Path:
    """The folder of two data sets with the results of thirty teams."""
    for seed, dataset in enumerate(DATASETS):
        truth = truth_of(seed)
        place = folder / dataset / "results"
        place.mkdir(parents=True)
        write(truth, folder / dataset / "truth.csv", "thunderstorm")
        tables = {
            team: found(truth, 10 * seed + k, recall, 10.0 + 8 * k) for k, (team, recall) in enumerate(GOOD.items())
        }
        rng = np.random.default_rng(seed)
        kept = truth.select(rng.random(len(truth)) < 0.9)
        jitter = rng.normal(0, 0.5, (2, len(kept)))
        tables["team06"] = truth
        tables["team07"] = dataclasses.replace(kept, x=kept.x + jitter[0], y=kept.y + jitter[1])
        tables |= mistakes(truth, 100 + seed)
        tables |= dict.fromkeys(COPIES, found(truth, 200 + seed, 0.75, 30.0))
        tables["team29"] = found(truth, 300 + seed, 0.65, 40.0)
        tables["team30"] = found(truth, 400 + seed, 0.55, 45.0, false=5)
        for number, (team, table) in enumerate(tables.items()):
            kind = ("thunderstorm", "challenge-standard")[number % 2]
            write(table, place / f"{team}.{'csv' if kind == 'thunderstorm' else 'txt'}", kind)
        good = found(truth, 500 + seed, 0.72, 28.0)
        for suffix, kind in ((".csv", "thunderstorm"), (".txt", "challenge-standard")):
            write(good, place / f"team24{suffix}", kind)
        (place / "team25.json").write_text('{"rows": []}')
        (place / "team26").mkdir()  # two tables
        write(good, place / "team26" / "first.csv", "thunderstorm")
        write(good, place / "team26" / "second.csv", "thunderstorm")
        (place / "team27").mkdir()  # none
        (place / "team28").mkdir()  # one
        write(found(truth, 600 + seed, 0.7, 26.0), place / "team28" / "out.csv", "thunderstorm")
        with zipfile.ZipFile(place / "archive.zip", "w") as archive:
            archive.writestr("draft.csv", "nothing of use")
            write(found(truth, 700 + seed, 0.68, 33.0), folder / "final.csv", "thunderstorm")
            archive.write(folder / "final.csv", "final.csv")
        (folder / "final.csv").unlink()
    named = "".join(f'["{name}/results/archive.zip"]\nmember = "final.csv"\n' for name in DATASETS)
    (folder / "submissions.toml").write_text(named)
    return folder
