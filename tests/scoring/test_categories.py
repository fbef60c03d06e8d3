"""Merged, split, and neighbours: small scenes by hand, and brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric._core import neighbours
from flatmetric.scoring.breakdown import score_in_bins
from tests.scenes import scene


def test_one_detection_for_two_molecules_is_merged() -> None:
    truth = {"frame": [1, 1, 1], "x": [0.0, 100.0, 900.0], "y": [0.0] * 3}
    flat = fm.score(truth, {"frame": [1], "x": [40.0], "y": [0.0]}, lam=120).flat_metric
    assert flat.missed == pytest.approx(80.0) and flat.merged == pytest.approx(40.0) and flat.split == 0


def test_two_detections_for_one_molecule_are_split() -> None:
    truth = {"frame": [1, 2], "x": [40.0, 0.0], "y": [0.0, 0.0]}
    pred = {"frame": [1, 1, 1, 2], "x": [0.0, 100.0, 900.0, 0.0], "y": [0.0] * 4}
    flat = fm.score(truth, pred, lam=120).flat_metric
    assert flat.false == pytest.approx(120.0) and flat.split == pytest.approx(60.0) and flat.merged == 0


@pytest.mark.parametrize("options", [{}, {"weights": "photons"}, {"axis_scale": (1.0, 1.0, 0.5)}])
def test_categories_by_brute_force(options: dict[str, Any]) -> None:
    truth, pred = scene(frames=10, per_frame=40)
    score = fm.score(truth, pred, **options)
    scale = np.array(options.get("axis_scale", (1.0, 1.0, 1.0)))
    far = np.where(truth.frame[:, None] == pred.frame, 1.0, np.inf) * np.linalg.norm(
        (truth.points(3)[:, None] - pred.points(3)) * scale, axis=2
    )
    merged = score.costs.missed[far.min(axis=1) <= 2 * score.lam].sum()
    split = score.costs.false[far.min(axis=0) <= 2 * score.lam].sum()
    assert 0 < merged < score.costs.missed.sum()
    assert (score.flat_metric.merged, score.flat_metric.split) == pytest.approx((merged, split))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("size", [5, 400])
def test_points_within_reach_by_brute_force(dim: int, size: int) -> None:
    rng = np.random.default_rng(size)
    points, others = rng.uniform(0, 1000, (3 * size, dim)), rng.uniform(0, 1000, (2 * size, dim))
    frame, other = rng.integers(0, 3, 3 * size), rng.integers(0, 3, 2 * size)
    far = np.where(frame[:, None] == other, np.linalg.norm(points[:, None] - others, axis=2), np.inf)
    for threads in (1, 2):
        found = neighbours(points, others, frame, other, 60.0, False, threads).row >= 0
        np.testing.assert_array_equal(found.astype(bool), far.min(axis=1) <= 60.0)


def test_bins_of_the_distance_to_the_nearest_neighbour() -> None:
    """Close pairs are found once, pairs far apart twice."""
    frame = np.repeat(np.arange(1, 21), 2)
    apart = np.where(frame <= 10, 100.0, 3000.0) + frame
    x = np.where(np.arange(40) % 2 == 0, 0.0, apart)
    truth = {"frame": np.append(frame, 99), "x": np.append(x, 0.0), "y": np.zeros(41)}
    seen = (frame > 10) | (np.arange(40) % 2 == 0)
    pred = {"frame": np.append(frame[seen], 99), "x": np.append(x[seen], 0.0), "y": np.zeros(seen.sum() + 1)}
    near, far = score_in_bins(fm.score(truth, pred), "neighbour", bins=2)
    assert (near.low, near.n_truth, near.challenge.recall, near.challenge.precision) == (101.0, 20, 0.5, 1.0)
    assert (far.high, far.n_truth, far.challenge.recall) == (3020.0, 21, 1.0)  # the last one is alone
    # A false detection next to one of two molecules that are far apart goes into the bin of its own distance.
    stray = {name: np.append(column, 20 if name == "frame" else 0.0) for name, column in pred.items()}
    stray["y"][-1] = 260.0
    near, far = score_in_bins(fm.score(truth, stray), "neighbour", bins=2)
    assert (near.challenge.fp, far.challenge.fp) == (1, 0)
    alone = {"frame": [1, 2], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    with pytest.raises(fm.InputError, match="no frame has two molecules"):
        score_in_bins(fm.score(alone, alone), "neighbour")
