"""RMSMD, GOSPA, OSPA and the images: published values, brute force, and what ties them to the Flat Metric."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric._core import follow_lam, match, nearest
from flatmetric.matching.matcher import assign_frames
from flatmetric.metrics.base import FormulaSettings, Sums, evaluate
from flatmetric.metrics.gospa import Gospa, Ospa, frame_pairs, frame_values
from flatmetric.metrics.images import SIGMA, VOXEL, frc, image_score, render, snr
from flatmetric.options.scoring import MetricOptions

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


def table(points: Any, frame: Any = 1) -> fm.Localizations:
    array = np.asarray(points, dtype=float)
    array = array.reshape(len(array), -1) if array.size else np.zeros((0, 2))
    columns = dict(zip("xyz", array.T, strict=False))
    return fm.Localizations(frame=np.broadcast_to(frame, len(array)).copy(), **columns)


GDSC = (
    [(200, 460), (750, 660), (1190, 600), (1200, 200)],
    [(300, 400), (260, 760), (550, 800), (820, 560), (950, 800), (1100, 100)],
)


def test_published_rmsmd() -> None:
    found = fm.score(table(GDSC[0]), table(GDSC[1]), protocol=fm.Protocol(dim=2)).rmsmd
    assert found.whole_set == found.per_frame == pytest.approx(math.sqrt(40740))


def test_rmsmd_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    truth, pred = rng.uniform(0, 100, (40, 3)), rng.uniform(0, 100, (30, 3))
    ft, fp = rng.integers(1, 5, 40), rng.integers(2, 6, 30)
    found = fm.score(table(truth, ft), table(pred, fp), protocol=fm.Protocol(dim=3)).rmsmd
    far = np.linalg.norm(truth[:, None] - pred, axis=2) ** 2
    apart = np.where(ft[:, None] == fp, far, np.inf)
    there, back = apart.min(axis=1), apart.min(axis=0)
    there, back = there[np.isfinite(there)], back[np.isfinite(back)]
    assert found.per_frame == pytest.approx(math.sqrt(np.concatenate((there, back)).mean()))
    assert found.per_frame_truth_to_pred == pytest.approx(math.sqrt(there.mean()))
    assert found.alone == 70 - len(there) - len(back)
    assert found.whole_set == pytest.approx(math.sqrt(np.concatenate((far.min(axis=1), far.min(axis=0))).mean()))


def test_rmsmd_of_nobody_is_undefined() -> None:
    score = fm.score(table([(0, 0)]), table([]), protocol=fm.Protocol(dim=2))
    assert score.rmsmd.whole_set is None and score.rmsmd.per_frame is None
    assert score.undefined()["rmsmd.whole_set"] == "no point has another on the other side"


SHAPES = ["uniform", "apart", "lattice", "flat", "outlier", "clustered", "one place"]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 3, 60, 200, 900])
def test_nearest_neighbours_of_every_shape(dim: int, shape: str, n: int) -> None:
    """Small frames pair by pair, large ones by cells or trees, with threads the largest: all against SciPy's tree."""
    from scipy.spatial import KDTree

    rng = np.random.default_rng(n)
    a, b = rng.uniform(0, 100, (n, dim)), rng.uniform(0, 100, (n + 7, dim))
    if shape == "apart":
        a += 500
    elif shape == "lattice":
        a, b = np.round(a / 20) * 20, np.round(b)
    elif shape == "flat":
        a[:, 0] = b[:, 0] = 3
    elif shape == "outlier":
        b[0] = 1e6
    elif shape == "clustered":
        a = rng.normal(0, 1, (n, dim)) ** 3
    elif shape == "one place":
        a[:] = b[:] = 5
    for threads in (1, 2):
        sums = nearest(a, b, None, None, threads)
        counts = sums.truth_count.tolist(), sums.pred_count.tolist()
        assert (sums.frame.tolist(), *counts) == ([0], [len(a)], [len(b)])
        np.testing.assert_allclose(sums.truth, [(KDTree(b).query(a)[0] ** 2).sum()], rtol=1e-12)
        np.testing.assert_allclose(sums.pred, [(KDTree(a).query(b)[0] ** 2).sum()], rtol=1e-12)


def test_frames_on_one_side_only_are_refused() -> None:
    points, frames = np.zeros((3, 2)), np.ones(3, dtype=np.int64)
    for call in (
        lambda: nearest(points, points, frames, None, 1),
        lambda: match(points, points, None, frames, 1.0, 1.0, True, 1.0, 1.0, 1),
        lambda: follow_lam(points, points, None, None, frames, None, 1.0, 1),
    ):
        with pytest.raises(ValueError, match="frames on both sides or on none"):
            call()


@pytest.mark.parametrize("lam", [20.0, 60.0])
def test_gospa_of_order_one_is_the_flat_metric(lam: float) -> None:
    rng = np.random.default_rng(3)
    n, m = 60, 50
    truth = table(rng.uniform(0, 400, (n, 2)), np.sort(rng.integers(1, 4, n)))
    pred = table(rng.uniform(0, 400, (m, 2)), np.sort(rng.integers(1, 4, m)))
    score = fm.score(truth, pred, lam=lam)
    assert score.gospa.value / n == pytest.approx(score.flat_metric.value, rel=1e-12)
    # and by its own assignment instead of the Flat Metric's plan
    other = fm.score(truth, pred, lam=lam / 2, gospa_p=1, gospa_c=2 * lam)
    assert other.gospa.value == pytest.approx(score.gospa.value, rel=1e-12)


def brute_force(truth: Any, pred: Any, p: float, c: float) -> tuple[float, float]:
    """GOSPA^p and OSPA^p * max(n, m) over every assignment."""
    n, m = len(truth), len(pred)
    if n > m:
        return brute_force(pred, truth, p, c)
    best = math.inf
    for places in itertools.permutations(range(m), n):
        best = min(best, sum(min(math.dist(truth[i], pred[j]), c) ** p for i, j in enumerate(places)))
    return best + c**p / 2 * (m - n), best + c**p * (m - n)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 4.0])
def test_gospa_and_ospa_by_brute_force(p: float) -> None:
    rng = np.random.default_rng(int(10 * p))
    for n, m in [(0, 3), (3, 0), (1, 1), (3, 5), (5, 4), (6, 6)]:
        truth, pred = rng.uniform(0, 10, (n, 2)), rng.uniform(0, 10, (m, 2))
        c = 4.0
        pairs = assign_frames(table(truth), table(pred), dim=2, p=p, c=c)
        frames = frame_pairs(np.array([n]), np.array([m]), np.zeros(len(pairs), dtype=int), pairs.distance, p=p)
        own = frame_values(frames, p=p, c=c)
        columns = {"n_truth": n, "n_pred": m, "pairs": len(pairs), "moved": frames.moved[0], "frames": 1}
        columns |= {"larger": max(n, m), "own_gospa": own[0][0], "own_ospa": own[1][0]}
        sums = Sums.from_columns(columns, FormulaSettings(dim=2, options=MetricOptions(gospa_p=p, gospa_c=c)))
        (gospa, _), (ospa, _) = evaluate(Gospa, sums), evaluate(Ospa, sums)
        gospa_p, ospa_p = brute_force(truth, pred, p, c)
        assert gospa.value**p == pytest.approx(gospa_p)
        assert gospa.frame_mean == pytest.approx(gospa.value)
        assert ospa.value == pytest.approx((ospa_p / max(n, m)) ** (1 / p))
        parts = gospa.localization**p + gospa.missed**p + gospa.false**p
        assert parts == pytest.approx(gospa.value**p)


def test_gospa_against_stone_soup() -> None:
    stonesoup = pytest.importorskip("stonesoup.metricgenerator.ospametric")
    from stonesoup.types.state import State

    rng = np.random.default_rng(5)
    truth, pred = rng.uniform(0, 300, (12, 2)), rng.uniform(0, 300, (9, 2))
    metric = stonesoup.GOSPAMetric(p=2, c=100)
    states = [[State(point.reshape(-1, 1)) for point in side] for side in (pred, truth)]
    theirs = metric.compute_gospa_metric(*states)[0].value["distance"]
    assert fm.score(table(truth), table(pred), gospa_p=2, gospa_c=100).gospa.value == pytest.approx(theirs)


@pytest.mark.parametrize(("p", "c"), [(0.5, 10), (1, 0), (2, math.inf), (math.nan, 1)])
def test_bad_orders(p: float, c: float) -> None:
    with pytest.raises(fm.InputError, match=r"GOSPA and OSPA|gospa_"):
        fm.score(table([(0, 0)]), table([(0, 0)]), gospa_p=p, gospa_c=c)


def test_a_rendered_point_is_a_gaussian_at_its_place() -> None:
    image = render(np.array([[253.0, 348.0]]), (60, 70))
    x, y = (np.arange(60) + 0.5) * VOXEL, (np.arange(70) + 0.5) * VOXEL
    exact = np.exp(-((x[:, None] - 253) ** 2 + (y - 348) ** 2) / (2 * SIGMA**2))
    near = exact > math.exp(-4.5)
    np.testing.assert_allclose(image[near], exact[near])
    # x and y are not exchanged: the centre of mass is where the point is
    weight = image / image.sum()
    assert (weight.sum(axis=1) * x).sum() == pytest.approx(253, abs=0.1)
    assert (weight.sum(axis=0) * y).sum() == pytest.approx(348, abs=0.1)


def test_points_outside_are_not_rendered_and_edges_are_cut() -> None:
    assert not render(np.array([[-1.0, 50.0], [50.0, 1000.0]]), (10, 10)).any()
    assert render(np.array([[0.0, 0.0]]), (10, 10))[0, 0] > 0.5


def test_snr_in_closed_form() -> None:
    """Two Gaussians a shift apart: 1 / (2 - 2 exp(-shift^2 / 4 sigma^2))."""
    shift = 6.0
    score = image_score(table([(3205.0, 3205.0)]), table([(3205.0 + shift, 3205.0)]), fov=(6400, 6400), dim=2)
    expected = -10 * math.log10(2 - 2 * math.exp(-(shift**2) / (4 * SIGMA**2)))
    assert score["snr_xy"] == pytest.approx(expected, abs=0.03)


def test_the_volume_in_slabs_is_the_volume() -> None:
    rng = np.random.default_rng(7)
    truth = rng.uniform((0, 0, -300), (400, 300, 300), (40, 3))
    pred = truth + rng.normal(0, 8, truth.shape)
    score = image_score(table(truth), table(pred), fov=(400, 300), dim=3)
    volumes = [render(points + np.array([0, 0, 750.0]), (40, 30, 150)) for points in (truth, pred)]
    assert score["snr_xyz"] == pytest.approx(snr(*volumes))
    for name, axis in (("xy", 2), ("xz", 1), ("yz", 0)):
        images = [volume.sum(axis=axis) for volume in volumes]
        assert score[f"snr_{name}"] == pytest.approx(snr(*images))
        assert score[f"frc_{name}"] == pytest.approx(frc(*images))


def test_frc_grows_with_the_error_and_ends_at_the_voxels() -> None:
    rng = np.random.default_rng(8)
    truth = rng.uniform(0, 2560, (3000, 2))
    images = [render(truth + rng.normal(0, error, truth.shape), (256, 256)) for error in (0, 5, 20, 60)]
    resolutions: list[Any] = [frc(images[0], image) for image in images]
    assert resolutions[0] == 20.0
    assert resolutions == sorted(resolutions) and resolutions[-1] > 60
    # Gaussian errors of sigma s lower the correlation to exp(-2 pi^2 s^2 q^2)
    expected = 60 * math.pi * math.sqrt(2 / math.log(7))
    assert resolutions[-1] == pytest.approx(expected, rel=0.15)


def test_empty_images_are_undefined() -> None:
    score = image_score(table([(5.0, 5.0)]), table([]), fov=(100, 100), dim=2)
    assert score["frc_xy"] == "an image is empty"


def test_ospa_is_per_point_of_the_larger_side_of_each_frame() -> None:
    """Two frames, one with a missed and one with a false point: by an assignment that knows frames, two are alone."""
    truth = {"frame": [1, 1, 2], "x": [0.0, 900.0, 0.0], "y": [0.0, 0.0, 0.0]}
    pred = {"frame": [1, 2, 2], "x": [10.0, 20.0, 900.0], "y": [0.0, 0.0, 0.0]}
    score = fm.score(truth, pred, gospa_p=1, gospa_c=100, check=False)
    assert score.ospa.value == pytest.approx((10 + 100 + 20 + 100) / 4)
    assert score.ospa.frame_mean == pytest.approx(score.ospa.value)
