"""What is measured of movies of a simulator that shares no code with ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tifffile

from flatmetric.errors import InputError
from flatmetric.localizers.registry import StackCamera
from flatmetric.simulation.folder import STACK, simulate_folder
from flatmetric.stacks import open_stack, write_stack
from flatmetric.twins.camera import camera_for
from flatmetric.twins.estimates import MovieEstimates, estimated
from flatmetric.twins.likeness import STATISTICS, likeness, statistics_of, verdict
from flatmetric.twins.memory import keep, recalled
from flatmetric.twins.seen import Seen, looked_at, seen_in
from proofs.foreign import Scope, movie, scope

CCD = scope(6)


def camera(made: Scope) -> StackCamera:
    return StackCamera(made.pixel, made.offset, 1 / made.counts_per_electron)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MovieEstimates, Seen]:
    path, _ = movie(CCD, tmp_path_factory.mktemp("movie"))
    return path, *estimated(open_stack(path), camera(CCD), False)


def test_density_light_times_and_background_are_found(measured: tuple[Path, MovieEstimates, Seen]) -> None:
    """Detection misses dim molecules and merges crowded ones; both are allowed for."""
    _, known, seen = measured
    assert known.density == pytest.approx(0.148, rel=0.3) and known.photons == pytest.approx(1800, rel=0.25)
    assert 0.5 < known.on_time < 2 and known.partial == 1
    assert known.background.mean() == pytest.approx(np.median(seen.light), rel=0.05)
    assert np.corrcoef(known.background.ravel(), np.median(seen.light, axis=0).ravel())[0, 1] > 0.8
    assert all(0 < error < 1 for error in known.errors.values())
    assert known.camera.readout == pytest.approx(5.0, rel=0.15), "electrons of the CCD"


def test_a_place_that_shines_in_most_frames_is_no_background(tmp_path: Path) -> None:
    """As a spot of the background it would be found in every frame of a twin, and never be true."""
    random, at = np.random.default_rng(4), np.arange(40.0)
    light = np.full((100, 40, 40), 15.0)
    for frame, image in enumerate(light):
        places = random.uniform(4, 36, (2, 2)).tolist() + [[20.3, 18.6]] * (frame % 5 < 3)
        for x, y in places:
            image += 900 / (2 * np.pi * 1.3**2) * np.exp(-((at[:, None] - y) ** 2 + (at - x) ** 2) / (2 * 1.3**2))
    tifffile.imwrite(tmp_path / "movie.tif", random.poisson(light).astype(np.uint16), photometric="minisblack")
    seen = seen_in(open_stack(tmp_path / "movie.tif"), StackCamera(100.0, 0.0, 1.0))
    assert np.median(seen.light, axis=0)[19, 20] > 60, "in most frames"
    assert np.abs(seen.background - 15).max() < 6 and abs(seen.background[15:23, 16:25].mean() - 15) < 1


@pytest.mark.parametrize(("number", "multiplies"), [(0, True), (3, False), (7, False)])
def test_the_kind_of_camera_is_told_by_its_noise(number: int, multiplies: bool, tmp_path: Path) -> None:
    made = scope(number)
    path, _ = movie(made, tmp_path)
    assert camera_for(open_stack(path), camera(made), None).camera.multiplies == multiplies


def test_an_unknown_camera_says_what_that_costs(tmp_path: Path) -> None:
    path, _ = movie(CCD, tmp_path)
    assumed = StackCamera(CCD.pixel, CCD.offset, 1 / CCD.counts_per_electron, assumption="measured")
    notes = camera_for(open_stack(path), assumed, None).notes
    assert "on an EMCCD, molecules and background have twice the photons" in notes[-1]


def test_noisy_pixels_of_a_scmos_have_a_noise_of_their_own(tmp_path: Path) -> None:
    made = scope(10)
    path, _ = movie(made, tmp_path)
    found = camera_for(open_stack(path), camera(made), False)
    assert found.readout is not None
    hot = found.readout > 5
    assert 5 <= hot.sum() <= 40 and np.median(found.readout[hot]) == pytest.approx(12, rel=0.3)


def test_a_twin_is_like_its_movie_and_a_wrong_one_is_not(
    measured: tuple[Path, MovieEstimates, Seen], tmp_path: Path
) -> None:
    import dataclasses

    _, known, seen = measured
    for name, change, differs in (
        ("right", {}, None),
        ("dense", {"density": 2.5 * known.density}, "detections in a frame"),
        ("even", {"background": np.full_like(known.background, known.background.mean())}, "background"),
    ):
        looks = []
        for number in range(2):
            twin = dataclasses.replace(known, **change).dataset(f"{name}-{number}", tmp_path)
            simulate_folder(tmp_path / twin.name, twin, number)
            looks.append(statistics_of(seen_in(open_stack(tmp_path / twin.name / STACK), camera(CCD))))
        rows = likeness(statistics_of(seen), looks)
        assert sum(not row.was_fitted for row in rows) >= 12 and len(rows) == len(STATISTICS)
        assert (verdict(rows) == "alike") == (differs is None), name
        assert differs is None or any(differs in row.name for row in rows if not row.is_alike), name


def test_what_was_measured_is_kept(measured: tuple[Path, MovieEstimates, Seen], tmp_path: Path) -> None:
    path, known, seen = measured
    keep(tmp_path / "kept.npz", "key", known, seen)
    again = recalled(tmp_path / "kept.npz", "key", open_stack(path), camera(CCD))
    assert again is not None
    assert again[0].to_dict() == known.to_dict() and again[1].photons == seen.photons
    np.testing.assert_array_equal(again[0].background, known.background)
    assert recalled(tmp_path / "kept.npz", "other", open_stack(path), camera(CCD)) is None
    (tmp_path / "kept.npz").write_bytes((tmp_path / "kept.npz").read_bytes()[:-100])
    assert recalled(tmp_path / "kept.npz", "key", open_stack(path), camera(CCD)) is None


def test_a_movie_without_spots_is_one_sentence(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    images = [random.poisson(100, (64, 64)).astype(np.uint16) for _ in range(30)]
    write_stack(tmp_path / "a.tif", images, frames=30, pixels=64, pixel_size=100.0)
    with pytest.raises(InputError, match=r"has \d+ spots in the 30 frames that were looked at, too few"):
        estimated(open_stack(tmp_path / "a.tif"), StackCamera(100.0, 0.0, 1.0), False)


def test_frames_that_are_looked_at_lie_in_the_movie() -> None:
    for frames in (1, 399, 401, 2000):
        some = looked_at(frames)
        assert some[0] == 1 and some[-1] == frames and (np.diff(some) > 0).all() and len(some) <= 400
