"""Every localizer that is installed finds a bright molecule where it is; those that are not say what to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from flatmetric.errors import InputError
from flatmetric.localizers.base import image_by_image, usual
from flatmetric.localizers.registry import METHODS, Method, StackCamera, localize_stack, participant
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.optics import Gaussian, spots
from flatmetric.stacks import Stack, open_stack, write_stack
from tests.scenes import with_programs

PLACES = np.array([[2130.0, 1790.0, 0.0], [4410.0, 3350.0, 0.0], [1650.0, 4870.0, 0.0]])
WHOLE_PIXELS = ("log", "dog")
INSTALLED = [name for name, method in METHODS.items() if method.available and method.shape != "needed"]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    expected = 20 + spots(PLACES, np.full(3, 4000.0), Gaussian(), pixels=64, pixel_size=100.0)
    images = Camera().expose(np.tile(expected, (4, 1, 1)), np.random.default_rng(0))
    path = tmp_path_factory.mktemp("stack") / "stack.ome.tif"
    write_stack(path, images, frames=4, pixels=64, pixel_size=100.0)
    return open_stack(path)


@pytest.mark.parametrize("name", with_programs(INSTALLED))
def test_bright_molecules_are_found_where_they_are(name: str, stack: Stack) -> None:
    camera = Camera()
    table = localize_stack(stack, participant(name), StackCamera(100.0, camera.offset, camera.photons_per_count))
    assert set(table.frame.tolist()) == {1, 2, 3, 4}
    assert table.photons is not None
    tolerance = 75.0 if name in WHOLE_PIXELS else 15.0
    for x, y, _ in PLACES:
        near = np.hypot(table.x - x, table.y - y) < 150
        assert near.sum() == 4, "one for each frame"
        assert np.hypot(table.x[near].mean() - x, table.y[near].mean() - y) < tolerance
        assert (table.photons[near] > 400).all()


@pytest.mark.parametrize("name", with_programs(INSTALLED))
def test_dark_images_hold_nothing(name: str) -> None:
    found = METHODS[name].run(np.full((2, 64, 64), 10.0), usual(METHODS[name].settings))
    assert len(found.x) == len(found.image) == 0


def test_widths_in_the_wrong_order_are_refused() -> None:
    chosen = participant("dog", {"min_sigma": 9.0})
    with pytest.raises(InputError, match=r"min_sigma 9 is above max_sigma 2\.5"):
        METHODS["dog"].run(np.zeros((1, 32, 32)), chosen.settings)


def test_every_method_can_be_tuned_within_the_limits_of_its_settings() -> None:
    for name, method in METHODS.items():
        ranges = [setting for setting in method.settings.values() if setting.tuned is not None]
        assert ranges, name
        for setting in ranges:
            assert setting.fault(setting.usual) is None
            assert 0 <= setting.place(setting.usual) <= 1, "the default lies in the range"
            for place in (-1.0, 0.0, 0.37, 1.0, 2.0):
                assert setting.fault(setting.at(place)) is None, name


@pytest.mark.parametrize("side", [1, 3])
@pytest.mark.parametrize("name", with_programs(INSTALLED))
def test_images_smaller_than_a_spot_hold_nothing(name: str, side: int) -> None:
    found = METHODS[name].run(np.full((2, side, side), 10.0), usual(METHODS[name].settings))
    assert len(found.x) == 0


def test_settings_are_changed_by_name() -> None:
    assert participant("trackpy", {"minmass": 9.0}).settings == {"diameter": 5.0, "minmass": 9.0, "separation": 4.0}


@pytest.mark.parametrize(
    ("name", "changes", "sentence"),
    [
        ("nothing", {}, "method is 'nothing'; give one of baseline, baseline-psf, neural, trackpy"),
        ("baseline", {"size": 3.0}, "baseline has no setting 'size'; it has threshold"),
        ("baseline", {"threshold": -1.0}, "threshold is -1; give a number from 0 to 1e"),
        ("baseline", {"sigma": -1.0}, "sigma is -1"),
        ("baseline", {"box": 1e8}, "box is 1e"),
        ("trackpy", {"diameter": 4.0}, "diameter is 4; give an odd number from 3 to 63"),
        ("daofind-psf", {"box": 4.0}, "box is 4"),
        ("daofind", {"fwhm": 0.0}, "fwhm is 0"),
        ("baseline", {"threshold": float("nan")}, "threshold is nan"),
    ],
)
def test_wrong_names_are_refused(name: str, changes: dict[str, float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        participant(name, changes)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Method(METHODS["trackpy"].run, METHODS["trackpy"].settings, "no_such_package")
    monkeypatch.setitem(METHODS, "trackpy", absent)
    with pytest.raises(
        InputError,
        match=r"needs the package no_such_package, .* pip install '\.\[localizers\]' in a clone of flatmetric",
    ):
        participant("trackpy")


def test_images_without_a_find_keep_their_number() -> None:
    some, none = (np.ones(2),) * 3, (np.empty(0),) * 3
    answers = iter([some, none, some])
    assert image_by_image(np.zeros((3, 8, 8)), lambda image: next(answers)).image.tolist() == [0, 0, 2, 2]


def test_a_stack_without_finds_is_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "dark.tif"
    write_stack(path, np.full((3, 32, 32), 100, np.uint16), frames=3, pixels=32, pixel_size=100.0)
    table = localize_stack(open_stack(path), participant("baseline"), StackCamera(100.0, 100.0, 1.0))
    assert len(table) == 0


@pytest.mark.parametrize("name", with_programs(INSTALLED))
def test_noise_alone_is_not_full_of_spots(name: str) -> None:
    """A third of the frames of a sparse data set are empty."""
    noise = np.random.default_rng(0).poisson(100, (20, 64, 64)).astype(np.float64)
    assert len(METHODS[name].run(noise, usual(METHODS[name].settings)).x) < 10
