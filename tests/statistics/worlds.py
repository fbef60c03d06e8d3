"""Worlds whose true scores are known, to see how often intervals hold: molecules that blink, seen by a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatmetric._arrays import FloatArray
from flatmetric.metrics.table import LEADERBOARD
from flatmetric.simulation.blinking import Photophysics, molecules_needed, on_fractions, stays_on
from flatmetric.statistics.entries import Entry

FIELD = 20_000.0
BLINKING = Photophysics(on_time=2.0, dark_time=20.0, blinks=3.0)  # longer than in the challenge: harder for intervals


def blinking(
    seed: int,
    frames: int,
    *,
    per_frame: float = 6.0,
    physics: Photophysics | None = None,
    programs: int | None = None,
    errors: Any = None,
) -> Any:
    """Molecules that blink at fixed places, and what a program sees of them; with `programs`, a list of results.

    How well a molecule is seen stays with it: its error and the chance to miss it are its own for each program.
    `errors` are the errors of the programs, nm.
    """
    rng = np.random.default_rng(seed)
    physics = BLINKING if physics is None else physics
    needed, begin = molecules_needed(per_frame, frames, physics)
    count = max(2, int(rng.poisson(needed)))
    seen = on_fractions(stays_on(rng.uniform(begin, frames, count), physics, rng), frames)
    place = rng.uniform(0, FIELD, (count, 2))
    bright = rng.normal(1, 1, count)
    x, y = place[seen.molecule].T
    truth = {"frame": seen.frame, "x": x, "y": y, "id": seen.molecule}
    results = []
    for program in range(programs or 1):
        size = 20.0 if errors is None else float(errors[program])
        found = rng.random(len(x)) < 1 / (1 + np.exp(-(bright + rng.normal(0, 1, count))[seen.molecule]))
        error = rng.normal(0, size, (count, 2))[seen.molecule] + rng.normal(0, size, (len(x), 2))
        results.append({"frame": seen.frame[found], "x": (x + error[:, 0])[found], "y": (y + error[:, 1])[found]})
    return (truth, results) if programs else (truth, results[0])


def entries_of(costs: FloatArray, per_frame: float = 10.0) -> list[Entry]:
    """Programs from (frames, programs) Flat Metrics of frames, nm."""
    frames = np.arange(1, len(costs) + 1)
    truths = np.full(len(costs), per_frame)
    return [
        Entry("d", f"p{k}", dict.fromkeys(LEADERBOARD), 1, frames, column * per_frame, truths)
        for k, column in enumerate(costs.T)
    ]
