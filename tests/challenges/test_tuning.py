"""Settings are tuned on a training set and on nothing else, to something no worse than the defaults."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.challenges import tuning
from flatmetric.challenges.training import TRAINING, train, training_set
from flatmetric.challenges.tuning import Tuned, tune_folder
from flatmetric.errors import InputError
from flatmetric.localizers.registry import METHODS, camera_of
from flatmetric.simulation.datasets import NAMES, named
from flatmetric.stacks import open_stack
from tests.scenes import run


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "MT0"
    fm.simulate(dataset="MT0.N1.HD", out=folder, frames=27)
    return folder


@pytest.fixture(scope="module")
def tuned(training: Path) -> Tuned:
    return fm.tune(training, method="trackpy", budget=14)


def test_what_is_chosen_is_the_best_of_what_was_tried_on_all_frames(tuned: Tuned) -> None:
    on_all = [trial for trial in tuned.trials if trial.frames == 27]
    assert tuned.best.value == min(trial.value for trial in on_all) < tuned.usual.value
    assert tuned.usual.settings == tuned.defaults
    assert {trial.frames for trial in tuned.trials} == {3, 9, 27}
    assert len({tuple(trial.settings.values()) for trial in tuned.trials}) == 14
    assert sum(trial.frames == 3 for trial in tuned.trials) == 14 > 2 * len(on_all), "few reach all frames"


def test_the_value_is_the_flat_metric_of_the_result(tuned: Tuned, training: Path) -> None:
    found = fm.localize(training / "stack.ome.tif", method="trackpy", settings=tuned.settings)
    score = fm.score(training / "activations.csv", found, dim=2, check=False)
    assert score.flat_metric.value == pytest.approx(tuned.best.value, rel=1e-12)


def test_the_same_seed_gives_the_same_trials(tuned: Tuned, training: Path) -> None:
    assert fm.tune(training, method="trackpy", budget=14).trials == tuned.trials
    other = fm.tune(training, method="trackpy", budget=14, seed=1)
    assert other.trials != tuned.trials and other.trials[0] == tuned.trials[0]


def test_a_budget_of_one_is_the_defaults(training: Path) -> None:
    alone = fm.tune(training, method="dog", budget=1)
    assert alone.best == alone.usual and len({tuple(trial.settings.values()) for trial in alone.trials}) == 1


def test_the_best_settings_are_found_where_they_lie(training: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def valley(self: Any, settings: Any, frames: Any) -> float:
        return float(abs(np.log(settings["threshold"] / 6.5)) + abs(np.log(settings["likelihood"] / 60)))

    monkeypatch.setattr(tuning._Course, "value", valley)
    found = fm.tune(training, method="baseline", budget=60).settings
    assert found["threshold"] == pytest.approx(6.5, rel=0.15)
    assert found["likelihood"] == pytest.approx(60, rel=0.2)


def test_depth_counts_where_it_is_found(tmp_path: Path) -> None:
    made = fm.simulate(dataset="MT0.N1.HD", out=tmp_path, frames=3, modality="AS")
    camera = camera_of(open_stack(made.stack))
    value = tune_folder(tmp_path, "baseline", budget=1, lam=125.0, camera=camera).best.value
    pupil = named("MT0.N1.HD").with_modality("AS").optics
    truth, found = made.read_truth(), fm.localize(made.stack)
    assert truth.z is not None
    x, y = pupil.shift(truth.z)  # type: ignore[union-attr]
    seen = np.column_stack([truth.x + x, truth.y + y, truth.z])
    expected = fm.flat_metric(seen, found.points(3), lam=125.0, truth_frames=truth.frame, pred_frames=found.frame)
    assert value == pytest.approx(expected.value, rel=1e-12)


def test_the_command_says_what_to_use_and_what_was_tried(training: Path, tmp_path: Path) -> None:
    out, figure = tmp_path / "tried.csv", tmp_path / "tried.png"
    told = run("tune", training, "--method", "trackpy", "--budget", "14", "--out", out, "--figure", figure)
    assert told.returncode == 0, told.stderr
    first, use, written = told.stdout.splitlines()
    assert first.startswith("trackpy on MT0: ") and "nm tuned" in first and "nm by its defaults" in first
    assert use.startswith("use them: flatmetric localize STACK --method trackpy --set ")
    assert str(out) in written and figure.read_bytes()[1:4] == b"PNG"
    rows = list(csv.DictReader(out.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["frames", *METHODS["trackpy"].settings, "flat_metric", "chosen"]
    (best,) = (row for row in rows if row["chosen"] == "1")
    assert float(best["flat_metric"]) == min(float(row["flat_metric"]) for row in rows if row["frames"] == "27")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--method", "nobody"), "method is 'nobody'"),
        (("--method", "dog", "--budget", "0"), "budget is 0"),
        (("--method", "dog", "--seed", "-1"), "seed is -1"),
        (("--method", "dog", "--lam", "0"), "lam is 0"),
        (("--method", "dog", "--figure", "tried.doc"), "give a name that ends in .png, .pdf or .svg"),
        pytest.param(("--method", "daostorm-3d"), "use images with astigmatism", marks=pytest.mark.more),
    ],
)
def test_wrong_options_are_one_sentence(training: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run("tune", training, *arguments)
    assert told.returncode == 2 and sentence in told.stderr and told.stderr.count("\n") == 1


def test_folders_that_hold_no_training_set_are_one_sentence(training: Path, tmp_path: Path) -> None:
    told = run("tune", tmp_path, "--method", "dog")
    assert told.returncode == 2 and f"{tmp_path}: has no stack.ome.tif; give a folder with" in told.stderr
    (tmp_path / "stack.ome.tif").write_bytes((training / "stack.ome.tif").read_bytes())
    told = run("tune", tmp_path, "--method", "dog")
    assert told.returncode == 2 and "has no activations.csv" in told.stderr
    (tmp_path / "activations.csv").write_text("frame,x [nm],y [nm]\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no molecule"):
        fm.tune(tmp_path, method="dog")


def test_a_training_set_is_like_the_ranked_one_and_another() -> None:
    for name in NAMES:
        ranked, made = named(name).with_modality("AS"), training_set(named(name).with_modality("AS"))
        assert made.name == f"MT0{name[3:]}" and made.structure == "microtubules"
        for same in ("density", "photons", "background", "optics", "camera", "photophysics", "pixels"):
            assert getattr(made, same) == getattr(ranked, same)
        assert 500 < made.frames * made.per_frame < 900
    assert training_set(named("MT3.N2.LD").with_frames(40)).frames == 40, "no longer than what is ranked"
    own = training_set(named("MT4.N2.HD").replicates(2)[1])
    assert own == training_set(named("MT4.N2.HD"))


def test_tuning_never_opens_what_is_scored(tmp_path: Path) -> None:
    """The ranked data set is there, with a truth that would reward the strictest settings; nothing of it is read."""
    dataset = named("MT0.N1.HD").with_frames(4)
    trained, failed = train(tmp_path / "clean", [dataset], ["dog"], 5, lam=125.0, time_limit=600)
    tempting = tmp_path / "tempted" / dataset.name
    made = fm.simulate(dataset="MT0.N1.HD", out=tempting, frames=4)
    rows = made.truth.read_text(encoding="utf-8").splitlines()
    made.truth.write_text("\n".join(rows[:2]) + "\n", encoding="utf-8")
    opened: list[str] = []
    sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
    again, _ = train(tmp_path / "tempted", [dataset], ["dog"], 5, lam=125.0, time_limit=600)
    assert not failed and again == trained
    course = tmp_path / "tempted" / TRAINING / dataset.name
    tune_folder(course, "dog", budget=5, lam=125.0, camera=camera_of(open_stack(course / "stack.ome.tif")))
    assert any(path.startswith(str(course)) for path in opened)
    assert not any(path.startswith(str(tempting)) for path in opened)
    truth, scored = (
        fm.read(course / "activations.csv"),
        fm.read(tmp_path / "clean" / TRAINING / dataset.name / "activations.csv"),
    )
    assert np.array_equal(truth.x, scored.x)
    assert not np.isin(truth.x, made.read_truth().x).any(), "other molecules"
