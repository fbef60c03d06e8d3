"""The data of the regimes. Lengths in nm."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tests.problems import Array, Problem

DATA = Path(os.environ.get("FLATMETRIC_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))


def in_disk(rng: np.random.Generator, n: int, radius: float) -> Array:
    angle = rng.uniform(0, 2 * np.pi, n)
    length = radius * np.sqrt(rng.uniform(size=n))
    return np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1)


def stack(frames: list[tuple[Array, Array]], lam: float) -> Problem:
    truth, pred = zip(*frames, strict=True)
    number = np.arange(1, len(frames) + 1)
    return Problem(
        np.concatenate(truth),
        np.concatenate(pred),
        lam,
        truth_frames=np.repeat(number, [len(t) for t in truth]),
        pred_frames=np.repeat(number, [len(p) for p in pred]),
    )


def paper_frames(count: int = 2000) -> Problem:
    """100 true points in a 6.4 um square, recall 20..100 %, error radius 0..250 nm."""
    rng = np.random.default_rng(1)
    frames = []
    for _ in range(count):
        truth = rng.uniform(0, 6400, (100, 2))
        found = truth[rng.permutation(100)[: round(100 * rng.uniform(0.2, 1))]]
        frames.append((truth, found + in_disk(rng, len(found), rng.uniform(0, 250))))
    return stack(frames, lam=125.0)


def sparse_frames(count: int = 20_000) -> Problem:
    """0..7 molecules in a frame, 90 % found at 25 nm, a false one in three of ten frames."""
    rng = np.random.default_rng(2)
    frames = []
    for _ in range(count):
        truth = rng.uniform(0, 6400, (int(rng.integers(0, 8)), 2))
        found = truth[rng.uniform(size=len(truth)) < 0.9]
        ghosts = rng.uniform(0, 6400, (int(rng.uniform() < 0.3), 2))
        frames.append((truth, rng.permutation(np.concatenate([found + rng.normal(0, 25, found.shape), ghosts]))))
    return stack(frames, lam=125.0)


def bundled_tubes(program: str) -> Problem | None:
    """The Deep-STORM scene, 361 frames of about 225 molecules, and a real program's result; None where it is absent."""
    folder = DATA / "gt-and-results" / "deepstorm-BundledTubesHD-recreated"
    if not folder.exists():
        return None
    truth, pred = (np.loadtxt(folder / name, delimiter=",", skiprows=1) for name in ("gt.csv", f"{program}.csv"))
    return Problem(
        np.ascontiguousarray(truth[:, 1:3]),
        np.ascontiguousarray(pred[:, 1:3]),
        125.0,
        truth_frames=truth[:, 0].astype(np.int64),
        pred_frames=pred[:, 0].astype(np.int64),
    )


def pooled(n: int, per_um2: float, lam: float = 62.5, weighted: bool = False) -> Problem:
    """n points spread evenly, 90 % of them found at 20 nm per axis."""
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 1000 * np.sqrt(n / per_um2), (n, 2))
    m = n * 9 // 10
    pred = truth[rng.permutation(n)[:m]] + rng.normal(0, 20, (m, 2))
    if not weighted:
        return Problem(truth, pred, lam)
    return Problem(truth, pred, lam, truth_weights=rng.lognormal(size=n), pred_weights=rng.lognormal(size=m))


def filaments(n: int, copies: bool = False) -> Problem:
    """Points along filaments, in bursts of 5..30 within 20 nm around sites that blink again and again.

    The result is drawn from the same sites but apart from the truth, so that many points compete for the same partners
    and a surplus must travel along the filament; or, with `copies`, it is 80 % of the truth at 15 nm per axis.
    """
    rng = np.random.default_rng(4)
    field = 3000 * np.sqrt(n / 100_000)
    sites = []
    for _ in range(max(1, n // 10_000)):
        angles = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.03, 300))
        steps = 25.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        sites.append(rng.uniform(0, field, 2) + np.cumsum(steps, axis=0))
    places = np.concatenate(sites)

    def bursts(count: int) -> Array:
        sizes = rng.integers(5, 31, count // 5)
        centres = np.repeat(places[rng.integers(len(places), size=len(sizes))], sizes, axis=0)[:count]
        return centres + in_disk(rng, count, 20.0)

    truth = bursts(n)
    m = n * 8 // 10
    pred = truth[rng.permutation(n)[:m]] + rng.normal(0, 15, (m, 2)) if copies else bursts(m)
    return Problem(truth, pred, lam=50.0)


def independent_clouds(n: int, m: int) -> Problem:
    """Two clouds that have nothing to do with each other, and a lam wider than the field."""
    rng = np.random.default_rng(5)
    return Problem(rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (m, 2)), lam=3000.0)
