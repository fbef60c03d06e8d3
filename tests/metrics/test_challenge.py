"""The challenge's metrics against the official scorer's answers, published check values, and brute force."""

from __future__ import annotations

import csv
import dataclasses
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.comparison import counted_matches
from flatmetric.metrics.challenge import Counts, challenge_score, detection, efficiency, precision_errors
from flatmetric.metrics.matching import match
from flatmetric.metrics.value import Undefined, defined, plain

CASES = Path(__file__).parents[1] / "data" / "challenge-cases"
NAMES = {
    "TP": "tp",
    "FP": "fp",
    "FN": "fn",
    "jaccard": "jaccard",
    "fscore": "f1",
    "recall": "recall",
    "precision": "precision",
    "RMSExy": "rmse_xy",
    "MADxy": "mad_xy",
    "dX": "bias_x",
    "dY": "bias_y",
    "corrPhotons": "photon_correlation",
}
AXIAL = {
    "RMSExyz": "rmse_xyz",
    "RMSEz": "rmse_z",
    "MADxyz": "mad_xyz",
    "MADz": "mad_z",
    "dZ": "bias_z",
}


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


RUNS = rows("matlab_metrics.csv")


def run_id(row: dict[str, str]) -> str:
    return f"{row['case']}-{row['run']}"


def read(case: str, name: str) -> fm.Localizations:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ReadWarning)
        return fm.read(CASES / case / name)


def scored(row: dict[str, str]) -> fm.Score:
    protocol = dataclasses.replace(fm.Protocol.preset("challenge2016"), dim=int(row["mode"][0]))
    if float(row["photon_quantile"]):
        protocol = dataclasses.replace(protocol, photon_threshold=None, photon_quantile=float(row["photon_quantile"]))
    return fm.score(read(row["case"], "gt.csv"), read(row["case"], "test.csv"), protocol=protocol)


@pytest.mark.parametrize("row", RUNS, ids=run_id)
def test_every_number_of_the_official_scorer(row: dict[str, str]) -> None:
    score = scored(row)
    found = plain(score.challenge)
    names = NAMES | (AXIAL if row["mode"] == "3D" else {})
    for theirs, ours in names.items():
        expected = float(row[theirs])
        if math.isnan(expected) or (ours == "photon_correlation" and score.challenge.tp == 0):
            assert found[ours] is None  # the scorer's 0 for no pair is no correlation
        else:
            assert found[ours] == pytest.approx(expected, rel=1e-9, abs=1e-9), ours
    assert score.compared.photon_threshold == float(row["photonT"])
    assert len(score.compared.truth_rows) == int(row["n_gt_after_border"])
    assert len(score.compared.pred_rows) == int(row["n_test_after_border"])


@pytest.mark.parametrize("row", RUNS, ids=run_id)
def test_every_pair_of_the_official_scorer(row: dict[str, str]) -> None:
    pairs = counted_matches(scored(row).compared)
    expected = {
        (int(pair["gt_row"]), int(pair["test_row"]))
        for pair in rows("matlab_pairs.csv")
        if (pair["case"], pair["run"]) == (row["case"], row["run"])
    }
    assert set(zip(pairs.truth.tolist(), pairs.pred.tolist(), strict=True)) == expected


@pytest.mark.parametrize("row", rows("efficiency_derived.csv"), ids=run_id)
def test_efficiency_of_the_cases(row: dict[str, str]) -> None:
    jaccard, lateral, axial = (float(row[name]) for name in ("jaccard", "RMSExy", "RMSEz"))
    if math.isnan(lateral):
        assert isinstance(efficiency(jaccard, Undefined("no match"), 1.0), Undefined)
        return
    assert efficiency(jaccard, lateral, 1.0) == pytest.approx(float(row["E_lateral"]), abs=1e-7)
    assert efficiency(jaccard, axial, 0.5) == pytest.approx(float(row["E_axial"]), abs=1e-7)
    run = next(r for r in RUNS if (r["case"], r["run"]) == (row["case"], row["run"]))
    if run["mode"] == "3D":
        assert defined(scored(run).challenge.efficiency) == pytest.approx(float(row["E_3D"]), abs=1e-7)


@pytest.mark.parametrize("row", [r for r in RUNS if r["mode"] == "3D"], ids=run_id)
def test_molecules_count_the_one_that_the_official_scorer_drops(row: dict[str, str]) -> None:
    """The scorer drops the last molecule and splits molecules by position; by ids none is lost."""
    molecules = scored(row).molecules
    truth = read(row["case"], "gt.csv")
    assert truth.id is not None
    score = scored(row)
    alive = set(truth.id[score.compared.truth_counts].tolist())
    assert molecules.tp + molecules.fn == len(alive)  # type: ignore[operator]
    assert int(row["TP_mol"]) <= molecules.tp  # type: ignore[operator]
    if row["case"].startswith(("c01", "c03", "c11", "c16")):
        assert molecules.tp + molecules.fn == int(row["TP_mol"]) + int(row["FN_mol"]) + 1  # type: ignore[operator]


def test_molecules_by_brute_force() -> None:
    row = next(r for r in RUNS if r["case"].startswith("c03") and r["run"].startswith("3D_q25"))
    score = scored(row)
    truth, pred = score.compared.truth, score.compared.pred
    pairs = counted_matches(score.compared)
    assert truth.id is not None and truth.z is not None and pred.z is not None
    errors: dict[int, list[np.ndarray[Any, Any]]] = {}
    for t, p in zip(pairs.truth, pairs.pred, strict=True):
        d = [pred.x[p] - truth.x[t], pred.y[p] - truth.y[t], pred.z[p] - truth.z[t]]
        errors.setdefault(int(truth.id[t]), []).append(np.array(d))
    means = np.array([np.mean(e, axis=0) for e in errors.values()])
    ratio = [
        len(e) / np.count_nonzero(truth.id[score.compared.truth_counts] == identity) for identity, e in errors.items()
    ]
    assert score.molecules.tp == len(errors)
    assert score.molecules.rmse_xyz == pytest.approx(math.sqrt((means**2).sum(axis=1).mean()))
    assert score.molecules.mad_xy == pytest.approx(np.abs(means[:, :2]).sum(axis=1).mean())
    assert score.molecules.detection_ratio == pytest.approx(np.mean(ratio))


def test_molecules_without_ids_are_undefined() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    assert fm.score(truth, truth).molecules.recall == Undefined("the truth has no ids")


def table(points: Any, frame: int = 1) -> fm.Localizations:
    array = np.asarray(points, dtype=float).reshape(-1, 3)
    return fm.Localizations(frame=np.full(len(array), frame), x=array[:, 0], y=array[:, 1], z=array[:, 2])


def matched(truth: Any, pred: Any, lateral: float, axial: float, rule: Any = "greedy") -> list[tuple[int, int]]:
    found = match(table(truth), table(pred), dim=3, tolerance=lateral, tolerance_z=axial, matching=rule)
    return list(zip(found.truth.tolist(), found.pred.tolist(), strict=True))


def test_published_errors() -> None:
    for pred, rmse, mad in (((2, 0, 0), 2, 2), ((3, 4, 0), 5, 7)):
        values = precision_errors(np.array([pred], dtype=float), dim=3)
        assert (values["rmse_xy"], values["rmse_z"], values["rmse_xyz"]) == (rmse, 0, rmse)
        assert (values["mad_xy"], values["mad_z"], values["mad_xyz"]) == (mad, 0, mad)
    assert all(isinstance(value, Undefined) for value in precision_errors(np.zeros((0, 3)), dim=3).values())


def test_published_detection_values() -> None:
    def values(tp: int, fp: int, fn: int) -> list[float | None]:
        found = detection(Counts(tp, fp, fn))
        return [defined(found[name]) for name in ("precision", "recall", "jaccard", "f1")]

    assert values(0, 0, 0) == [None] * 4
    assert values(1, 0, 0) == [1, 1, 100, 1]
    assert values(0, 1, 0) == [0, None, 0, None]


def test_published_efficiency() -> None:
    assert efficiency(91.204, 32.077, 1.0) == pytest.approx(66.739, abs=5e-4)


def test_published_matches() -> None:
    four = [(-0.5, -0.5, 0), (0.6, -0.5, 0), (-0.4, 0.5, 0), (0.35, 0.35, 0)]
    assert matched([(0, 0, 0)], four, 1, 2) == [(0, 3)]
    assert matched(four, [(0, 0, 0)], 1, 2) == [(3, 0)]
    origin = [(0, 0, 0)]
    assert matched(origin, [(1.9, 0, 0)], 2, math.inf) == [(0, 0)]
    assert matched(origin, [(2.1, 0, 0)], 2, math.inf) == []
    assert matched(origin, [(0, 0, -5000)], 2, math.inf) == [(0, 0)]
    assert matched(origin, [(1.5, 1.5, 0)], 2, math.inf) == []
    actual, predicted = [(0, 0, 0), (1, 1, 0), (1.1, 1.1, 0), (60, 60, 0)], [(0, 0, 0), (0.4, 0.4, 0), (5, 5, 0)]
    assert len(matched(actual, predicted, 1, 1)) == 2
    at_origin = [(0, 0, 0)] * 4
    for gate in range(4):
        assert len(matched(at_origin, [(k, 0, 0) for k in range(4)], gate or 1e-9, 1)) == gate + 1


def test_published_optimal_assignment() -> None:
    truth, pred = [(1, 4, 0), (2, 5, 0), (3, 6, 0)], [(1, 4, 0), (2, 5, 0), (4, 7, 0)]
    assert matched(truth, pred, 1, 1, rule="optimal") == [(0, 0), (1, 1)]


def test_ties_go_to_the_lower_rows() -> None:
    assert matched([(0, 0, 0), (2, 0, 0)], [(1, 0, 0), (1, 0, 0)], 5, 5) == [(0, 0), (1, 1)]
    assert matched([(0, 0, 0)], [(1, 0, 0), (-1, 0, 0)], 5, 5) == [(0, 0)]


def test_greedy_falls_into_the_traps_and_optimal_does_not() -> None:
    truth, pred = read("c06_greedy_traps", "gt.csv"), read("c06_greedy_traps", "test.csv")
    pairs = {
        rule: fm.score(
            truth, pred, protocol=dataclasses.replace(fm.Protocol.preset("challenge2016"), dim=3, matching=rule)
        ).challenge.tp
        for rule in ("greedy", "optimal")
    }
    assert pairs == {"greedy": 13, "optimal": 16}


def brute_force_greedy(truth: Any, pred: Any, lateral: float, axial: float) -> set[tuple[int, int]]:
    """Again and again the smallest of all distances; the first of equals is that of the lowest rows."""
    distance = np.linalg.norm(truth[:, None] - pred, axis=2)
    beside = np.linalg.norm(truth[:, None, :2] - pred[:, :2], axis=2)
    distance[(beside > lateral) | (np.abs(truth[:, None, 2] - pred[:, 2]) > axial)] = np.inf
    pairs: set[tuple[int, int]] = set()
    while distance.size and np.isfinite(distance.min()):
        i, j = np.unravel_index(np.argmin(distance), distance.shape)
        pairs.add((int(i), int(j)))
        distance[i, :] = distance[:, j] = np.inf
    return pairs


@pytest.mark.parametrize("n", [5, 30, 90])
def test_greedy_by_brute_force(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        truth = rng.integers(0, 30, (n, 3)).astype(float)  # a lattice: many ties
        pred = rng.integers(0, 30, (n - 2, 3)).astype(float)
        assert set(matched(truth, pred, 5, 3)) == brute_force_greedy(truth, pred, 5, 3)


def test_optimal_against_scipy_on_every_way_to_list_pairs() -> None:
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(1)
    for n, m in [(4, 6), (12, 9), (40, 30), (300, 280)]:
        truth, pred = rng.uniform(0, 20, (n, 3)), rng.uniform(0, 20, (m, 3))
        far = np.linalg.norm(truth[:, None] - pred, axis=2)
        lateral = np.linalg.norm(truth[:, None, :2] - pred[:, :2], axis=2)
        allowed = (lateral <= 2) & (np.abs(truth[:, None, 2] - pred[:, 2]) <= 4)
        cost = np.where(allowed, far, 1e6)
        i, j = linear_sum_assignment(cost)
        kept = cost[i, j] < 1e6
        found = match(table(truth), table(pred), dim=3, tolerance=2, tolerance_z=4, matching="optimal")
        assert len(found) == kept.sum()
        assert found.distance.sum() == pytest.approx(cost[i, j][kept].sum())


def test_large_frames_match_as_small_ones_do() -> None:
    """The tree behind large frames, against the sweep that small ones take."""
    rng = np.random.default_rng(2)
    truth, pred = rng.uniform(0, 2000, (400, 3)), rng.uniform(0, 2000, (380, 3))
    assert len(truth) * len(pred) > 2**16
    assert set(matched(truth, pred, 60, 80)) == brute_force_greedy(truth, pred, 60, 80)


def test_undefined_values_say_why() -> None:
    score = challenge_score(Counts(0, 0, 3), np.zeros((0, 3)), (None, None), dim=2)
    assert defined(score.recall) == 0 and isinstance(score.precision, Undefined)
    assert isinstance(score.efficiency, Undefined) and score.efficiency.reason
