"""Figures of a score: what is drawn is what was scored."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.plots.bins import scores_by
from flatmetric.plots.error_budget import error_budget
from flatmetric.plots.errors import error_histogram, error_scatter
from flatmetric.plots.frames import score_per_frame
from flatmetric.plots.lambda_curve import lambda_curves
from flatmetric.plots.rendering import missed_share, rendering
from flatmetric.plots.standings import standings
from flatmetric.plots.style import house_style, new_figure
from flatmetric.plots.transport_map import frame_map
from flatmetric.scoring.breakdown import per_frame, score_in_bins
from flatmetric.statistics.ranking import Standing
from tests.scenes import draw

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

NOTHING = {"frame": np.empty(0, dtype=np.int64), "x": np.empty(0), "y": np.empty(0)}


def axes_of() -> Any:
    with house_style():
        return new_figure(4, 3).subplots()


@pytest.fixture(scope="module")
def score() -> fm.Score:
    truth, pred = draw(np.random.default_rng(3), 50, 0.8, 25.0)
    false: dict[str, Any] = {"frame": [3, 8, 9], "x": [9e4, 8e4, 7e4], "y": [9e4, 8e4, 7e4]}
    shuffled = np.random.default_rng(4).permutation(len(pred["frame"]) + 3)
    return fm.score(truth, {name: np.append(pred[name], false[name])[shuffled] for name in false})


@pytest.fixture(scope="module")
def empty(score: fm.Score) -> fm.Score:
    return fm.score(score.matched.truth, NOTHING)


def number(value: float | None) -> float:
    assert value is not None
    return value


def test_the_budget_has_the_parts_as_lengths(score: fm.Score) -> None:
    axes = error_budget(axes_of(), {"a": score, "b": score})
    widths = [bar.get_width() for bar in cast(Any, axes.patches)]
    flat = score.flat_metric
    np.testing.assert_allclose(widths[:3], [number(flat.displaced), number(flat.missed), number(flat.false)])
    assert widths[:3] == widths[3:]
    assert any(f"{number(flat.value):.1f} nm" in text.get_text() for text in axes.texts)


def test_the_scatter_tells_bias_and_rmse(score: fm.Score) -> None:
    axes = error_scatter(axes_of(), score)
    offsets = np.asarray(axes.collections[0].get_offsets())
    np.testing.assert_allclose(offsets, score.matched.errors[:, :2])
    assert f"RMSE {number(score.challenge.rmse_xy):.1f} nm" in axes.get_title()


def test_many_errors_are_a_density() -> None:
    truth, pred = draw(np.random.default_rng(0), 1200, 0.95, 20.0)
    axes = error_scatter(axes_of(), fm.score(truth, pred))
    assert type(axes.collections[0]).__name__ == "PolyCollection"


def test_the_histogram_counts_every_match(score: fm.Score) -> None:
    axes = error_histogram(axes_of(), score, 0)
    assert sum(bar.get_height() for bar in cast(Any, axes.patches)) == len(score.matched.errors)
    assert f"bias {number(score.challenge.bias_x):+.1f} nm" in axes.get_title()


def test_curves_have_their_crossings_marked() -> None:
    precise = fm.flat_curve([[0], [1000]], [[1]], lam_max=250)
    complete = fm.flat_curve([[0], [1000]], [[40], [1040]], lam_max=250)
    axes = lambda_curves(axes_of(), {"precise": precise, "complete": complete}, lam=125.0)
    np.testing.assert_array_equal(np.asarray(axes.lines[0].get_ydata()), precise.value)
    rings = [line for line in axes.lines if line.get_marker() == "o"]
    assert [float(np.asarray(ring.get_xdata())[0]) for ring in rings] == [pytest.approx(79.0)]


def test_frames_add_up_to_the_whole(score: fm.Score) -> None:
    axes = score_per_frame(axes_of(), score)
    top = np.asarray(axes.collections[-1].get_paths()[0].vertices)[:, 1].max()
    costs = per_frame(score)["flat_metric_share_nm"] * len(score.matched.truth_kept)
    assert top == pytest.approx(costs.max())


def test_long_movies_are_averaged() -> None:
    truth, pred = draw(np.random.default_rng(0), 1500, 0.9, 20.0)
    axes = score_per_frame(axes_of(), fm.score(truth, pred))
    assert axes.get_ylabel() == "cost of a frame [nm], mean of 3"


def test_bins_are_steps_of_their_values(score: fm.Score) -> None:
    bins = score_in_bins(score, "density")
    axes = scores_by(axes_of(), bins, "density")
    drawn = cast(Any, axes.patches[0]).get_data().values
    np.testing.assert_allclose(drawn, [number(each.flat_metric) for each in bins])
    assert axes.get_xlabel() == "true molecules in the frame"


@pytest.mark.parametrize(("side", "part"), [("truth", "missed"), ("pred", "false")])
def test_the_rendering_holds_all_points_and_marks(score: fm.Score, side: Literal["truth", "pred"], part: str) -> None:
    axes = rendering(axes_of(), score, side)
    table = score.matched.truth if side == "truth" else score.matched.pred
    assert np.asarray(axes.images[0].get_array()).sum() == pytest.approx(len(table))
    marks = len(np.asarray(axes.collections[0].get_offsets()))
    assert marks > 0 and f"{marks} {part}" in axes.get_title()


def test_the_shares_of_missed_molecules_are_those_of_the_squares(score: fm.Score) -> None:
    axes = missed_share(axes_of(), score)
    shares = np.ma.masked_invalid(np.asarray(axes.images[0].get_array()))
    missed = int((score.costs.truth_partner < 0).sum())
    assert axes.get_title() == f"{missed} of {len(score.matched.kept_truth)} molecules missed"
    assert 0 <= shares.min() < shares.max() <= 1


def test_the_map_of_a_frame_is_that_of_the_frame(score: fm.Score) -> None:
    frame = int(per_frame(score)["frame"][7])
    axes = frame_map(axes_of(), score, frame)
    drawn = {str(c.get_label()): c for c in axes.collections}
    truth, pred = score.matched.truth, score.matched.pred
    np.testing.assert_allclose(np.asarray(drawn["truth"].get_offsets())[:, 0], truth.x[truth.frame == frame])
    np.testing.assert_allclose(np.asarray(drawn["found"].get_offsets())[:, 0], pred.x[pred.frame == frame])
    lines = [np.asarray(path.vertices) for path in drawn["moved"].get_paths()]
    lengths = sum(float(np.hypot(*(b - a))) for a, b in lines)
    parts = per_frame(score)
    assert lengths == pytest.approx(parts["displaced_share_nm"][7] * len(truth))


def test_a_leaderboard_shows_ranks_and_intervals() -> None:
    places = [Standing("a", 1.0, (1.0, 1.5), 40.2), Standing("b", 2.0, (1.5, 2.0), 44.0)]
    axes = standings(axes_of(), places)
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [1.0, 1.5]
    assert [text.get_text() for text in axes.texts] == ["40.2 nm", "44.0 nm"]


def test_a_result_without_a_detection_can_be_drawn(empty: fm.Score) -> None:
    for draw_one in (error_scatter, score_per_frame):
        draw_one(axes_of(), empty)
    assert error_histogram(axes_of(), empty, 0).get_title() == "no match"
    assert rendering(axes_of(), empty, "pred").get_title() == "found, 0 false"
    error_budget(axes_of(), {"empty": empty})
    frame_map(axes_of(), empty, int(empty.matched.truth.frame[0]))


def test_a_score_without_truth_can_be_drawn(score: fm.Score) -> None:
    truth = score.matched.truth
    nobody = fm.score(truth, score.matched.pred, protocol=fm.Protocol(first_frame=10_000))
    for draw_one in (error_scatter, score_per_frame):
        draw_one(axes_of(), nobody)
    error_budget(axes_of(), {"nobody": nobody})
    assert rendering(axes_of(), nobody, "truth").get_title() == "nothing to compare"
    assert scores_by(axes_of(), score_in_bins(nobody, "frame"), "frame").get_title()


def test_a_constant_quantity_is_told_instead_of_an_empty_axis() -> None:
    truth = {"frame": np.arange(1, 21), "x": np.linspace(0, 900, 20), "y": np.zeros(20)}
    score = fm.score(truth, dict(truth, x=truth["x"] + 5.0), check=False)
    axes = scores_by(axes_of(), score_in_bins(score, "density"), "density")
    (text,) = axes.texts
    assert text.get_text() == "Flat Metric 5.00 nm\ntrue molecules in the frame: 1 everywhere"


def test_the_core_of_the_errors_has_an_inset_where_tails_are_long() -> None:
    rng = np.random.default_rng(0)
    truth = {"frame": np.arange(1, 401), "x": np.zeros(400), "y": np.zeros(400)}
    errors = rng.normal(0, 10, (400, 2))
    short = fm.score(truth, {"frame": truth["frame"], "x": errors[:, 0], "y": errors[:, 1]}, check=False)
    assert not error_scatter(axes_of(), short).child_axes
    errors[:20] *= 10
    long = fm.score(truth, {"frame": truth["frame"], "x": errors[:, 0], "y": errors[:, 1]}, check=False)
    (inset,) = error_scatter(axes_of(), long).child_axes
    assert inset.get_xlim()[1] < 40
