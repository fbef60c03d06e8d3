"""What is wrong with a file is found, with its size; nothing is found in a file that is right."""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import flatmetric as fm
from flatmetric.quality.checking import check_tables, check_window
from flatmetric.quality.findings import Findings, apply_fix
from tests.scenes import REAL_DATA, world

DATA = REAL_DATA / "gt-and-results"


def faults(truth: Any, pred: Any) -> list[fm.Finding]:
    """What is wrong with the file; that a result is worse than nothing may be the program's."""
    return [finding for look in (check_tables, check_window) for finding in look(truth, pred) if finding.is_fault]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("recall", [0.1, 0.5, 0.95])
def test_silent_on_a_right_result(seed: int, recall: float) -> None:
    truth, pred = world(seed, recall=recall, false=600)
    assert faults(truth, pred) == []


@pytest.mark.parametrize("seed", range(5))
def test_silent_on_noise(seed: int) -> None:
    assert faults(world(seed)[0], world(seed + 100)[1]) == []


def before_and_after(finding: fm.Finding) -> tuple[float, float]:
    assert finding.flat_metric_before is not None and finding.flat_metric_after is not None
    return finding.flat_metric_before, finding.flat_metric_after


def only(truth: Any, pred: Any, kind: str, dim: int = 2) -> Any:
    findings = check_tables(truth, pred, dim=dim)
    assert [finding.kind for finding in findings] == [kind]
    finding = findings[0]
    assert before_and_after(finding)[1] < before_and_after(finding)[0] and finding.certainty > 0.99 and finding.fix
    assert check_tables(truth, apply_fix(pred, finding)) == []  # fixed
    return finding


@pytest.mark.parametrize("shift", [(30.0, 0.0), (-400.0, 250.0), (900.0, -300.0)])
def test_shift(shift: tuple[float, float]) -> None:
    truth, pred = world()
    finding = only(truth, dataclasses.replace(pred, x=pred.x + shift[0], y=pred.y + shift[1]), "shift")
    # sub-nm on more than a thousand pairs, but for the false detections' share
    assert abs(finding.estimate["x"] - shift[0]) < 2 and abs(finding.estimate["y"] - shift[1]) < 2
    assert finding.fix.startswith("shift=(") and not finding.estimate["half_pixel"]


def test_depth_goes_with_a_shift() -> None:
    truth, pred = world()
    finding = only(truth, dataclasses.replace(pred, x=pred.x + 80, z=pred.z - 120), "shift")
    assert finding.estimate["z"] == pytest.approx(-120, abs=10)


def test_small_shifts_are_the_programs_own() -> None:
    truth, _ = world()
    assert check_tables(truth, dataclasses.replace(truth, x=truth.x + 10)) == []
    only(truth, dataclasses.replace(truth, x=truth.x + 14), "shift")


def test_half_a_pixel() -> None:
    truth, pred = world()
    finding = only(truth, dataclasses.replace(pred, x=pred.x - 50, y=pred.y - 50), "shift")
    assert finding.estimate["half_pixel"] and "origin=" in finding.fix


@pytest.mark.parametrize("offset", [-1, 1, -10, 7])
def test_frame_offset(offset: int) -> None:
    truth, pred = world()
    finding = only(truth, dataclasses.replace(pred, frame=pred.frame + offset), "frame_offset")
    assert finding.estimate == offset and finding.fix == f"frame_base={1 + offset}"


def test_swapped_axes() -> None:
    truth, pred = world()
    assert only(truth, dataclasses.replace(pred, x=pred.y, y=pred.x), "swapped_axes").fix == "swap_xy=True"


@pytest.mark.parametrize("axis", ["x", "y"])
def test_flipped_axis(axis: str) -> None:
    truth, pred = world()
    finding = only(truth, dataclasses.replace(pred, **{axis: 6400 - getattr(pred, axis)}), "flipped_axis")
    assert finding.estimate["axis"] == axis and finding.estimate["size"] == pytest.approx(6400, abs=2)


SCALES = [
    (1e-3, "unit", "unit='um'"),
    (0.01, "unit", "unit='px', pixel_size=100"),
    (100 / 133, "scale", "check(truth, pred)"),
    (1.05, "scale", "check(truth, pred)"),
    (1.01, "scale", "check(truth, pred)"),
]


@pytest.mark.parametrize(("factor", "kind", "fix"), SCALES)
def test_scale(factor: float, kind: str, fix: str) -> None:
    truth, pred = world(recall=0.9)
    (finding,) = check_tables(truth, dataclasses.replace(pred, x=pred.x * factor, y=pred.y * factor))
    assert finding.kind == kind and finding.estimate == pytest.approx(factor, rel=2e-3) and finding.fix.startswith(fix)


def test_a_wrong_pixel_size_is_corrected() -> None:
    truth, pred = world(recall=0.9)
    known = fm.Provenance(unit="px", pixel_size=(103.0, 103.0))
    wide = dataclasses.replace(pred, x=pred.x * 1.03, y=pred.y * 1.03, provenance=known)
    (finding,) = check_tables(truth, wide)
    assert finding.kind == "scale" and finding.options["pixel_size"] == pytest.approx(100, abs=0.1)


def test_z_sign() -> None:
    truth, pred = world()
    only(truth, dataclasses.replace(pred, z=-pred.z), "z_sign", dim=3)


DEPTHS: list[tuple[str, Callable[[Any], Any], float]] = [
    ("z_scale", lambda pred: 0.8 * pred.z, 0.8),
    ("z_scale", lambda pred: 1.3 * pred.z, 1.3),
    ("z_tilt", lambda pred: pred.z + 200 * pred.x / np.ptp(pred.x), 200.0),
    ("z_drift", lambda pred: pred.z - 150 * (pred.frame / pred.frame.max() - 0.5), -150.0),
    ("z_shift", lambda pred: pred.z - 80, -80.0),
    ("z_flat", lambda pred: np.full(len(pred), 100.0), 100.0),
]


@pytest.mark.parametrize(("kind", "change", "size"), DEPTHS, ids=[f"{kind} {size:g}" for kind, _, size in DEPTHS])
def test_errors_of_depth_are_named_and_fixed(kind: str, change: Callable[..., Any], size: float) -> None:
    truth, pred = world()
    wrong = dataclasses.replace(pred, z=change(pred))
    found = check_tables(truth, wrong, dim=3)
    assert [finding.kind for finding in found if finding.kind.startswith("z_")] == [kind]
    finding = next(finding for finding in found if finding.kind == kind)
    estimate = finding.estimate
    if isinstance(estimate, dict):
        estimate = next(estimate[key] for key in ("factor", "x", "z") if key in estimate)
    assert estimate == pytest.approx(size, rel=0.15)
    if kind != "z_flat":
        assert (finding.flat_metric_after or 0.0) < (finding.flat_metric_before or 0.0)
        assert check_tables(truth, found.apply(wrong), dim=3).findings == ()


def test_shifted_depths_are_said_once_and_fixed_by_an_option() -> None:
    truth, pred = world()
    deep = {"frame": pred.frame, "x": pred.x, "y": pred.y, "z": pred.z + 80}
    (finding,) = fm.check(truth, deep, dim=3)
    assert finding.options["shift"] == pytest.approx((0, 0, -80), abs=8)
    assert fm.check(truth, deep, dim=3, **finding.options).findings == ()
    with pytest.warns(fm.FindingWarning, match=r"all depths are shifted by \+(7|8)\d nm"):
        score = fm.score(truth, deep, dim=3)
    assert "bias" not in [one.kind for one in score.advice]
    aside = fm.score(truth, deep | {"x": pred.x + 30}, dim=3, check=False)
    both, one = (dataclasses.replace(aside, findings=Findings(found)).advice[0] for found in ((), (finding,)))
    assert set(both.numbers) == {"x", "z"} and set(one.numbers) == {"x"}


def test_depths_are_not_blamed_where_they_do_not_count() -> None:
    truth, pred = world()
    for z in (-pred.z, pred.z + 80, 1.5 * pred.z):
        assert check_tables(truth, dataclasses.replace(pred, z=z), dim=2).findings == ()


def test_honest_depths_are_not_blamed() -> None:
    for seed in range(20):
        truth, pred = world(seed=seed)
        assert check_tables(truth, pred, dim=3).findings == ()
        noisy = dataclasses.replace(pred, z=pred.z + np.random.default_rng(seed).normal(0, 60, len(pred)))
        assert not [finding for finding in check_tables(truth, noisy, dim=3) if finding.kind.startswith("z_")]


def test_duplicates() -> None:
    truth, pred = world()
    rows = np.r_[np.arange(len(pred)), np.arange(0, len(pred), 5)]
    assert only(truth, pred.select(rows), "duplicates").estimate == len(np.arange(0, len(pred), 5))


Plant = Callable[[Any], Any]


def moved_along(pred: Any, path: Any) -> Any:
    time = pred.frame / pred.frame.max()
    return dataclasses.replace(pred, x=pred.x + path(time), y=pred.y - 0.5 * path(time))


def joined(one: Any, two: Any) -> Any:
    """Rows of both, in the order of their frames."""
    frame = np.r_[one.frame, two.frame]
    both = {axis: np.r_[getattr(one, axis), getattr(two, axis)] for axis in "xyz"}
    return fm.Localizations(frame=frame, **both).select(np.argsort(frame, kind="stable"))


def nearly_twice(pred: Any) -> Any:
    again = pred.select(np.arange(0, len(pred), 5))
    return joined(pred, dataclasses.replace(again, x=again.x + 8, y=again.y - 5))


def every_third_image_twice(pred: Any) -> Any:
    again = pred.select(pred.frame % 3 == 0)
    return joined(pred, dataclasses.replace(again, frame=again.frame + 1))


FIXED: list[tuple[str, Plant]] = [
    ("shear", lambda pred: dataclasses.replace(pred, x=1.02 * pred.x)),
    ("shear", lambda pred: dataclasses.replace(pred, x=pred.x + 0.02 * pred.y)),
    ("wander", lambda pred: moved_along(pred, lambda time: 60 * np.sin(2 * np.pi * time))),
    ("wander", lambda pred: moved_along(pred, lambda time: 150 * time**4)),
    ("near_duplicates", nearly_twice),
    ("repeated_frames", every_third_image_twice),
]


@pytest.mark.parametrize(("kind", "plant"), FIXED)
def test_what_a_change_of_rows_can_fix_is_fixed(kind: str, plant: Plant) -> None:
    truth, pred = world(per_frame=10)
    finding = only(truth, plant(pred), kind)
    clean = fm.score(truth, pred, dim=2, check=False).value
    assert before_and_after(finding)[1] == pytest.approx(clean, rel=0.03)


def test_the_words_of_a_shear_are_lengths_and_the_angle_of_the_axes() -> None:
    truth, pred = world(per_frame=10)
    finding = only(truth, dataclasses.replace(pred, x=1.05 * pred.x), "shear")
    assert re.fullmatch(
        r"x is 1\.0[45]\d* times and y (1|0\.99\d*|1\.00\d*) times as long as it should be, "
        r"with (90|89\.\d*|90\.\d*) degrees between them",
        finding.what(),
    )


NAMED: list[tuple[str, Plant, str]] = [
    ("missing_frames", lambda pred: pred.select(pred.frame % 2 == 0), "detections in every 2nd frame only"),
    ("missing_frames", lambda pred: pred.select(pred.frame % 5 != 0), "no detection in 1 of every 5 frames"),
    (
        "missing_frames",
        lambda pred: pred.select((pred.frame < 100) | (pred.frame > 150)),
        "no detection in frames 100 to 150",
    ),
    ("missing_frames", lambda pred: pred.select(pred.frame > 40), "no detection in frames 1 to 40"),
    ("empty_region", lambda pred: pred.select(pred.x < 3200), "next to no detection in a part of the field"),
    ("photon_unit", lambda pred: dataclasses.replace(pred, photons=0.2 * pred.photons), "photons are 0.2 times"),
]


@pytest.mark.parametrize(("kind", "plant", "words"), NAMED)
def test_what_no_change_of_rows_can_fix_is_named(kind: str, plant: Plant, words: str) -> None:
    truth, pred = world()
    photons = np.random.default_rng(0).lognormal(7, 0.5, len(truth) + len(pred))
    truth = dataclasses.replace(truth, photons=photons[: len(truth)])
    row = [int(np.argmin(np.abs(truth.x - x))) for x in pred.x]
    pred = dataclasses.replace(pred, photons=truth.photons[row])
    assert faults(truth, pred) == []
    for look in (check_tables, check_window):
        (finding,) = look(truth, plant(pred))
        assert finding.kind == kind and finding.what().startswith(words)


def test_rows_beside_their_frames_are_named() -> None:
    truth, pred = world(per_frame=10)
    rng = np.random.default_rng(0)
    step = np.where(rng.random(len(pred)) < 0.2, rng.choice([-1, 1], len(pred)), 0)
    (finding,) = check_tables(truth, dataclasses.replace(pred, frame=np.maximum(1, pred.frame + step)))
    assert finding.kind == "frame_jitter" and finding.estimate == pytest.approx(0.2, abs=0.07)


def test_depths_at_which_nothing_is_found_are_named() -> None:
    truth, pred = world()
    (finding,) = check_tables(truth, pred.select(pred.z < 100), dim=3)
    assert finding.kind == "blind_depth" and not finding.is_fault
    assert finding.estimate["found"][1] == pytest.approx(100, abs=130)  # layers of a tenth of 1200 nm


def test_photons_of_a_truth_without_any_are_not_compared() -> None:
    truth, pred = world()
    nominal = dataclasses.replace(truth, photons=np.ones(len(truth)))
    assert faults(nominal, dataclasses.replace(pred, photons=np.full(len(pred), 900.0))) == []


def test_truncated() -> None:
    truth, pred = world()
    (finding,) = check_tables(truth, pred.select(pred.frame <= 150))
    assert finding.kind == "truncated" and finding.estimate["last_frame"] == 150


def test_two_faults_at_once() -> None:
    truth, pred = world()
    faulty = dataclasses.replace(pred, frame=pred.frame - 1, x=pred.x + 50, y=pred.y + 50)
    findings = check_tables(truth, faulty)
    assert [finding.kind for finding in findings] == ["frame_offset", "shift"]
    (_, fixed), (again, after) = map(before_and_after, findings)
    assert fixed == again > after


def test_a_window_in_the_middle_is_enough() -> None:
    truth, pred = world(frames=4000)
    assert check_window(truth, pred) == []
    (finding,) = check_window(truth, dataclasses.replace(pred, x=pred.x + 60, y=pred.y - 20))
    assert finding.kind == "shift" and finding.estimate["x"] == pytest.approx(60, abs=2)
    (finding,) = check_window(truth, pred.select(pred.frame <= 2000))
    assert finding.kind == "truncated" and finding.estimate["last_frame"] == 2000


def test_nothing_to_check() -> None:
    truth, pred = world()
    assert check_tables(truth, pred.select(np.zeros(0, dtype=int))) == []
    with pytest.raises(fm.InputError, match="the truth has no row"):
        check_tables(truth.select(np.zeros(0, dtype=int)), pred)


@pytest.mark.skipif(not DATA.is_dir(), reason="the real data are not here")
def test_no_false_alarm_on_real_data() -> None:
    def read(path: Path) -> fm.Localizations:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fm.ReadWarning)
            return fm.read(path)

    places = sorted(DATA.iterdir())
    assert any(place.name.startswith("epfl2016") for place in places[::2])
    for folder in places[::2]:
        truth = read(folder / "gt.csv")
        for file in sorted(folder.glob("[pt]*.csv")):
            if file.name.startswith("tubulins"):
                continue
            findings = check_tables(truth, read(file))
            kinds = [finding.kind for finding in findings]
            if folder.name.startswith("epfl2016"):
                # the movie's own offset, and results for its first frames only
                assert "truncated" in kinds and ("shift" in kinds or file.name.startswith("trackpy"))
                if "picasso" in file.name:
                    assert findings[0].estimate["x"] == pytest.approx(26, abs=6)
                    assert findings[0].estimate["y"] == pytest.approx(-38, abs=6)
            else:
                # Programs that need a whole box of pixels around a spot are blind at the edge; nothing else is found.
                assert not set(kinds) - {"blind_border", "worse_than_nothing"}, (folder.name, file.name)


@pytest.mark.parametrize("offset", [-1, 1])
def test_an_offset_by_one_frame_is_seen_though_molecules_stay_on(offset: int) -> None:
    data = Path(fm.__file__).parent / "data"
    truth, pred = fm.read(data / "demo_truth.csv"), fm.read(data / "demo_baseline.csv")
    assert [finding.kind for finding in check_tables(truth, pred)] == []
    lossy = pred.select(np.arange(len(pred)) % 3 > 0)
    for table in (pred, lossy):
        finding = check_tables(truth, dataclasses.replace(table, frame=table.frame + offset))[0]
        assert finding.kind == "frame_offset" and finding.estimate == offset


def table(frame: Any, x: Any, y: Any) -> fm.Localizations:
    return fm.Localizations(frame=frame, x=x, y=y)


@pytest.mark.parametrize("seed", range(5))
def test_many_false_detections_are_no_shuffled_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    which, frame = rng.integers(0, 200, 2000), rng.integers(1, 1001, 2000)
    x, y = rng.uniform(0, 6400, (2, 200))[:, which]
    kept = rng.random(2000) < 0.5
    extra = 12 * int(kept.sum())
    right = rng.normal(0, 10, (2, int(kept.sum()))) + np.array([x[kept], y[kept]])
    false = rng.uniform(0, 6400, (2, extra))
    pred = table(np.r_[frame[kept], rng.integers(1, 1001, extra)], *np.concatenate((right, false), axis=1))
    assert faults(table(frame, x, y), pred) == []


@pytest.mark.parametrize("seed", [*range(5), 36, 38, 53, 73, 99, 114])  # row by row these look turned or too large
def test_a_few_molecules_that_stay_on_with_errors_of_their_own_are_no_shift(seed: int) -> None:
    rng = np.random.default_rng(seed)
    place, error = rng.uniform(0, 6400, (2, 15)), rng.normal(0, 30, (2, 15))
    frame, which = np.repeat(np.arange(1, 101), 15), np.tile(np.arange(15), 100)
    found = (place + error)[:, which] + rng.normal(0, 10, (2, len(which)))
    assert faults(table(frame, *place[:, which]), table(frame, *found)) == []


def test_positions_in_whole_pixels_are_no_duplicates() -> None:
    rng = np.random.default_rng(0)
    frame, (x, y) = rng.integers(1, 41, 2000), rng.uniform(0, 2000, (2, 2000))
    assert faults(table(frame, x, y), table(frame, x // 100 * 100 + 50, y // 100 * 100 + 50)) == []


def test_a_last_molecule_that_was_missed_is_no_early_end() -> None:
    rng = np.random.default_rng(0)
    frame = np.r_[rng.integers(1, 1001, 1000), np.arange(1001, 1041)]
    x, y = np.concatenate((rng.uniform(0, 6400, (2, 1000)), np.full((2, 40), 6395.0)), axis=1)
    truth = table(frame, x, y)
    assert faults(truth, truth.select((rng.random(1040) < 0.6) & (frame <= 1000))) == []


@pytest.mark.parametrize("far", [1e8, 1e12, 1e18])
def test_a_stray_row_is_no_problem(far: float) -> None:
    truth, pred = world()
    stray = dataclasses.replace(pred, x=np.r_[pred.x[:-1], far])
    assert faults(truth, stray) == []
    huge = [dataclasses.replace(one, x=one.x * far, y=one.y * far) for one in (truth, pred)]
    assert faults(*huge) == []


READ = [
    ({"unit": "px", "pixel_size": 100.0}, 1000.0, {"unit": "um"}),
    ({"unit": "px", "pixel_size": 16.0}, 160.0, {"unit": "px", "pixel_size": 160.0}),
    ({"swap_xy": True}, 1.0, {}),
    ({"shift": (80.0, 0.0)}, 1.0, {"shift": (0.0, 0.0)}),
]


@pytest.mark.parametrize(("read", "size", "options"), READ)
def test_a_fix_fits_how_the_file_was_read(
    read: dict[str, Any], size: float, options: dict[str, Any], tmp_path: Path
) -> None:
    truth, pred = world(recall=0.9)
    path = tmp_path / "mine.csv"
    pd.DataFrame({"frame": pred.frame, "x": pred.x / size, "y": pred.y / size}).to_csv(path, index=False)
    right = fm.score(truth, fm.read(path, unit="px", pixel_size=size), check=False).flat_metric.value
    assert right is not None
    (finding,) = check_tables(truth, fm.read(path, **read))
    given = dict(finding.options)
    assert {name: pytest.approx(value, abs=2) if name == "shift" else value for name, value in options.items()} == given
    if given:
        fixed = fm.score(truth, path, dim=2, **given)
        assert fixed.flat_metric.value == pytest.approx(right, abs=1) and fixed.findings == []


@pytest.mark.parametrize("length", [1e-3, 1e-2])
def test_another_unit_and_another_origin_at_once(length: float) -> None:
    truth, pred = world(recall=0.9)
    wrong = dataclasses.replace(pred, x=(pred.x - 50) * length, y=(pred.y - 50) * length)
    findings = check_tables(truth, wrong)
    assert [finding.kind for finding in findings] == ["unit", "shift"] and "check origin=" in findings[1].fix
    assert check_tables(truth, findings.apply()) == []


def test_findings_apply_to_any_table() -> None:
    truth, pred = world()
    wrong = dataclasses.replace(pred, x=pred.x + 80)
    findings = fm.check(truth, wrong)
    assert np.array_equal(findings.apply(wrong.to_pandas()).x, findings.apply().x)
    with pytest.raises(fm.InputError, match="is not a table"):
        findings.apply(3)


def test_the_gain_is_that_of_the_dimension_scored_in() -> None:
    truth, pred = world()
    wrong = dataclasses.replace(pred, x=pred.x + 80)
    for dim in (2, 3):
        before, _ = before_and_after(fm.check(truth, wrong, dim=dim)[0])
        assert before == pytest.approx(fm.score(truth, wrong, dim=dim, check=False).flat_metric.value)


def test_a_result_in_one_place_is_named_as_worse_than_nothing() -> None:
    truth, pred = world()
    (finding,) = check_tables(truth, dataclasses.replace(pred, x=pred.y / 100, y=pred.x / 100))
    assert str(finding) == "worse than an empty file, which has 125 nm" and not finding.is_fault
