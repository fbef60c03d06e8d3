"""What is wrong with a file is found, with its size; nothing is found in a file that is right."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.quality.checking import check_tables, check_window
from flatmetric.quality.findings import apply_fix
from tests.scenes import REAL_DATA, world

DATA = REAL_DATA / "gt-and-results"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("recall", [0.1, 0.5, 0.95])
def test_silent_on_a_right_result(seed: int, recall: float) -> None:
    truth, pred = world(seed, recall=recall, false=600)
    assert check_tables(truth, pred) == []


@pytest.mark.parametrize("seed", range(5))
def test_silent_on_noise(seed: int) -> None:
    assert check_tables(world(seed)[0], world(seed + 100)[1]) == []


def before_and_after(finding: fm.Finding) -> tuple[float, float]:
    assert finding.flat_metric_before is not None and finding.flat_metric_after is not None
    return finding.flat_metric_before, finding.flat_metric_after


def only(truth: Any, pred: Any, kind: str) -> Any:
    findings = check_tables(truth, pred)
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
    only(truth, dataclasses.replace(pred, z=-pred.z), "z_sign")


def test_duplicates() -> None:
    truth, pred = world()
    rows = np.r_[np.arange(len(pred)), np.arange(0, len(pred), 5)]
    assert only(truth, pred.select(rows), "duplicates").estimate == len(np.arange(0, len(pred), 5))


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

    for folder in sorted(DATA.iterdir()):
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
                assert not set(kinds) - {"blind_border"}, (folder.name, file.name)


@pytest.mark.parametrize("offset", [-1, 1])
def test_an_offset_by_one_frame_is_seen_though_molecules_stay_on(offset: int) -> None:
    data = Path(fm.__file__).parent / "data"
    truth, pred = fm.read(data / "demo_truth.csv"), fm.read(data / "demo_baseline.csv")
    assert [finding.kind for finding in check_tables(truth, pred)] == ["blind_border"]
    lossy = pred.select(np.arange(len(pred)) % 3 > 0)
    for table in (pred, lossy):
        finding = check_tables(truth, dataclasses.replace(table, frame=table.frame + offset))[0]
        assert finding.kind == "frame_offset" and finding.estimate == offset
