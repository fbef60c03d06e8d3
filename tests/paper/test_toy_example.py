"""Figure 3: all three behaviours, and a drawing that shows them."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex

import flatmetric as fm
from flatmetric.paper.toy_example import draw, toy_example


def test_the_default_draw_shows_all_three_behaviours() -> None:
    toy = toy_example()
    assert min(toy.transported, toy.destroyed, toy.created) >= 1
    assert toy.truth.shape == (15, 2)
    assert (toy.truth >= 0).all() and (toy.truth <= (1.0, 0.5)).all()
    program = fm.flat_metric(toy.truth, toy.pred, lam=0.1, method="lp")
    assert np.isclose(toy.result.value, program.value, rtol=1e-8)
    assert np.isclose(toy.result.false, 0.1 * toy.destroyed / 15)
    assert np.isclose(toy.result.missed, 0.1 * toy.created / 15)


def test_the_drawing_has_a_mark_for_each_point() -> None:
    toy = toy_example()
    marks = {c.get_label(): c for c in draw(toy).axes[0].collections}
    assert len(np.asarray(marks["false"].get_offsets())) == toy.destroyed
    assert len(np.asarray(marks["missed"].get_offsets())) == toy.created
    assert len(marks["moved"].get_paths()) == toy.transported


def test_the_table_names_the_fate_of_each_point() -> None:
    toy = toy_example()
    plan = list(toy.columns()["plan"])
    assert plan.count("destroyed") == toy.destroyed and plan.count("created") == toy.created
    assert sum(fate.startswith("transported") for fate in plan) == 2 * toy.transported
    sets = dict.fromkeys(("destroyed", "created"), "")
    for name, fate in zip(toy.columns()["set"], plan, strict=True):
        if str(fate) in sets:
            sets[str(fate)] += f"{name} "
    assert set(sets["destroyed"].split()) == {"estimate"} and set(sets["created"].split()) == {"truth"}


def test_the_legend_names_the_marks() -> None:
    axes = draw(toy_example()).axes[0]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "truth",
        "estimate",
        "transport",
        "creation",
        "destruction",
    ]


def test_as_printed_the_truth_is_red_and_the_estimate_green() -> None:
    looks = {c.get_label(): c for c in draw(toy_example(), as_printed=True).axes[0].collections}
    colors = {
        name: to_hex(np.asarray(looks[name].get_edgecolor())[0]) for name in ("truth", "found", "missed", "moved")
    }
    assert colors == {"truth": to_hex("red"), "found": to_hex("green"), "missed": "#000000", "moved": "#000000"}
    assert to_hex(np.asarray(looks["truth"].get_facecolor())[0]) == to_hex("red")


def test_another_seed_gives_another_draw_and_the_same_seed_the_same() -> None:
    assert toy_example(1).result.value != toy_example(2).result.value
    np.testing.assert_array_equal(toy_example(1).truth, toy_example(1).truth)
