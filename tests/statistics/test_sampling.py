"""What varies independently: molecules, the crowd, and neighbours, each in a world where it is all there is."""

from __future__ import annotations

import numpy as np
import pytest

from flatmetric.statistics.sampling import Cells, MoleculeVariation


def cells(rng: np.random.Generator, molecules: int = 400, stretches: int = 100) -> Cells:
    """Molecules that live for three stretches, one row in each."""
    begin = rng.integers(0, stretches - 2, molecules)
    molecule, stretch = np.repeat(np.arange(molecules), 3), (begin[:, None] + np.arange(3)).reshape(-1)
    return Cells(molecule, stretch, np.ones(len(molecule)), stretches)


def error(world: Cells, contributions: np.ndarray) -> float:
    found = MoleculeVariation(world, contributions[:, None], np.zeros((world.stretches, 1)))
    return float(found.each()[0][0])


def test_molecules_alone_vary_by_the_sum_of_their_squares() -> None:
    rng = np.random.default_rng(0)
    world = cells(rng)
    own = rng.normal(size=400)[world.molecule]
    expected = np.sqrt((np.bincount(world.molecule, own) ** 2).sum())
    assert error(world, own) == pytest.approx(expected, rel=0.1)


def test_a_crowd_varies_with_the_number_of_molecules() -> None:
    """Every row costs what its stretch is too full by: the total varies as the number of molecules does."""
    world = cells(np.random.default_rng(1))
    n = np.bincount(world.stretch, world.truths, minlength=world.stretches)
    cost = 2.0 * ((n - n.mean()) / np.maximum(n, 1))[world.stretch]
    assert error(world, cost) == pytest.approx(2.0 * np.sqrt((np.bincount(world.molecule) ** 2).sum()), rel=0.1)


def test_neighbours_that_suffer_together_vary_more_than_alone() -> None:
    rng = np.random.default_rng(2)
    world = cells(rng)
    shared = rng.normal(size=world.stretches)[world.stretch]
    alone = np.sqrt((np.bincount(world.molecule, shared) ** 2).sum())
    together = np.sqrt((np.bincount(world.stretch, shared) ** 2).sum())
    assert error(world, shared) > 0.8 * together > 1.5 * alone
