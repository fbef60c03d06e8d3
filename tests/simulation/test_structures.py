"""Tubes that lie in the field, bend gently and carry their labels on their surface."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree

from flatmetric.simulation.structures import STRUCTURES, Tubes, endoplasmic_reticulum, label, microtubules

FIELD, DEPTH = 6400.0, 1300.0


@pytest.mark.parametrize("name", STRUCTURES)
def test_centre_lines_stay_in_field_and_layer(name: str) -> None:
    for seed in range(5):
        tubes = STRUCTURES[name](FIELD, DEPTH, np.random.default_rng(seed))
        points = np.concatenate(tubes.lines)
        assert (points[:, :2] >= 0).all() and (points[:, :2] <= FIELD).all()
        assert np.abs(points[:, 2]).max() <= 0.75 * DEPTH
        assert points[:, 2].std() == pytest.approx(254, rel=0.05) and points[:, 2].mean() == pytest.approx(57, abs=20)


def test_a_thin_layer_is_as_the_thick_one_and_a_flat_one_is_flat() -> None:
    thick, thin, flat = (microtubules(FIELD, depth, np.random.default_rng(1)).lines for depth in (DEPTH, 650.0, 0.0))
    assert all((line[:, 2] == 0).all() for line in flat)
    spread = [np.concatenate(lines)[:, 2].std() for lines in (thick, thin)]
    assert spread[0] == pytest.approx(2 * spread[1], rel=0.1)


def test_microtubules_are_smooth() -> None:
    for line in microtubules(FIELD, DEPTH, np.random.default_rng(3)).lines:
        steps = np.diff(line, axis=0)
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        assert np.arccos(np.clip((steps[1:] * steps[:-1]).sum(axis=1), -1, 1)).max() < 0.15


def test_tubules_of_the_reticulum_meet_in_threes() -> None:
    lines = endoplasmic_reticulum(FIELD, DEPTH, np.random.default_rng(0)).lines
    ends = np.concatenate([line[[0, -1], :2] for line in lines])
    inner = ((ends > 300) & (ends < FIELD - 300)).all(axis=1)
    meeting = cKDTree(ends).query_ball_point(ends[inner], 5.0, return_length=True)
    assert inner.sum() > 60
    assert np.mean(meeting == 3) > 0.95


def test_labels_lie_on_the_surface_and_evenly_along_it() -> None:
    line = np.array([[0.0, 0.0, 0.0], [300.0, 0.0, 0.0], [300.0, 700.0, 50.0]])
    tubes = Tubes((line,), radius=12.5)
    at = label(tubes, 20_000, np.random.default_rng(1))
    first = at[:, 0] < 280
    np.testing.assert_allclose(np.hypot(at[first, 1], at[first, 2]), 12.5)
    share = np.mean(at[:, 0] < 287)  # those of the first piece that are away from the corner
    assert abs(share - 287 / tubes.length) < 0.02


def test_tubes_know_their_length() -> None:
    assert Tubes((np.array([[0.0, 0, 0], [3, 4, 0]]), np.array([[0.0, 0, 0], [0, 0, 7]])), 1.0).length == 12.0
