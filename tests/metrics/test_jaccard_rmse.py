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
from flatmetric.metrics.base import FormulaSettings, Reasons, Sums, evaluate
from flatmetric.metrics.jaccard_rmse import ChallengeScore
from flatmetric.metrics.match_sums import MatchedRows, sum_matches
from flatmetric.options.scoring import plain

# What looks wrong with made-up tables is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

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
    return fm.score(read(row["case"], "gt.csv"), read(row["case"], "test.csv"), protocol=protocol, check=False)


def challenge(
    tp: float = 0, fp: float = 0, fn: float = 0, errors: Any = None, dim: int = 3, **sums: float
) -> tuple[ChallengeScore, Reasons]:
    """The challenge's metrics from counts, and errors or sums of errors."""
    columns = {} if errors is None else sum_matches(MatchedRows(np.asarray(errors, dtype=float).reshape(-1, 3)))
    columns |= {"tp": tp, "n_truth": tp + fn, "n_pred": tp + fp} | sums
    return evaluate(ChallengeScore, Sums.from_columns(columns, FormulaSettings(dim=dim)))


def efficiencies(jaccard: float, lateral: float, axial: float = 0.0) -> tuple[float | None, float | None]:
    """Lateral and axial efficiency of so many percent Jaccard and RMSE in nm."""
    result, _ = challenge(jaccard, 100 - jaccard, square_x=jaccard * lateral**2, square_z=jaccard * axial**2)
    return result.efficiency_xy, result.efficiency_z


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
    assert score.matched.photon_threshold == float(row["photonT"])
    assert len(score.matched.truth_rows) == int(row["n_gt_after_border"])
    assert len(score.matched.pred_rows) == int(row["n_test_after_border"])


@pytest.mark.parametrize("row", RUNS, ids=run_id)
def test_every_pair_of_the_official_scorer(row: dict[str, str]) -> None:
    pairs = scored(row).matched.counted
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
        assert challenge(fn=3)[0].efficiency is None
        return
    expected = float(row["E_lateral"]), float(row["E_axial"])
    assert efficiencies(jaccard, lateral, axial) == pytest.approx(expected, abs=1e-7)
    run = next(r for r in RUNS if (r["case"], r["run"]) == (row["case"], row["run"]))
    if run["mode"] == "3D":
        assert scored(run).challenge.efficiency == pytest.approx(float(row["E_3D"]), abs=1e-7)


@pytest.mark.parametrize("row", [r for r in RUNS if r["mode"] == "3D"], ids=run_id)
def test_molecules_count_the_one_that_the_official_scorer_drops(row: dict[str, str]) -> None:
    """The scorer drops the last molecule and splits molecules by position; here none is lost."""
    score = scored(row)
    molecules, truth = score.molecules, score.matched.kept_truth
    assert truth.id is not None and truth.z is not None
    alive = set(truth.id.tolist())
    assert molecules.tp + molecules.fn == len(alive)  # type: ignore[operator]
    if row["case"].startswith("c06"):  # every id is given once, and the scorer joins only rows in a row
        assert len(alive) == len(set(zip(truth.x, truth.y, truth.z, strict=True)))
        return
    assert int(row["TP_mol"]) <= molecules.tp  # type: ignore[operator]
    if row["case"].startswith(("c01", "c03", "c11", "c16")):
        assert molecules.tp + molecules.fn == int(row["TP_mol"]) + int(row["FN_mol"]) + 1  # type: ignore[operator]


def test_molecules_by_brute_force() -> None:
    row = next(r for r in RUNS if r["case"].startswith("c03") and r["run"].startswith("3D_q25"))
    score = scored(row)
    truth, pred = score.matched.truth, score.matched.pred
    pairs = score.matched.counted
    assert truth.id is not None and truth.z is not None and pred.z is not None
    errors: dict[int, list[np.ndarray[Any, Any]]] = {}
    for t, p in zip(pairs.truth, pairs.pred, strict=True):
        d = [pred.x[p] - truth.x[t], pred.y[p] - truth.y[t], pred.z[p] - truth.z[t]]
        errors.setdefault(int(truth.id[t]), []).append(np.array(d))
    means = np.array([np.mean(e, axis=0) for e in errors.values()])
    ratio = [
        len(e) / np.count_nonzero(truth.id[score.matched.truth_kept] == identity) for identity, e in errors.items()
    ]
    assert score.molecules.tp == len(errors)
    assert score.molecules.rmse_xyz == pytest.approx(math.sqrt((means**2).sum(axis=1).mean()))
    assert score.molecules.mad_xy == pytest.approx(np.abs(means[:, :2]).sum(axis=1).mean())
    assert score.molecules.detection_ratio == pytest.approx(np.mean(ratio))


def test_molecules_without_ids_are_undefined() -> None:
    truth = {"frame": [1], "x": [0.0], "y": [0.0]}
    score = fm.score(truth, truth)
    assert score.molecules.recall is None and score.undefined()["molecules.recall"] == "the truth has no ids"


def test_published_errors() -> None:
    for pred, rmse, mad in (((2, 0, 0), 2, 2), ((3, 4, 0), 5, 7)):
        values, _ = challenge(1, errors=[pred])
        assert (values.rmse_xy, values.rmse_z, values.rmse_xyz) == (rmse, 0, rmse)
        assert (values.mad_xy, values.mad_z, values.mad_xyz) == (mad, 0, mad)
    nothing, reasons = challenge(0, 1, 1, errors=np.zeros((0, 3)))
    for name in ("rmse_xy", "rmse_z", "rmse_xyz", "mad_xy", "mad_z", "mad_xyz", "bias_x", "bias_y", "bias_z"):
        assert getattr(nothing, name) is None and reasons[name] == "no detection was matched"


def test_published_detection_values() -> None:
    def values(tp: int, fp: int, fn: int) -> list[float | None]:
        result, _ = challenge(tp, fp, fn)
        return [result.precision, result.recall, result.jaccard, result.f1]

    assert values(0, 0, 0) == [None] * 4
    assert values(1, 0, 0) == [1, 1, 100, 1]
    assert values(0, 1, 0) == [0, None, 0, None]


def test_published_efficiency() -> None:
    assert efficiencies(91.204, 32.077)[0] == pytest.approx(66.739, abs=5e-4)


def test_greedy_falls_into_the_traps_and_optimal_does_not() -> None:
    truth, pred = read("c06_greedy_traps", "gt.csv"), read("c06_greedy_traps", "test.csv")
    pairs = {
        rule: fm.score(
            truth, pred, protocol=dataclasses.replace(fm.Protocol.preset("challenge2016"), dim=3, matching=rule)
        ).challenge.tp
        for rule in ("greedy", "optimal")
    }
    assert pairs == {"greedy": 13, "optimal": 16}


def test_undefined_values_say_why() -> None:
    result, reasons = challenge(fn=3, dim=2)
    assert result.recall == 0 and result.precision is None and result.efficiency is None
    assert reasons["precision"] == "there is no detection" and reasons["efficiency"] == "no detection was matched"
    assert reasons["photon_correlation"] == "photons are not known on both sides"
