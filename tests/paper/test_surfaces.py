"""Figures 1a and 1b: the surfaces against their expectation lines, brute force and the dense program."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.errors import InputError
from flatmetric.paper.surfaces import (
    PER_RMSE,
    SurfaceExperiment,
    Surfaces,
    dense_lp_seconds,
    deviation,
    draw_deviation,
    draw_efficiency,
    draw_flat_metric,
    make_trials,
    surfaces,
)

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


@pytest.fixture(scope="module")
def paper() -> Surfaces:
    """The experiment of the paper, whole."""
    return surfaces(SurfaceExperiment())


def test_without_error_the_flat_metric_is_lam_times_the_missing_share(paper: Surfaces) -> None:
    np.testing.assert_allclose(paper.flat_metric[0], 125 * (1 - paper.recall), atol=1e-9)
    np.testing.assert_allclose(paper.flat_metric_sd[0], 0, atol=1e-9)
    np.testing.assert_allclose(paper.efficiency[0, 1:], 100 * paper.recall[1:], atol=1e-9)


def test_at_small_radius_the_surface_is_on_its_line_within_three_standard_errors(paper: Surfaces) -> None:
    found = deviation(paper)
    small = (found.radius_nm > 0) & (found.radius_nm <= 60)
    assert small.sum() == 12
    assert (np.abs(found.flat_metric - found.line)[small] <= 3 * found.standard_error[small]).all()
    np.testing.assert_allclose(found.line, PER_RMSE * paper.radius / math.sqrt(2), rtol=1e-12)


def test_between_the_lines_both_parts_add_up_at_small_radius(paper: Surfaces) -> None:
    expected = 125 * (1 - paper.recall) + paper.recall * 2 * paper.radius[:, None] / 3
    error = paper.flat_metric_sd / math.sqrt(50)
    small = slice(1, 9)
    off = np.abs(paper.flat_metric - expected)[small] > 3 * error[small] + 1e-9
    assert off.mean() < 0.01  # three standard errors of a normal mean are left by 0.3 %


def test_at_large_radius_better_partners_lower_the_surface(paper: Surfaces) -> None:
    found = deviation(paper)
    assert found.partners[-1] < -5
    assert (found.partners <= 1e-9).all()
    np.testing.assert_allclose(found.cap, 0, atol=1e-12)
    np.testing.assert_allclose(found.flat_metric, found.line + found.cap + found.partners + found.chance, rtol=1e-12)


def test_a_lam_below_half_the_radius_caps_what_a_point_costs() -> None:
    found = deviation(surfaces(SurfaceExperiment(points=4, lam=40, steps=11, trials=400)))
    assert found.cap[-1] < -70
    assert (found.cap[found.radius_nm <= 80] == 0).all()
    assert (np.abs(found.chance) <= 4 * 80 / math.sqrt(4 * 400)).all()


def test_efficiency_is_undefined_where_nothing_is_found(paper: Surfaces) -> None:
    assert np.isnan(paper.efficiency[:, 0]).all() and np.isnan(paper.rmse[:, 0]).all()
    assert not np.isnan(paper.efficiency[:, 1:]).any()
    assert (paper.jaccard[:, 0] == 0).all()


def test_each_node_is_the_mean_of_single_scores() -> None:
    settings = SurfaceExperiment(points=30, steps=3, trials=3, seed=5)
    result = surfaces(settings)
    trials = make_trials(settings, row=2)
    values, efficiencies = [], []
    for frame in range(7, 10):  # full recall
        truth = trials.truth[trials.truth_frame == frame]
        pred = trials.pred[trials.pred_frame == frame]
        values.append(fm.flat_metric(truth, pred, lam=125, method="lp").value)
        tables = [{"frame": [1] * len(p), "x": p[:, 0], "y": p[:, 1]} for p in (truth, pred)]
        efficiencies.append(fm.score(*tables).to_dict()["challenge"]["efficiency"])
    assert np.isclose(result.flat_metric[2, 2], np.mean(values), rtol=1e-8)
    assert np.isclose(result.flat_metric_sd[2, 2], np.std(values, ddof=1), rtol=1e-6)
    assert np.isclose(result.efficiency[2, 2], np.mean(efficiencies), rtol=1e-9)


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, again, other = (surfaces(SurfaceExperiment(points=20, steps=3, trials=5, seed=seed)) for seed in (1, 1, 2))
    for name, column in first.columns().items():
        np.testing.assert_array_equal(column, again.columns()[name])
    assert (first.flat_metric[1:] != other.flat_metric[1:]).any()


def test_the_dense_program_is_timed_on_a_sample_unless_it_is_too_large() -> None:
    seconds = dense_lp_seconds(SurfaceExperiment(points=10, steps=2, trials=2))
    assert seconds is not None and seconds > 0
    assert dense_lp_seconds(SurfaceExperiment(points=1000, steps=2, trials=2)) is None


def test_errors_fill_the_disk_uniformly() -> None:
    trials = make_trials(SurfaceExperiment(points=1000, steps=2, trials=20), row=1)
    share = (np.arange(len(trials.distance)) + 0.5) / len(trials.distance)
    area = np.sort((trials.distance / 250) ** 2)
    assert np.abs(area - share).max() < 1.63 / math.sqrt(len(area))  # Kolmogorov-Smirnov at 1 %


def test_the_drawings_carry_the_surface_and_its_lines(paper: Surfaces) -> None:
    for draw, label in ((draw_flat_metric, "Flat Metric [nm]"), (draw_efficiency, "efficiency [%]")):
        axes = draw(paper).axes[0]
        assert len(axes.lines) == 2
        assert getattr(axes, "get_zlabel")() == label  # noqa: B009
    assert len(draw_deviation(deviation(paper)).axes) == 2


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"points": 0}, "points is 0"),
        ({"lam": -1.0}, "lam is -1"),
        ({"lam": math.nan}, "lam is nan"),
        ({"steps": 1}, "steps is 1"),
        ({"trials": 0}, "trials is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"points": 100_000, "trials": 100_000}, "at most 200 million"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        SurfaceExperiment(**wrong)  # type: ignore[arg-type]


def test_one_trial_has_no_spread() -> None:
    assert np.isnan(surfaces(SurfaceExperiment(points=5, steps=2, trials=1)).flat_metric_sd).all()


def test_as_printed_the_colours_are_those_of_the_paper() -> None:
    made = surfaces(SurfaceExperiment(points=20, steps=3, trials=4))
    for draw, printed in ((draw_flat_metric, "viridis"), (draw_efficiency, "viridis_r")):
        assert draw(made, as_printed=True).axes[0].collections[0].get_cmap().name == printed
        assert draw(made).axes[0].collections[0].get_cmap().name == "cividis"
