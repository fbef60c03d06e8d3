"""A problem for solvers, and random ones from every regime that ours must answer exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    truth: Array
    pred: Array
    lam: float
    truth_weights: Array | None = None
    pred_weights: Array | None = None
    truth_frames: Ints | None = None
    pred_frames: Ints | None = None

    @cached_property
    def masses(self) -> tuple[Array, Array]:
        """The weights as used: as given, or 1/n."""
        if self.truth_weights is not None and self.pred_weights is not None:
            return self.truth_weights, self.pred_weights
        n = len(self.truth)
        return np.full(n, 1 / n), np.full(len(self.pred), 1 / n)

    @cached_property
    def distances(self) -> Array:
        squares: Array = ((self.truth[:, None, :] - self.pred[None, :, :]) ** 2).sum(axis=2)
        return np.sqrt(squares)

    @cached_property
    def scale(self) -> float:
        """What rounding is measured against: lam times the mean mass (the diameter, where lam is infinite)."""
        a, b = self.masses
        mean_mass = float(a.sum() + b.sum()) / max(1, len(a) + len(b))
        lam = self.lam if math.isfinite(self.lam) else float(self.distances.max(initial=0.0))
        return lam * mean_mass

    @property
    def size(self) -> str:
        points = f"{len(self.truth)} x {len(self.pred)}"
        if self.truth_frames is None or self.pred_frames is None:
            return points
        return f"{points}, {len(np.union1d(self.truth_frames, self.pred_frames))} frames"

    def frames(self, most: int | None = None) -> list[Problem]:
        """The problem of each frame, or of `most` of them, evenly chosen."""
        assert self.truth_frames is not None and self.pred_frames is not None
        numbers = np.union1d(self.truth_frames, self.pred_frames)
        if most is not None and most < len(numbers):
            numbers = numbers[np.linspace(0, len(numbers) - 1, most).astype(int)]
        truth_order, pred_order = (
            np.argsort(self.truth_frames, kind="stable"),
            np.argsort(self.pred_frames, kind="stable"),
        )
        truth_sorted, pred_sorted = self.truth_frames[truth_order], self.pred_frames[pred_order]

        def part(points: Array, order: Ints, sorted_frames: Ints, number: int) -> Array:
            low, high = np.searchsorted(sorted_frames, [number, number + 1])
            return points[order[low:high]]

        return [
            Problem(
                part(self.truth, truth_order, truth_sorted, number),
                part(self.pred, pred_order, pred_sorted, number),
                self.lam,
            )
            for number in numbers
        ]


def uniform(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    dim = int(rng.integers(1, 11))
    return rng.uniform(size=(n, dim)), rng.uniform(size=(m, dim))


def displaced_copies(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    truth = rng.uniform(size=(n, 2))
    return truth, truth[rng.integers(n, size=m)] + rng.normal(scale=0.3 / math.sqrt(n), size=(m, 2))


def lattice(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    side = int(rng.integers(2, 6))
    return rng.integers(side, size=(n, 2)).astype(float), rng.integers(side, size=(m, 2)).astype(float)


def collinear(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    direction = rng.normal(size=3)
    return rng.uniform(size=(n, 1)) * direction, rng.uniform(size=(m, 1)) * direction


def repeated(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    places = rng.uniform(size=(3, 2))
    return places[rng.integers(3, size=n)], places[rng.integers(3, size=m)]


def clustered(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    centres = rng.uniform(size=(4, 3))
    return (
        centres[rng.integers(4, size=n)] + rng.normal(scale=0.02, size=(n, 3)),
        centres[rng.integers(4, size=m)] + rng.normal(scale=0.02, size=(m, 3)),
    )


def shifted(rng: np.random.Generator, n: int, m: int) -> tuple[Array, Array]:
    """All mass travels the same long way, past everybody else."""
    return rng.uniform(size=(n, 2)), rng.uniform(size=(m, 2)) + np.array([1.0, 0.0])


SHAPES: dict[str, Callable[[np.random.Generator, int, int], tuple[Array, Array]]] = {
    shape.__name__: shape for shape in (uniform, displaced_copies, lattice, collinear, repeated, clustered, shifted)
}


def ring(rng: np.random.Generator, n: int, radius: float) -> Array:
    angle = rng.uniform(0, 2 * np.pi, n)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 5, (n, 2))


def spiral(rng: np.random.Generator, n: int, turn: float) -> Array:
    along = 4 * np.pi * np.sqrt(rng.uniform(size=n))
    return np.stack([50 * along * np.cos(along + turn), 50 * along * np.sin(along + turn)], axis=1)


def on_lattice(rng: np.random.Generator, n: int, cells: int) -> Array:
    return 10 * rng.integers(0, cells, (n, 2)).astype(np.float64)


def unequal_clusters(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    centres = rng.uniform(0, 1000, (8, 2))
    truth, pred = (centres[rng.choice(8, n, p=rng.dirichlet(np.ones(8)))] + rng.normal(0, 15, (n, 2)) for _ in range(2))
    return truth, pred


# Clouds between which mass travels far past others, each side of n points.
FAR_SHAPES: dict[str, Callable[[np.random.Generator, int], tuple[Array, Array]]] = {
    "squeezed": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) * [0.7, 1]),
    "shifted": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) + np.array([333, 0])),
    "far apart": lambda rng, n: (rng.uniform(0, 1000, (n, 2)), rng.uniform(0, 1000, (n, 2)) + np.array([3000, 0])),
    "rings": lambda rng, n: (ring(rng, n, 300), ring(rng, n, 600)),
    "spirals": lambda rng, n: (spiral(rng, n, 0), spiral(rng, n, 1)),
    "clusters": unequal_clusters,
    "line": lambda rng, n: (rng.uniform(0, 1000, (n, 1)), rng.uniform(0, 700, (n, 1))),
    "cube": lambda rng, n: (rng.uniform(0, 1000, (n, 3)), rng.uniform(0, 1000, (n, 3)) * [0.7, 1, 1]),
    "lattice": lambda rng, n: (on_lattice(rng, n, 30), on_lattice(rng, n, 20)),
    "four dimensions": lambda rng, n: (rng.normal(size=(n, 4)), rng.normal(size=(n, 4)) + 1),
}


WEIGHTS = ("paper", "real", "with_zeros", "very_unequal", "small_integers")


def random_weights(rng: np.random.Generator, kind: str, n: int) -> Array:
    if kind == "real":
        return rng.lognormal(size=n)
    if kind == "with_zeros":
        return rng.uniform(size=n) * (rng.uniform(size=n) < 0.6)
    if kind == "very_unequal":
        return 10.0 ** rng.uniform(-9, 9, size=n)
    return rng.integers(0, 4, size=n).astype(float)


def random_problem(rng: np.random.Generator, shape: str, weights: str, n: int, m: int) -> Problem:
    """Coordinates between 1e-9 and 1e9, lam from far below the spacing to far above the diameter."""
    truth, pred = SHAPES[shape](rng, n, m)
    size = 10.0 ** rng.uniform(-9, 9)
    lam = size * 10.0 ** rng.uniform(-3, 1.5)
    if weights == "paper":
        return Problem(truth * size, pred * size, lam)
    return Problem(truth * size, pred * size, lam, random_weights(rng, weights, n), random_weights(rng, weights, m))


def sizes(rng: np.random.Generator, largest: int, smallest: int = 1) -> tuple[int, int]:
    """Equal, alike, or very different sides, the first of at least `smallest` points."""
    n = int(rng.integers(smallest, largest + 1))
    m = int(rng.choice([n, int(rng.integers(0, largest + 1)), int(rng.integers(1, 4))]))
    return n, m
