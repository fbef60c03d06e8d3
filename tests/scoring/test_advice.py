"""Advice: each fault, planted, is told with what fixing it gains; none is told where none is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.scoring.advice import MOST
from tests.scenes import draw

pytestmark = pytest.mark.filterwarnings("ignore::flatmetric.FindingWarning")

Columns = dict[str, Any]
FIELD = 8000.0
FRAMES = 240


class Scene:
    """Molecules that blink in an 8 um field, and a program that finds nine tenths of them."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        molecules, runs = 1200, 2
        place = rng.uniform([0, 0, -500], [FIELD, FIELD, 500], (molecules, 3))
        start = rng.integers(1, FRAMES // 2 - 1, (molecules, runs)) + np.array([0, FRAMES // 2])
        frame = (start[:, :, None] + np.arange(2)).reshape(molecules, -1)
        self.id = np.repeat(np.arange(molecules), frame.shape[1])
        self.frame, self.place = frame.ravel(), place[self.id]
        self.photons = rng.lognormal(7.5, 0.5, len(self.id))
        self.keep = rng.random(len(self.id)) < 0.9
        self.error = rng.normal(0, 10, (len(self.id), 3))
        false = rng.uniform([0, 0, -500], [FIELD, FIELD, 500], (120, 3))
        self.more: list[tuple[Any, Any, Any]] = [
            (rng.integers(1, FRAMES + 1, 120), false, rng.lognormal(7.5, 0.5, 120))
        ]

    def nearest(self) -> tuple[Any, Any]:
        """For each row the distance to the nearest other one of its frame in the plane, and which it is."""
        far, which = np.full(len(self.id), np.inf), np.full(len(self.id), -1)
        for f in np.unique(self.frame):
            rows = np.flatnonzero(self.frame == f)
            if len(rows) > 1:
                apart = np.hypot(*(self.place[rows, axis] - self.place[rows, axis][:, None] for axis in (0, 1)))
                np.fill_diagonal(apart, np.inf)
                far[rows], which[rows] = apart.min(axis=1), rows[apart.argmin(axis=1)]
        return far, which

    def tables(self) -> tuple[Columns, Columns]:
        truth = table(self.frame, self.place, self.photons) | {"id": self.id}
        parts = [(self.frame[self.keep], (self.place + self.error)[self.keep], self.photons[self.keep]), *self.more]
        return truth, table(*(np.concatenate(one) for one in zip(*parts, strict=True)))


def table(frame: Any, place: Any, photons: Any) -> Columns:
    return {"frame": frame, "x": place[:, 0], "y": place[:, 1], "z": place[:, 2], "photons": photons}


def crowd(scene: Scene) -> None:
    """Every fourth molecule gets a neighbour at 150 to 250 nm in the same frames."""
    some = np.flatnonzero(scene.id % 4 == 0)
    angle, far = (scene.rng.uniform(low, high, scene.id.max() + 1) for low, high in ((0.0, 6.28), (150.0, 240.0)))
    away = np.column_stack([far * np.cos(angle), far * np.sin(angle), 0 * far])[scene.id[some]]
    for name, new in {
        "id": scene.id[some] + scene.id.max() + 1,
        "frame": scene.frame[some],
        "place": scene.place[some] + away,
        "photons": scene.photons[some],
        "keep": scene.keep[some],
        "error": scene.rng.normal(0, 10, (len(some), 3)),
    }.items():
        setattr(scene, name, np.concatenate([getattr(scene, name), new]))


def near_the_edge(scene: Scene) -> None:
    x, y = scene.place[:, 0], scene.place[:, 1]
    scene.keep &= np.minimum.reduce([x, FIELD - x, y, FIELD - y]) > 300


def in_crowds(scene: Scene) -> None:
    crowd(scene)
    near = scene.nearest()[0] < 250
    # Both of a pair, so that no detection lies between two molecules.
    scene.keep &= ~near | (scene.rng.random(scene.id.max() + 1)[np.minimum(scene.id, scene.id % 1200)] < 0.2)


def dim_ones(scene: Scene) -> None:
    scene.keep &= scene.photons > 1000


def hot_pixels(scene: Scene) -> None:
    for x, y in ((2050.0, 3050.0), (5555.0, 1234.0), (7000.0, 7000.0)):
        frame = scene.rng.choice(np.arange(1, FRAMES + 1), 60, replace=False)
        place = np.array([x, y, 0.0]) + scene.rng.normal(0, 15, (60, 3))
        scene.more.append((frame, place, scene.rng.lognormal(7.5, 0.5, 60)))


def biased(scene: Scene) -> None:
    scene.error += [9.0, -6.0, 0.0]


def merged_pairs(scene: Scene) -> None:
    crowd(scene)
    far, which = scene.nearest()
    first = np.flatnonzero((far < 250) & (which >= 0))
    first = first[(which[which[first]] == first) & (first < which[first])]
    scene.keep[first], scene.keep[which[first]] = True, False
    scene.error[first] = (scene.place[which[first]] - scene.place[first]) / 2 + scene.error[first]


def repeats(scene: Scene) -> None:
    again = np.flatnonzero(scene.keep & (scene.rng.random(len(scene.keep)) < 0.08))
    place = scene.place[again] + scene.rng.normal(0, 20, (len(again), 3))
    scene.more.append((scene.frame[again], place, scene.photons[again]))


def out_of_focus(scene: Scene) -> None:
    z = scene.place[:, 2]
    scene.keep &= (np.abs(z) < 350) | (scene.rng.random(len(z)) < 0.4)
    scene.error[np.abs(z) > 350] *= 3


def bad_stretch(scene: Scene) -> None:
    bad = (scene.frame >= 100) & (scene.frame < 130)
    scene.keep &= ~bad | (scene.rng.random(len(bad)) < 0.5)


def dim_noise(scene: Scene) -> None:
    place = scene.rng.uniform([0, 0, -500], [FIELD, FIELD, 500], (900, 3))
    scene.more.append((scene.rng.integers(1, FRAMES + 1, 900), place, scene.rng.uniform(50, 250, 900)))


FAULTS: dict[str, Callable[[Scene], None]] = {
    "edge": near_the_edge,
    "crowded": in_crowds,
    "dim": dim_ones,
    "hot_spots": hot_pixels,
    "bias": biased,
    "merged": merged_pairs,
    "repeated": repeats,
    "depth": out_of_focus,
    "frames": bad_stretch,
    "threshold": dim_noise,
}


def scored(kind: str | None, seed: int = 0, **options: Any) -> fm.Score:
    scene = Scene(seed)
    if kind is not None:
        FAULTS[kind](scene)
    return fm.score(*scene.tables(), check=False, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", FAULTS)
def test_a_planted_fault_is_told_and_no_other(kind: str, seed: int) -> None:
    score = scored(kind, seed, dim=3 if kind == "depth" else 2)
    assert [one.kind for one in score.advice] == [kind]
    (advice,) = score.advice
    assert isinstance(score.flat_metric.value, float)
    assert 0.01 * score.flat_metric.value <= advice.gain < score.flat_metric.value
    assert str(advice).endswith(f"Fixing this would lower the Flat Metric by {advice.gain:.1f} nm.")


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_told_where_nothing_is_wrong(seed: int) -> None:
    scene = Scene(100 + seed)
    if seed % 2:
        crowd(scene)  # neighbours alone are no fault
    assert fm.score(*scene.tables(), check=False, dim=2 + seed % 2).advice == ()


def test_numbers_are_those_that_were_planted() -> None:
    found = {kind: scored(kind, 7, dim=3 if kind == "depth" else 2).advice[0].numbers for kind in FAULTS}
    assert found["edge"]["within_nm"] == 300 and found["edge"]["missed"] > 95
    assert found["crowded"]["closer_than_nm"] in (250, 300)
    assert found["dim"]["below_photons"] == pytest.approx(1000, rel=0.05)
    assert found["hot_spots"]["places"] == 3 and 175 <= found["hot_spots"]["detections"] <= 181
    assert found["bias"]["x"] == pytest.approx(9, abs=0.7) and found["bias"]["y"] == pytest.approx(-6, abs=0.7)
    assert 100 <= found["merged"]["from_nm"] <= found["merged"]["to_nm"] <= 250
    assert found["repeated"]["within_nm"] in (50, 75, 100)
    assert found["depth"]["below_nm"] == pytest.approx(-350, abs=45)
    assert found["depth"]["above_nm"] == pytest.approx(350, abs=45)
    assert found["frames"]["first_frame"] == pytest.approx(100, abs=7)
    assert found["frames"]["last_frame"] == pytest.approx(129, abs=7)
    assert found["threshold"]["below_photons"] == pytest.approx(250, rel=0.1)


@pytest.mark.parametrize("kind", ["hot_spots", "repeated", "bias", "threshold"])
def test_the_gain_is_that_of_the_repaired_table(kind: str) -> None:
    score = scored(kind, 3, dim=2)
    (advice,) = score.advice
    pred, numbers = score.matched.pred, advice.numbers
    if kind == "bias":
        repaired = {"frame": pred.frame, "x": pred.x - numbers["x"], "y": pred.y - numbers["y"]}
        after = fm.score(score.matched.truth, repaired, check=False, dim=2)
        assert value(score) - value(after) == pytest.approx(advice.gain, abs=1e-9)
        return
    rows = score.per_molecule().query("side == 'pred'").reset_index()
    false = (rows["part"] == "false").to_numpy()
    if kind == "threshold":
        assert pred.photons is not None
        drop = pred.photons < numbers["below_photons"]
    elif kind == "hot_spots":
        places = ((2050.0, 3050.0), (5555.0, 1234.0), (7000.0, 7000.0))
        drop = false & np.any([np.hypot(pred.x - x, pred.y - y) < 100 for x, y in places], axis=0)
        drop &= from_truth(score) > score.lam
    else:
        drop = false & (from_truth(score) < numbers["within_nm"])
    n = int(drop.sum())
    assert abs(n - numbers["detections"]) <= 2  # a spot takes in what lies in the next cell
    after = fm.score(score.matched.truth, pred.select(~drop), check=False, dim=2)
    # Where true detections go too, what is left may be paired anew.
    gain = (value(score) - value(after)) * numbers["detections"] / n
    assert advice.gain == pytest.approx(gain, rel=0.03 if kind == "threshold" else 1e-9)


@pytest.mark.parametrize("kind", ["edge", "crowded", "dim", "merged", "frames"])
def test_the_gain_is_that_of_finding_them_as_well_as_the_others(kind: str) -> None:
    score, without = scored(kind, 5, dim=2), Scene(5)
    if kind in ("crowded", "merged"):
        crowd(without)
    better = fm.score(*without.tables(), check=False, dim=2)
    assert score.advice[0].gain == pytest.approx(value(score) - value(better), rel=0.12)


def from_truth(score: fm.Score) -> Any:
    """The distance in the plane from each detection to the nearest molecule of its frame."""
    truth, pred = score.matched.truth, score.matched.pred
    distance = np.full(len(pred), np.inf)
    for row, frame in enumerate(pred.frame):
        here = truth.frame == frame
        distance[row] = np.hypot(truth.x[here] - pred.x[row], truth.y[here] - pred.y[row]).min(initial=np.inf)
    return distance


def value(score: fm.Score) -> float:
    assert score.flat_metric.value is not None
    return float(score.flat_metric.value)


def test_gains_of_several_faults_add_up_and_are_sorted() -> None:
    scene = Scene(1)
    for kind in ("edge", "dim", "hot_spots", "bias", "frames", "threshold"):
        FAULTS[kind](scene)
    score = fm.score(*scene.tables(), check=False, dim=2)
    gains = [one.gain for one in score.advice]
    assert len(gains) == MOST and gains == sorted(gains, reverse=True)
    assert sum(gains) < value(score)
    assert {"edge", "dim"} <= {one.kind for one in score.advice}


def test_a_shift_that_is_a_finding_is_not_told_twice() -> None:
    scene = Scene(2)
    scene.error += [80.0, 0.0, 0.0]
    score = fm.score(*scene.tables(), dim=2)
    assert [finding.kind for finding in score.findings] == ["shift"]
    assert score.advice == ()


def test_weights_are_respected() -> None:
    score = scored("dim", 0, dim=2, weights="photons")
    (advice,) = score.advice
    assert advice.kind == "dim" and advice.gain < scored("dim", 0, dim=2).advice[0].gain


def bleached(scene: Scene) -> None:
    """Molecules get fewer, while false detections come at a constant rate."""
    left = scene.rng.random(len(scene.id)) < np.exp(-scene.frame / 60)
    for name in ("id", "frame", "place", "photons", "keep", "error"):
        setattr(scene, name, getattr(scene, name)[left])


def uneven(scene: Scene) -> None:
    """Some regions are harder than others, with nothing to do with edge or crowd."""
    hard = np.sin(scene.place[:, 0] / 900) + np.sin(scene.place[:, 1] / 700 + 1)
    scene.keep &= scene.rng.random(len(hard)) < 1 / (1 + np.exp(-1.5 - hard))


def long_lived(scene: Scene) -> None:
    """Few molecules that stay on, some of them hard to find; without ids their rows look independent."""
    some = scene.id < 60
    for name in ("id", "frame", "place", "photons", "keep", "error"):
        setattr(scene, name, np.repeat(getattr(scene, name)[some], 20, axis=0))
    scene.frame = 1 + (scene.frame + np.tile(np.arange(20), some.sum())) % FRAMES
    scene.keep = scene.rng.random(len(scene.id)) < scene.rng.beta(1.7, 0.3, 60)[scene.id]
    scene.error = scene.rng.normal(0, 10, scene.error.shape)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lawful", [bleached, uneven, long_lived])
def test_structure_alone_is_no_fault(lawful: Callable[[Scene], None], seed: int) -> None:
    scene = Scene(200 + seed)
    lawful(scene)
    truth, pred = scene.tables()
    if lawful is long_lived:
        del truth["id"]
    assert fm.score(truth, pred, check=False, dim=2).advice == ()


def test_a_border_that_is_left_out_is_no_fault_of_the_program() -> None:
    rng = np.random.default_rng(4)
    frame, place = (
        np.repeat(rng.integers(1, FRAMES, 12_000), 3),
        np.repeat(rng.uniform(0, FIELD, (12_000, 2)), 3, axis=0),
    )
    found = place + rng.normal(0, 40, place.shape)
    truth, pred = ({"frame": frame + np.tile(np.arange(3), 12_000), "x": p[:, 0], "y": p[:, 1]} for p in (place, found))
    assert fm.score(truth, pred, check=False, protocol="challenge2016", fov=FIELD, dim=2).advice == ()


def test_a_missed_molecule_counts_once() -> None:
    """Where the edge is dark, molecules near it are dim: one sentence, not two."""
    scene = Scene(11)
    x, y = scene.place[:, 0], scene.place[:, 1]
    outer = np.minimum.reduce([x, FIELD - x, y, FIELD - y]) < 300
    scene.photons = np.where(outer, 500.0, 2000.0) * scene.rng.uniform(0.9, 1.1, len(x))
    near_the_edge(scene)
    scene.more = []
    (advice,) = fm.score(*scene.tables(), check=False, dim=2).advice
    assert advice.kind in ("edge", "dim")


def test_many_false_detections_make_no_hot_spot_by_chance() -> None:
    scene = Scene(12)
    place = scene.rng.uniform([0, 0, 0], [FIELD, FIELD, 1], (8000, 3))
    scene.more.append((scene.rng.integers(1, FRAMES + 1, 8000), place, np.zeros(8000)))
    truth, pred = scene.tables()
    del pred["photons"]  # else their photons would be told first
    assert fm.score(truth, pred, check=False, dim=2).advice == ()


def test_distances_are_those_of_the_plan() -> None:
    assert scored(None, 0, dim=3, axis_scale=(1, 1, 5)).advice == ()


def test_an_outlier_neither_fills_the_memory_nor_makes_a_hot_spot() -> None:
    truth, pred = Scene(3).tables()
    for far in (1e7, 1e15):
        away = {name: np.append(column, far if name in "xy" else column[0]) for name, column in pred.items()}
        assert fm.score(truth, away, check=False, dim=2).advice == ()


def test_a_hot_pixel_is_told_even_if_nothing_else_is_false() -> None:
    scene = Scene(5)
    scene.more = []
    place = np.array([3000.0, 3000.0, 0.0]) + scene.rng.normal(0, 15, (200, 3))
    scene.more.append((np.arange(1, 201), place, np.full(200, 900.0)))
    (advice,) = fm.score(*scene.tables(), check=False, dim=2).advice
    assert advice.kind == "hot_spots" and advice.numbers["places"] == 1


@pytest.mark.parametrize("photons", [0.0, -5.0, 60.0])
def test_dim_noise_of_any_photons_is_told(photons: float) -> None:
    scene = Scene(6)
    place = scene.rng.uniform([0, 0, 0], [FIELD, FIELD, 1], (900, 3))
    scene.more.append((scene.rng.integers(1, FRAMES + 1, 900), place, np.full(900, photons)))
    (advice,) = fm.score(*scene.tables(), check=False, dim=2).advice
    assert advice.kind == "threshold" and advice.numbers["detections"] >= 900 and advice.numbers["false"] > 99


def test_crowding_is_told_where_nearly_all_are_crowded() -> None:
    scene = Scene(7)
    for _ in range(3):
        crowd(scene)
    near = scene.nearest()[0] < 250
    scene.keep &= ~near | (scene.rng.random(len(near)) < 0.3)
    kinds = {one.kind: one for one in fm.score(*scene.tables(), check=False, dim=2).advice}
    assert "crowded" in kinds and kinds["crowded"].numbers["closer_than_nm"] in (250, 300)
    assert kinds["crowded"].numbers["missed_elsewhere"] < 15


def test_gains_never_exceed_the_flat_metric() -> None:
    scene = Scene(8)
    scene.keep[:], scene.more = True, []
    scene.error[:, 0] += np.where(scene.frame > 100, 60, 5)
    score = fm.score(*scene.tables(), check=False, dim=2)
    gains = [one.gain for one in score.advice]
    assert "bias" in [one.kind for one in score.advice] and len(gains) >= 2
    assert sum(gains) <= value(score) and gains == sorted(gains, reverse=True)


def test_shares_in_the_sentence_are_of_all_molecules() -> None:
    scene = Scene(9)
    near_the_edge(scene)
    dim_ones(scene)
    score = fm.score(*scene.tables(), check=False, dim=2)
    truth, missed = score.matched.truth, score.costs.truth_partner < 0
    for one in score.advice:
        if one.kind == "dim":
            assert truth.photons is not None
            below = truth.photons < one.numbers["below_photons"]
            assert one.numbers["missed"] == pytest.approx(100 * missed[below].mean())
            assert one.numbers["missed_elsewhere"] == pytest.approx(100 * missed[~below].mean())
    assert {one.kind for one in score.advice} == {"edge", "dim"}


def test_a_wrong_file_gets_no_advice() -> None:
    truth, pred = Scene(10).tables()
    swapped = dict(pred, x=pred["y"], y=pred["x"])
    score = fm.score(truth, swapped, dim=2)
    assert score.findings and score.advice == ()


@pytest.mark.parametrize("pred", [{"frame": [], "x": [], "y": []}, {"frame": [1], "x": [5.0], "y": [5.0]}])
def test_tiny_results_have_no_advice(pred: Columns) -> None:
    truth = {"frame": [1, 1, 2], "x": [0.0, 900.0, 5.0], "y": [0.0, 0.0, 5.0], "photons": [0.0, 1.0, 2.0]}
    pred = {name: np.asarray(column, dtype=float) for name, column in pred.items()}
    assert fm.score(truth, pred | {"frame": pred["frame"].astype(int)}, check=False).advice == ()


def test_the_list_is_the_same_in_json() -> None:
    score = scored("edge", 0, dim=2)
    (told,) = score.to_dict()["advice"]
    assert told == score.advice[0].to_dict() and told["gain_nm"] == score.advice[0].gain
    truth, _ = draw(np.random.default_rng(0), 30, 1.0, 0.0)
    assert fm.score(truth, truth, check=False).to_dict()["advice"] == []
