"""Figures 1c and 4: correlations against SciPy, and a verdict that says what the numbers say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from flatmetric.paper.agreement import Advantage, advantages, agreements, draw, example_entry, verdict
from flatmetric.statistics.correlations import method_of
from flatmetric.statistics.entries import Entry


def entries(dataset: str, follows: bool, count: int = 34, seed: int = 0) -> list[Entry]:
    """Participants whose Flat Metric goes with efficiency; RMSMD does so too or is noise."""
    rng = np.random.default_rng(seed)
    efficiency = rng.uniform(-20, 80, count)
    flat = 120 - efficiency + rng.normal(0, 6, count)
    rmsmd = (400 - 2 * efficiency if follows else 400) + rng.normal(0, 4, count)
    rows = zip(efficiency, flat, rmsmd, strict=True)
    return [
        dataclasses.replace(
            example_entry(f"p{k}", efficiency=float(e), flat_metric=float(f), rmsmd=float(r)), dataset=dataset
        )
        for k, (e, f, r) in enumerate(rows)
    ]


def test_correlations_are_those_of_scipy() -> None:
    here = entries("a", follows=True)
    (found,) = agreements(here, "flat_metric")
    x = [entry.metrics["flat_metric"] for entry in here]
    y = [entry.metrics["efficiency"] for entry in here]
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert found.spearman_interval is not None and found.pearson_interval is not None
    assert found.spearman is not None
    assert found.spearman_interval[0] < found.spearman < found.spearman_interval[1]
    fisher = stats.pearsonr(x, y).confidence_interval(0.95)
    np.testing.assert_allclose(found.pearson_interval, [fisher.low, fisher.high], atol=0.04)


def test_the_lead_tells_the_two_cases_apart() -> None:
    (apart,) = advantages(entries("a", follows=False))
    (alike,) = advantages(entries("a", follows=True))
    assert apart.interval is not None and apart.interval[0] > 0.3
    assert alike.interval is not None and alike.interval[0] < 0


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            [Advantage("a", 0.4, (0.1, 0.7))],
            "in 1 of 1 data sets, RMSMD in 0, and in 0 neither leads significantly (95 %): the claim",
        ),
        (
            [Advantage("a", 0.4, (0.1, 0.7)), Advantage("b", 0.1, (-0.2, 0.3))],
            "neither leads significantly (95 %): the claim holds in part.",
        ),
        ([Advantage("a", 0.4, (-0.1, 0.7))], "in 1 neither leads significantly (95 %): the claim is not confirmed."),
        (
            [Advantage("a", -0.4, (-0.6, -0.1))],
            "RMSMD in 1, and in 0 neither leads significantly (95 %): the claim is not confirmed.",
        ),
        ([Advantage("a", None, None)], "Too few methods"),
        ([Advantage("all", 0.5, (0.2, 0.7))], "follows efficiency more closely than RMSMD (95 %): the claim holds."),
        ([Advantage("all", -0.5, (-0.7, -0.2))], "less closely than RMSMD (95 %): the claim is not confirmed."),
    ],
)
def test_the_verdict_says_what_the_numbers_say(found: list[Advantage], words: str) -> None:
    assert words in verdict(found)


def test_a_family_looks_the_same_in_every_panel() -> None:
    there = [dataclasses.replace(e, program=f"one-{k}") for k, e in enumerate(entries("a", follows=True))]
    there += [dataclasses.replace(e, program=f"two-{k}") for k, e in enumerate(entries("b", follows=True))]
    figure = draw(there, "flat_metric")
    colours = {
        str(c.get_label()): tuple(np.asarray(c.get_facecolor())[0]) for axes in figure.axes for c in axes.collections
    }
    assert len(colours) == 2 and len(set(colours.values())) == 2


def test_few_participants_and_undefined_metrics_say_nothing() -> None:
    few = entries("a", follows=True, count=4)
    assert agreements(few, "flat_metric")[0].spearman is None
    undefined = [example_entry(str(k), flat_metric=float(k)) for k in range(9)]
    (found,) = agreements(undefined, "flat_metric")
    assert found.participants == 0 and found.pearson is None
    assert advantages(undefined) == [Advantage("example", None, None)]
    draw(undefined, "flat_metric")


def test_there_is_a_panel_for_each_data_set() -> None:
    everything = [entry for k, name in enumerate("abcd") for entry in entries(name, follows=False, seed=k)]
    figure = draw(everything, "rmsmd")
    assert {(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes} == {
        ("efficiency [%]", "RMSMD per frame [nm]")
    }
    assert not any(axes.xaxis_inverted() or axes.yaxis_inverted() for axes in figure.axes)  # the best: below, right
    assert [axes.get_title() for axes in figure.axes] == ["a", "b", "c", "d"]
    assert all("Spearman" in axes.texts[0].get_text() for axes in figure.axes)
    assert sum(len(np.asarray(c.get_offsets())) for c in figure.axes[0].collections) == 34


def test_families_are_names_without_their_number() -> None:
    assert [method_of(name) for name in ("log-3", "picasso-mle-10", "-1", "DECODE", "a-b")] == [
        "log",
        "picasso-mle",
        "-1",
        "DECODE",
        "a-b",
    ]


def test_data_sets_of_few_participants_are_told_together() -> None:
    few = [entry for k, name in enumerate("abcd") for entry in entries(name, follows=False, count=3, seed=k)]
    told = {one.dataset: one for one in agreements(few, "flat_metric")}
    assert told["a"].spearman is None
    assert told["all"].participants == 12 and told["all"].spearman is not None and told["all"].spearman < -0.8
    (lead,) = advantages(few)
    assert lead.dataset == "all" and lead.difference is not None


def test_the_axes_of_the_paper_are_shared_and_hide_nobody() -> None:
    inside = [e for e in entries("a", follows=True) if 0 < (e.metrics["efficiency"] or 0) < 60]
    for metric, low in (("flat_metric", 160.0), ("rmsmd", 1800.0)):
        panel = draw(inside, metric, as_printed=True).axes[0]
        assert (panel.get_xlim(), panel.get_ylim()) == ((-10, 70), (low, 0))
    far = example_entry("far", efficiency=-300.0, flat_metric=200.0)
    panels = draw([*inside, dataclasses.replace(far, dataset="b")], "flat_metric", as_printed=True).axes
    assert panels[0].get_xlim() == panels[1].get_xlim() and panels[0].get_ylim() == panels[1].get_ylim()
    assert panels[0].get_xlim()[0] < -300 and panels[0].get_xlim()[1] == 70
    assert panels[0].get_ylim()[0] > 200 and panels[0].get_ylim()[1] == 0
