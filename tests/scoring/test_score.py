"""`score` as a whole: its rules, what must not change it, its explanations, and its JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import flatmetric as fm
from flatmetric.metrics.table import FAMILIES, METRICS
from flatmetric.options.rules import Protocol, Wobble, read_wobble
from flatmetric.scoring.breakdown import per_frame, per_molecule, score_in_bins
from tests.scenes import CHALLENGE, RULES, SCHEMA, numbers, scene

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")


def same(a: fm.Score, b: fm.Score) -> None:
    ours, theirs = numbers(a), numbers(b)
    for name, value in ours.items():
        if value is None:
            assert theirs[name] is None, name
        elif not name.endswith("gap"):
            assert theirs[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("rules", RULES)
def test_the_order_of_rows_does_not_matter(rules: dict[str, Any]) -> None:
    truth, pred = scene()
    rng = np.random.default_rng(1)
    mixed = truth.select(rng.permutation(len(truth))), pred.select(rng.permutation(len(pred)))
    same(fm.score(truth, pred, **rules), fm.score(*mixed, **rules))


@pytest.mark.parametrize("rules", RULES)
def test_threads_change_no_bit(rules: dict[str, Any]) -> None:
    truth, pred = scene()
    assert numbers(fm.score(truth, pred, threads=1, **rules)) == numbers(fm.score(truth, pred, threads=2, **rules))


def test_renumbered_frames_change_nothing() -> None:
    truth, pred = scene()
    later = [dataclasses.replace(t, frame=7 * t.frame + 100) for t in (truth, pred)]
    same(fm.score(truth, pred), fm.score(*later))


def test_shifting_both_changes_nothing() -> None:
    truth, pred = scene()
    moved = [dataclasses.replace(t, x=t.x + 1000, y=t.y - 500, z=t.z + 64) for t in (truth, pred)]
    same(fm.score(truth, pred), fm.score(*moved))


def test_swapped_files_swap_precision_and_recall() -> None:
    truth, pred = scene()
    a, b = fm.score(truth, pred).challenge, fm.score(pred, truth).challenge
    assert (a.precision, a.recall, a.fp) == (b.recall, b.precision, b.fn)
    assert a.jaccard == b.jaccard and a.bias_x == pytest.approx(-b.bias_x)  # type: ignore[operator]
    flat = fm.score(truth, pred).flat_metric, fm.score(pred, truth).flat_metric
    assert flat[0].value * len(truth) == pytest.approx(flat[1].value * len(pred))  # type: ignore[operator]


def test_a_perfect_result() -> None:
    truth, _ = scene()
    score = fm.score(truth, truth)
    assert score.flat_metric.value == 0 and score.challenge.jaccard == 100 and score.challenge.efficiency == 100
    assert score.rmsmd.per_frame == 0 and score.gospa.value == 0 and score.ospa.value == 0
    assert score.molecules.recall == 1 and score.challenge.photon_correlation == pytest.approx(1)


@pytest.mark.parametrize("rules", RULES)
def test_the_flat_metric_of_score_is_that_of_the_rows_that_count(rules: dict[str, Any]) -> None:
    score = fm.score(*scene(), lam=90, **rules)
    truth = score.matched.truth.select(score.matched.truth_kept)
    pred = score.matched.pred.select(score.matched.pred_kept)
    weights = {}
    if score.weights == "photons":
        assert truth.photons is not None and pred.photons is not None
        total = truth.photons.sum()
        weights = {"truth_weights": truth.photons / total, "pred_weights": pred.photons / total}
    alone = fm.flat_metric(
        truth.points(score.dim),
        pred.points(score.dim),
        lam=90,
        truth_frames=truth.frame,
        pred_frames=pred.frame,
        **weights,
    )
    assert score.flat_metric.value == alone.value
    assert abs(score.flat_metric.gap or 0.0) < 1e-9


def test_the_frame_mean_is_the_mean_of_frames_scored_alone() -> None:
    truth, pred = scene()
    score = fm.score(truth, pred)
    own = [
        fm.score(truth.select(truth.frame == f), pred.select(pred.frame == f)).flat_metric.value
        for f in np.unique(truth.frame)
    ]
    assert score.flat_metric.frame_mean == pytest.approx(np.mean(own))  # type: ignore[arg-type]
    assert score.flat_metric.frames_without_truth == len(set(pred.frame.tolist()) - set(truth.frame.tolist()))


def test_dont_care_takes_out_dim_molecules_and_their_detections() -> None:
    truth = {"frame": [1, 1, 1], "x": [100.0, 2000.0, 4000.0], "y": [0.0] * 3, "photons": [100.0, 900.0, 900.0]}
    pred = {"frame": [1, 1, 1], "x": [110.0, 2010.0, 6000.0], "y": [0.0] * 3, "photons": [90.0, 800.0, 100.0]}
    score = fm.score(truth, pred, protocol=Protocol(photon_threshold=100))
    assert (score.challenge.tp, score.challenge.fp, score.challenge.fn) == (1, 1, 1)
    assert score.matched.truth_kept.tolist() == [1, 2] and score.matched.pred_kept.tolist() == [1, 2]
    # 10 nm moved, one missed, one false, over the two that count
    assert score.flat_metric.value == pytest.approx((10 + 125 + 125) / 2)


def test_the_border_is_strict_and_for_both() -> None:
    truth = {"frame": [1, 1, 1], "x": [450.0, 451.0, 5950.0], "y": [3000.0] * 3, "photons": [9.0] * 3}
    score = fm.score(truth, truth, protocol=CHALLENGE)
    assert score.challenge.tp == 1 and score.matched.truth_rows.tolist() == [1]


def test_frame_limits_include_both_ends() -> None:
    table = {"frame": [1, 2, 3, 4], "x": [0.0] * 4, "y": [0.0] * 4}
    score = fm.score(table, table, protocol=Protocol(first_frame=2, last_frame=3))
    assert score.matched.truth_rows.tolist() == [1, 2] and score.challenge.tp == 2
    assert per_molecule(score)["part"].tolist()[:4] == ["outside", "displaced", "displaced", "outside"]


def test_hazen_quantile_cut_to_a_whole_number() -> None:
    truth = {"frame": [1] * 4, "x": [0.0, 1e4, 2e4, 3e4], "y": [0.0] * 4, "photons": [10.9, 20.9, 30.9, 40.9]}
    score = fm.score(truth, truth, protocol=Protocol(photon_quantile=0.25))
    assert score.matched.photon_threshold == 15  # midway between the first two is 15.9


def test_wobble_moves_the_truth_by_the_nearest_depth() -> None:
    table = Wobble(dx=np.array([10.0, 20.0]), dy=np.array([0.0, -5.0]), z=np.array([0.0, 100.0]))
    truth = {"frame": [1, 1, 1], "x": [0.0, 1000.0, 2000.0], "y": [0.0] * 3, "z": [49.0, 50.0, 51.0]}
    pred = {"frame": [1, 1, 1], "x": [10.0, 1010.0, 2020.0], "y": [0.0, 0.0, -5.0], "z": [49.0, 50.0, 51.0]}
    score = fm.score(truth, pred, protocol=Protocol(wobble=table))
    assert score.challenge.rmse_xyz == pytest.approx(0)


def test_wobble_of_equal_distance_is_the_first_in_the_table() -> None:
    shuffled = Wobble(dx=np.array([7.0, 1.0, 2.0]), dy=np.zeros(3), z=np.array([100.0, 0.0, 0.0]))
    assert shuffled.shifts(np.array([50.0, -10.0, 0.0]))[0].tolist() == [7.0, 1.0, 1.0]


def test_frames_below_one_are_never_matched() -> None:
    table = {"frame": [0, 1], "x": [0.0, 0.0], "y": [0.0, 0.0]}
    score = fm.score(table, table, frame_base=1)  # else a table that begins with frame 0 counts from 0
    assert (score.challenge.tp, score.challenge.fp, score.challenge.fn) == (1, 1, 1)
    assert any("frames below 1" in str(finding) for finding in score.findings)


def test_dimension_follows_the_files_unless_ruled() -> None:
    truth, pred = scene()
    assert fm.score(truth, pred).dim == 3
    assert fm.score(truth, dataclasses.replace(pred, z=0 * pred.x)).dim == 2
    assert fm.score(truth, dataclasses.replace(pred, z=None)).dim == 2
    with pytest.raises(fm.InputError, match="has no z"):
        fm.score(truth, dataclasses.replace(pred, z=None), protocol=Protocol(dim=3))


def test_no_detection_at_all() -> None:
    truth, pred = scene()
    score = fm.score(truth, pred.select(np.zeros(0, dtype=int)), lam=70)
    assert score.flat_metric.value == pytest.approx(70) and score.challenge.recall == 0
    assert score.challenge.precision is None
    assert "there is no detection at all" in str(score.findings)


def test_no_common_frames_name_the_cause() -> None:
    truth, pred = scene()
    score = fm.score(truth, dataclasses.replace(pred, frame=pred.frame + 1000))
    assert score.challenge.tp == 0
    assert [finding.fix for finding in score.findings] == ["frame_base=1001"]


def test_rules_that_leave_no_truth() -> None:
    truth, pred = scene()
    for rules, said in (
        (Protocol(photon_threshold=1e9), "no true molecule has more than 1e+09 photons"),
        (Protocol(first_frame=500), "leave no true molecule"),
    ):
        score = fm.score(truth, pred, protocol=rules)
        assert score.flat_metric.value is None
        assert said in str(score.findings)
        content = score.to_dict()
        assert content["flat_metric"]["value"] is None and content["undefined"]["flat_metric.value"]
        assert np.isnan(score.costs.false).all()
        assert score_in_bins(score, "frame") == [] and len(per_molecule(score)["row"]) == len(truth) + len(pred)


def test_bad_arguments() -> None:
    truth, pred = scene()
    empty = truth.select(np.zeros(0, dtype=int))
    darkened = dataclasses.replace(pred, photons=-pred.photons)
    for call, sentence in (
        (lambda: fm.score(empty, pred), "the truth has no row"),
        (lambda: fm.score(truth, pred, lam=0), "lam is 0; give a positive length"),
        (lambda: fm.score(truth, pred, lam=math.inf), "lam is inf; give a finite number"),
        (lambda: fm.score(truth, pred, weights="mass"), "weights is 'mass'"),
        (lambda: fm.score(truth, dataclasses.replace(pred, photons=None), weights="photons"), "no photons to weigh"),
        (lambda: fm.score(truth, darkened, weights="photons"), "can't be a weight"),
        (lambda: fm.score(truth, pred, axis_scale=(1, 1)), "axis_scale has shape"),
        (lambda: fm.score(truth, pred, alpha_xy=math.nan), "alpha_xy is nan; give a finite number"),
        (lambda: fm.score(truth, pred, axis_scale="x"), "axis_scale: could not convert"),  # type: ignore[arg-type]
        (lambda: fm.score(truth, pred, threads="x"), "threads is 'x'"),  # type: ignore[arg-type]
        (lambda: fm.score(truth, pred, images=True), "images need the size of the field"),
        (lambda: fm.score({"frame": [1]}, pred), "truth: no column is known as x and y"),
        (
            lambda: fm.score(
                dataclasses.replace(truth, z=None), pred, protocol=Protocol(wobble=Wobble(*np.ones((3, 1))))
            ),
            "has no z",
        ),
        (
            lambda: fm.score(dataclasses.replace(truth, photons=None), pred, protocol=Protocol(photon_quantile=0.5)),
            "no photons, so leave the photon threshold out",
        ),
        (lambda: score_in_bins(fm.score(truth, pred), "colour"), "can't be binned by 'colour'"),  # type: ignore[arg-type]
        (lambda: score_in_bins(fm.score(truth, pred), "z", 0), "number of bins is 0"),
    ):
        with pytest.raises(fm.InputError, match=sentence):
            call()


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"tolerance": 0}, "tolerance is 0"),
        ({"tolerance_z": -5}, "tolerance_z is -5"),
        ({"tolerance": math.nan}, "tolerance is nan"),
        ({"tolerance": "wide"}, "tolerance is 'wide'; give a number"),
        ({"dim": 4}, "dim is 4"),
        ({"matching": "best"}, "matching is 'best'"),
        ({"border": 100.0}, "the size of the field is not known"),
        ({"border": 4000.0, "fov": (6400.0, 6400.0)}, "border is 4000"),
        ({"fov": (0.0, 1.0)}, "fov is"),
        ({"photon_quantile": 1.5}, "photon_quantile is 1.5"),
        ({"photon_quantile": 0.5, "photon_threshold": 3.0}, "are both given"),
        ({"first_frame": 5, "last_frame": 2}, "comes after"),
        ({"first_frame": "a"}, "first_frame is 'a'; give a frame number"),
        ({"border": "a", "fov": (9.0, 9.0)}, "border is 'a'; give a number"),
        ({"fov": (6400.0,)}, "give the positive width and height"),
        ({"fov": 6400.0}, "give the positive width and height"),
    ],
)
def test_bad_rules(rules: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        Protocol(**rules)


def test_rules_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("dx,dy,z\n1,2,0\n")
    path = tmp_path / "mine.toml"
    path.write_text('preset = "challenge2016"\nborder = 300\nfov = 5000\nmatching = "optimal"\nwobble = "w.csv"\n')
    rules = Protocol.from_toml(path)
    assert (rules.name, rules.border, rules.fov, rules.matching) == ("mine", 300, (5000, 5000), "optimal")
    assert rules.wobble is not None and rules.wobble.dy.tolist() == [2]
    for content, sentence in (
        ("colour = 3", "'colour' is not a rule"),
        ("border = ", "is not valid TOML"),
        ('preset = "2013"', "no protocol '2013'"),
        ("tolerance = 0", "tolerance is 0"),
        ('wobble = "missing.csv"', "can't be read"),
    ):
        path.write_text(content)
        with pytest.raises(fm.InputError, match=sentence):
            Protocol.from_toml(path)


def test_bad_wobble_tables(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    for content, sentence in (
        ("1,2\n", "row 1 of the wobble table"),
        ("dx,dy,z\n1,2,a\n", "row 2 of the wobble table"),
        ("dx,dy,z\n", "at least one"),
        ("1,2,nan\n", "row 1 of the wobble table"),
    ):
        path.write_text(content)
        with pytest.raises(fm.InputError, match=sentence):
            read_wobble(path)
    path.write_text("# by depth\nz,dx,dy\n300,1,7\n")
    assert [float(step[0]) for step in read_wobble(path).shifts(np.array([0.0]))] == [1.0, 7.0]


@pytest.mark.parametrize("rules", RULES)
def test_explanations_add_up(rules: dict[str, Any]) -> None:
    score = fm.score(*scene(), **rules)
    flat = score.flat_metric
    costs = score.costs
    for part, column in ((flat.displaced, costs.displaced), (flat.missed, costs.missed), (flat.false, costs.false)):
        assert column.sum() == pytest.approx(part, abs=1e-9)
    molecules = per_molecule(score)
    mass = np.full(len(molecules["row"]), np.nan)
    kept = np.concatenate([score.matched.truth_kept, score.matched.pred_kept + len(score.matched.truth)])
    mass[kept] = np.concatenate([costs.truth_mass, costs.pred_mass])
    assert np.nansum(molecules["cost_nm"] * mass) == pytest.approx(flat.value)
    frames = per_frame(score)
    assert frames["flat_metric_share_nm"].sum() == pytest.approx(flat.value)
    counts = [int(frames[name].sum()) for name in ("tp", "fp", "fn")]
    assert counts == [score.challenge.tp, score.challenge.fp, score.challenge.fn]
    for quantity in ("z", "photons", "density", "frame"):
        if quantity == "z" and score.matched.truth.z is None:
            continue
        bins = score_in_bins(score, quantity, 5)
        assert sum(b.n_truth for b in bins) == len(score.matched.truth_kept)
        assert sum(b.challenge.tp for b in bins) == score.challenge.tp
        assert sum(b.challenge.fp for b in bins) == score.challenge.fp
        if score.weights == "uniform":
            whole = sum((b.flat_metric or 0) * b.n_truth for b in bins if b.n_truth)
            assert all(b.false is not None for b in bins)
            assert whole / len(score.matched.truth_kept) == pytest.approx(flat.value)


def test_every_molecule_is_explained() -> None:
    truth = {"frame": [1, 1, 1], "x": [1000.0, 3000.0, 6390.0], "y": [3000.0] * 3, "photons": [900.0] * 3}
    pred = {"frame": [1, 1], "x": [1006.0, 5000.0], "y": [3008.0, 3000.0], "photons": [800.0, 500.0]}
    rows = per_molecule(fm.score(truth, pred, protocol=CHALLENGE))
    assert rows["part"].tolist() == ["displaced", "missed", "outside", "moved", "false"]
    assert rows["matched_row"].tolist() == [0, -1, -1, 0, -1]
    assert rows["plan_distance_nm"][0] == 10 and rows["cost_nm"][:2].tolist() == [10.0, 125.0]
    assert abs(rows["potential_nm"][0]) <= 125


def test_json_is_valid_on_every_rule() -> None:
    schema = SCHEMA
    jsonschema.Draft202012Validator.check_schema(schema)
    truth, pred = scene()
    for rules in RULES:
        for found in (pred, pred.select(np.zeros(0, dtype=int)), dataclasses.replace(pred, z=None)):
            if rules.get("weights") == "photons" and len(found) == 0:
                continue
            content = fm.score(truth, found, **rules).to_dict()
            jsonschema.validate(json.loads(json.dumps(content, allow_nan=False)), schema)
    small = Protocol(fov=(6400.0, 6400.0), dim=2)
    jsonschema.validate(fm.score(truth, pred, protocol=small, images=True).to_dict(), schema)
    broken = fm.score(truth, pred).to_dict()
    del broken["flat_metric"]["value"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


def test_the_schema_has_the_metrics_of_the_table() -> None:
    more = {"challenge": {"photon_threshold", "alpha_xy", "alpha_z"}}  # settings that stand beside the metrics
    for part, family in FAMILIES.items():
        described = SCHEMA["properties"][part]
        names = {field.name for field in dataclasses.fields(family.result)} | more.get(part, set())
        assert set(described["properties"]) == set(described["required"]) == names, part
    assert all(metric.title and metric.key in METRICS for metric in METRICS.values())
