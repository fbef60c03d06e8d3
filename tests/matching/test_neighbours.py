"""The nearest molecule of the frame, against SciPy's tree."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

import flatmetric as fm
from flatmetric.matching.matcher import neighbours


def cloud(rng: np.random.Generator, n: int, frames: int, dim: int, step: float) -> fm.Localizations:
    place = rng.uniform(0, 3000, (n, 3))
    place = np.round(place / step) * step if step else place
    columns = {"frame": rng.integers(1, frames + 1, n), "x": place[:, 0], "y": place[:, 1]}
    return fm.read(columns | ({"z": place[:, 2]} if dim == 3 else {}))


@pytest.mark.parametrize("step", [0.0, 250.0], ids=["anywhere", "many at one place"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize(("n", "frames"), [(200, 40), (3000, 3)], ids=["small frames", "large frames"])
@pytest.mark.parametrize("apart", [False, True])
def test_neighbours_are_those_of_another_tree(n: int, frames: int, dim: int, step: float, apart: bool) -> None:
    rng = np.random.default_rng(n + dim)
    truth = cloud(rng, n, frames, dim, step)
    table = truth if apart else cloud(rng, n, frames + 2, dim, step)
    for within in (np.inf, 120.0):
        distance, row = neighbours(truth, table, dim=dim, within=within, apart=apart, threads=2)
        for frame in np.unique(table.frame):
            here, there = np.flatnonzero(table.frame == frame), np.flatnonzero(truth.frame == frame)
            if len(there) == 0:
                assert np.isinf(distance[here]).all() and (row[here] == -1).all()
                continue
            far = cKDTree(truth.points(dim)[there]).query(table.points(dim)[here], k=[1, 2])[0][:, int(apart)]
            expected = np.where(far < within, far, np.inf)
            np.testing.assert_allclose(distance[here], expected, rtol=1e-12)
            known = here[np.isfinite(expected)]
            gaps = truth.points(dim)[row[known]] - table.points(dim)[known]
            np.testing.assert_allclose(np.sqrt((gaps**2).sum(axis=1)), distance[known], rtol=1e-12)
            assert (truth.frame[row[known]] == frame).all()
            if apart:
                assert (row[known] != known).all()


def test_threads_and_the_order_of_rows_change_nothing() -> None:
    rng = np.random.default_rng(0)
    truth = cloud(rng, 4000, 5, 2, 0.0)
    alone = neighbours(truth, truth, dim=2, apart=True, threads=1)
    for mine, theirs in zip(alone, neighbours(truth, truth, dim=2, apart=True, threads=2), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    order = np.argsort(truth.frame, kind="stable")
    sorted_truth = truth.select(order)
    np.testing.assert_array_equal(neighbours(sorted_truth, sorted_truth, dim=2, apart=True)[0], alone[0][order])
