"""What varies independently: molecules, the crowd, and neighbours, each in a world where it is all there is."""

from __future__ import annotations

import numpy as np
import pytest

from flatmetric.statistics.variation import BlockVariation, Cells, Differences, MoleculeVariation


def cells(rng: np.random.Generator, molecules: int = 400, stretches: int = 100) -> Cells:
    """Molecules that live for three stretches, one row in each."""
    begin = rng.integers(0, stretches - 2, molecules)
    molecule, stretch = np.repeat(np.arange(molecules), 3), (begin[:, None] + np.arange(3)).reshape(-1)
    return Cells(molecule, stretch, np.ones(len(molecule)), stretches)


def error(world: Cells, contributions: np.ndarray) -> float:
    found = MoleculeVariation(world, contributions[:, None], np.zeros((world.stretches, 1)))
    return float(found.of_estimates()[0][0])


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


@pytest.mark.parametrize("power", [2, 4])
def test_powers_of_differences_are_those_of_the_differences(power: int) -> None:
    """Also of estimates that are equal, nearly equal, or differ in one unit."""
    rng = np.random.default_rng(3)
    each = rng.normal(size=(300, 1)) + 0.1 * rng.normal(size=(300, 30))
    each[:, 1], each[:, 2], each[:, 3] = each[:, 0], each[:, 0] * (1 + 1e-9), each[:, 0]
    each[5, 3] += 1e-4
    first, second = np.triu_indices(30, 1)
    expected = ((each[:, first] - each[:, second]) ** power).sum(axis=0)
    assert Differences(first, second).powers(each, power) == pytest.approx(expected, rel=1e-9, abs=0.0)


def test_a_difference_varies_as_its_own_contributions_do() -> None:
    """Blocks, or molecules that are never crowded: the difference of two is an estimate like any other."""
    rng = np.random.default_rng(4)
    blocks = rng.normal(size=(40, 3))
    of_two = BlockVariation(blocks).differences(np.array([0]), np.array([2]))
    alone = BlockVariation(blocks[:, :1] - blocks[:, 2:]).of_estimates()
    assert [one[0] for one in of_two] == pytest.approx([one[0] for one in alone])
