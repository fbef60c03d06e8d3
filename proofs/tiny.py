"""Random problems of up to twelve points a side: each method of the core against an exact solver that is not ours.

Unit masses, and whole ones as so many points, are assigned by SciPy. For masses over 24 decades, where such solvers
have errors of their own, the plan and the potentials are checked from scratch: a feasible plan is an upper bound,
feasible potentials are a lower one, and the error is what lies between them. Coordinates are of any size, up to both
ends of the range; lam is often half of a distance, where plans tie. Some problems are also solved for every lam at
once. Gives the number of answers and the largest error, relative to the value.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

import flatmetric as fm
from flatmetric._core import Method, Solution, solve
from flatmetric._validation import thread_count

Array = npt.NDArray[np.float64]
_MOST = 12
_AT_ONCE = 500  # problems that are frames of one call
_CURVES = 20  # of these that are solved for every lam
_KINDS = ("units", "units", "whole", "real")  # of masses, in turn
_BAR = 1e-12
_METHODS = tuple(Method)


@dataclass(frozen=True)
class Worst:
    """How many answers were compared, and the largest error of each kind of masses."""

    answers: int
    errors: dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proofs.tiny", description=__doc__)
    parser.add_argument("problems", type=int, nargs="?", default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    batches = math.ceil(options.problems / _AT_ONCE)
    with ProcessPoolExecutor(thread_count(None)) as pool:
        found = list(
            pool.map(try_batch, range(options.seed * 1_000_000, options.seed * 1_000_000 + batches), chunksize=8)
        )
    worst = {kind: max(batch.errors.get(kind, 0.0) for batch in found) for kind in dict.fromkeys(_KINDS)}
    answers = sum(batch.answers for batch in found)
    print(f"{batches * _AT_ONCE:,} problems, {answers:,} answers by {len(_METHODS)} methods; largest relative errors:")
    print(", ".join(f"{kind} masses {error:.1e}" for kind, error in worst.items()))
    if max(worst.values()) > _BAR:
        sys.exit("an answer is wrong")


def try_batch(seed: int) -> Worst:
    """One call of each method for many problems of one kind."""
    rng = np.random.default_rng(seed)
    kind = _KINDS[seed % len(_KINDS)]
    dim = int(rng.integers(1, 7))
    scale = float(rng.choice([1e-90, 1e-6, 1.0, 1.0, 1e6, 1e90]))
    sides = [[scale * _points(rng, dim) for _ in range(_AT_ONCE)] for _ in range(2)]
    lam = scale * float(rng.choice([0.02, 0.1, 0.3, 0.5, 1.0, 3.0, 30.0]))
    if rng.random() < 0.3:
        distances = np.concatenate([_distances(p, q).ravel() for p, q in zip(*sides, strict=True)])
        lam = float(rng.choice(distances[distances > 0])) / 2
    masses = [[_masses(rng, kind, len(points)) for points in side] for side in sides]
    problems = list(zip(sides[0], sides[1], masses[0], masses[1], strict=True))
    expected = np.array([] if kind == "real" else [assigned(p, q, a, b, lam) for p, q, a, b in problems])
    frames = [np.repeat(np.arange(_AT_ONCE), [len(points) for points in side]) for side in sides]
    coords = [np.concatenate(side) for side in sides]
    given = (None, None) if kind == "units" else (np.concatenate(masses[0]), np.concatenate(masses[1]))
    error = 0.0
    for method in _METHODS:
        out = solve(coords[0], coords[1], given[0], given[1], frames[0], frames[1], lam, 1.0, method, 1)
        assert out.frames is not None
        values = np.zeros(_AT_ONCE)  # a frame without points is not listed
        values[out.frames.frame] = out.frames.displaced + out.frames.missed + out.frames.false
        least, most = (expected, expected) if kind != "real" else bounds(problems, frames, out, lam)
        wrong = np.maximum(np.abs(values - least), np.abs(values - most))
        error = max(error, float(np.max(wrong / np.maximum(values, 1e-300))))
    followed = rng.choice(_AT_ONCE, _CURVES, replace=False)
    for k in followed:
        truth, pred, a, b = problems[k]
        curve = fm.flat_curve(truth, pred, lam_max=1.5 * lam, truth_weights=a, pred_weights=b)
        value = float(np.interp(lam, curve.lam, curve.value))
        error = max(error, abs(value - values[k]) / max(values[k], 1e-300))
    return Worst(_AT_ONCE * len(_METHODS) + _CURVES, {kind: error})


def _points(rng: np.random.Generator, dim: int) -> Array:
    """Anywhere, on a lattice, where ties abound, on a line, in two heaps, or at few places."""
    n = int(rng.integers(0, _MOST + 1))
    shape = rng.integers(5)
    points = rng.uniform(0, 1, (n, dim))
    if shape == 1:
        points = np.round(points * 4) / 4
    elif shape == 2:
        points[:, 1:] = 0.5
    elif shape == 3:
        points = 0.1 * points + rng.integers(0, 2, (n, 1))
    elif shape == 4:
        points = np.round(points)
    return points


def _masses(rng: np.random.Generator, kind: str, n: int) -> Array:
    if kind == "units":
        return np.ones(n)
    if kind == "whole":
        return rng.integers(0, 4, n).astype(float)
    return 10.0 ** rng.uniform(-12, 12, n)


def assigned(truth: Array, pred: Array, a: Array, b: Array, lam: float) -> float:
    """The Flat Metric of whole masses, by SciPy's assignment with costs cut at 2 lam."""
    i, j = np.repeat(np.arange(len(a)), a.astype(int)), np.repeat(np.arange(len(b)), b.astype(int))
    cost = np.minimum(_distances(truth, pred), 2 * lam)[np.ix_(i, j)]
    return float(cost[linear_sum_assignment(cost)].sum() + lam * abs(len(i) - len(j)))


def bounds(
    problems: list[tuple[Array, Array, Array, Array]], frames: list[npt.NDArray[np.int64]], out: Solution, lam: float
) -> tuple[Array, Array]:
    """A lower and an upper bound for each problem, from the potentials and from the plan alone."""
    assert out.pair_mass is not None
    starts = [np.searchsorted(frame, np.arange(len(problems) + 1)) for frame in frames]
    pair_starts = np.searchsorted(frames[0][out.pair_truth], np.arange(len(problems) + 1))
    least, most = np.zeros(len(problems)), np.zeros(len(problems))
    for k, (truth, pred, a, b) in enumerate(problems):
        rows, columns = slice(*starts[0][k : k + 2]), slice(*starts[1][k : k + 2])
        f, g = out.truth_potential[rows], out.pred_potential[columns]
        distances = _distances(truth, pred)
        # What rounding lets a potential exceed is taken off the bound.
        excess = max(
            0.0, float((f[:, None] - g[None] - distances).max(initial=0.0)), float(np.abs(f).max(initial=0.0)) - lam
        )
        least[k] = math.fsum([*(a * f), *(-b * g)]) - excess * min(a.sum(), b.sum())
        chosen = slice(*pair_starts[k : k + 2])
        i, j, mass = out.pair_truth[chosen] - rows.start, out.pair_pred[chosen] - columns.start, out.pair_mass[chosen]
        moved = [np.bincount(i, mass, len(a)), np.bincount(j, mass, len(b))]
        rounding = 1e-15 * float(a.sum() + b.sum())  # of sums of parts of the largest mass
        assert all((part <= of + rounding).all() for part, of in zip(moved, (a, b), strict=True))
        left = math.fsum([*a, *b, *(-mass), *(-mass)])
        most[k] = math.fsum([*(mass * distances[i, j]), lam * left])
    return least, most


def _distances(truth: Array, pred: Array) -> Array:
    distances: Array = np.sqrt(((truth[:, None] - pred[None]) ** 2).sum(axis=2))
    return distances


if __name__ == "__main__":
    main()
