"""Every program has its mark, and its group a colour and a shape."""

from __future__ import annotations

import numpy as np

from flatmetric.plots.metric_scatter import metric_scatter
from flatmetric.plots.style import new_figure


def test_groups_have_marks_of_their_own() -> None:
    x, y = np.arange(4.0), np.arange(4.0) ** 2
    axes = metric_scatter(new_figure(3, 3).subplots(), x, y, ["a", "b", "a", "c"], x_name="x", y_name="y", note="n")
    offsets = {str(c.get_label()): np.asarray(c.get_offsets()).tolist() for c in axes.collections}
    assert offsets == {"a": [[0, 0], [2, 4]], "b": [[1, 1]], "c": [[3, 9]]}
    colours = {tuple(np.asarray(c.get_facecolor())[0]) for c in axes.collections}
    shapes = {len(np.asarray(c.get_paths()[0].vertices)) for c in axes.collections}
    assert len(colours) == 3 and len(shapes) >= 2
    assert axes.texts[0].get_text() == "n"


def test_an_axis_may_run_backwards() -> None:
    axes = metric_scatter(
        new_figure(3, 3).subplots(), np.ones(1), np.ones(1), ["a"], x_name="x", y_name="y", y_shown=(5, 0), note="n"
    )
    assert axes.get_ylim() == (5, 0)
    assert axes.texts[0].get_position() == (0.98, 0.02)  # away from the best, which are above
