"""Random problems from every regime that the solver must answer exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    truth: Array
    pred: Array
    lam: float
    truth_weights: Array | None = None
    pred_weights: Array | None = None

    @property
    def masses(self) -> tuple[Array, Array]:
        """The weights as used: as given, or 1/n."""
        if self.truth_weights is not None and self.pred_weights is not None:
            return self.truth_weights, self.pred_weights
        n = len(self.truth)
        return np.full(n, 1 / n), np.full(len(self.pred), 1 / n)

    @property
    def distances(self) -> Array:
        squares: Array = ((self.truth[:, None, :] - self.pred[None, :, :]) ** 2).sum(axis=2)
        return np.sqrt(squares)

    @property
    def scale(self) -> float:
        """What rounding is measured against: lam times the mean mass (the diameter, where lam is infinite)."""
        a, b = self.masses
        mean_mass = float(a.sum() + b.sum()) / max(1, len(a) + len(b))
        lam = self.lam if math.isfinite(self.lam) else float(self.distances.max(initial=0.0))
        return lam * mean_mass


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
