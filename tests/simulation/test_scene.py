"""What a data set takes from a movie: places, background and its course, fading; fields that are not square."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flatmetric as fm
from flatmetric.errors import InputError
from flatmetric.simulation.blinking import Photophysics
from flatmetric.simulation.camera import Camera
from flatmetric.simulation.datasets import Dataset, named
from flatmetric.simulation.movie import images, molecules
from flatmetric.simulation.optics import Gaussian, spots
from flatmetric.simulation.scene import Scene
from flatmetric.stacks import open_stack

TOML = """structure = "places"
frames = 60
density = 0.1
photons = 3000
background = 1
photons_spread = 0.3
beam = 0
pixels = 40
rows = 24
pixel_size = 120
depth = 0
[photophysics]
on_time = 2
blinks = 1
[optics]
kind = "gaussian"
sigma = 140
aspect = 1.2
[camera]
multiplies = false
gain = 1
quantum_efficiency = 1.0
electrons_per_count = 0.5
readout = 1.5
[scene]
places = "places.csv"
blur = 5
background = "background.npy"
course = [1.0, 0.5]
fading = [2.0, 1.0, 0.0]
"""


def written(folder: Path) -> Path:
    (folder / "places.csv").write_text("x,y,weight\n600,600,3\n4000,2000,1\n")
    np.save(folder / "background.npy", np.linspace(10, 50, 40) * np.ones((24, 1)))
    (folder / "mine.toml").write_text(TOML)
    return folder / "mine.toml"


def test_a_file_says_all_of_it(tmp_path: Path) -> None:
    made = fm.simulate(dataset=str(written(tmp_path)), out=tmp_path / "made", seed=3)
    stack, truth = open_stack(made.stack), fm.read(made.truth)
    assert (stack.width, stack.height, stack.frames, stack.pixel_size) == (40, 24, 60, 120.0)
    assert truth.y.max() < 24 * 120 and truth.x.max() > 3900
    away = [np.hypot(truth.x - x, truth.y - y) for x, y in ((600, 600), (4000, 2000))]
    assert (np.minimum(*away) < 30).all()
    first = [np.unique(truth.id[near < 30]) for near in away if truth.id is not None]
    assert len(first[0]) > 1.5 * len(first[1])


def test_background_and_its_course_are_those_of_the_scene(tmp_path: Path) -> None:
    dataset = named(str(written(tmp_path)))
    nothing = molecules(dataset, 0).select(np.zeros(0, dtype=int))
    frames = np.stack([image.astype(float) for image in images(nothing, dataset, 0)])
    light = (frames - dataset.camera.offset) / 2
    assert light[:5].mean(axis=(0, 1))[[0, -1]] == pytest.approx([10, 50], rel=0.1)
    assert light[-5:].mean() / light[:5].mean() == pytest.approx(0.5, rel=0.1)


def test_molecules_fade_and_are_as_many_as_the_density_says() -> None:
    flat = Dataset("flat", "microtubules", 3000, 0.3, 1000, 10, photophysics=Photophysics(blinks=1), beam=0.0)
    path = Path(__file__)
    scene = Scene(places=str(path), fading=(2.0, 1.0, 0.0))
    times = scene.activated(-8.0, 3000, 9000.0, np.random.default_rng(0))
    assert len(times) == pytest.approx(9000, rel=0.05) and flat.per_frame == pytest.approx(0.3 * 40.96)
    thirds = np.histogram(times, [0, 1000, 2000, 3000])[0]
    assert thirds / thirds.sum() == pytest.approx([5 / 9, 3 / 9, 1 / 9], abs=0.02)


def test_an_elliptic_spot_is_wider_along_x() -> None:
    image = spots(
        np.array([[3200.0, 3200.0, 0.0]]), np.ones(1), Gaussian(150.0, aspect=1.44), pixels=64, pixel_size=100.0
    )
    at = np.arange(64) - 31.5
    width, height = (np.sqrt(image.sum(axis=axis) @ at**2 - 1 / 12) for axis in (0, 1))
    assert width == pytest.approx(1.5 * 1.2, rel=0.01) and height == pytest.approx(1.5 / 1.2, rel=0.01)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("places.csv", "none.csv"), "none.csv: can't be read"),
        (("background.npy", "places.csv"), "is no array of NumPy"),
        (("rows = 24", "rows = 20"), "has 24 x 40 pixels, not 20 x 40"),
        (("course = [1.0, 0.5]", "course = [0.0, 0.0]"), "course is"),
        (('structure = "places"', 'structure = "microtubules"'), "goes with a file of places"),
        (("multiplies = false", "multiplies = 3"), "give true or false"),
        (("blur = 5", "blur = -5"), "blur is -5"),
    ],
)
def test_wrong_scenes_are_one_sentence(change: tuple[str, str], sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(TOML.replace(*change))
    with pytest.raises(InputError, match=sentence):
        fm.simulate(dataset=str(path), out=tmp_path / "made")


def test_a_list_without_numbers_is_no_list_of_places(tmp_path: Path) -> None:
    path = written(tmp_path)
    for text in ("x,y\n", "x,y\n1,a\n", "a,b\n1,2\n"):
        (tmp_path / "places.csv").write_text(text)
        with pytest.raises(InputError, match="places"):
            fm.simulate(dataset=str(path), out=tmp_path / str(len(text)))


def test_cameras_without_multiplication_are_those_of_the_parameters() -> None:
    assert not Camera(multiplies=False).multiplies
