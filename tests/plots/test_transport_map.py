"""The map of a plan shows every point and every pair."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.markers import MarkerStyle

from flatmetric.plots.style import new_figure
from flatmetric.plots.transport_map import round_length, transport_map


def test_every_pair_and_every_single_point_is_drawn() -> None:
    truth = np.array([[0.0, 0.0], [500.0, 0.0], [900.0, 300.0]])
    pred = np.array([[510.0, 5.0], [200.0, 800.0]])
    axes = transport_map(new_figure(3, 3).subplots(), truth, pred, np.array([1]), np.array([0]))
    drawn = {c.get_label(): c for c in axes.collections}
    np.testing.assert_array_equal(np.asarray(drawn["missed"].get_offsets()), truth[[0, 2]])
    np.testing.assert_array_equal(np.asarray(drawn["false"].get_offsets()), pred[[1]])
    (line,) = drawn["moved"].get_paths()
    np.testing.assert_array_equal(np.asarray(line.vertices), [truth[1], pred[0]])
    assert axes.yaxis_inverted()
    assert any(text.get_text().endswith(" nm") for text in axes.texts)


def test_the_signs_are_those_of_the_paper() -> None:
    """A cross is a detection that is destroyed (false), a plus mass that is created at a true point (missed)."""
    truth, pred, none = np.array([[0.0, 0.0]]), np.array([[900.0, 0.0]]), np.empty(0, dtype=np.int64)
    axes = transport_map(new_figure(3, 3).subplots(), truth, pred, none, none)
    marks = {c.get_label(): c for c in axes.collections}
    for name, sign, place in (("missed", "+", truth), ("false", "x", pred)):
        drawn, shape = marks[name], MarkerStyle(sign)
        expected = shape.get_path().transformed(shape.get_transform())
        np.testing.assert_array_equal(np.asarray(drawn.get_paths()[0].vertices), np.asarray(expected.vertices))
        np.testing.assert_array_equal(np.asarray(drawn.get_offsets()), place)


def test_an_empty_frame_has_a_map_too() -> None:
    none = np.empty((0, 2))
    rows = np.empty(0, dtype=np.int64)
    axes = transport_map(new_figure(3, 3).subplots(), none, none, rows, rows)
    assert {c.get_label() for c in axes.collections} == {"truth", "found"}


@pytest.mark.parametrize(("longest", "length"), [(1.0, 1.0), (1.99, 1.0), (2.0, 2.0), (4999.0, 2000.0), (0.7, 0.5)])
def test_scale_bars_are_round(longest: float, length: float) -> None:
    assert np.isclose(round_length(longest), length)
