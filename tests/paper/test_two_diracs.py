"""Figure 2 against the words of the paper."""

from __future__ import annotations

import numpy as np
from matplotlib.patches import Circle

from flatmetric.paper.two_diracs import LAM, draw, two_diracs


def test_the_curve_is_that_of_the_paper() -> None:
    result = two_diracs(steps=241)
    assert result.largest_difference < 1e-12
    assert np.isclose(result.flat_metric[0], (0.85 - 0.55) * 0.8, rtol=1e-12)
    beyond = result.distance >= 2 * 0.8
    assert beyond.sum() > 50
    np.testing.assert_allclose(result.flat_metric[beyond], (0.85 + 0.55) * 0.8, rtol=1e-12)
    slopes = np.diff(result.flat_metric[~beyond]) / np.diff(result.distance[~beyond])
    np.testing.assert_allclose(slopes, 0.55, rtol=1e-9)


def test_the_drawing_shows_solver_and_closed_form() -> None:
    result = two_diracs(steps=7)
    curves = {line.get_label(): line.get_ydata() for line in draw(result).axes[1].lines}
    np.testing.assert_array_equal(np.asarray(curves["solver"]), result.flat_metric)
    np.testing.assert_array_equal(np.asarray(curves["closed form"]), result.closed_form)


def test_both_points_lie_in_the_plane_within_the_dotted_circle() -> None:
    plane = draw(two_diracs(steps=7)).axes[0]
    (circle,) = (patch for patch in plane.patches if isinstance(patch, Circle))
    assert circle.get_radius() == 2 * LAM and circle.get_linestyle() == ":"
    truth, pred = (np.asarray(mark.get_offsets())[0] for mark in plane.collections)
    np.testing.assert_array_equal(truth, circle.get_center())
    assert 0 < np.hypot(*(pred - truth)) < 2 * LAM
